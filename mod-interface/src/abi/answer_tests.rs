use abi_stable::std_types::{RBox, RSome};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::abi::Texts;
use crate::types::{ContentBlock, Effort, EffortChange, ImageSource, Message, MessageSource, Role};

/// Any JSON that a mod may put into an answer.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no other", |number| number.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn block() -> impl Strategy<Value = ContentBlock> {
    let text = any::<String>().prop_map(ContentBlock::text);
    let leaf = prop_oneof![
        text.clone(),
        (any::<String>(), any::<Option<String>>())
            .prop_map(|(thinking, signature)| ContentBlock::Thinking { thinking, signature }),
        (any::<String>(), any::<String>(), value()).prop_map(|(id, name, input)| ContentBlock::ToolUse {
            id,
            name,
            input
        }),
        (any::<String>(), any::<String>())
            .prop_map(|(media_type, data)| ContentBlock::Image { source: ImageSource { media_type, data } }),
    ];
    let result = (any::<String>(), prop::collection::vec(text, 0..3), any::<bool>()).prop_map(
        |(tool_use_id, content, is_error)| ContentBlock::ToolResult { tool_use_id, content, is_error },
    );
    prop_oneof![leaf, result]
}

fn blocks() -> impl Strategy<Value = Vec<ContentBlock>> {
    prop::collection::vec(block(), 0..4)
}

fn message() -> impl Strategy<Value = Message> {
    let role = prop_oneof![Just(Role::User), Just(Role::Assistant)];
    let source =
        prop_oneof![Just(MessageSource::User), Just(MessageSource::Steering), Just(MessageSource::Mod)];
    (role, blocks(), source).prop_map(|(role, content, source)| Message { role, content, source })
}

fn edits() -> impl Strategy<Value = Vec<MessageEdit>> {
    let edit = prop_oneof![
        message().prop_map(|message| MessageEdit::Append { message }),
        (any::<usize>(), message()).prop_map(|(index, message)| MessageEdit::Insert { index, message }),
        (any::<usize>(), message()).prop_map(|(index, message)| MessageEdit::Replace { index, message }),
        (any::<usize>(), any::<usize>()).prop_map(|(start, end)| MessageEdit::Remove { start, end }),
    ];
    prop::collection::vec(edit, 0..3)
}

fn before() -> impl Strategy<Value = BeforeToolCall> {
    (any::<bool>(), any::<Option<String>>(), prop::option::of(value()), any::<bool>()).prop_map(
        |(block, additional_context, input, terminate)| BeforeToolCall {
            block,
            additional_context,
            input,
            terminate,
        },
    )
}

fn after() -> impl Strategy<Value = AfterToolCall> {
    let parts = (
        prop::option::of(blocks()),
        any::<Option<bool>>(),
        any::<Option<String>>(),
        any::<bool>(),
        prop::option::of(value()),
    );
    parts.prop_map(|(content, is_error, additional_context, terminate, mod_state)| AfterToolCall {
        content,
        is_error,
        additional_context,
        terminate,
        mod_state,
    })
}

fn next_turn() -> impl Strategy<Value = NextTurn> {
    let effort = prop_oneof![
        Just(None),
        Just(Some(EffortChange::Reset)),
        Just(Some(EffortChange::Set(Effort::Minimal))),
        Just(Some(EffortChange::Set(Effort::Max))),
    ];
    (any::<Option<String>>(), effort).prop_map(|(model, effort)| NextTurn { model, effort })
}

