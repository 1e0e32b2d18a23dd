//! Answers that no SDK lets a mod give: each is told with mod and hook, and leaves a session as it would have been
//! without it.

use std::path::{Path, PathBuf};

use mod_interface::types::Hook;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{
    asked::with_fault,
    behaving::{echoes, only, session},
    fixtures::Library,
};

/// The garbage mod, small enough to be loaded often.
fn garbage(dir: &TempDir) -> PathBuf {
    Library::stripped("garbage").write(&dir.path().join("lib.so"))
}

/// The events of a session with the garbage mod.
async fn with_garbage(library: &Path, turns: &Value, at: &str, how: &str) -> Vec<String> {
    let options =
        [("at", at), ("how", how)].map(|(name, value)| (format!("garbage.{name}"), value.to_owned()));
    session(turns, |builder, _| builder.mods([library.to_owned()]).mod_options(options)).await
}

/// The hooks whose answer is that field.
mod hooks {
    use mod_interface::types::Hook::{self, *};

    pub(super) const EDITS: &[Hook] = &[TransformContext, OnTurnStart, OnTurnEnd];
    pub(super) const LISTS: &[Hook] = &[TransformContext, OnTurnStart, OnTurnEnd, AfterToolCall];
    pub(super) const JSON: &[Hook] =
        &[TransformContext, OnTurnStart, OnTurnEnd, AfterToolCall, BeforeToolCall, PrepareNextTurn];
    pub(super) const TEXT: &[Hook] = &[AppendSystemPrompt, BeforeToolCall, OnStop, TransformInput];
    pub(super) const STATE: &[Hook] = &[AfterToolCall, OnTurnStart, OnTurnEnd];
}

const INVALID: &str = "answered something invalid: ";

