//! The example mods of `mods/`, each by what can be seen of it.

use host::mod_host::Registered;
use serde_json::{Value, json};

use crate::support::{
    behaving::echoes,
    scene::Scene,
    session::{Folders, library},
};

/// What a session with one example mod came to.
struct Seen {
    /// What came of each prompt: the model's answer, or what the mod says in its place.
    came: Vec<String>,
    /// Notices and faults.
    told: Vec<String>,
    /// What was shown, status line and widgets last.
    shown: Vec<String>,
    registered: Registered,
}

async fn seen(name: &str, options: &[(&str, &str)], turns: Value, prompts: &[&str]) -> Seen {
    let options: Vec<_> = options.iter().map(|(flag, value)| (format!("{name}.{flag}"), *value)).collect();
    let options: Vec<_> = options.iter().map(|(flag, value)| (flag.as_str(), *value)).collect();
    let mut seen =
        Scene { mods: &[name], options: &options, turns, prompts, ..Scene::default() }.play().await;
    Seen {
        told: seen.told().into_iter().map(str::to_owned).collect(),
        came: seen.came,
        shown: [seen.shown, seen.status, seen.widgets].concat(),
        registered: seen.registered.remove(0),
    }
}

#[tokio::test]
async fn slash_command_asks_the_model_or_answers_itself() {
    let turns = json!([
        { "text": "one", "expect": { "last_user_contains": "List the TODO comments of src, the most urgent first." } },
        { "text": "two", "expect": { "last_user_contains": "List the TODO comments of this project" } },
    ]);
    let prompts = ["/todos src", "/todos", "/roll 1", "/roll none"];
    let seen = seen("slash-command", &[], turns, &prompts).await;
    assert_eq!(seen.came, ["one", "two", "1 of 1", "failed"]);
    let refused =
        "mod_error mod:slash-command command:roll: a die has a number of sides, as in /roll 20, got: none";
    assert_eq!(seen.told, [refused]);
    assert_eq!(seen.registered.commands, ["todos", "roll"]);
}

#[tokio::test]
async fn input_shortcuts_rewrite_what_is_typed_or_answer_it() {
    let rewritten = json!({ "last_user_contains": "Explain briefly, with one example: lifetimes" });
    let turns = json!([{ "text": "one", "expect": rewritten }, { "text": "two", "expect": { "last_user_contains": "why?" } }]);
    let seen = seen("input-shortcuts", &[], turns, &["?lifetimes", "ping", "why?"]).await;
    assert_eq!((seen.came, seen.told), (vec!["one".into(), "pong".into(), "two".into()], vec![]));
}

#[tokio::test]
async fn custom_entry_renderer_shows_a_tool_that_failed_as_a_row() {
    let turns = json!([echoes(&["x", "fail"]), { "text": "done" }]);
    let seen = seen("custom-entry-renderer", &[], turns, &["go"]).await;
    assert_eq!(seen.shown, ["custom-entry-renderer/failed: \u{1b}[31m✗ echo\u{1b}[0m fail"]);
    assert_eq!(seen.told, [""; 0]);
    assert_eq!(seen.registered.renderers, ["custom-entry-renderer/failed"]);
}

#[tokio::test]
async fn flags_and_options_greets_as_its_options_say() {
    let greeted = async |options: &[(&str, &str)]| {
        let seen = seen("flags-and-options", options, json!([]), &["/greet", "/greet Ada"]).await;
        assert_eq!(seen.told, [""; 0]);
        assert_eq!(seen.registered.flags, ["greeting", "shout", "name"]);
        seen.came
    };
    assert_eq!(greeted(&[]).await, ["Hello, you!", "Hello, Ada!"]);
    let options = [("greeting", "Moin"), ("shout", "true"), ("name", "Grace")];
    assert_eq!(greeted(&options).await, ["MOIN, GRACE!", "MOIN, ADA!"]);
}

