//! `set_active_tools`: one allow-set per mod, and what every set allows is in force.

use serde_json::{Value, json};

use crate::support::behaving::{both, echoes, only};

/// A turn that calls `tool`, when the request offers and does not offer these.
fn calls(tool: &str, include: &[&str], exclude: &[&str]) -> Value {
    json!({
        "tool_calls": [{ "id": "c9", "name": tool, "input": { "text": "x", "path": ".", "pattern": "*" } }],
        "expect": { "tools_include": include, "tools_exclude": exclude },
    })
}

fn says(include: &[&str], exclude: &[&str]) -> Value {
    json!({ "text": "done", "expect": { "tools_include": include, "tools_exclude": exclude } })
}

/// What is told of tools, mods and the end.
async fn told(turns: Value, does: &[(&'static str, &str)]) -> Vec<String> {
    let told = both(turns, does).await;
    let kinds =
        ["notice", "mod_error", "tool_denied", "tool_running", "tool_completed", "tool_errored", "run_e"];
    only(&told, &kinds).into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn decision_38_a_tool_that_a_mod_does_not_allow_is_not_offered_and_a_call_of_it_fails_unasked() {
    let turns =
        json!([calls("shell_command", &["echo", "glob"], &["shell_command"]), says(&["echo"], &["grep"])]);
    assert_eq!(
        told(turns, &[("a", "only-echo")]).await,
        [
            "notice a: [\"glob\", \"echo\"], all: true",
            "tool_errored c9: this tool is switched off, only glob, echo, got: shell_command",
            "run_end end_turn 2",
        ]
    );
}

#[tokio::test]
async fn decision_38_the_tools_in_force_are_those_that_every_mod_allows() {
    let turns = json!([says(&["glob"], &["echo", "read_file"])]);
    assert_eq!(
        told(turns, &[("a", "only-echo"), ("b", "only-glob")]).await,
        ["notice a: [\"glob\", \"echo\"], all: true", "run_end end_turn 1"]
    );
}

#[tokio::test]
async fn decision_38_a_set_holds_from_the_next_model_call_on_and_is_lifted_by_its_disposal() {
    let mut first = echoes(&["x"]);
    first["expect"] = json!({ "tools_include": ["echo", "grep"] });
    let glob = json!({ "id": "c2", "name": "glob", "input": { "pattern": "*.none" } });
    first["tool_calls"].as_array_mut().unwrap().push(glob);
    let told_of = told(json!([first, says(&["echo"], &["grep"])]), &[("a", "only-echo-at-call")]).await;
    assert_eq!(
        told_of,
        [
            "tool_running c1",
            "tool_completed c1: x",
            "tool_running c2",
            "tool_completed c2: no file matches *.none; * stays within a folder, ** does not",
            "run_end end_turn 2",
        ]
    );
    let mut first = echoes(&["x"]);
    first["expect"] = json!({ "tools_exclude": ["grep"] });
    let told_of =
        told(json!([first, says(&["echo", "grep"], &[])]), &[("a", "only-echo-until-called")]).await;
    assert_eq!(told_of, ["tool_running c1", "tool_completed c1: x", "run_end end_turn 2"]);
}

#[tokio::test]
async fn a_mod_that_did_not_load_restricts_nothing() {
    let folders = crate::support::session::Folders::new();
    let scenario = json!({ "turns": [says(&["grep", "shell_command"], &[])] });
    let record = crate::support::session::play(&folders, &scenario, |builder| {
        let does = ("does".to_owned(), "only-echo,nonsense".to_owned());
        crate::support::behaving::compiled_in(builder, "a").mod_options([does])
    })
    .await;
    assert_eq!((record.warnings.len(), record.result.unwrap().turn_count), (1, 1));
}
