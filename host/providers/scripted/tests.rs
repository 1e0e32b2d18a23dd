use std::fs;

use futures::TryStreamExt;
use mod_interface::types::{ContentBlock, Effort, Message, MessageSource, Role, ToolSpec, Usage};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::providers::fixture::request;

/// A directory with a scenario in it.
struct Stage {
    dir: TempDir,
    provider: Scripted,
}

impl Stage {
    fn with(scenario: &str) -> Self {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("s.json"), scenario).unwrap();
        let provider = Scripted::new(dir.path());
        Self { dir, provider }
    }

    fn turns(turns: Value) -> Self {
        Self::with(&json!({ "turns": turns }).to_string())
    }

    /// An error's text, the directory's name taken out.
    fn shown(&self, error: &ProviderError) -> String {
        assert!(matches!(error, ProviderError::Fatal(_)), "{error:?}");
        error.to_string().replace(&format!("{}/", self.dir.path().display()), "")
    }

    fn refusal(&self) -> String {
        self.shown(&self.provider.prepare("s.json").unwrap_err())
    }

    async fn play(&self, request: ModelRequest) -> Result<Vec<ModelEvent>, ProviderError> {
        self.provider.stream(request).try_collect().await
    }
}

fn done(stop_reason: &str) -> ModelEvent {
    ModelEvent::Done { stop_reason: stop_reason.to_owned(), usage: Usage::default() }
}

fn text(text: &str) -> ModelEvent {
    ModelEvent::Text(text.to_owned())
}

#[tokio::test]
async fn turns_are_played_in_order_split_as_told_until_there_are_none_left() {
    let stage = Stage::turns(json!([
        {"text": "Größe", "chunks": 3, "tool_calls": [{"name": "ls", "input": {"a": "b"}}]},
        {"text": "ab", "chunks": 9, "stop_reason": "length"},
        {},
    ]));
    let hello = || request("s.json", "hello");
    // Looking at the file plays nothing.
    assert_eq!(stage.provider.prepare("s.json"), Ok(()));
    assert_eq!(
        stage.play(hello()).await.unwrap(),
        [
            text("Gr"),
            text("öß"),
            text("e"),
            ModelEvent::ToolUse { id: "call_1_1".to_owned(), name: "ls".to_owned() },
            ModelEvent::ToolInput("{\"a".to_owned()),
            ModelEvent::ToolInput("\":\"".to_owned()),
            ModelEvent::ToolInput("b\"}".to_owned()),
            done("tool_use"),
        ]
    );
    assert_eq!(stage.play(hello()).await.unwrap(), [text("a"), text("b"), done("length")]);
    assert_eq!(stage.play(hello()).await.unwrap(), [done("end_turn")]);
    assert_eq!(
        stage.shown(&stage.play(hello()).await.unwrap_err()),
        "scenario s.json, turn 4: there is no such turn, expected at most 3 requests"
    );
}

#[tokio::test]
async fn an_error_comes_after_the_pieces_of_its_turn() {
    let stage = Stage::turns(json!([
        {"text": "ab", "error": {"kind": "retryable", "message": "busy", "retry_after_ms": 7}},
        {"error": {"kind": "fatal", "message": "no"}},
    ]));
    let mut events = stage.provider.stream(request("s.json", "hello"));
    assert_eq!(events.next().await, Some(Ok(text("ab"))));
    let busy =
        ProviderError::Retryable { message: "busy".to_owned(), retry_after: Some(Duration::from_millis(7)) };
    assert_eq!(events.next().await, Some(Err(busy)));
    assert_eq!(events.next().await, None);
    assert_eq!(stage.play(request("s.json", "hello")).await, Err(ProviderError::fatal("no")));
}

