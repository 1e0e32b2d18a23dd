//! What is sent is always valid, and nothing else is changed.

use std::{collections::HashSet, sync::Arc};

use mod_interface::types::{ContentBlock, Message, MessageSource, Role};
use proptest::{collection::vec, prelude::*};
use serde_json::json;

use super::fakes::told;
use crate::agent::prepare_for_send;

fn calls(id: &str) -> ContentBlock {
    ContentBlock::ToolUse { id: id.into(), name: "echo".into(), input: json!({}) }
}

fn result(id: &str) -> ContentBlock {
    let content = vec![ContentBlock::text("ok")];
    ContentBlock::ToolResult { tool_use_id: id.into(), content, is_error: false }
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::text(text)
}

fn user(content: Vec<ContentBlock>) -> Arc<Message> {
    Arc::new(Message { role: Role::User, content, source: MessageSource::User })
}

fn model(content: Vec<ContentBlock>) -> Arc<Message> {
    Arc::new(Message::assistant(content))
}

fn sent(messages: &[Arc<Message>]) -> Vec<String> {
    told(&prepare_for_send(messages))
}

const NO_RESULT: &str = "failed: This call has no result: it was cut off before it was done.";

#[test]
fn a_valid_conversation_is_shared_not_copied() {
    let valid = [
        user(vec![text("go")]),
        model(vec![text("ok"), calls("1"), calls("2")]),
        user(vec![result("2"), result("1"), text("and")]),
        model(vec![text("done")]),
    ];
    let sent = prepare_for_send(&valid);
    assert_eq!(sent.len(), 4);
    assert!(sent.iter().zip(&valid).all(|(sent, given)| Arc::ptr_eq(sent, given)));
}

#[test]
fn what_is_sent_has_no_source() {
    use MessageSource::{Mod, ToolResults, User};
    let from = |source, content| Arc::new(Message { role: Role::User, content, source });
    let given = [
        from(User, vec![text("go")]),
        model(vec![calls("1")]),
        from(ToolResults, vec![result("1")]),
        model(vec![text("done")]),
        from(Mod, vec![text("more")]),
        model(vec![calls("2")]),
    ];
    let sent = prepare_for_send(&given);
    let sources: Vec<_> = sent.iter().map(|message| message.source).collect();
    assert_eq!(sources, [User; 7], "that of a result that was left out too");
    let contents = sent.iter().zip(&given).map(|(sent, given)| sent.content == given.content);
    assert_eq!(contents.collect::<Vec<_>>(), [true; 6]);
    let shared = sent.iter().zip(&given).map(|(sent, given)| Arc::ptr_eq(sent, given));
    assert_eq!(shared.collect::<Vec<_>>(), [true, true, false, true, false, true]);
    let kept: Vec<_> = given.iter().map(|message| message.source).collect();
    assert_eq!(kept, [User, User, ToolResults, User, Mod, User], "the transcript knows");
}

#[test]
fn a_call_without_a_result_gets_one_that_says_so() {
    assert_eq!(
        sent(&[
            user(vec![text("go")]),
            model(vec![calls("1"), calls("2")]),
            user(vec![text("on"), result("2")])
        ]),
        [
            "user[user]: go",
            "assistant: <call 1> <call 2>",
            &format!("user[user]: <1 {NO_RESULT}> <2: ok> on")
        ]
    );
    assert_eq!(
        sent(&[user(vec![text("go")]), model(vec![calls("1")])]),
        ["user[user]: go", "assistant: <call 1>", &format!("user[user]: <1 {NO_RESULT}>")]
    );
}

#[test]
fn a_result_without_a_call_is_dropped() {
    assert_eq!(
        sent(&[
            user(vec![result("0"), text("go")]),
            model(vec![text("a")]),
            user(vec![result("0")]),
            model(vec![text("b")])
        ]),
        ["user[user]: go", "assistant: a b"]
    );
}

#[test]
fn a_second_result_or_call_of_an_id_is_dropped() {
    assert_eq!(
        sent(&[
            user(vec![text("go")]),
            model(vec![calls("1"), calls("1")]),
            user(vec![result("1"), result("1")]),
        ]),
        ["user[user]: go", "assistant: <call 1>", "user[user]: <1: ok>"]
    );
}

#[test]
fn messages_of_one_role_in_a_row_are_merged() {
    assert_eq!(
        sent(&[
            user(vec![text("go")]),
            user(vec![text("on")]),
            model(vec![text("a")]),
            model(vec![calls("1")]),
            user(vec![result("1")]),
            user(vec![text("steer")]),
        ]),
        ["user[user]: go on", "assistant: a <call 1>", "user[user]: <1: ok> steer"]
    );
}

