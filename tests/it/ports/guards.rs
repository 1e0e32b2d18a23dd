//! Guards: permission-gate and protected-paths.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

use serde_json::{Value, json};

use crate::support::{
    run::shell,
    scene::{Scene, Seen},
    session::Folders,
};

const CHMOD: &str = "chmod 777 a.txt";

/// Lets the model open a file to everybody; what could be seen, and what the file's mode is then.
async fn opened(alone: bool) -> (Seen, u32) {
    let folders = Folders::new();
    let file = folders.work().join("a.txt");
    fs::write(&file, "").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let turns = shell(CHMOD)["turns"].take();
    let allow = ["shell_command(chmod *)"];
    let scene = Scene { mods: &["permission-gate"], turns, allow: &allow, alone, ..Scene::default() };
    let seen = scene.play_in(&folders).await;
    (seen, fs::metadata(&file).unwrap().permissions().mode() & 0o777)
}

#[tokio::test]
async fn a_dangerous_command_runs_when_the_person_says_yes() {
    let (seen, mode) = opened(false).await;
    assert_eq!(mode, 0o777);
    assert_eq!(seen.shown, [r#"Run `chmod 777 a.txt`? ["No", "Yes"]"#]);
    assert_eq!(seen.only(&["tool_hook_blocked", "tool_running"]), ["tool_running c1"]);
}

#[tokio::test]
async fn with_nobody_there_it_is_blocked_for_a_reason_of_its_own() {
    let (seen, mode) = opened(true).await;
    assert_eq!(mode, 0o600);
    let blocked = "tool_hook_blocked c1: Dangerous, and nobody is there to allow it.";
    assert_eq!(seen.only(&["tool_hook_blocked", "tool_running"]), [blocked]);
    assert_eq!((seen.shown, seen.came), (vec![], vec!["done".to_owned()]));
}

fn call(index: usize, tool: &str, input: Value) -> Value {
    json!({ "id": format!("c{index}"), "name": tool, "input": input })
}

#[tokio::test]
async fn what_is_protected_is_read_and_not_written_whichever_way_the_path_leads_there() {
    let folders = Folders::new();
    let work = folders.work();
    for folder in [".git", "web/node_modules/x"] {
        fs::create_dir_all(work.join(folder)).unwrap();
    }
    fs::write(work.join(".env"), "KEY=1\n").unwrap();
    symlink(".git", work.join("plain")).unwrap();
    let write = |path: &str| json!({ "file_path": path, "content": "new" });
    let edit = json!({ "file_path": ".env", "old_string": "1", "new_string": "2" });
    let calls = [
        call(1, "read_file", json!({ "file_path": ".env" })),
        call(2, "edit_file", edit),
        call(3, "write_file", write(".git/config")),
        call(4, "write_file", write("web/node_modules/x/index.js")),
        call(5, "write_file", write("plain/../.env")),
        call(6, "write_file", write("plain/hooks")),
        call(7, "write_file", write(".environment")),
    ];
    let turns = json!([{ "tool_calls": calls }, { "text": "done" }]);
    let allow = ["read_file", "write_file", "edit_file"];
    let scene = Scene { mods: &["protected-paths"], turns, allow: &allow, ..Scene::default() };
    let seen = scene.play_in(&folders).await;
    let blocked = |call, part| {
        format!("tool_hook_blocked {call}: {part} is protected: it may be read, and not written.")
    };
    let expected = [
        "tool_running c1".to_owned(),
        blocked("c2", ".env"),
        blocked("c3", ".git"),
        blocked("c4", "node_modules"),
        blocked("c5", ".env"),
        blocked("c6", ".git"),
        "tool_running c7".to_owned(),
    ];
    assert_eq!(seen.only(&["tool_hook_blocked", "tool_running"]), expected);
    assert_eq!(seen.only(&["tool_errored"]), [""; 0]);
    let told = [".env", ".git/config", "web/node_modules/x/index.js", ".env", ".git/hooks"];
    assert_eq!(seen.told(), told.map(|file| format!("notice protected-paths: {file} was not written")));
    assert_eq!(fs::read_to_string(work.join(".env")).unwrap(), "KEY=1\n");
    assert_eq!(fs::read_to_string(work.join(".environment")).unwrap(), "new");
}
