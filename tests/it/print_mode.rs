//! Print mode, through the program: what it prints, what it lets run, and how it ends.

use std::{fs, io::Write};

use serde_json::{Value, json};

use crate::support::{
    run::{says, shell},
    session::{Folders, copy_to, library},
};

const SKIP: &str = "--dangerously-skip-permissions";

#[test]
fn text_is_the_answer_and_nothing_else() {
    let folders = Folders::new();
    let ran = folders.play(&says("An answer.\nOf two lines.\n"), &[]).run();
    assert_eq!(ran.told(), (0, "An answer.\nOf two lines.\n", ""));
}

#[test]
fn decision_35_the_prompt_meets_transform_input() {
    let turns = json!({ "turns": [{ "text": "An answer.", "expect": { "last_user_contains": "go a" } }] });
    let library = library("behaving");
    let options = ["--mod", library.to_str().unwrap(), "--mod-option", "behaving-a.does=input"];
    assert_eq!(Folders::new().play(&turns, &options).run().told(), (0, "An answer.\n", ""));
}

#[test]
fn json_is_one_object() {
    let ran = Folders::new().play(&says("An answer."), &["--output-format", "json"]).run();
    let expected = json!({
        "sessionId": "SESSION",
        "model": "scripted/DIR/scenario.json",
        "error": null,
        "notices": [],
        "modErrors": [],
        "denied": [],
        "result": { "finalText": "An answer.", "stopReason": "end_turn", "turnCount": 1, "usage": usage() },
    });
    assert_eq!((ran.code(), ran.json(), &*ran.stderr), (0, expected, ""));
}

fn usage() -> Value {
    json!({ "inputTokens": 0, "outputTokens": 0, "cacheReadTokens": 0, "cacheWriteTokens": 0 })
}

#[test]
fn stream_json_is_one_event_a_line() {
    let ran = Folders::new().play(&says("An answer."), &["--output-format", "stream-json"]).run();
    let model = "scripted/DIR/scenario.json";
    let content = json!([{ "type": "text", "text": "An answer." }]);
    let result =
        json!({ "finalText": "An answer.", "stopReason": "end_turn", "turnCount": 1, "usage": usage() });
    let expected = json!([
        { "type": "session_start", "source": "startup" },
        { "type": "run_start", "sessionId": "SESSION" },
        { "type": "turn_start", "turnNumber": 1 },
        { "type": "message_start" },
        { "type": "model_request_start", "model": model },
        { "type": "text_delta", "delta": "An answer." },
        { "type": "message_update", "message": { "role": "assistant", "content": content } },
        { "type": "model_request_end", "model": model, "usage": usage(), "stopReason": "end_turn" },
        { "type": "message_end", "content": content },
        { "type": "turn_end", "turnNumber": 1, "hadToolCalls": false, "usage": usage() },
        { "type": "run_end", "result": result },
        { "type": "session_titled", "title": "go" },
        { "type": "session_shutdown", "reason": "shutdown" },
    ]);
    let mut expected = expected.as_array().unwrap().clone();
    expected.iter_mut().for_each(|event| event["agentId"] = "main".into());
    assert_eq!((ran.code(), ran.events(), &*ran.stderr), (0, expected, ""));
}

#[test]
fn a_run_ends_after_as_many_turns_as_it_may() {
    let folders = Folders::new();
    let scenario = shell("true");
    let one = folders.play(&scenario, &[SKIP, "--max-turns", "1"]).run();
    assert_eq!(one.told(), (1, "", "warning: the run ended early, after 1 turn: max_turns\n"));
    let two = folders.play(&scenario, &[SKIP, "--max-turns", "2"]).run();
    assert_eq!(two.told(), (1, "done\n", "warning: the run ended early, after 2 turns: max_turns\n"));
    assert_eq!(folders.play(&scenario, &[SKIP, "--max-turns", "3"]).run().told(), (0, "done\n", ""));
}