#[test]
fn blank_texts_and_empty_messages_are_dropped() {
    assert_eq!(
        sent(&[
            user(vec![text("go"), text("")]),
            model(vec![text(" \n")]),
            model(vec![]),
            user(vec![text("on")])
        ]),
        ["user[user]: go on"]
    );
}

#[test]
fn a_conversation_that_the_model_begins_is_given_a_beginning() {
    assert_eq!(
        sent(&[model(vec![text("a")])]),
        ["user[user]: (The conversation begins before this.)", "assistant: a"]
    );
}

#[test]
fn an_input_that_is_no_object_goes_back_inside_of_one() {
    let called = |input| ContentBlock::ToolUse { id: "1".into(), name: "echo".into(), input };
    let conversation = |input| [user(vec![text("go")]), model(vec![called(input)]), user(vec![result("1")])];
    for sent in [json!("{\"p\":"), json!([1]), json!(null)] {
        let wrapped = conversation(json!({ "input": sent }));
        assert_eq!(prepare_for_send(&conversation(sent)), wrapped);
    }
}

fn block() -> impl Strategy<Value = ContentBlock> {
    let id = || (0..4_u8).prop_map(|id| id.to_string());
    prop_oneof![
        Just(text("words")),
        Just(text(" ")),
        id().prop_map(|id| calls(&id)),
        id().prop_map(|id| ContentBlock::ToolUse { id, name: "echo".into(), input: json!("no object") }),
        id().prop_map(|id| result(&id)),
        Just(ContentBlock::ToolResult { tool_use_id: "1".into(), content: vec![text("")], is_error: false }),
    ]
}

fn message() -> impl Strategy<Value = Arc<Message>> {
    (any::<bool>(), vec(block(), 0..5)).prop_map(|(from_user, mut content)| {
        content.retain(|block| match block {
            ContentBlock::ToolUse { .. } => !from_user,
            ContentBlock::ToolResult { .. } => from_user,
            _ => true,
        });
        if from_user { user(content) } else { model(content) }
    })
}

fn ids(message: &Message, of: fn(&ContentBlock) -> Option<&String>) -> Vec<&String> {
    message.content.iter().filter_map(of).collect()
}

fn call_id(block: &ContentBlock) -> Option<&String> {
    if let ContentBlock::ToolUse { id, .. } = block { Some(id) } else { None }
}

fn result_id(block: &ContentBlock) -> Option<&String> {
    if let ContentBlock::ToolResult { tool_use_id, .. } = block { Some(tool_use_id) } else { None }
}

proptest! {
    #[test]
    fn whatever_is_in_the_state_what_is_sent_is_valid(messages in vec(message(), 0..8)) {
        let sent = prepare_for_send(&messages);
        let mut open = HashSet::new();
        for (index, message) in sent.iter().enumerate() {
            let role = if index % 2 == 0 { Role::User } else { Role::Assistant };
            prop_assert_eq!(message.role, role);
            prop_assert!(message.check().is_ok());
            let blank = |block: &ContentBlock| block.as_text().is_some_and(|text| text.trim().is_empty());
            prop_assert!(!message.content.iter().any(blank));
            let objects =
                |block: &ContentBlock| !matches!(block, ContentBlock::ToolUse { input, .. } if !input.is_object());
            prop_assert!(message.content.iter().all(objects));
            let answers = ids(message, result_id);
            let head = message.content.iter().take(answers.len());
            prop_assert!(head.clone().all(|block| result_id(block).is_some()), "results come first");
            prop_assert_eq!(answers.len(), open.len());
            prop_assert_eq!(answers.into_iter().cloned().collect::<HashSet<_>>(), open);
            let made = ids(message, call_id);
            open = made.iter().copied().cloned().collect();
            prop_assert_eq!(made.len(), open.len());
        }
        prop_assert!(open.is_empty());
        prop_assert_eq!(&prepare_for_send(&sent), &sent, "twice is once");
    }

    #[test]
    fn no_word_is_lost_or_moved(messages in vec(message(), 0..8)) {
        let words = |messages: &[Arc<Message>]| {
            let blocks = messages.iter().flat_map(|message| message.content.iter());
            blocks.filter_map(ContentBlock::as_text).filter(|text| *text == "words").count()
        };
        prop_assert_eq!(words(&prepare_for_send(&messages)), words(&messages));
    }
}
