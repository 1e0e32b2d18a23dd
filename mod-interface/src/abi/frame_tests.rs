use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::{
    abi::{
        Completed, Entry, Reply,
        fixture::{Recording, ready},
    },
    types::{ContentBlock, ImageSource, Message, MessageSource, Role},
};

fn frame(recording: Recording) -> Frame {
    Arc::new(recording).frame()
}

#[test]
fn a_field_of_a_later_version_has_no_value() {
    let frame = frame(Recording::default());
    let (vtable, this) = (frame.0.vtable(), frame.0.this());
    // SAFETY: the functions and the object were made together.
    unsafe {
        assert_eq!(vtable.text()(this, TextField::ModName as u32).as_str(), "a-mod");
        assert_eq!(vtable.text()(this, 9999).as_str(), "");
        assert_eq!(vtable.number()(this, 9999), 0);
        assert!(vtable.json()(this, 9999, 0).is_none());
    }
}

#[test]
fn numbers_of_fields_never_change() {
    let last = [TextField::EventText as u32, NumberField::TurnCount as u32, JsonField::Data as u32];
    assert_eq!(last, [12, 9, 5]);
    for number in 0..=12 {
        assert_eq!(TextField::from_raw(number).map(|field| field as u32), Some(number));
    }
    assert_eq!(TextField::from_raw(13), None);
}

fn message(role: Role, source: MessageSource, content: Vec<ContentBlock>) -> Message {
    Message { role, content, source }
}

#[test]
fn a_message_is_read_without_being_copied() {
    let (id, name, text) = ("c1".to_owned(), "grep".to_owned(), "out".to_owned());
    let source = ImageSource { media_type: "image/png".to_owned(), data: "AA==".to_owned() };
    let content = vec![
        ContentBlock::text("hello"),
        ContentBlock::Thinking { thinking: "hm".to_owned(), signature: None },
        ContentBlock::ToolUse { id: id.clone(), name: name.clone(), input: json!({}) },
        ContentBlock::ToolResult {
            tool_use_id: id.clone(),
            content: vec![ContentBlock::Image { source: source.clone() }, ContentBlock::text(&text)],
            is_error: true,
        },
        ContentBlock::Image { source },
    ];
    let messages = vec![message(Role::Assistant, MessageSource::Other, content)];
    let frame = frame(Recording { messages, ..Recording::default() });
    assert_eq!(frame.message(0), RawMessage { role: 2, source: 7, blocks: 5, reserved: 0 });
    let raw = |kind: &'static str| RawBlock { kind: kind.into(), ..RawBlock::default() };
    let expected = [
        RawBlock { text: "hello".into(), ..raw("text") },
        RawBlock { text: "hm".into(), ..raw("thinking") },
        RawBlock { id: id.as_str().into(), name: name.as_str().into(), ..raw("tool_use") },
        RawBlock { id: id.as_str().into(), text: text.as_str().into(), is_error: true, ..raw("tool_result") },
        raw("image"),
        RawBlock::default(),
    ];
    for (index, block) in expected.into_iter().enumerate() {
        assert_eq!(frame.block(0, index), block);
    }
    assert_eq!(frame.message(1), RawMessage::default());
    assert_eq!(frame.block(1, 0), RawBlock::default());
}

struct Nothing;

impl Entry for Nothing {
    fn call(&self, _: &Frame, _: &mut Reply) -> u32 {
        Completed::default().status
    }
}

#[test]
fn a_service_that_the_host_has_not_is_an_error_at_once_or_later() {
    let frame = frame(Recording::default());
    let refused = Err("no such service: unknown".to_owned());
    assert_eq!(frame.call_now("unknown", "{}"), refused);
    assert_eq!(ready(frame.call("unknown", "{}")), refused);
    assert_eq!(
        frame.add("unknown", "{}", Callable::new(Box::new(Nothing))),
        Err("no such service: unknown".to_owned())
    );
}

#[test]
fn a_host_that_panics_is_an_error_or_no_value_to_the_mod() {
    let frame = frame(Recording { panics: true, ..Recording::default() });
    assert_eq!((frame.text(TextField::ModName), frame.number(NumberField::TurnNumber)), ("", 0));
    assert_eq!((frame.message(0), frame.block(0, 0)), (RawMessage::default(), RawBlock::default()));
    assert_eq!(frame.json(JsonField::Message, 0), None);
    let panicked = "the host panicked while it served this call; please report it".to_owned();
    assert_eq!(frame.call_now("x", "{}"), Err(panicked.clone()));
    assert_eq!(ready(frame.call("x", "{}")), Err(panicked.clone()));
    assert_eq!(frame.add("x", "{}", Callable::new(Box::new(Nothing))), Err(panicked.clone()));
    assert_eq!(frame.add_hooks("{}", HookObject::new([])), Err(panicked));
}

#[test]
fn a_frame_is_used_again_only_when_nobody_kept_it() {
    let mut own = OwnFrame::new(crate::abi::fixture::TestHost(Arc::default()));
    let kept = own.frame().clone();
    assert!(own.host_mut().is_none());
    assert_eq!(kept.text(TextField::ModName), "a-mod");
    drop(kept);
    assert!(own.host_mut().is_some());
}