#[test]
fn the_workspace_is_the_one_that_was_named() {
    let folders = Folders::new();
    let settings = folders.work().join("sub/.commandcode/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let model = folders.scenario(&shell("pwd"));
    fs::write(settings, json!({ "model": model }).to_string()).unwrap();
    let ran = folders.cmd(&["-p", "go", "--cwd", "sub", SKIP, "--output-format", "stream-json"]).run();
    let result = &ran.events_of("tool_completed")[0]["result"];
    assert_eq!(*result, json!([{ "type": "text", "text": "DIR/work/sub" }]));
    assert_eq!(folders.session_lines()[0]["cwd"], folders.work().join("sub").display().to_string());
}

#[test]
fn a_session_is_recorded_unless_that_is_not_wanted() {
    let folders = Folders::new();
    assert_eq!(folders.play(&says("a"), &["--no-session"]).run().code(), 0);
    assert_eq!(folders.session_lines(), [Value::Null; 0]);
    assert_eq!(folders.play(&says("a"), &[]).run().code(), 0);
    let kinds: Vec<_> = folders.session_lines().iter().map(|line| line["type"].clone()).collect();
    assert_eq!(kinds, ["session", "message", "message", "commit", "session_info"]);
}

/// Calls the mod's tool, which is there, and one that is not.
fn wants_count_todos(there: bool) -> Value {
    let key = if there { "tools_include" } else { "tools_exclude" };
    json!({ "turns": [{ "text": "done", "expect": { key: ["count_todos"] } }] })
}

#[test]
fn the_users_mods_load_unless_none_are_wanted() {
    let folders = Folders::new();
    fs::create_dir(folders.home().join("mods")).unwrap();
    copy_to(&library("custom-tool"), "libcustom_tool.so", &folders.home().join("mods"));
    assert_eq!(folders.play(&wants_count_todos(true), &[]).run().told(), (0, "done\n", ""));
    assert_eq!(folders.play(&wants_count_todos(false), &["--no-mods"]).run().told(), (0, "done\n", ""));
    folders.settings(&json!({ "mods": { "disabled": ["custom-tool"] } }));
    assert_eq!(folders.play(&wants_count_todos(false), &[]).run().told(), (0, "done\n", ""));
}

#[test]
fn a_mod_that_is_named_loads_with_its_options() {
    let folders = Folders::new();
    let mods = library("misbehaving");
    let options = ["misbehaving.at=onStop", "misbehaving.how=error"];
    let args = ["--mod", mods.to_str().unwrap(), "--mod-option", options[0], "--mod-option", options[1]];
    let told = "warning: mod:misbehaving failed in onStop: went wrong\n";
    assert_eq!(folders.play(&says("done"), &args).run().told(), (0, "done\n", told));
    let ran = folders.play(&says("done"), &["--mod", "nowhere.so"]).run();
    let told = "warning: mod not loaded [E_UNREADABLE] from --mod DIR/work/nowhere.so: cannot read the library, \
                check its path and who may read it: No such file or directory (os error 2): DIR/work/nowhere.so\n";
    assert_eq!(ran.told(), (1, "done\n", told));
}

#[test]
fn a_projects_mods_load_only_when_that_was_said() {
    let folders = Folders::new();
    let mods = folders.work().join(".commandcode/mods");
    fs::create_dir_all(mods.join(".registry")).unwrap();
    copy_to(&library("custom-tool"), "libcustom_tool.so", &mods);
    copy_to(&library("observe-events"), "elsewhere.so", mods.parent().unwrap());
    let settings = r#"{"mods": {"paths": ["elsewhere.so"]}}"#;
    fs::write(folders.work().join(".commandcode/settings.json"), settings).unwrap();
    assert_eq!(folders.play(&wants_count_todos(true), &[SKIP]).run().code(), 0);
    assert_eq!(folders.play(&wants_count_todos(false), &["--no-mods", SKIP]).run().code(), 0);

    let trace = folders.home().join("trace");
    let strace = ["-f", "-qq", "-e", "trace=%file", "-o", trace.to_str().unwrap()];
    let plain = folders.play(&wants_count_todos(false), &[]);
    if std::process::Command::new("strace").arg("-V").output().is_err() {
        // Not by the macro: what that prints, the test runner keeps to itself.
        std::io::stderr()
            .write_all(b"skipped in part, because there is no strace: projects' mods\n")
            .unwrap();
        return assert_eq!(plain.run().told(), (0, "done\n", ""));
    }
    assert_eq!(plain.wrapped("strace", &strace).run().told(), (0, "done\n", ""));
    let trace = fs::read_to_string(trace).unwrap();
    let below: Vec<_> = trace.lines().filter(|line| line.contains("work/.commandcode/")).collect();
    assert!(
        !below.is_empty() && below.iter().all(|line| line.contains("work/.commandcode/settings.json")),
        "{below:#?}"
    );
}

#[test]
fn what_is_typed_outranks_the_settings_and_an_untrusted_project_limits_but_chooses_no_model() {
    let folders = Folders::new();
    let scenario = |name: &str| {
        fs::write(folders.home().join(name), says(name).to_string()).unwrap();
        format!("scripted/{}", folders.home().join(name).display())
    };
    let [user, project, typed] = ["user", "project", "typed"].map(scenario);
    folders.settings(&json!({ "model": user }));
    assert_eq!(folders.cmd(&["-p", "go"]).run().told(), (0, "user\n", ""));
    fs::create_dir(folders.work().join(".commandcode")).unwrap();
    let file = folders.work().join(".commandcode/settings.json");
    fs::write(&file, json!({ "model": project, "maxTurns": 1 }).to_string()).unwrap();
    let limited = "warning: the workspace is not trusted (see cmd mods trust), so what its settings say does not count of: model\n\
                   warning: the run ended early, after 1 turn: max_turns\n";
    assert_eq!(folders.cmd(&["-p", "go"]).run().told(), (1, "user\n", limited));
    let ran = folders.cmd(&["-p", "go", "--model", &typed, "--max-turns", "2"]).run();
    assert_eq!(ran.told(), (0, "typed\n", ""));
}

#[test]
fn the_prompt_comes_from_the_command_line_or_from_standard_input_or_both() {
    let folders = Folders::new();
    let expect =
        |text: &str| json!({ "turns": [{ "text": "ok", "expect": { "last_user_contains": text } }] });
    let piped = |scenario: &Value, args: &[&str], input: &[u8]| {
        let model = folders.scenario(scenario);
        folders.cmd(&[args, &["--model", &model]].concat()).input(input).run()
    };
    assert_eq!(piped(&expect("from a pipe"), &["-p"], b"from a pipe\n").told(), (0, "ok\n", ""));
    assert_eq!(piped(&expect("from a pipe"), &["-p", "-"], b"from a pipe\n").told(), (0, "ok\n", ""));
    assert_eq!(piped(&expect("typed\n\npiped"), &["-p", "typed"], b"piped\n").told(), (0, "ok\n", ""));
    let empty = "error: the prompt is empty: give it with -p PROMPT, or pipe it into cmd -p\n";
    assert_eq!(piped(&expect(""), &["-p"], b" \n").told(), (2, "", empty));
    let no_text = "error: the prompt is not valid UTF-8, at byte 1\n";
    assert_eq!(piped(&expect(""), &["-p"], b"a\xff").told(), (1, "", no_text));
}

#[test]
fn a_reader_that_has_had_enough_ends_the_run_quietly() {
    let folders = Folders::new();
    let text = "word ".repeat(20_000);
    let turns: Vec<_> = (0..20)
        .map(|_| json!({ "text": text, "chunks": 50, "tool_calls": [{ "name": "list_directory", "input": {} }] }))
        .collect();
    let program = folders.play(&json!({ "turns": turns }), &["--output-format", "stream-json"]);
    let ran = program.wrapped("sh", &["-c", "\"$@\" | head -n 1", "sh"]).run();
    let first = "{\"type\":\"session_start\",\"source\":\"startup\",\"agentId\":\"main\"}\n";
    assert_eq!(ran.told(), (0, first, ""));
    let program = folders.play(&says(&text), &[]);
    let ran = program.wrapped("sh", &["-c", "{ \"$@\"; echo $? >&2; } | head -c 5", "sh"]).run();
    assert_eq!(ran.told(), (0, "word ", "1\n"));
}

#[test]
fn colours_are_for_those_who_see_them() {
    let folders = Folders::new();
    let run = |env: &[(&str, &str)]| {
        let program = folders.cmd(&["-p", "go", "--model", "nope/x"]);
        env.iter().fold(program, |program, (name, value)| program.env(name, value)).run().stderr
    };
    let plain = "error: there is no such model provider, only anthropic, openai, openai-responses, scripted, got: nope/x\n";
    assert_eq!(run(&[]), plain);
    let coloured = plain.replace("error", "\u{1b}[1m\u{1b}[31merror\u{1b}[39m\u{1b}[0m");
    assert_eq!(run(&[("CLICOLOR_FORCE", "1")]), coloured);
    assert_eq!(run(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]), plain);
}

