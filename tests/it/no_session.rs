//! What keeps a session from being at all: one clear line, the exit code, and nothing left behind.

use std::{fs, path::Path, process::Command};

use serde_json::json;

use crate::support::{
    cmd::{Ran, Start, finish, program},
    fixtures::{Library, archive},
    session::library,
};

/// Runs one prompt with these arguments, without a session: nothing of a mod may run.
fn fails_to_start(start: &Start, args: &[&str], message: &str) {
    fails_behind_the_mods(start, args, message);
    assert!(!start.mark().exists(), "a constructor ran");
}

/// As [`fails_to_start`], and only the mods could tell that it fails.
fn fails_behind_the_mods(start: &Start, args: &[&str], message: &str) {
    let folders = &start.folders;
    let bad = Library::built("misbehaving").write(&start.path("bad.so"));
    let mut command = program(folders);
    command.args(["-p", "go", "--mod"]).arg(bad).args(args).env("MISBEHAVING_CONSTRUCTOR", start.mark());
    let ran = finish(folders, command.spawn().unwrap());
    assert_eq!(ran, Ran { code: Some(1), stdout: String::new(), stderr: format!("error: {message}\n") });
    assert!(!folders.home().join("sessions").exists(), "a session was begun");
}

#[test]
fn no_model() {
    let message =
        "no model is chosen; name one with --model provider/model, or as \"model\" in settings.json";
    fails_to_start(&Start::new(), &[], message);
}

#[test]
fn a_model_name_without_provider() {
    let message = "a model is named provider/model, with one of the providers anthropic, openai, openai-responses, scripted, got: gpt-x";
    fails_to_start(&Start::new(), &["--model", "gpt-x"], message);
}

#[test]
fn a_model_of_a_provider_that_is_not_there() {
    let message = "there is no such model provider, only anthropic, openai, openai-responses, scripted (did you mean openai/gpt-x?), got: opnai/gpt-x";
    fails_behind_the_mods(&Start::new(), &["--model", "opnai/gpt-x"], message);
}

#[test]
fn no_key() {
    let message = "no key for the model provider openai: set OPENAI_API_KEY (with OPENAI_BASE_URL at a server on this \
                   machine, any value will do)";
    fails_to_start(&Start::new(), &["--model", "openai/gpt-x"], message);
}

#[test]
fn a_scenario_that_is_not_there() {
    let message = "cannot read the scenario DIR/work/none.json: No such file or directory (os error 2)";
    fails_to_start(&Start::new(), &["--model", "scripted/none.json"], message);
}

#[test]
fn a_scenario_with_a_mistake() {
    let start = Start::new();
    fs::write(start.folders.work().join("s.json"), "{\"turns\": [\n  {\"tex\": \"hello\"}\n]}").unwrap();
    let message = "the scenario DIR/work/s.json is wrong at line 2, column 8: unknown field `tex`, expected one of \
                   `description`, `expect`, `delay_ms`, `thinking`, `text`, `tool_calls`, `chunks`, `usage`, \
                   `stop_reason`, `error` (did you mean `text`?)";
    fails_to_start(&start, &["--model", "scripted/s.json"], message);
}

/// Makes a pipe that nobody writes to: to open it would be to wait for ever.
fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_scenario_that_is_no_file() {
    let start = Start::new();
    pipe(&start.folders.work().join("pipe"));
    let message =
        |name: &str, got: &str| format!("cannot read the scenario {name}: expected a file, got {got}");
    fails_to_start(&start, &["--model", "scripted/pipe"], &message("DIR/work/pipe", "a named pipe"));
    fails_to_start(&start, &["--model", "scripted//dev/zero"], &message("/dev/zero", "a device"));
    fails_to_start(&start, &["--model", "scripted/."], &message("DIR/work/.", "a folder"));
}

#[test]
fn settings_or_a_trust_store_that_are_no_files() {
    for name in ["home/settings.json", "work/.commandcode/settings.json", "home/trust.json"] {
        let start = Start::new();
        let path = start.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        pipe(&path);
        let message = format!("cannot read DIR/{name}: expected a file, got a named pipe");
        fails_to_start(&start, &["--model", "scripted/s.json"], &message);
    }
}

#[test]
fn settings_with_a_mistake() {
    let start = Start::new();
    fs::write(start.folders.home().join("settings.json"), "{\"mods\": {\"loadTimeoutMs\": 0}}").unwrap();
    let message =
        "DIR/home/settings.json: `mods.loadTimeoutMs` must be a whole number, 1 or more, got: integer `0`";
    fails_to_start(&start, &["--model", "scripted/s.json"], message);
}

/// Such a constructor holds a lock of the system's loader: no other library can be loaded after it, no new
/// thread gets to run, and code of the other mods may wait for ever, that of one with threads of its own
/// first of all.
#[test]
fn a_constructor_that_never_returns() {
    let start = Start::new();
    start.settings(&json!({ "mods": { "loadTimeoutMs": 200 } }));
    let bad = Library::built("misbehaving").write(&start.path("bad.so"));
    let start = start.with_mod(&library("with-runtime")).with_mod(&bad);
    let ran = finish(&start.folders, start.command().env("MISBEHAVING_CONSTRUCTOR", "hang").spawn().unwrap());
    let message = "did not load within 200ms, stuck in its constructor; start without it: take it out of `--mod`, or put \
                   its name into `mods.disabled`: misbehaving [E_STUCK]";
    let expected = format!("error: {message}\n");
    assert_eq!(ran, Ran { code: Some(1), stdout: String::new(), stderr: expected });

    // Which mod it was is also told at the next start, once.
    let told = "warning: an earlier run ended inside mod:misbehaving, in its constructor; `--no-mods` starts without mods\n";
    let next = start.misbehaves();
    assert!(next.run().stderr.starts_with(told));
    assert!(!next.run().stderr.contains("an earlier run"));
}

#[test]
fn a_constructor_that_never_returns_is_found_when_its_package_is_added() {
    let start = Start::new();
    start.settings(&json!({ "mods": { "loadTimeoutMs": 500 } }));
    let settings = fs::read_to_string(start.folders.home().join("settings.json")).unwrap();
    let package = archive("misbehaving", start.folders.dir());
    let mut command = program(&start.folders);
    command.args(["mods", "add", "-g"]).arg(package).env("MISBEHAVING_CONSTRUCTOR", "hang");
    let ran = finish(&start.folders, command.spawn().unwrap());
    let message = "the package was not installed, and nothing was changed: the mod misbehaving did not load within 500ms: \
                   its constructor or its factory never returns [E_DECLINED]";
    let expected = format!("error: {message}\n");
    assert_eq!(ran, Ran { code: Some(1), stdout: String::new(), stderr: expected });
    let home = start.folders.home();
    let trees = fs::read_dir(home.join("mods/.registry/store")).into_iter().flatten().count();
    assert_eq!((home.join("mods.lock").exists(), trees), (false, 0), "nothing was installed");
    assert_eq!(fs::read_to_string(start.folders.home().join("settings.json")).unwrap(), settings);
}
