use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::abi::fixture::Recording;

fn frame() -> Frame {
    let call =
        ContentBlock::ToolUse { id: "c1".to_owned(), name: "grep".to_owned(), input: json!({ "a": 1 }) };
    let assistant = Message::assistant(vec![ContentBlock::text("look"), ContentBlock::text("ing"), call]);
    let messages = vec![Message::user("hello"), assistant];
    Arc::new(Recording { messages, ..Recording::default() }).frame()
}

#[test]
fn messages_are_walked_both_ways_and_copied_only_when_asked_for() {
    let frame = frame();
    let state = State::of(&frame);
    let seen = |message: MessageView<'_>| (message.index(), message.role(), message.text());
    let expected = [(0, Role::User, "hello".to_owned()), (1, Role::Assistant, "looking".to_owned())];
    assert_eq!(state.messages().map(seen).collect::<Vec<_>>(), expected);
    assert_eq!(state.messages().rev().map(|message| message.index()).collect::<Vec<_>>(), [1, 0]);
    assert_eq!((state.message_count(), state.last_message().map(|message| message.index())), (2, Some(1)));
    assert!(state.message(2).is_none());
    let call = state.message(1).unwrap().blocks().last().unwrap();
    assert_eq!(
        (call.kind(), call.tool_call_id(), call.tool_name(), call.is_error()),
        ("tool_use", "c1", "grep", false)
    );
    assert_eq!(state.message(0).unwrap().to_owned().unwrap(), Message::user("hello"));
    assert_eq!(
        State::of(&Arc::<Recording>::default().frame()).last_message().map(|message| message.index()),
        None
    );
}

#[test]
fn the_input_of_a_call_is_read_whole_or_by_field() {
    #[derive(serde::Deserialize)]
    struct Input {
        path: String,
        depth: u32,
    }
    let frame = frame();
    let call = ToolCall::of(&frame);
    let input: Input = call.input().unwrap();
    assert_eq!((input.path.as_str(), input.depth), ("p", 2));
    assert_eq!(
        (call.input_str("path").as_deref(), call.input_str("depth"), call.input_str("x")),
        (Some("p"), None, None)
    );
    assert!(call.input::<Vec<u8>>().is_err());
}

#[test]
fn what_the_host_has_not_is_an_error_or_no_value() {
    let frame = frame();
    let missing = RunEnd::of(&frame).result().unwrap_err().to_string();
    assert_eq!(missing, "the host has no RunResult here");
    assert_eq!(ToolResult::of(&frame).text(), "");
    assert_eq!(Stop::of(&frame).stop_reason(), Some(StopReason::MaxTurns));
    assert_eq!(Turn::of(&frame).turn_number(), u32::MAX, "a number too large is the largest");
    assert_eq!(State::of(&frame).mod_state::<Vec<u8>>().unwrap(), Some(vec![1]));
    assert!(State::of(&frame).mod_state::<String>().is_err());
}
