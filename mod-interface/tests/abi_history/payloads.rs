//! The JSON that crosses the line, both ways: what one side writes, the other reads as what it was.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::assert_unchanged;

/// What a side makes of JSON.
fn through<T: DeserializeOwned + Serialize>(json: &Value) -> String {
    let read = serde_json::from_value::<T>(json.clone());
    read.map_or_else(
        |error| format!("refused: {error}"),
        |read| serde_json::to_value(&read).unwrap().to_string(),
    )
}

/// Asserts that both sides make the same of each of these, and that it is all there.
macro_rules! same {
    ($($name:ident: $examples:expr,)*) => {$(
        let examples: Vec<Value> = $examples;
        let name = |json: &Value| format!("{} {json}", stringify!($name));
        let was: Vec<_> = examples.iter().map(|it| (name(it), through::<v1_0_0::types::$name>(it))).collect();
        let is: Vec<_> = examples.iter().map(|it| (name(it), through::<mod_interface::types::$name>(it))).collect();
        assert_unchanged(&was, &is);
        for (name, was) in was {
            assert!(!was.starts_with("refused"), "a bad example: {name}: {was}");
        }
    )*};
}

fn blocks() -> Value {
    json!([
        { "type": "text", "text": "t" },
        { "type": "thinking", "thinking": "t", "signature": "s" },
        { "type": "thinking", "thinking": "t" },
        { "type": "tool_use", "id": "i", "name": "n", "input": { "a": [1, null] } },
        { "type": "tool_result", "tool_use_id": "i", "content": [{ "type": "text", "text": "t" }], "is_error": true },
        { "type": "tool_result", "tool_use_id": "i", "content": [] },
        { "type": "image", "source": { "media_type": "image/png", "data": "AA" } },
    ])
}

fn messages() -> Vec<Value> {
    let sources =
        ["user", "steering", "follow_up", "stop_hook", "recovery", "tool_results", "mod", "other", "new"];
    let sent = sources.map(|source| json!({ "role": "user", "content": [], "source": source }));
    sent.into_iter().chain([json!({ "role": "assistant", "content": blocks() })]).collect()
}

fn run_results() -> Vec<Value> {
    let usage = json!({ "inputTokens": 1, "outputTokens": 2, "cacheReadTokens": 3, "cacheWriteTokens": 4, "later": 5 });
    let reasons =
        ["end_turn", "max_turns", "stop_hook", "terminate", "permission_denied", "interrupted", "error"];
    let result = |reason| json!({ "finalText": "t", "stopReason": reason, "turnCount": 2, "usage": usage });
    reasons.into_iter().map(result).collect()
}

#[test]
fn what_is_said_of_messages_tools_and_runs_is_read_as_it_was() {
    let message = &messages()[0];
    let efforts =
        ["minimal", "low", "medium", "high", "max"].map(|effort| json!({ "effort": { "set": effort } }));
    same! {
        Message: messages(),
        MessageEdit: vec![
            json!({ "op": "append", "message": message }),
            json!({ "op": "insert", "index": 1, "message": message }),
            json!({ "op": "replace", "index": 1, "message": message }),
            json!({ "op": "remove", "start": 1, "end": 2 }),
        ],
        NextTurn: [&efforts[..], &[json!({ "model": "a/b", "effort": "reset" }), json!({})]].concat(),
        ToolSpec: vec![
            json!({ "name": "n", "description": "d", "input_schema": { "type": "object" }, "read_only": true }),
            json!({ "name": "n", "description": "d", "input_schema": {} }),
        ],
        ToolOutput: vec![json!({ "content": blocks(), "is_error": true }), json!({ "content": [] })],
        RunResult: run_results(),
        SessionStartSource: vec![json!("startup"), json!("resume")],
        SessionEndReason: vec![json!("shutdown"), json!("replaced")],
        CommandOutcome: vec![json!({ "prompt": "t" }), json!({ "message": "t" }), json!("done")],
    }
}

