use std::{collections::BTreeMap, fs, num::NonZeroU32};

use mod_interface::types::PermissionMode;

use super::*;
use crate::settings::{Api, Compaction, ModLayer, Permissions, Signing, SigningMode, Source, ToolExecution};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("settings.json"), text).unwrap();
        Self(folder)
    }

    fn read(&self) -> Result<(Layer, Vec<String>)> {
        read(&self.0.path().join("settings.json"))
    }

    fn bare(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.0.path().display()), "")
    }
}

fn error(text: &str) -> String {
    let folder = Folder::new(text);
    folder.bare(&folder.read().unwrap_err().to_string())
}

fn warnings(text: &str) -> Vec<String> {
    let folder = Folder::new(text);
    folder.read().unwrap().1.iter().map(|warning| folder.bare(warning)).collect()
}

#[test]
fn every_key_is_read() {
    let folder = Folder::new(
        r#"{
            "$schema": "x",
            // comments are welcome
            "model": "openai/gpt",
            "permissions": {"mode": "accept-edits", "allow": ["shell_command(git *)"], "deny": ["write_file"]},
            "mods": {
                "disabled": ["a"],
                "paths": ["./b"],
                "sources": ["npm:c", {"source": "o/r", "mods": ["!x"]}, {"source": "d"},],
                "hookTimeoutMs": 5,
                "toolTimeoutMs": 8,
                "loadTimeoutMs": 6,
                "signing": {"mode": "require", "keys": {"npm:@t/*": ["RW"]}}
            },
            "api": {"maxAttempts": 3, "baseDelayMs": 7},
            "maxTurns": 9,
            "compaction": {"thresholdTokens": 4},
            "toolExecution": "parallel" /* and this */
        }"#,
    );
    let source = |source: &str, mods: &[&str]| Source {
        source: source.into(),
        mods: mods.iter().map(ToString::to_string).collect(),
    };
    let expected = Layer {
        model: Some("openai/gpt".into()),
        permissions: Permissions {
            mode: Some(PermissionMode::AcceptEdits),
            allow: vec!["shell_command(git *)".into()],
            deny: vec!["write_file".into()],
        },
        mods: ModLayer {
            disabled: vec!["a".into()],
            paths: vec!["./b".into()],
            sources: vec![source("npm:c", &[]), source("o/r", &["!x"]), source("d", &[])],
            hook_timeout_ms: Some(5),
            tool_timeout_ms: Some(8),
            load_timeout_ms: NonZeroU32::new(6),
            signing: Signing {
                mode: Some(SigningMode::Require),
                keys: BTreeMap::from([("npm:@t/*".into(), vec!["RW".into()])]),
            },
        },
        api: Api { max_attempts: NonZeroU32::new(3), base_delay_ms: Some(7) },
        max_turns: NonZeroU32::new(9),
        tool_execution: Some(ToolExecution::Parallel),
        compaction: Compaction { threshold_tokens: Some(4) },
    };
    assert_eq!(folder.read().unwrap(), (expected, Vec::new()));
}

#[test]
fn a_file_that_is_missing_empty_or_only_comments_says_nothing() {
    let missing = tempfile::tempdir().unwrap();
    assert_eq!(read(&missing.path().join("settings.json")).unwrap(), Default::default());
    for text in ["", " \n", "// nothing yet\n", "{}", "\u{feff}{}"] {
        assert_eq!(Folder::new(text).read().unwrap(), Default::default(), "{text:?}");
    }
}