#[tokio::test]
async fn lifecycle_hooks_follow_a_session_and_ask_once_what_failed() {
    let comment = "Look at the error before you try the same again.";
    let turns = json!([
        echoes(&["fail"]),
        { "text": "one", "expect": { "tool_result_contains": { "text": comment } } },
        { "text": "two", "expect": { "last_user_contains": "Say in one line what failed, and why." } },
    ]);
    let seen = seen("lifecycle-hooks", &[], turns, &["go"]).await;
    assert_eq!(seen.came, ["two"]);
    let end = "notice lifecycle-hooks: shutdown, 1 failed calls, 0 sub-agents";
    assert_eq!(seen.told, ["notice lifecycle-hooks: session startup", end]);
}

#[tokio::test]
async fn kitchen_sink_does_a_little_of_everything() {
    let first = json!({
        "effort": "low", "last_user_contains": "go at once", "system_contains": "There is a kitchen sink.",
        "tools_include": ["sink_version", "grep"], "tools_exclude": ["list_directory"],
    });
    let turns = json!([
        { "tool_calls": [{ "id": "c1", "name": "sink_version", "input": {} }], "expect": first },
        { "text": "one", "expect": { "tool_result_contains": { "text": "git version" } } },
        { "text": "two", "expect": { "last_user_contains": "Use the word typed." } },
    ]);
    let prompts = ["go !!", "/sink", "/keep plum", "/keep fig", "/back", "/back", "/unsink"];
    let seen = seen("kitchen-sink", &[], turns.clone(), &prompts).await;
    assert_eq!(seen.came, ["one", "two", "plum", "plum, fig", "at fig", "at custom_message", "gone"]);
    assert_eq!(
        seen.shown,
        [
            "sunk: \u{1b}[36msunk:\u{1b}[0m \"the factory\"",
            "Which word? Some(\"sink\")",
            "sink/word: The word is plum.",
            "sink/word: The word is fig.",
            "sink: 3",
            "turns: 3"
        ]
    );
    assert_eq!(seen.told, ["notice on the bus: \"gone\""]);
}

#[test]
fn with_nobody_at_the_screen_entries_and_what_stays_on_it_are_dropped() {
    let folders = Folders::new();
    let [entries, sink] = ["custom-entry-renderer", "kitchen-sink"].map(library);
    let mods = ["--mod", entries.to_str().unwrap(), "--mod", sink.to_str().unwrap()];
    let scenario = json!({ "turns": [
        { "tool_calls": [{ "name": "read_file", "input": { "file_path": "none" } }] },
        { "text": "done" },
    ] });
    assert_eq!(folders.play(&scenario, &mods).run().told(), (0, "done\n", ""));
    let stream = folders.play(&scenario, &[&mods[..], &["--output-format", "stream-json"]].concat()).run();
    assert!(!stream.stdout.contains("sunk"), "{}", stream.stdout);
}

#[test]
fn a_flag_that_is_given_nonsense_ends_the_start_and_says_why() {
    let folders = Folders::new();
    let flags = library("flags-and-options");
    let args = ["--mod", flags.to_str().unwrap(), "--mod-option", "shout=loudly"];
    let ran = folders.play(&json!({ "turns": [] }), &args).run();
    let told = "error: this flag of mod:flags-and-options (Says it in capitals) is true or false, got: --mod-option shout=loudly\n";
    assert_eq!(ran.told(), (1, "", told));
}

#[test]
fn the_list_of_mods_shows_flags_and_renderers() {
    let folders = Folders::new();
    let names = ["flags-and-options", "custom-entry-renderer"].map(library);
    std::fs::create_dir_all(folders.home().join("mods")).unwrap();
    for name in names {
        std::fs::copy(&name, folders.home().join("mods").join(name.file_name().unwrap())).unwrap();
    }
    let listed = folders.cmd(&["mods", "list"]).run();
    let registered: Vec<_> =
        listed.stdout.lines().filter(|line| line.contains(": ") && !line.contains("sha256")).collect();
    let expected = [
        "    providers: openai, openai-responses",
        "    providers: anthropic",
        "    events: run_end",
        "    events: tool_errored; renderers: custom-entry-renderer/failed",
        "    commands: greet; flags: greeting, shout, name",
    ];
    assert_eq!(registered, expected, "{}", listed.stdout);
}