/// What the host reads of what a mod returned.
fn through(hook: Hook, answer: impl Encode) -> Option<HookOutcome> {
    decode_outcome(hook, &answer.encode()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_answer_before_a_tool_call_arrives_as_it_was(answer in before()) {
        prop_assert_eq!(through(Hook::BeforeToolCall, Some(answer.clone())), Some(HookOutcome::BeforeToolCall(answer)));
    }

    #[test]
    fn an_answer_after_a_tool_call_arrives_as_it_was(answer in after()) {
        prop_assert_eq!(through(Hook::AfterToolCall, Some(answer.clone())), Some(HookOutcome::AfterToolCall(answer)));
    }

    #[test]
    fn edits_of_messages_arrive_as_they_were(edits in edits()) {
        let expected = (!edits.is_empty()).then(|| HookOutcome::TransformContext(edits.clone()));
        prop_assert_eq!(through(Hook::TransformContext, edits), expected);
    }

    #[test]
    fn a_change_of_the_state_arrives_as_it_was(messages in edits(), mod_state in prop::option::of(value())) {
        let patch = StatePatch { messages, mod_state };
        let expected = (patch != StatePatch::default()).then(|| HookOutcome::State(patch.clone()));
        for hook in [Hook::OnTurnStart, Hook::OnTurnEnd] {
            prop_assert_eq!(through(hook, patch.clone()), expected.clone());
        }
    }

    #[test]
    fn a_change_of_the_model_arrives_as_it_was(change in next_turn()) {
        prop_assert_eq!(through(Hook::PrepareNextTurn, Some(change.clone())), Some(HookOutcome::NextTurn(change)));
    }

    #[test]
    fn texts_arrive_as_they_were(text in any::<String>(), reason in any::<Option<String>>()) {
        let prompt = HookOutcome::AppendSystemPrompt(text.clone());
        prop_assert_eq!(through(Hook::AppendSystemPrompt, Some(text.clone())), Some(prompt));
        let go_on = StopDecision::Continue { reason: reason.clone() };
        prop_assert_eq!(through(Hook::OnStop, go_on.clone()), Some(HookOutcome::Stop(go_on)));
        for input in [TransformInput::Transform { text: text.clone() }, TransformInput::Handled { message: reason }] {
            prop_assert_eq!(through(Hook::TransformInput, input.clone()), Some(HookOutcome::Input(input)));
        }
        for outcome in [CommandOutcome::Prompt(text.clone()), CommandOutcome::Message(text.clone())] {
            prop_assert_eq!(decode_command(&outcome.clone().encode()), Ok(outcome));
        }
        let lines = vec![text.clone(), text];
        prop_assert_eq!(decode_lines(&lines.clone().encode()), Ok(lines));
    }

    #[test]
    fn the_output_of_a_tool_arrives_as_it_was(content in blocks(), is_error in any::<bool>()) {
        let output = ToolOutput { content, is_error };
        prop_assert_eq!(decode_tool(&output.clone().encode()), Ok(output));
    }

    /// Whatever a library that was not built with this SDK leaves there.
    #[test]
    fn an_answer_of_any_shape_is_read_or_refused(
        flags in any::<u64>(), text in any::<String>(), json in any::<String>(), state in any::<String>(),
    ) {
        let texts = Texts { text: text.into(), json: json.into(), state: state.into(), ..Texts::default() };
        let answer = Answer { flags, texts: RSome(RBox::new(texts)) };
        let without_texts = Answer { flags, ..Answer::default() };
        for hook in Hook::ALL {
            let _read_or_refused = decode_outcome(hook, &without_texts);
        }
        for hook in Hook::ALL {
            let _read_or_refused = decode_outcome(hook, &answer);
        }
        let _read_or_refused = (decode_tool(&answer), decode_command(&answer), decode_lines(&answer));
    }
}

#[test]
fn no_opinion_is_all_zeros() {
    let nothing = Answer::default();
    assert_eq!(None::<BeforeToolCall>.encode(), nothing);
    assert_eq!(None::<AfterToolCall>.encode(), nothing);
    assert_eq!(None::<String>.encode(), nothing);
    assert_eq!(None::<NextTurn>.encode(), nothing);
    assert_eq!(Vec::<MessageEdit>::new().encode(), nothing);
    assert_eq!(StatePatch::default().encode(), nothing);
    assert_eq!(StopDecision::Stop.encode(), nothing);
    assert_eq!(TransformInput::Continue.encode(), nothing);
    assert_eq!(CommandOutcome::Done.encode(), nothing);
    assert_eq!((false.encode(), ().encode()), (nothing.clone(), nothing.clone()));
    for hook in Hook::ALL {
        assert_eq!(decode_outcome(hook, &nothing), Ok(None));
    }
    assert_eq!(decode_command(&nothing), Ok(CommandOutcome::Done));
}

#[test]
fn a_yes_to_stopping_is_one() {
    assert_eq!(through(Hook::ShouldStopAfterTurn, true), Some(HookOutcome::ShouldStop));
    assert_eq!(through(Hook::ShouldStopAfterTurn, false), None);
}

#[test]
fn hooks_that_answer_nothing_have_no_outcome_whatever_they_say() {
    for hook in [Hook::OnRunEnd, Hook::OnSessionStart, Hook::OnSessionEnd] {
        assert_eq!(through(hook, "something".to_owned()), None);
    }
}

#[test]
fn what_a_later_version_adds_is_ignored() {
    let mut answer = Some(BeforeToolCall::block("no")).encode();
    answer.flags |= 1 << 63;
    answer = answer.announce(0, |texts| texts.extension = "{\"later\": 1}".into());
    let outcome = HookOutcome::BeforeToolCall(BeforeToolCall::block("no"));
    assert_eq!(decode_outcome(Hook::BeforeToolCall, &answer), Ok(Some(outcome)));
}

/// An answer with this in each of its parts.
fn answer(text: &str) -> Answer {
    let text = || RString::from(text);
    let texts = Texts { text: text(), json: text(), state: text(), extension: RString::new() };
    Answer { flags: u64::MAX, texts: RSome(RBox::new(texts)) }
}

#[test]
fn an_answer_that_is_too_long_is_refused() {
    let refusal = Err(format!("at most {MAX_TEXT} bytes, got {}", MAX_TEXT + 1));
    let too_long = answer(&"x".repeat(MAX_TEXT + 1));
    let hooks = [
        Hook::TransformContext,
        Hook::AppendSystemPrompt,
        Hook::BeforeToolCall,
        Hook::AfterToolCall,
        Hook::OnTurnStart,
        Hook::OnTurnEnd,
        Hook::PrepareNextTurn,
        Hook::OnStop,
        Hook::TransformInput,
    ];
    for hook in hooks {
        assert_eq!(decode_outcome(hook, &too_long), refusal.clone(), "{hook}");
    }
    assert_eq!(decode_tool(&too_long).map(drop), refusal.clone().map(drop));
    assert_eq!(decode_command(&too_long).map(drop), refusal.clone().map(drop));
    assert_eq!(decode_lines(&too_long).map(drop), refusal.map(drop));
    let longest = Answer::some(0).with_text(Some("x".repeat(MAX_TEXT)));
    assert!(decode_outcome(Hook::AppendSystemPrompt, &longest).is_ok());
}

#[test]
fn json_that_is_broken_too_deep_or_of_another_shape_is_refused() {
    let input = |json: &str| {
        let answer = Answer::some(0).announce(Flags::JSON, |texts| texts.json = json.into());
        decode_outcome(Hook::BeforeToolCall, &answer).map(drop)
    };
    assert_eq!(input("{"), Err("EOF while parsing an object at line 1 column 1".to_owned()));
    assert_eq!(input(""), Err("EOF while parsing a value at line 1 column 0".to_owned()));
    assert_eq!(input(&"[".repeat(1000)), Err("recursion limit exceeded at line 1 column 128".to_owned()));
    let edits = Answer::some(0).with_json(Some(&json!([{"op": "sort"}])));
    assert_eq!(
        decode_outcome(Hook::TransformContext, &edits).map(drop),
        Err("unknown variant `sort`, expected one of `append`, `insert`, `replace`, `remove` at line 1 column 13".to_owned())
    );
}