#[test]
fn a_value_of_the_wrong_kind_is_named_with_file_key_got_and_expected() {
    let cases = [
        ("[]", "settings.json: `.` must be an object, got: []"),
        (r#"{"model": 5}"#, "settings.json: `model` must be a string, got: integer `5`"),
        (r#"{"mods": []}"#, "settings.json: `mods` must be an object, got: []"),
        (r#"{"mods": {"paths": "x"}}"#, "settings.json: `mods.paths` must be an array, got: string \"x\""),
        (r#"{"mods": {"disabled": [{}]}}"#, "settings.json: `mods.disabled[0]` must be a string, got: map"),
        (
            r#"{"mods": {"sources": [5]}}"#,
            "settings.json: `mods.sources[0]` must be a package source, or an object with `source` and `mods`, got: integer `5`",
        ),
        (r#"{"mods": {"sources": ["a", {}]}}"#, "settings.json: `mods.sources[1]`: missing field `source`"),
        (
            r#"{"mods": {"sources": [{"source": "a", "mods": "b"}]}}"#,
            "settings.json: `mods.sources[0].mods` must be an array, got: string \"b\"",
        ),
        (
            r#"{"mods": {"hookTimeoutMs": -1}}"#,
            "settings.json: `mods.hookTimeoutMs` must be a whole number, 0 or more, got: integer `-1`",
        ),
        (
            r#"{"maxTurns": 0}"#,
            "settings.json: `maxTurns` must be a whole number, 1 or more, got: integer `0`",
        ),
        (
            r#"{"permissions": {"mode": "yolo"}}"#,
            "settings.json: `permissions.mode` must be one of `default`, `plan`, `accept-edits`, `bypass`, got: `yolo`",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(error(text), expected);
    }
}

#[test]
fn a_file_that_is_no_json_is_named_with_the_place() {
    assert_eq!(
        error("{\n  \"model\": ,\n}"),
        "settings.json is not valid JSON: unexpected comma on line 2 column 12"
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    fs::create_dir(&path).unwrap();
    assert_eq!(
        read(&path).unwrap_err().to_string(),
        format!("cannot read {}: expected a file, got a folder", path.display())
    );
}

#[test]
fn a_key_that_is_there_twice_is_refused_with_its_line() {
    let cases = [
        (
            "{\n  \"permissions\": {\"deny\": [\"a\"]},\n  \"permissions\": {}\n}",
            "settings.json: `permissions` is there twice, the second time on line 3; make one of both",
        ),
        (
            r#"{"permissions": {"deny": ["a"], "allow": [], "deny": []}}"#,
            "settings.json: `permissions.deny` is there twice, the second time on line 1; make one of both",
        ),
        (
            "{\"mods\": {\"sources\": [\"x\", {\"source\": \"a\",\r\n\"\\u0073ource\": \"b\"}]}}",
            "settings.json: `mods.sources[1].source` is there twice, the second time on line 2; make one of both",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(error(text), expected);
        let folder = Folder::new(text);
        let edited = crate::settings::edit(&folder.0.path().join("settings.json"), |document| {
            document.set(&["model"], &serde_json::json!("a/b"))
        });
        assert_eq!(folder.bare(&edited.unwrap_err().to_string()), expected);
    }
    assert_eq!(
        warnings(r#"{"permissions": {"deny": []}, "mods": {"sources": [{"source": "a"}, {"source": "b"}]}}"#),
        [""; 0]
    );
}

#[test]
fn an_unknown_key_is_a_warning_with_the_key_that_was_probably_meant() {
    assert_eq!(
        warnings(r#"{"modle": "x", "mods": {"disable": [], "hook_timeout_ms": 3}, "theme": {"dark": true}}"#),
        [
            "settings.json: unknown setting `modle`; did you mean `model`?",
            "settings.json: unknown setting `mods.disable`; did you mean `mods.disabled`?",
            "settings.json: unknown setting `mods.hook_timeout_ms`; did you mean `mods.hookTimeoutMs`?",
            "settings.json: unknown setting `theme`",
        ]
    );
}

#[test]
fn both_scopes_are_read_and_a_session_at_home_reads_its_file_once() {
    let folder = tempfile::tempdir().unwrap();
    let (home, work) = (folder.path().join("home"), folder.path().join("work"));
    for (folder, model) in [(&home, "user"), (&work.join(".commandcode"), "project")] {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("settings.json"), format!(r#"{{"model": "{model}", "x": 1}}"#)).unwrap();
    }
    let models = |cwd: &Path, home: &Path| {
        let loaded = load(&Places::new(cwd.into(), Some(home.into()), None).unwrap()).unwrap();
        (loaded.user.model, loaded.project.model, loaded.warnings.len())
    };
    assert_eq!(models(&work, &home), (Some("user".into()), Some("project".into()), 2));
    assert_eq!(models(&work, &work.join(".commandcode")), (Some("project".into()), None, 1));
}
