use std::{path::Path, time::Duration};

use mod_interface::{
    abi::{Frame, OwnFrame},
    types::{
        AgentState, ContentBlock, EventKind, Hook, MessageSource, Role, RunResult, SessionChange,
        SessionEndReason, SessionStartSource, StopReason,
    },
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{events::EventBus, hooks::Scope, mod_host::ModHostConfig};

const TEXTS: [TextField; 13] = [
    TextField::ModName,
    TextField::ModId,
    TextField::Cwd,
    TextField::SessionId,
    TextField::AgentId,
    TextField::ToolCallId,
    TextField::ToolName,
    TextField::ToolInput,
    TextField::Prompt,
    TextField::LastAssistantText,
    TextField::Reason,
    TextField::EventKind,
    TextField::EventText,
];

const NUMBERS: [NumberField; 10] = [
    NumberField::TurnNumber,
    NumberField::MessageCount,
    NumberField::IsError,
    NumberField::HadToolCalls,
    NumberField::Cancelled,
    NumberField::InputTokens,
    NumberField::OutputTokens,
    NumberField::CacheReadTokens,
    NumberField::CacheWriteTokens,
    NumberField::TurnCount,
];

struct World {
    core: Arc<Core>,
    bus: EventBus,
    cancel: CancellationToken,
}

impl World {
    fn new() -> Self {
        let bus = EventBus::new();
        let alone = ModHostConfig::alone(Path::new("/w"), Duration::from_secs(1));
        let config = ModHostConfig { bus: bus.clone(), ..alone };
        let core = Arc::new(Core::new(config, tokio::runtime::Handle::current()));
        Self { core, bus, cancel: CancellationToken::new() }
    }

    fn frame(&self, question: Question) -> Frame {
        let owner = Arc::new(ModIdentity::new(0, "a"));
        OwnFrame::new(ModFrame::new(&self.core, &owner, question)).frame().clone()
    }

    fn hook(&self, subject: Subject) -> Frame {
        let mut state = AgentState::new("s1");
        state.push(Message::user("hello"));
        state.set_mod_state("mod:a", json!(7));
        state.set_mod_state("mod:b", json!("not yours"));
        let (emitter, cancel) = (self.bus.emitter("sub-1"), self.cancel.clone());
        let scope = Arc::new(Scope::new(emitter, cancel, Path::new("/w")));
        self.frame(Question::Hook(Arc::new(HookInput {
            hook: Hook::OnStop,
            scope,
            turn_number: 3,
            state,
            subject,
        })))
    }
}

/// Those fields of a frame that have a value.
type Fields = (Vec<(TextField, String)>, Vec<(NumberField, u64)>);

/// The texts and numbers that a frame has beside those that every frame has.
fn fields(frame: &Frame) -> Fields {
    let common = [TextField::ModName, TextField::ModId, TextField::Cwd].map(|field| frame.text(field));
    assert_eq!(common, ["a", "mod:a", "/w"]);
    let texts = TEXTS.into_iter().skip(3).map(|field| (field, frame.text(field).to_owned()));
    let numbers = NUMBERS.into_iter().map(|field| (field, frame.number(field)));
    (
        texts.filter(|(_, text)| !text.is_empty()).collect(),
        numbers.filter(|(_, number)| *number != 0).collect(),
    )
}

/// The fields of a frame for a hook, beside those that all of them have.
fn hook_fields(frame: &Frame) -> Fields {
    let (mut texts, mut numbers) = fields(frame);
    let ids = [(TextField::SessionId, "s1".to_owned()), (TextField::AgentId, "sub-1".to_owned())];
    assert_eq!(texts.drain(..2).collect::<Vec<_>>(), ids);
    assert_eq!(numbers.remove(0), (NumberField::TurnNumber, 3));
    (texts, numbers)
}

fn parsed(frame: &Frame, field: JsonField, index: usize) -> Option<Value> {
    frame.json(field, index).map(|json| serde_json::from_str(&json).unwrap())
}

fn text(field: TextField, value: &str) -> (TextField, String) {
    (field, value.to_owned())
}

const ONE_MESSAGE: (NumberField, u64) = (NumberField::MessageCount, 1);

fn call() -> ToolCallInput {
    ToolCallInput { id: "c1".into(), name: "grep".into(), input: json!({ "a": 1 }).into() }
}

fn usage() -> Usage {
    Usage { input_tokens: 1, output_tokens: 2, cache_read_tokens: 3, cache_write_tokens: 4 }
}

#[tokio::test]
async fn a_hook_sees_the_state_and_its_own_slot_of_it() {
    let world = World::new();
    let frame = world.hook(Subject::None);
    assert_eq!(hook_fields(&frame), (vec![], vec![ONE_MESSAGE]));
    assert_eq!(parsed(&frame, JsonField::ModState, 0), Some(json!(7)));
    let message = frame.message(0);
    assert_eq!((message.role, message.source, message.blocks), (1, 0, 1));
    assert_eq!(frame.block(0, 0).text.as_str(), "hello");
    assert_eq!(parsed(&frame, JsonField::Message, 0), Some(json!(Message::user("hello"))));
    assert_eq!(frame.message(1), Default::default(), "there is none");
    assert_eq!(frame.block(0, 1), Default::default(), "there is none");
    for field in [JsonField::ToolContent, JsonField::Event, JsonField::RunResult, JsonField::Data] {
        assert_eq!(parsed(&frame, field, 0), None);
    }
    world.cancel.cancel();
    assert_eq!(frame.number(NumberField::Cancelled), 1);
}

#[tokio::test]
async fn a_context_hook_sees_the_messages_of_the_call_and_not_those_of_the_state() {
    let assistant = Message { role: Role::Assistant, content: vec![], source: MessageSource::Mod };
    let frame = World::new()
        .hook(Subject::Context(Arc::new(vec![Arc::new(assistant), Arc::new(Message::user("b"))])));
    assert_eq!(hook_fields(&frame), (vec![], vec![(NumberField::MessageCount, 2)]));
    let message = frame.message(0);
    assert_eq!((message.role, message.source, message.blocks), (2, 6, 0));
}

#[tokio::test]
async fn tool_hooks_see_the_call_and_its_result() {
    let world = World::new();
    let of_call = vec![
        text(TextField::ToolCallId, "c1"),
        text(TextField::ToolName, "grep"),
        text(TextField::ToolInput, r#"{"a":1}"#),
    ];
    assert_eq!(hook_fields(&world.hook(Subject::ToolCall(call()))), (of_call.clone(), vec![ONE_MESSAGE]));
    let content = Arc::new(vec![ContentBlock::text("out")]);
    let frame =
        world.hook(Subject::ToolResult { call: call(), content: Arc::clone(&content), is_error: true });
    assert_eq!(hook_fields(&frame), (of_call, vec![ONE_MESSAGE, (NumberField::IsError, 1)]));
    assert_eq!(parsed(&frame, JsonField::ToolContent, 0), Some(json!(*content)));
}

#[tokio::test]
async fn hooks_at_an_end_see_how_it_ended() {
    let world = World::new();
    let tokens = [
        (NumberField::InputTokens, 1),
        (NumberField::OutputTokens, 2),
        (NumberField::CacheReadTokens, 3),
        (NumberField::CacheWriteTokens, 4),
    ];
    let turn_end = world.hook(Subject::TurnEnd { had_tool_calls: true, usage: usage() });
    let numbers = [&[ONE_MESSAGE, (NumberField::HadToolCalls, 1)][..], &tokens].concat();
    assert_eq!(hook_fields(&turn_end), (vec![], numbers));

    let result = RunResult {
        final_text: "x".into(),
        stop_reason: StopReason::MaxTurns,
        turn_count: 5,
        usage: usage(),
    };
    let run_end = world.hook(Subject::RunEnd(Arc::new(result.clone())));
    let numbers = [&[ONE_MESSAGE][..], &tokens, &[(NumberField::TurnCount, 5)]].concat();
    assert_eq!(hook_fields(&run_end), (vec![], numbers));
    assert_eq!(parsed(&run_end, JsonField::RunResult, 0), Some(json!(result)));

    let last_assistant_text = "bye".into();
    let stop = world.hook(Subject::Stop { stop_reason: StopReason::EndTurn, last_assistant_text });
    let texts = vec![text(TextField::LastAssistantText, "bye"), text(TextField::Reason, "end_turn")];
    assert_eq!(hook_fields(&stop), (texts, vec![ONE_MESSAGE]));
}

#[tokio::test]
async fn a_prompt_and_a_change_of_the_session_are_seen() {
    let world = World::new();
    let prompt = world.hook(Subject::Prompt("typed".into()));
    assert_eq!(hook_fields(&prompt), (vec![text(TextField::Prompt, "typed")], vec![ONE_MESSAGE]));
    let changes = [
        (SessionChange::Start(SessionStartSource::Startup), "startup"),
        (SessionChange::Start(SessionStartSource::Resume), "resume"),
        (SessionChange::End(SessionEndReason::Shutdown), "shutdown"),
        (SessionChange::End(SessionEndReason::Replaced), "replaced"),
    ];
    for (change, reason) in changes {
        let frame = world.hook(Subject::Session(change));
        assert_eq!(hook_fields(&frame), (vec![text(TextField::Reason, reason)], vec![ONE_MESSAGE]));
    }
}

#[tokio::test]
async fn an_observer_sees_the_event() {
    let payload = EventPayload::TextDelta { delta: "he".into() };
    let event = Arc::new(AgentEvent { payload, agent_id: "sub-2".into() });
    let frame = World::new().frame(Question::Event(Arc::clone(&event)));
    let texts = vec![
        text(TextField::AgentId, "sub-2"),
        text(TextField::EventKind, EventKind::TextDelta.as_str()),
        text(TextField::EventText, "he"),
    ];
    assert_eq!(fields(&frame), (texts, vec![]));
    assert_eq!(parsed(&frame, JsonField::Event, 0), Some(json!(*event)));
    let (tool_call_id, tool_name) = ("c1".to_owned(), "grep".to_owned());
    let payload = EventPayload::ToolErrored { tool_call_id, tool_name, error: "no".into() };
    let frame =
        World::new().frame(Question::Event(Arc::new(AgentEvent { payload, agent_id: "main".into() })));
    assert_eq!(frame.text(TextField::ToolName), "grep");
}

#[tokio::test]
async fn a_tool_and_a_command_see_what_they_are_called_with() {
    let world = World::new();
    let ctx = ToolContext {
        cwd: Path::new("/w").into(),
        cancel: world.cancel.clone(),
        tool_call_id: "c1".into(),
        agent_id: "main".into(),
        hidden: Arc::new(|_| false),
        progress: Arc::new(|_| ()),
    };
    let frame = world.frame(Question::Tool(Arc::new(ToolQuestion {
        name: "own".into(),
        input: r#"{"a":1}"#.into(),
        ctx,
    })));
    let texts = vec![
        text(TextField::AgentId, "main"),
        text(TextField::ToolCallId, "c1"),
        text(TextField::ToolName, "own"),
        text(TextField::ToolInput, r#"{"a":1}"#),
    ];
    assert_eq!(fields(&frame), (texts, vec![]));
    world.cancel.cancel();
    assert_eq!(frame.number(NumberField::Cancelled), 1);
    let frame = world.frame(Question::Command(Arc::new("all of it".into())));
    assert_eq!(fields(&frame), (vec![text(TextField::Prompt, "all of it")], vec![]));
    assert_eq!(fields(&world.frame(Question::Factory)), (vec![], vec![]));
}
