//! Observers of mods: told inline, in order, and isolated like a hook.

use std::{
    sync::{Arc, Mutex, mpsc},
    thread,
    time::Duration,
};

use host::{harness::Harness, hooks::Mods, settings::Settings};
use mod_interface::{builtin_mod, prelude::*};

use crate::support::{
    mods::{Host, compiled_in},
    run::says,
    session::Folders,
};

/// Watches turns, and says so; fails if its name says that.
async fn watches(cmd: ModApi) -> Result<()> {
    let name = cmd.name().to_owned();
    cmd.clone().on(EventKind::TurnStart, move |_| {
        assert_ne!(name, "fails", "it was to fail");
        cmd.ui().notify(&name);
    })?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn decision_27_observers_are_told_inline_in_load_order_and_each_for_itself() {
    let host = Host::new();
    let mods = [
        compiled_in("first", builtin_mod!("first", watches)),
        compiled_in("fails", builtin_mod!("fails", watches)),
        compiled_in("last", builtin_mod!("last", watches)),
    ];
    host.load(mods).await;
    host.bus.main().emit(EventPayload::TurnStart { turn_number: 1 });
    host.bus.main().emit(EventPayload::TurnEnd {
        turn_number: 1,
        had_tool_calls: false,
        usage: Usage::default(),
    });
    let told = host.take_events().into_iter().map(|event| match event {
        EventPayload::Notice { message, .. } => message,
        EventPayload::ModError { mod_id, hook, .. } => format!("{mod_id} {hook}"),
        other => other.kind().as_str().to_owned(),
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        ["turn_start", "first", "mod:fails on:turn_start", "last", "turn_end"]
    );
}

/// Where it panics.
const FAILS_AT: u32 = line!() + 6;

/// Fails at each turn, at odd ones in the same way.
async fn fails_at_turns(cmd: ModApi) -> Result<()> {
    cmd.on(EventKind::TurnStart, |event| -> Result<()> {
        let EventPayload::TurnStart { turn_number } = event.parse().unwrap().payload else { panic!() };
        panic!("turn {}", if turn_number % 2 == 1 { 1 } else { turn_number });
    })?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_of_an_observer_is_told_once_per_cause_and_counted_until_the_run_of_its_agent_ends() {
    let host = Host::new();
    host.load([compiled_in("fails", builtin_mod!("fails", fails_at_turns))]).await;
    let (main, sub) = (host.bus.main(), host.bus.emitter("sub"));
    for turn_number in 1..=5 {
        main.emit(EventPayload::TurnStart { turn_number });
        sub.emit(EventPayload::TurnStart { turn_number: 1 });
    }
    let place = format!("tests/it/observers.rs:{FAILS_AT}");
    let error =
        |turn: u32| ["mod:fails".into(), "on:turn_start".into(), format!("panicked: turn {turn} at {place}")];
    assert_eq!(
        host.take_errors(),
        [error(1), error(1), error(2), error(4)],
        "of the first turn: for both agents"
    );
    let notices = |emitter| {
        host.mods.report_repeated_faults(emitter);
        host.take_events()
    };
    let notice = |times: u32| EventPayload::Notice {
        level: NoticeLevel::Warning,
        message: format!("mod:fails failed {times} times more at on:turn_start"),
    };
    assert_eq!(notices(&sub), [notice(4)]);
    assert_eq!(notices(&main), [notice(2)]);
    assert_eq!(notices(&main), []);
    main.emit(EventPayload::TurnStart { turn_number: 1 });
    assert_eq!(host.take_errors(), [error(1)], "the next run tells it anew");
}

async fn slow_observer(cmd: ModApi) -> Result<()> {
    cmd.on(EventKind::TurnStart, |_| std::thread::sleep(Duration::from_millis(60)))?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_observer_that_is_slow_is_named_once() {
    let host = Host::new();
    host.load([compiled_in("slow", builtin_mod!("slow", slow_observer))]).await;
    for _ in 0..2 {
        host.bus.main().emit(EventPayload::TurnStart { turn_number: 1 });
    }
    let notices: Vec<_> = host
        .take_events()
        .into_iter()
        .filter_map(|event| match event {
            EventPayload::Notice { message, .. } => Some(message),
            _ => None,
        })
        .collect();
    let [notice] = &notices[..] else { panic!("{notices:?}") };
    let millis = notice
        .strip_prefix("mod:slow held the run up for ")
        .unwrap()
        .strip_suffix(" ms on turn_start")
        .unwrap();
    assert!(millis.parse::<u32>().unwrap() >= 60);
}

/// Answers its own event with its own event.
async fn echo(cmd: ModApi) -> Result<()> {
    cmd.on(EventKind::ModEvent, |event| {
        let _said = event.ctx().emit("echo", &json!(null));
    })?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn observers_that_raise_events_in_a_loop_are_stopped_and_told() {
    let host = Host::new();
    host.load([compiled_in("echo", builtin_mod!("echo", echo))]).await;
    let first =
        EventPayload::ModEvent { mod_id: "mod:x".into(), name: "mod:x/call".into(), data: Value::Null };
    host.bus.main().emit(first);
    let events = host.take_events();
    let echoes = events.iter().filter(|event| event.kind() == EventKind::ModEvent).count();
    let errors: Vec<_> = events.into_iter().filter(|event| event.kind() == EventKind::ModError).collect();
    let error = EventPayload::ModError {
        mod_id: "mod:echo".to_owned(),
        hook: "on:mod_event".to_owned(),
        error: "answered something invalid: mods answer each other in a loop, 8 deep".to_owned(),
    };
    assert_eq!((echoes, errors), (9, vec![error]), "the first, and one for each level");
}

/// The listener that is busy goes on when the session's last event was told to the other one, and not before the
/// end waits for it: this runtime has one thread.
#[tokio::test]
async fn the_end_of_a_session_is_told_to_a_listener_that_is_busy_until_then() {
    let folders = Folders::new();
    let ((begun, begins), (go, go_on)) = (mpsc::channel(), mpsc::channel::<()>());
    let (go_on, told) = (Mutex::new(go_on), Arc::<Mutex<Vec<String>>>::default());
    let kept = Arc::clone(&told);
    let harness = Harness::builder()
        .places(folders.places())
        .settings(Settings::default())
        .model(Some(folders.scenario(&says("done"))))
        .sink(Arc::new(move |event: &AgentEvent| {
            if matches!(event.payload, EventPayload::SessionShutdown { .. }) {
                let go = go.clone();
                tokio::spawn(async move { go.send(()) });
            }
        }))
        .sink(Arc::new(move |event: &AgentEvent| {
            if matches!(event.payload, EventPayload::Notice { .. }) {
                begun.send(()).unwrap();
                go_on.lock().unwrap().recv().unwrap();
            }
            kept.lock().unwrap().push(event.payload.kind().as_str().to_owned());
        }))
        .start()
        .await
        .unwrap();
    let notices = harness.events().main();
    let other = thread::spawn(move || notices.notice(NoticeLevel::Info, "busy"));
    begins.recv().unwrap();
    harness.end(SessionEndReason::Shutdown).await;
    assert_eq!(*told.lock().unwrap(), ["session_start", "notice", "session_shutdown"]);
    other.join().unwrap();
}
