//! What runs unasked in print mode, through the program.

use std::fs;

use serde_json::json;

use crate::support::{
    run::{Ran, calls, says, shell},
    session::Folders,
};

const SKIP: &str = "--dangerously-skip-permissions";

/// What became of the one call of a run: `ran`, or why it was denied.
fn fate(ran: &Ran) -> String {
    let denied = ran.events_of("tool_denied");
    let completed = ran.events_of("tool_completed").len();
    match &denied[..] {
        [] => {
            assert_eq!((ran.code(), completed), (0, 1), "{ran:?}");
            "ran".to_owned()
        }
        [denied] => {
            assert_eq!((ran.code(), completed), (1, 0), "{ran:?}");
            let stop_reason = &ran.events_of("run_end")[0]["result"]["stopReason"];
            assert_eq!(stop_reason, "permission_denied");
            denied["reason"].as_str().unwrap().to_owned()
        }
        more => panic!("{more:?}"),
    }
}

/// What becomes of a call that reads, one that edits, and one that may do anything.
fn fates(args: &[&str]) -> [String; 3] {
    let folders = Folders::new();
    let file = folders.work().join("file");
    fs::write(&file, "old").unwrap();
    let edit = json!({ "file_path": "file", "old_string": "old", "new_string": "new" });
    let scenarios =
        [calls("read_file", json!({ "file_path": "file" })), calls("edit_file", edit), shell("touch made")];
    let args = [&["--output-format", "stream-json"], args].concat();
    let fates = scenarios.map(|scenario| fate(&folders.play(&scenario, &args).run()));
    let done = [fs::read_to_string(file).unwrap() == "new", folders.work().join("made").exists()];
    assert_eq!(done, [&fates[1], &fates[2]].map(|fate| fate == "ran"), "{args:?}: {fates:?}");
    fates
}

#[test]
fn a_mode_lets_run_what_it_says_and_nothing_is_approved_by_nobody() {
    let nobody = |rule| {
        format!(
            "nobody is there to allow this call; to allow it, start with --dangerously-skip-permissions, or add to \
             the allow rules: {rule}"
        )
    };
    let (edit, shell) = (nobody("edit_file(file)"), nobody("shell_command(touch made)"));
    let plan = |tool| format!("only tools that read run in plan mode, got: {tool}");
    let ran = || "ran".to_owned();
    let cases: [(&[&str], _); 6] = [
        (&[], [ran(), edit.clone(), shell.clone()]),
        (&["--permission-mode", "default"], [ran(), edit, shell.clone()]),
        (&["--permission-mode", "plan"], [ran(), plan("edit_file"), plan("shell_command")]),
        (&["--permission-mode", "accept-edits"], [ran(), ran(), shell]),
        (&["--permission-mode", "bypass"], [ran(), ran(), ran()]),
        (&[SKIP], [ran(), ran(), ran()]),
    ];
    for (args, expected) in cases {
        assert_eq!(fates(args), expected, "{args:?}");
    }
}

#[test]
fn rules_allow_what_they_name_and_deny_outranks_them() {
    let allow_echo = &["--allow", "shell_command(echo *)"][..];
    let denied = |rule: &str| format!("a deny rule forbids this call: {rule}");
    let nobody = "nobody is there to allow this call";
    let cases = [
        ("echo a", allow_echo.to_vec(), "ran".to_owned()),
        ("echo a; touch b", allow_echo.to_vec(), nobody.to_owned()),
        ("echo $(touch b)", allow_echo.to_vec(), nobody.to_owned()),
        ("touch b", allow_echo.to_vec(), nobody.to_owned()),
        (
            "echo a",
            [allow_echo, &["--deny", "shell_command(echo a)"]].concat(),
            denied("shell_command(echo a)"),
        ),
        ("echo b", [allow_echo, &["--deny", "shell_command(echo a)"]].concat(), "ran".to_owned()),
        ("echo a", vec![SKIP, "--deny", "shell_command"], denied("shell_command")),
        ("true; rm b", vec![SKIP, "--deny", "shell_command(rm *)"], denied("shell_command(rm *)")),
        (
            "echo a",
            vec!["--permission-mode", "plan", "--allow", "shell_command"],
            "only tools that read".to_owned(),
        ),
    ];
    for (command, args, expected) in cases {
        let args = [&["--output-format", "stream-json"], &args[..]].concat();
        let fate = fate(&Folders::new().play(&shell(command), &args).run());
        assert!(fate.starts_with(&expected), "{command} {args:?}: {fate}");
    }
}

#[test]
fn a_project_that_is_not_trusted_cannot_loosen_permissions() {
    let folders = Folders::new();
    fs::create_dir(folders.work().join(".commandcode")).unwrap();
    let loose =
        json!({ "permissions": { "mode": "bypass", "allow": ["shell_command"], "deny": ["read_file"] } });
    fs::write(folders.work().join(".commandcode/settings.json"), loose.to_string()).unwrap();
    let run = |scenario, args: &[&str]| {
        let args = [&["--output-format", "stream-json"], args].concat();
        fate(&folders.play(&scenario, &args).run())
    };
    assert!(run(shell("true"), &[]).starts_with("nobody is there to allow this call"));
    let told = folders.play(&json!({ "turns": [{ "text": "done" }] }), &[]).run();
    let warning = "warning: the workspace is not trusted (see cmd mods trust), so what its settings say does not count of: \
                   permissions.mode, permissions.allow\n";
    assert_eq!(told.told(), (0, "done\n", warning));
    let read = calls("read_file", json!({ "file_path": "file" }));
    assert_eq!(run(read, &[SKIP]), "a deny rule forbids this call: read_file");
    assert_eq!(run(shell("true"), &["--allow", "shell_command"]), "ran");
}