#[tokio::test(start_paused = true)]
async fn a_delay_passes_before_the_first_piece() {
    let stage = Stage::turns(json!([{"text": "ab", "delay_ms": 1500}]));
    let start = tokio::time::Instant::now();
    let mut events = stage.provider.stream(request("s.json", "hello"));
    assert_eq!(events.next().await, Some(Ok(text("ab"))));
    assert_eq!(start.elapsed(), Duration::from_millis(1500));
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        input_schema: json!({"type": "object"}),
        read_only: false,
    }
}

fn result(id: &str, text: &str) -> ContentBlock {
    ContentBlock::ToolResult {
        tool_use_id: id.to_owned(),
        content: vec![ContentBlock::text(text)],
        is_error: false,
    }
}

fn results(content: Vec<ContentBlock>) -> Arc<Message> {
    Arc::new(Message { role: Role::User, content, source: MessageSource::ToolResults })
}

/// A request of five messages: two batches of tool results follow the prompt.
fn rich_request() -> ModelRequest {
    let mut request = request("s.json", "count the files");
    let call = Arc::new(Message::assistant(vec![ContentBlock::text("calling")]));
    request.messages.extend([
        call.clone(),
        results(vec![result("1", "one"), result("2", "two")]),
        call,
        results(vec![result("3", "three")]),
    ]);
    request.tools = [tool("ls"), tool("cat")].into();
    request.effort = Some(Effort::Low);
    request
}

#[tokio::test]
async fn a_request_that_is_as_expected_is_answered() {
    let stage = Stage::turns(json!([{"text": "ok", "expect": {
        "model": "s.json", "effort": "low", "messages_count": 5, "system_contains": "help",
        "last_user_contains": "files", "tools_include": ["cat", "ls"], "tools_exclude": ["rm"],
        "tool_result_contains": {"text": "thr"},
    }}, {"expect": {"effort": null, "tool_result_contains": {"id": "2", "text": "two"}}}]));
    assert_eq!(stage.play(rich_request()).await.unwrap(), [text("ok"), done("end_turn")]);
    let without_effort = ModelRequest { effort: None, ..rich_request() };
    assert_eq!(stage.play(without_effort).await.unwrap(), [done("end_turn")]);
}

