use std::path::PathBuf;

use mod_interface::types::PermissionMode;

use super::*;
use crate::{harness::Recording, settings::Loaded};

fn process(cwd: &std::path::Path) -> Process {
    Process {
        args: Vec::new(),
        cwd: cwd.to_owned(),
        exe: PathBuf::new(),
        home_override: Some(cwd.join("home")),
        user_home: None,
        cargo: PathBuf::new(),
        terminal: false,
        offline: false,
        git_protocols: None,
        sign_password: None,
        cargo_target: None,
        loader_variables: Vec::new(),
        model_access: Default::default(),
    }
}

fn args(line: &str) -> RunArgs {
    Cli::try_parse_from(line.split(' ')).unwrap().run
}

#[test]
fn a_request_holds_what_was_typed_with_paths_seen_from_where_it_was_typed() {
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().canonicalize().unwrap();
    std::fs::create_dir(cwd.join("work")).unwrap();
    let args = args(
        "cmd -p x --cwd work --mod a.so --mod /b --mod-option c=d --max-turns 3 --permission-mode plan --allow e --deny f --no-session --mod-timing --model g/h",
    );
    assert_eq!(
        request(&process(&cwd), &args, "hi".into()).unwrap(),
        RunRequest {
            places: Places::new(cwd.join("work"), Some(cwd.join("home")), None).unwrap(),
            settings: Loaded::default(),
            prompt: "hi".into(),
            model: Some("g/h".into()),
            mods: vec![cwd.join("a.so"), "/b".into()],
            mod_options: vec![("c".into(), "d".into())],
            no_mods: false,
            max_turns: std::num::NonZeroU32::new(3),
            permission_mode: Some(PermissionMode::Plan),
            skip_permissions: false,
            allow: vec!["e".into()],
            deny: vec!["f".into()],
            record: Recording::InMemory,
            mod_timing: true,
        }
    );
}

#[test]
fn a_workspace_that_is_not_there_is_a_mistake_in_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    for (cwd, why) in [("nowhere", "No such file or directory (os error 2)"), ("file", "not a directory")] {
        let args = args(&format!("cmd -p x --cwd {cwd}"));
        let error = request(&process(folder.path()), &args, "hi".into()).unwrap_err();
        assert_eq!(error.to_string(), format!("the folder to work in cannot be used: {cwd}: {why}"));
        assert!(error.is::<Usage>());
    }
}

#[test]
fn without_a_prompt_it_says_what_there_is_so_far() {
    let folder = tempfile::tempdir().unwrap();
    let error = print(&process(folder.path()), &args("cmd --verbose")).unwrap_err();
    assert_eq!(
        error.downcast::<Usage>().unwrap().to_string(),
        "the interactive interface is not built yet; run one prompt with: cmd -p \"PROMPT\""
    );
}