#[test]
fn a_model_that_does_not_count_is_told_where_there_is_no_other() {
    let folders = Folders::new();
    fs::create_dir(folders.work().join(".commandcode")).unwrap();
    fs::write(folders.work().join(".commandcode/settings.json"), r#"{"model": "scripted/x"}"#).unwrap();
    let ran = folders.cmd(&["-p", "go"]).run();
    let warning = "warning: the workspace is not trusted (see cmd mods trust), so what its settings say does not count of: model\n";
    assert!(ran.stderr.starts_with(warning) && ran.code() == 1, "{ran:?}");
}

#[test]
fn the_one_object_of_a_run_says_what_was_denied_and_why() {
    let ran =
        Folders::new().play(&shell("true"), &["--output-format", "json", "--deny", "shell_command"]).run();
    let denied = json!([{ "toolCallId": "c1", "toolName": "shell_command", "reason": "a deny rule forbids this call: shell_command" }]);
    assert_eq!((ran.code(), &ran.json()["denied"]), (1, &denied));
}

/// A workspace with a secret in it, and a link to where the secret is.
fn with_a_secret() -> Folders {
    let folders = Folders::new();
    fs::create_dir(folders.work().join("secrets")).unwrap();
    fs::write(folders.work().join("secrets/key"), "hunter2").unwrap();
    fs::write(folders.work().join("open"), "nothing").unwrap();
    std::os::unix::fs::symlink("secrets", folders.work().join("way")).unwrap();
    folders
}

#[test]
fn a_path_that_is_denied_is_denied_however_it_is_written() {
    let folders = with_a_secret();
    let absolute = folders.work().join("secrets/key").display().to_string();
    let read = |path: &str, rule: &str| {
        let scenario = calls("read_file", json!({ "file_path": path }));
        fate(&folders.play(&scenario, &["--output-format", "stream-json", SKIP, "--deny", rule]).run())
    };
    for rule in ["read_file(secrets/**)", "read_file(./secrets)", "read_file(way/*)"] {
        let denied = format!("a deny rule forbids this call: {rule}");
        for path in ["secrets/key", "./secrets/key", "a/../secrets/key", &absolute, "way/key"] {
            assert_eq!(read(path, rule), denied, "{path}");
        }
        assert_eq!(read("open", rule), "ran");
    }
}

#[test]
fn a_rule_that_names_no_tool_is_told_at_the_start() {
    let ran = Folders::new().play(&says("done"), &["--deny", "red_file(secrets/**)"]).run();
    let warning = "warning: a permission rule names no tool of this session: red_file(secrets/**); did you \
                   mean read_file?\n";
    assert_eq!(ran.told(), (0, "done\n", warning));
}

#[test]
fn what_must_not_be_read_is_not_found() {
    let folders = with_a_secret();
    let found = |tool: &str, input: serde_json::Value| {
        let args = ["--output-format", "stream-json", SKIP, "--deny", "read_file(way)"];
        let ran = folders.play(&calls(tool, input), &args).run();
        let completed = ran.events_of("tool_completed");
        completed.first().map(|event| event["result"][0]["text"].as_str().unwrap().to_owned())
    };
    let left_out =
        |found: &str, count| Some(format!("{found}\n[left out, because a deny rule says so: {count}]"));
    let pattern = json!({ "pattern": "hunter2|nothing", "path": "." });
    assert_eq!(found("grep", pattern), left_out("open:1:nothing", 2));
    assert_eq!(found("glob", json!({ "pattern": "**" })), left_out("open", 2));
    assert_eq!(found("list_directory", json!({})), left_out("open", 2));
    for path in ["secrets", "way", "secrets/key"] {
        assert_eq!(found("grep", json!({ "pattern": "hunter2", "path": path })), None, "{path}");
    }
}

#[test]
fn accepted_edits_are_those_of_the_project() {
    let folders = with_a_secret();
    let beyond = folders.work().join("beyond");
    std::os::unix::fs::symlink(folders.home(), &beyond).unwrap();
    fs::create_dir(folders.work().join(".git")).unwrap();
    std::os::unix::fs::symlink(".git", folders.work().join("hooks")).unwrap();
    let settings = folders.home().join("settings.json").display().to_string();
    let write = |path: &str| {
        let scenario = calls("write_file", json!({ "file_path": path, "content": "new" }));
        fate(
            &folders
                .play(&scenario, &["--output-format", "stream-json", "--permission-mode", "accept-edits"])
                .run(),
        )
    };
    for path in ["new", "way/new", "sub/.gitignore"] {
        assert_eq!(write(path), "ran", "{path}");
    }
    for path in
        ["../new", &settings, "beyond/settings.json", ".git/config", "hooks/x", ".commandcode/settings.json"]
    {
        let fate = write(path);
        assert!(fate.starts_with("nobody is there to allow this call"), "{path}: {fate}");
    }
    assert!(!folders.home().join("settings.json").exists() && !folders.work().join(".git/config").exists());
}