/// What is answered, at which hooks, and what is told of it.
type Case = (&'static str, Vec<Hook>, String);

fn invalid(how: &'static str, hooks: &[Hook], text: &str) -> Case {
    (how, hooks.to_vec(), format!("{INVALID}{text}"))
}

fn json_of(how: &'static str, hooks: &[Hook], column: u32, text: &str) -> Case {
    invalid(how, hooks, &format!("{text} at line 1 column {column}"))
}

/// What is no answer, is too much of one, or is not its JSON.
fn of_form() -> Vec<Case> {
    let large = "at most 16777216 bytes, got 104857600";
    let nested = "invalid type: sequence, expected variant identifier";
    vec![
        invalid("no-such-status", &Hook::ALL, "an answer with a status that is none"),
        invalid("pending-without-a-future", &Hook::ALL, "a pending answer without a future"),
        ("large-fault", Hook::ALL.to_vec(), format!("{}…", "x".repeat(2048))),
        invalid("large-text", hooks::TEXT, large),
        invalid("large", hooks::JSON, large),
        json_of("deep", &[Hook::BeforeToolCall], 128, "recursion limit exceeded"),
        json_of("deep", hooks::LISTS, 2, nested),
        invalid("too-deep", &[Hook::BeforeToolCall], "JSON nested deeper than: 64"),
        invalid("too-deep-state", hooks::STATE, "JSON nested deeper than: 64"),
        json_of("no-json", hooks::JSON, 1, "expected value"),
        json_of("empty", hooks::JSON, 0, "EOF while parsing a value"),
        json_of("another-type", hooks::LISTS, 0, "invalid type: map, expected a sequence"),
    ]
}

/// What is an answer, and says what it may not.
fn of_content() -> Vec<Case> {
    let role = "unknown variant `system`, expected `user` or `assistant`";
    let kinds =
        "unknown variant `hologram`, expected one of `text`, `thinking`, `tool_use`, `tool_result`, `image`";
    let block = "a block that may not stand in a message of role user: tool_use";
    let result = "a tool result holds text and image blocks, got: tool_use";
    let model = "there is no such model provider, only anthropic, openai, openai-responses, scripted, got: nobody/knows";
    vec![
        json_of("bad-role", hooks::EDITS, 84, role),
        json_of("unknown-block", hooks::EDITS, 75, kinds),
        json_of("unknown-result", &[Hook::AfterToolCall], 19, kinds),
        invalid("misplaced-block", hooks::EDITS, block),
        invalid("misplaced-result", &[Hook::AfterToolCall], result),
        invalid("no-such-model", &[Hook::PrepareNextTurn], model),
    ]
}

#[tokio::test]
async fn garbage_at_any_hook_is_told_with_mod_and_hook_and_the_run_goes_on_as_without_it() {
    let (dir, turns) = (TempDir::new().unwrap(), json!([echoes(&["x"]), { "text": "done" }]));
    let library = garbage(&dir);
    let without = session(&turns, |builder, _| builder).await;
    for (how, hooks, error) in of_form().into_iter().chain(of_content()) {
        for hook in hooks {
            let told = with_garbage(&library, &turns, hook.wire_name(), how).await;
            assert_eq!(told, with_fault(&without, "mod:garbage", hook, &error), "{how} {hook}");
        }
    }
}

#[tokio::test]
async fn an_edit_of_messages_that_are_not_there_is_told_each_time_that_it_is_another() {
    let (dir, turns) = (TempDir::new().unwrap(), json!([echoes(&["x"]), { "text": "done" }]));
    let library = garbage(&dir);
    for (hook, counts) in
        [(Hook::TransformContext, [1, 3]), (Hook::OnTurnStart, [1, 3]), (Hook::OnTurnEnd, [3, 4])]
    {
        let told = with_garbage(&library, &turns, hook.wire_name(), "out-of-range").await;
        let errors = counts.map(|count| {
            format!(
                "mod_error mod:garbage {hook}: {INVALID}an edit of messages 0..99, where there are: {count}"
            )
        });
        assert_eq!(
            only(&told, &["mod_error", "notice", "run_end"])[..3],
            [&errors[0], &errors[1], "run_end end_turn 2"]
        );
    }
}

#[tokio::test]
async fn a_tool_that_answers_garbage_fails_for_the_model_and_is_told() {
    let dir = TempDir::new().unwrap();
    let library = garbage(&dir);
    let calls = json!({ "tool_calls": [{ "id": "c1", "name": "garbage", "input": {} }] });
    let long = "x".repeat(2048);
    for (how, error) in [
        ("no-such-status", format!("{INVALID}an answer with a status that is none")),
        ("pending-without-a-future", format!("{INVALID}a pending answer without a future")),
        ("large-fault", format!("{long}…")),
        ("large", format!("{INVALID}at most 16777216 bytes, got 104857600")),
        ("another-type", format!("{INVALID}invalid type: map, expected a sequence at line 1 column 0")),
        ("misplaced-result", format!("{INVALID}a tool result holds text and image blocks, got: tool_use")),
    ] {
        let expect = json!({ "tool_result_contains": { "id": "c1", "text": &error } });
        let turns = json!([&calls, { "text": "done", "expect": expect }]);
        let told = with_garbage(&library, &turns, "tool", how).await;
        let tool = [
            "tool_queued c1 {}".to_owned(),
            "tool_running c1".to_owned(),
            format!("mod_error mod:garbage tool:garbage: {error}"),
            format!("tool_errored c1: The tool failed: {error}"),
            "run_end end_turn 2".to_owned(),
        ];
        assert_eq!(only(&told, &["tool_", "mod_error", "notice", "run_end"]), tool, "{how}");
    }
}

/// Text that happens to look like the state of a session is what a mod keeps in its slot, and nothing else.
#[tokio::test]
async fn a_state_of_another_session_is_a_mods_own_data() {
    let (dir, turns) = (TempDir::new().unwrap(), json!([echoes(&["x"]), { "text": "done" }]));
    let library = garbage(&dir);
    let without = session(&turns, |builder, _| builder).await;
    for hook in hooks::STATE {
        let told = with_garbage(&library, &turns, hook.wire_name(), "other-session").await;
        assert_eq!(told, without, "{hook}");
    }
}
