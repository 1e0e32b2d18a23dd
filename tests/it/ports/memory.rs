//! What a project tells the model: claude-rules and memory-bank.

use std::fs;

use host::harness::{Earlier, Recording};
use serde_json::{Value, json};

use crate::support::{
    scene::{Scene, Seen},
    session::Folders,
};

#[tokio::test]
async fn rules_are_listed_with_those_below_in_the_same_order_in_every_run() {
    let files = ["b.md", "a/z.md", "a/b/c.md", "c.md", "notes.txt"];
    let mut prompts = Vec::new();
    let folders = Folders::new();
    let rules = folders.work().join(".claude/rules");
    for order in [files, ["notes.txt", "c.md", "a/b/c.md", "a/z.md", "b.md"]] {
        let _none_yet = fs::remove_dir_all(&rules);
        for file in order {
            fs::create_dir_all(rules.join(file).parent().unwrap()).unwrap();
            fs::write(rules.join(file), "Be kind.").unwrap();
        }
        let turns = json!([{ "text": "one" }, { "text": "two" }]);
        let scene = Scene { mods: &["claude-rules"], turns, prompts: &["go", "again"], ..Scene::default() };
        let seen = scene.play_in(&folders).await;
        prompts.extend(seen.requests.iter().map(|request| request.system.to_string()));
        assert_eq!(seen.told(), [""; 0]);
    }
    fs::remove_dir_all(&rules).unwrap();
    let turns = json!([{ "text": "one" }]);
    let without = Scene { mods: &["claude-rules"], turns, ..Scene::default() }.play_in(&folders).await;
    let listed = "This project has rules. Read those that your work touches:\n\
                  - .claude/rules/a/b/c.md\n- .claude/rules/a/z.md\n- .claude/rules/b.md\n- .claude/rules/c.md";
    let expected = format!("{}\n\n{listed}", without.requests[0].system);
    assert_eq!(prompts, [expected.as_str(); 4]);
}

async fn session(folders: &Folders, record: Recording, turns: Value, prompts: &[&str]) -> Seen {
    let allow = ["remember"];
    let scene = Scene { mods: &["memory-bank"], turns, prompts, allow: &allow, record, ..Scene::default() };
    let seen = scene.play_in(folders).await;
    assert_eq!(seen.told(), [""; 0]);
    seen
}

fn remembers(note: &str) -> Value {
    json!({ "tool_calls": [{ "id": "c1", "name": "remember", "input": { "note": note } }] })
}

#[tokio::test]
async fn notes_are_readable_after_a_resume_and_a_new_session_is_told_of_them_once() {
    let folders = Folders::new();
    let first = json!([remembers("Tabs, not spaces."), { "text": "done" }]);
    let first = session(&folders, Recording::New, first, &["/memory", "go"]).await;
    assert_eq!(first.came, ["Nothing yet.", "done"]);
    let kept = "<!-- kept by memory-bank; take this line out to keep it yourself -->\n- Tabs, not spaces.\n";
    assert_eq!(fs::read_to_string(folders.work().join("MEMORY.md")).unwrap(), kept);

    let told = "user[mod]: What you remember of this project:\n- Tabs, not spaces.";
    let second = json!([{ "text": "one" }, { "text": "two" }]);
    let second = session(&folders, Recording::New, second, &["go", "again", "/memory"]).await;
    let conversation = ["user[user]: go", told, "assistant: one", "user[user]: again", "assistant: two"];
    assert_eq!(second.conversation, conversation);
    assert_eq!(second.came, ["one", "two", "Nothing yet."], "of another session");

    let third = json!([remembers("Tests first."), { "text": "three" }]);
    let third = session(&folders, Recording::Resume(Earlier::Latest), third, &["on"]).await;
    let results = ["assistant: <call c1>", "user[tool_results]: <c1: Kept.>", "assistant: three"];
    assert_eq!(third.conversation, [&conversation[..], &["user[user]: on"], &results].concat());
    let fourth = session(&folders, Recording::Resume(Earlier::Latest), json!([]), &["/memory"]).await;
    assert_eq!(fourth.came, ["Tests first."]);
}

#[tokio::test]
async fn a_file_that_somebody_else_wrote_is_not_edited() {
    let folders = Folders::new();
    let path = folders.work().join("MEMORY.md");
    fs::write(&path, "# Mine\n").unwrap();
    let turns = json!([remembers("Tabs."), { "text": "done" }]);
    let seen = session(&folders, Recording::New, turns, &["go", "/memory"]).await;
    let told = "Kept for this session. MEMORY.md is not mine, so it was not changed.";
    assert_eq!(seen.only(&["tool_completed"]), [format!("tool_completed c1: {told}")]);
    assert_eq!(seen.came, ["done", "Tabs."]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "# Mine\n");
}