#[test]
fn a_wrong_command_line_ends_with_two_says_what_was_meant_and_leaves_the_output_empty() {
    let folders = Folders::new();
    let cases: [(&[&str], &str); 9] = [
        (&["-p", "go", "--modle", "x"], "tip: a similar argument exists: '--model'"),
        (&["-p", "go", "--output-format", "jsn"], "tip: a similar value exists: 'json'"),
        (&["mods", "lst"], "tip: a similar subcommand exists: 'list'"),
        (&["-p", "go", "--max-turns", "0"], "expected a whole number, 1 or more"),
        (&["-p", "go", "--permission-mode", "plna"], "tip: a similar value exists: 'plan'"),
        (&["-p", "go", "--allow", "shell_command(git"], "expected TOOL or TOOL(PATTERN)"),
        (&["-p", "go", "--mod-option", "a"], "expected NAME=VALUE"),
        (&["-p", "go", "--mod", "a", "--no-mods"], "cannot be used with"),
        (
            &["-p", "go", "--cwd", "nowhere", "--output-format", "json"],
            "the folder to work in cannot be used",
        ),
    ];
    for (args, told) in cases {
        let ran = folders.cmd(args).run();
        assert_eq!((ran.code(), &*ran.stdout), (2, ""), "{args:?}");
        assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains(told), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn a_run_that_cannot_begin_is_told_in_every_format() {
    let folders = Folders::new();
    let model = folders.scenario(&says("never"));
    let no_model =
        "no model is chosen; name one with --model provider/model, or as \"model\" in settings.json";
    let bad_value = "DIR/home/settings.json: `model` must be a string, got: integer `3`";
    let bad_rule =
        "a permission rule is a tool's name, or a name and a pattern as in shell_command(git *), got: a(";
    let cases = [
        (json!({}), no_model),
        (json!({ "model": 3 }), bad_value),
        (json!({ "model": model, "permissions": { "allow": ["a("] } }), bad_rule),
    ];
    for (settings, told) in cases {
        folders.settings(&settings);
        let run = |format| folders.cmd(&["-p", "go", "--output-format", format]).run();
        let line = format!("error: {told}\n");
        assert_eq!(run("text").told(), (1, "", &*line));
        let ran = run("json");
        assert_eq!((ran.code(), ran.json(), &*ran.stderr), (1, nothing_but("error", told), &*line));
        let event = json!({ "type": "run_error", "error": told, "agentId": "main" });
        let ran = run("stream-json");
        assert_eq!((ran.code(), ran.events(), &*ran.stderr), (1, vec![event], &*line));
    }
    assert_eq!(folders.session_lines(), [Value::Null; 0]);
}

/// The JSON format's object where one key alone says something.
fn nothing_but(key: &str, text: &str) -> Value {
    let mut object = json!({ "sessionId": null, "model": null, "error": null, "notices": [], "modErrors": [], "denied": [] });
    object["result"] = Value::Null;
    object[key] = text.into();
    object
}