/// An event of each kind.
fn events() -> Vec<Value> {
    let usage = json!({ "inputTokens": 1 });
    let call = json!({ "toolCallId": "c", "toolName": "n" });
    let sub = json!({ "toolCallId": "c", "subagentType": "general" });
    let with = |base: &Value, more: Value| {
        let mut all = base.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let none = json!({});
    let fields = [
        ("run_start", json!({ "sessionId": "s" })),
        ("run_end", json!({ "result": run_results()[0] })),
        ("turn_start", json!({ "turnNumber": 1 })),
        ("turn_end", json!({ "turnNumber": 1, "hadToolCalls": true, "usage": usage })),
        ("message_start", none.clone()),
        ("text_delta", json!({ "delta": "t" })),
        ("thinking_start", none.clone()),
        ("thinking_delta", json!({ "delta": "t" })),
        ("thinking_end", json!({ "text": "t" })),
        ("message_update", json!({ "message": messages()[9] })),
        ("message_end", json!({ "content": blocks() })),
        ("model_request_start", json!({ "model": "a/b" })),
        ("model_request_end", json!({ "model": "a/b", "usage": usage, "stopReason": "stop" })),
        ("tool_queued", with(&call, json!({ "input": [1] }))),
        ("tool_denied", with(&call, json!({ "reason": "r" }))),
        ("tool_hook_blocked", with(&call, json!({ "hookOutput": "o" }))),
        ("tool_running", with(&call, json!({ "description": "d" }))),
        ("tool_update", with(&call, json!({ "partial": "p" }))),
        ("tool_completed", with(&call, json!({ "result": blocks() }))),
        ("tool_errored", with(&call, json!({ "error": "e" }))),
        ("tool_hooks", json!({ "toolCallId": "c", "phase": "pre", "lines": ["l"], "outcome": "o" })),
        ("subagent_start", sub.clone()),
        ("subagent_progress", with(&sub, json!({ "toolName": "n", "toolInput": {}, "tokensUsed": 1 }))),
        ("subagent_stop", with(&sub, json!({ "tokensUsed": 1 }))),
        ("api_retry", json!({ "attempt": 4, "error": "e", "delayMs": 5 })),
        ("compaction_start", none.clone()),
        ("compaction_done", json!({ "tokensSaved": 5 })),
        ("notice", json!({ "level": "warning", "message": "m" })),
        ("skill_loaded", json!({ "name": "n" })),
        ("session_titled", json!({ "title": "t" })),
        ("permission_mode_changed", json!({ "mode": "accept-edits" })),
        ("config_setting_changed", json!({ "setting": "s", "value": 1, "previousValue": 0 })),
        ("continuation_recovery", json!({ "kind": "length", "attempt": 1, "maxAttempts": 3 })),
        ("tool_input_coerced", json!({ "rawType": "null", "recovered": true })),
        (
            "tool_input_repaired",
            json!({ "rulesFired": ["r"], "hintCount": 1, "receivedKeys": ["k"], "repaired": false }),
        ),
        ("mod_error", json!({ "modId": "mod:m", "hook": "onStop", "error": "e" })),
        ("interrupted", none),
        ("run_error", json!({ "error": "e" })),
        ("session_start", json!({ "source": "startup" })),
        ("session_shutdown", json!({ "reason": "replaced" })),
        ("mod_event", json!({ "modId": "mod:m", "name": "mod:m/k", "data": null })),
    ];
    let event = |(kind, fields): (&str, Value)| with(&fields, json!({ "type": kind, "agentId": "main" }));
    fields.into_iter().map(event).collect()
}

#[test]
fn every_event_of_interface_1_0_0_is_read_as_it_was() {
    let kinds: Vec<_> = v1_0_0::types::EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let examples = events();
    assert_eq!(examples.iter().map(|event| event["type"].as_str().unwrap()).collect::<Vec<_>>(), kinds);
    same! {
        AgentEvent: examples,
        NoticeLevel: vec![json!("info"), json!("warning")],
        RecoveryKind: vec![json!("pause"), json!("empty"), json!("length"), json!("intent")],
        HookPhase: vec![json!("pre"), json!("post")],
        PermissionMode: vec![json!("default"), json!("plan"), json!("accept-edits"), json!("bypass")],
    }
}

/// Makes `answers()` of an interface: what authors may return for each hook, as it crosses, by flags and
/// texts; and `read`, what a host makes of that.
macro_rules! answers_of {
    ($side:ident = $interface:ident) => {
        mod $side {
            use serde_json::json;
            use $interface::{
                abi::{Answer, Encode, Texts, decode_command, decode_lines, decode_outcome, decode_tool},
                types::{
                    AfterToolCall, BeforeToolCall, CommandOutcome, ContentBlock, Hook, Message, NextTurn,
                    MessageEdit, StatePatch, StopDecision, ToolOutput, TransformInput,
                },
            };

            use super::Crossing;

            fn crossing(answer: impl Encode) -> Crossing {
                let Answer { flags, texts } = answer.encode();
                let texts = texts.into_option().map(|texts| (*texts).clone()).unwrap_or_default();
                let Texts { text, json, state, extension } = texts;
                Crossing(flags, [text, json, state, extension].map(|text| text.into_string()))
            }

            pub(super) fn answers() -> Vec<(String, Crossing)> {
                let edit = || vec![MessageEdit::Append { message: Message::user("m") }];
                let before = BeforeToolCall {
                    block: false,
                    additional_context: Some("c".into()),
                    input: Some(json!({ "a": 1 })),
                    terminate: true,
                };
                let after = |is_error| AfterToolCall {
                    content: Some(vec![ContentBlock::text("t")]),
                    is_error,
                    additional_context: Some("c".into()),
                    terminate: true,
                    mod_state: Some(json!([1])),
                };
                let patch = || StatePatch { messages: edit(), mod_state: Some(json!(1)) };
                let next = NextTurn { model: Some("a/b".into()), effort: None };
                let go_on = StopDecision::Continue { reason: Some("r".into()) };
                let transform = TransformInput::Transform { text: "t".into() };
                let handled = TransformInput::Handled { message: Some("m".into()) };
                let of = |hook: Hook, crossing: Crossing| (hook.wire_name().to_owned(), crossing);
                let mut all = vec![
                    of(Hook::TransformContext, crossing(edit())),
                    of(Hook::AppendSystemPrompt, crossing(Some("p".to_owned()))),
                    of(Hook::BeforeToolCall, crossing(Some(before))),
                    of(Hook::BeforeToolCall, crossing(Some(BeforeToolCall::block("b")))),
                    of(Hook::AfterToolCall, crossing(Some(after(Some(true))))),
                    of(Hook::AfterToolCall, crossing(Some(after(Some(false))))),
                    of(Hook::AfterToolCall, crossing(Some(after(None)))),
                    of(Hook::OnTurnStart, crossing(patch())),
                    of(Hook::OnTurnEnd, crossing(patch())),
                    of(Hook::ShouldStopAfterTurn, crossing(true)),
                    of(Hook::PrepareNextTurn, crossing(Some(next))),
                    of(Hook::OnStop, crossing(go_on)),
                    of(Hook::TransformInput, crossing(transform)),
                    of(Hook::TransformInput, crossing(handled)),
                ];
                all.extend(Hook::ALL.map(|hook| of(hook, crossing(()))));
                let outcomes = [CommandOutcome::prompt("p"), CommandOutcome::message("m"), CommandOutcome::Done];
                all.extend(outcomes.map(|outcome| ("command".to_owned(), crossing(outcome))));
                all.extend([
                    ("tool".to_owned(), crossing(ToolOutput::text("t"))),
                    ("tool".to_owned(), crossing(ToolOutput::error("t"))),
                    ("lines".to_owned(), crossing(vec!["l".to_owned()])),
                ]);
                all
            }

            pub(super) fn read(place: &str, crossing: &Crossing) -> String {
                let [text, json, state, extension] = crossing.1.clone().map(Into::into);
                let put = |texts: &mut Texts| *texts = Texts { text, json, state, extension };
                let answer = Answer::default().announce(crossing.0, put);
                match Hook::ALL.into_iter().find(|hook| hook.wire_name() == place) {
                    Some(hook) => format!("{:?}", decode_outcome(hook, &answer)),
                    None if place == "tool" => format!("{:?}", decode_tool(&answer)),
                    None if place == "command" => format!("{:?}", decode_command(&answer)),
                    None => format!("{:?}", decode_lines(&answer)),
                }
            }
        }
    };
}

/// An answer on its way: its flags, and its four texts.
#[derive(Debug)]
struct Crossing(u64, [String; 4]);

answers_of!(was = v1_0_0);
answers_of!(is = mod_interface);

#[test]
fn an_answer_of_either_side_is_read_by_the_other_as_it_was_meant() {
    let [was, is] = [was::answers(), is::answers()].map(|answers| {
        let named = answers.iter().enumerate();
        named
            .map(|(at, (place, crossing))| (format!("{at} {place}"), format!("{crossing:?}")))
            .collect::<Vec<_>>()
    });
    assert_unchanged(&was, &is);
    let read = |read: fn(&str, &Crossing) -> String| {
        let answers = was::answers();
        answers
            .iter()
            .map(|(place, crossing)| (format!("{place} {crossing:?}"), read(place, crossing)))
            .collect::<Vec<_>>()
    };
    assert_unchanged(&read(was::read), &read(is::read));
}
