use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use mod_interface::types::{AgentEvent, AgentState, EventKind, EventPayload, Hook, NoticeLevel};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    hooks::{HookInput, Scope, Subject},
    mod_host::{fixture::World, frame::Question},
};

const FORGED: &str = "the host alone raises this event, a mod notice and kinds of its own: run_end";

/// Events, each with its agent.
type Raised = Arc<Mutex<Vec<(String, EventPayload)>>>;

/// A world, and the events that are raised in it.
fn world() -> (World, Raised) {
    let (world, events) = (World::new(), Arc::<Mutex<Vec<_>>>::default());
    let kept = Arc::clone(&events);
    world.core.bus.add(Arc::new(move |event: &AgentEvent| {
        kept.lock().unwrap().push((event.agent_id.to_string(), event.payload.clone()));
    }));
    (world, events)
}

fn args(kind: &str, data: Value) -> String {
    json!({ "kind": kind, "data": data }).to_string()
}

fn mod_error(hook: &str, error: &str) -> EventPayload {
    EventPayload::ModError { mod_id: "mod:a".into(), hook: hook.into(), error: error.into() }
}

#[tokio::test]
async fn decision_39_a_mod_raises_notices_and_events_under_its_own_name_alone() {
    let (world, events) = world();
    let raise = |kind: &str, data| world.now("emit", &args(kind, data));
    let take = || {
        let events = std::mem::take(&mut *events.lock().unwrap());
        events.into_iter().map(|(_, event)| event).collect::<Vec<_>>()
    };
    assert_eq!(raise("mood", json!([1])), Ok("null".to_owned()));
    let own = EventPayload::ModEvent { mod_id: "mod:a".into(), name: "mod:a/mood".into(), data: json!([1]) };
    assert_eq!(take(), [own]);
    assert_eq!(raise("notice", json!({ "level": "warning", "message": "hot" })), Ok("null".to_owned()));
    assert_eq!(take(), [EventPayload::Notice { level: NoticeLevel::Warning, message: "hot".into() }]);
}

#[tokio::test]
async fn decision_39_what_else_a_mod_raises_is_refused_and_told() {
    // In a world of its own: a mod that fails in ever new ways is only counted.
    let refused = |kind: &str, data: Value, told: &str| {
        let (world, events) = world();
        assert_eq!(world.now("emit", &args(kind, data)), Err(told.to_owned()));
        assert_eq!(*events.lock().unwrap(), [("main".to_owned(), mod_error("emit", told))], "{kind}");
    };
    for kind in ["", "b/mood", "../run_end", "Mood"] {
        refused(kind, Value::Null, &format!("an event's kind is of a-z, 0-9, _ and -, got: {kind}"));
    }
    for kind in EventKind::ALL.iter().filter(|kind| **kind != EventKind::Notice) {
        refused(kind.as_str(), json!({}), &FORGED.replace("run_end", kind.as_str()));
    }
    let notice = json!({ "level": "loud", "message": "" });
    let level = "unknown variant `loud`, expected `info` or `warning`";
    refused("notice", notice, &format!("a notice has a level and a message: {level}"));
}

#[tokio::test]
async fn an_event_that_a_hook_forges_is_told_where_it_is_and_once_however_the_hook_ends() {
    let (world, events) = world();
    let scope = Arc::new(Scope::new(world.core.bus.emitter("sub"), CancellationToken::new(), Path::new("/")));
    let frame = world.frame(Question::Hook(Arc::new(HookInput {
        hook: Hook::OnStop,
        scope: Arc::clone(&scope),
        turn_number: 1,
        state: AgentState::new("s"),
        subject: Subject::None,
    })));
    let forge = || assert_eq!(frame.call_now("emit", &args("run_end", json!({}))), Err(FORGED.to_owned()));
    let fail = || {
        scope.faults.tell(&scope.emitter, "mod:a", "onStop", &crate::hooks::HookFault::Error(FORGED.into()))
    };
    // Once it fails with it, once it does not care, and once it fails without having asked.
    forge();
    fail();
    forge();
    fail();
    fail();
    scope.faults.report_repeats(&scope.emitter);
    let repeats = "mod:a failed 2 times more at onStop".to_owned();
    let told =
        [mod_error("onStop", FORGED), EventPayload::Notice { level: NoticeLevel::Warning, message: repeats }];
    assert_eq!(*events.lock().unwrap(), told.map(|event| ("sub".to_owned(), event)));
}