#[tokio::test]
async fn a_request_that_is_not_as_expected_fails_naming_what_was_expected_and_what_came() {
    let cases = [
        (json!({"model": "b.json"}), r#"model: expected one that ends with "b.json", got: s.json"#),
        (json!({"effort": "max"}), "effort: expected max, got: low"),
        (json!({"effort": null}), "effort: expected none, got: low"),
        (json!({"messages_count": 4}), "messages_count: expected 4, got: 5"),
        (json!({"system_contains": "hurt"}), r#"system_contains: expected "hurt", got: You help."#),
        (json!({"last_user_contains": "x"}), r#"last_user_contains: expected "x", got: count the files"#),
        (json!({"tools_include": ["ls", "rm"]}), r#"tools_include: expected "rm", got: ls, cat"#),
        (json!({"tools_exclude": ["rm", "ls"]}), r#"tools_exclude: expected no "ls", got: ls, cat"#),
        (
            json!({"tool_result_contains": {"text": "two"}}),
            r#"tool_result_contains: expected "two", got: three"#,
        ),
        (
            json!({"tool_result_contains": {"id": "1", "text": "two"}}),
            r#"tool_result_contains: expected "two" in the result of 1, got: one"#,
        ),
        (
            json!({"tool_result_contains": {"id": "9", "text": "two"}}),
            r#"tool_result_contains: expected "two" in the result of 9, got: no result"#,
        ),
    ];
    for (expect, message) in cases {
        let stage = Stage::turns(json!([{}, {"description": "the end", "expect": expect}]));
        stage.play(rich_request()).await.unwrap();
        let error = stage.play(rich_request()).await.unwrap_err();
        assert_eq!(stage.shown(&error), format!("scenario s.json, turn 2 (the end): {message}"));
    }
}

#[tokio::test]
async fn no_more_of_what_came_is_shown_than_helps() {
    let stage = Stage::turns(json!([{"expect": {"last_user_contains": "x"}}]));
    let error = stage.play(request("s.json", &"é".repeat(400))).await.unwrap_err();
    let shown = format!("{}…", "é".repeat(300));
    assert_eq!(
        stage.shown(&error),
        format!(r#"scenario s.json, turn 1: last_user_contains: expected "x", got: {shown}"#)
    );
}

#[test]
fn a_mistake_in_the_file_is_refused_before_the_run_with_its_place_and_what_was_meant() {
    let at = |line: u32, column: u32, what: &str| {
        format!("the scenario s.json is wrong at line {line}, column {column}: {what}")
    };
    let cases = [
        ("{\n  \"turns\": [}", at(2, 13, "expected value")),
        ("", at(1, 0, "EOF while parsing a value")),
        ("{}", at(1, 2, "missing field `turns`")),
        (r#"{"turn": []}"#, at(1, 7, "unknown field `turn`, expected `turns` (did you mean `turns`?)")),
        (
            r#"{"turns": [{"expect": {"last_user_contain": ""}}]}"#,
            at(
                1,
                42,
                "unknown field `last_user_contain`, expected one of `model`, `effort`, `messages_count`, \
                 `system_contains`, `last_user_contains`, `tools_include`, `tools_exclude`, \
                 `tool_result_contains` (did you mean `last_user_contains`?)",
            ),
        ),
        (
            r#"{"turns": [{"error": {"kind": "retriable"}}]}"#,
            at(
                1,
                41,
                "unknown variant `retriable`, expected `retryable` or `fatal` (did you mean `retryable`?)",
            ),
        ),
        (
            r#"{"turns": [{"usage": {"zebra": 1}}]}"#,
            at(
                1,
                29,
                "unknown field `zebra`, expected one of `input_tokens`, `output_tokens`, `cache_read_tokens`, \
                 `cache_write_tokens`",
            ),
        ),
        (r#"{"turns": [{"text": 1}]}"#, at(1, 21, "invalid type: integer `1`, expected a string")),
        (r#"{"turns": [{"chunks": 0}]}"#, at(1, 23, "invalid value: integer `0`, expected a nonzero usize")),
    ];
    for (scenario, message) in cases {
        assert_eq!(Stage::with(scenario).refusal(), message);
    }
}

#[test]
fn a_turn_that_contradicts_itself_is_refused() {
    let in_turn_2 = |what: &str| format!("the scenario s.json is wrong in turn 2: {what}");
    let cases = [
        (json!({"tool_calls": [{"name": ""}]}), "the name and the id of a tool call must not be empty"),
        (
            json!({"tool_calls": [{"name": "a", "id": ""}]}),
            "the name and the id of a tool call must not be empty",
        ),
        (
            json!({"tool_calls": [{"name": "a", "input": 1, "input_text": "1"}]}),
            "a tool call has an input or an input_text, got both",
        ),
        (
            json!({"error": {"kind": "fatal", "message": "no", "retry_after_ms": 1}}),
            "retry_after_ms is for errors of the kind retryable, got it with fatal",
        ),
        (
            json!({"error": {"kind": "fatal", "message": "no"}, "stop_reason": "end_turn"}),
            "a turn that fails has no stop_reason",
        ),
    ];
    for (turn, message) in cases {
        assert_eq!(Stage::turns(json!([{}, turn])).refusal(), in_turn_2(message));
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let stage = Stage::with("{}");
    let error = stage.provider.prepare("other.json").unwrap_err();
    assert_eq!(
        stage.shown(&error),
        "cannot read the scenario other.json: No such file or directory (os error 2)"
    );
}

#[test]
fn the_scenario_of_the_documentation_can_be_played() {
    let lines = include_str!("mod.rs").lines().filter_map(|line| line.strip_prefix("//!"));
    let scenario: Vec<_> =
        lines.skip_while(|line| *line != " ```json").skip(1).take_while(|line| *line != " ```").collect();
    assert_eq!(Stage::with(&scenario.join("\n")).provider.prepare("s.json"), Ok(()));
}
