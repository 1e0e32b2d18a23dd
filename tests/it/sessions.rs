//! What holds for a session as a whole: how much time its hooks have, and when it begins and ends for mods.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::future::{BoxFuture, ready};
use host::{
    harness::{Earlier, Harness, HarnessBuilder, Prompted, Recording},
    settings::Settings,
    ui::Ui,
};
use mod_interface::{
    builtin_mod,
    prelude::{Hooks, ModApi, Result, StatePatch, StopDecision, TransformInput},
    types::{AgentEvent, EventKind, EventPayload, Hook, SessionEndReason},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{
    asked::{times, with_fault},
    behaving::{Echo, TODAY, compiled_in, echoes, line, renamed, session},
    session::Folders,
};

fn turns() -> Value {
    json!([echoes(&["x"]), { "text": "done" }])
}

/// A harness, and the events that it has raised, a line each.
async fn start(
    folders: &Folders,
    turns: &Value,
    build: impl FnOnce(HarnessBuilder) -> HarnessBuilder,
) -> (Harness, Arc<Mutex<Vec<String>>>) {
    let told = Arc::<Mutex<Vec<String>>>::default();
    let kept = Arc::clone(&told);
    let builder = Harness::builder()
        .places(folders.places())
        .settings(Settings::default())
        .model(Some(folders.scenario(&json!({ "turns": turns }))))
        .record(Recording::InMemory)
        .tool(Arc::new(Echo::new()))
        .sink(Arc::new(move |event: &AgentEvent| kept.lock().unwrap().push(line(event))));
    (build(builder).start().await.unwrap(), told)
}

/// The clock stands once the mods are loaded: that is done on a thread of its own.
#[tokio::test]
async fn decision_24_a_hook_has_ten_seconds_of_its_own_time_and_those_of_the_end_a_minute() {
    let without = session(&turns(), |builder, _| builder).await;
    // `onSessionStart` runs before the clock can be stopped; its time is that of the others.
    for hook in Hook::ALL.into_iter().filter(|hook| *hook != Hook::OnSessionStart) {
        for shared in [false, true] {
            let folders = Folders::new();
            let hangs = ("behaving-a.does".to_owned(), format!("fail-hang:{hook}"));
            let add = |builder: HarnessBuilder| match shared {
                true => builder.mods([renamed(TODAY, "a", folders.dir())]),
                false => compiled_in(builder, "a"),
            };
            let (harness, told) =
                start(&folders, &turns(), |builder| add(builder).mod_options([hangs])).await;
            tokio::time::pause();
            let begun = tokio::time::Instant::now();
            assert!(matches!(harness.prompt("go", &CancellationToken::new()).await, Prompted::Ran(_)));
            harness.end(SessionEndReason::Shutdown).await;
            let took = begun.elapsed();
            tokio::time::resume();

            let seconds = if matches!(hook, Hook::OnRunEnd | Hook::OnSessionEnd) { 60 } else { 10 };
            let error = format!("timeout: took longer than {} ms of its own time", seconds * 1000);
            let told: Vec<_> = told.lock().unwrap().clone();
            assert_eq!(told, with_fault(&without, "mod:behaving-a", hook, &error));
            let waited = Duration::from_secs(seconds) * times(hook);
            assert!((waited..waited + Duration::from_millis(50)).contains(&took), "{hook}: {took:?}");
        }
    }
}

/// Says yes to everything.
struct Agrees;

impl Ui for Agrees {
    fn interactive(&self) -> bool {
        true
    }

    fn confirm(&self, _: &str, _: Option<&str>) -> BoxFuture<'static, bool> {
        Box::pin(ready(true))
    }

    fn select(&self, _: &str, _: &[String]) -> BoxFuture<'static, Option<String>> {
        Box::pin(ready(None))
    }

    fn input(&self, _: &str, _: Option<&str>) -> BoxFuture<'static, Option<String>> {
        Box::pin(ready(None))
    }
}

/// Tells when its session begins, how many turns it has had in all, and when it ends.
async fn tells_of_its_session(cmd: ModApi) -> Result<()> {
    let hooks = Hooks::new()
        .on_session_start(|event, ctx| async move {
            let agreed = ctx.ui().confirm("Shall it begin?").await?;
            ctx.emit("begins", &json!([event.reason(), agreed]))
        })
        .on_turn_start_sync(|turn, ctx| {
            let turns = turn.state().mod_state::<u64>()?.unwrap_or(0) + 1;
            ctx.emit("turns", &json!(turns))?;
            Ok(StatePatch::mod_state(json!(turns)))
        })
        .on_session_end(|event, ctx| async move {
            let slept = ctx.exec("sleep").args(["0.2"]).await?;
            ctx.emit("ends", &json!([event.reason(), slept.code]))
        });
    cmd.hooks(hooks)?;
    Ok(())
}

/// The events of a session of two prompts that begins for this reason, after so many turns.
fn two_prompts(reason: &str, turns: u32) -> Vec<String> {
    let run = |text: &str, turn: u32| {
        [
            "run_start",
            &format!("mod_event mod:tells/turns {turn}"),
            "turn_start",
            "message_start",
            "model_request_start",
            &format!("text_delta {text}"),
            &format!("message_update {text}"),
            "model_request_end",
            &format!("message_end {text}"),
            "turn_end",
            "run_end end_turn 1",
        ]
        .map(str::to_owned)
    };
    let begins = format!("mod_event mod:tells/begins [\"{reason}\",true]");
    let begin = ["session_start".to_owned(), begins];
    let titled = (turns == 0).then(|| "session_titled go".to_owned());
    let end = ["mod_event mod:tells/ends [\"shutdown\",0]", "session_shutdown"].map(str::to_owned);
    [&begin[..], &run("one", turns + 1), titled.as_slice(), &run("two", turns + 2), &end].concat()
}

#[tokio::test]
async fn decision_34_a_session_begins_once_when_the_ui_is_bound_also_when_it_goes_on_and_its_end_is_waited_for()
 {
    let folders = Folders::new();
    let turns = json!([{ "text": "one" }, { "text": "two" }]);
    let sessions = [(Recording::New, "startup", 0), (Recording::Resume(Earlier::Latest), "resume", 2)];
    for (recording, reason, before) in sessions {
        let (harness, told) = start(&folders, &turns, |builder| {
            let builder = builder.record(recording).ui(Arc::new(Agrees));
            builder.built_in("tells", builtin_mod!("tells", tells_of_its_session))
        })
        .await;
        for _ in 0..2 {
            assert!(matches!(harness.prompt("go", &CancellationToken::new()).await, Prompted::Ran(_)));
        }
        harness.end(SessionEndReason::Shutdown).await;
        assert_eq!(*told.lock().unwrap(), two_prompts(reason, before));
    }
}

macro_rules! telling {
    ($($hook:literal $name:ident $answer:expr;)*) => {
        Hooks::new()$(.$name(|_, ctx| {
            ctx.emit("asked", &json!([$hook, ctx.agent_id()]))?;
            Ok($answer)
        }))*
    };
}

/// Tells at every hook and of every tool that runs which agent it is about.
async fn tells_of_its_agent(cmd: ModApi) -> Result<()> {
    cmd.hooks(telling! {
        "transformContext" transform_context_sync vec![];
        "appendSystemPrompt" append_system_prompt_sync None;
        "beforeToolCall" before_tool_call_sync None;
        "afterToolCall" after_tool_call_sync None;
        "onTurnStart" on_turn_start_sync StatePatch::default();
        "onTurnEnd" on_turn_end_sync StatePatch::default();
        "shouldStopAfterTurn" should_stop_after_turn_sync false;
        "prepareNextTurn" prepare_next_turn_sync None;
        "onRunEnd" on_run_end_sync ();
        "onStop" on_stop_sync StopDecision::Stop;
        "transformInput" transform_input_sync TransformInput::Continue;
        "onSessionStart" on_session_start_sync ();
        "onSessionEnd" on_session_end_sync ();
    })?;
    cmd.on(EventKind::ToolRunning, |event| {
        let _told = event.ctx().emit("asked", &json!([event.tool_name(), event.agent_id()]));
    })?;
    Ok(())
}

#[tokio::test]
async fn decision_22_every_hook_and_event_carries_the_id_of_its_agent_a_sub_agents_too() {
    let folders = Folders::new();
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let kept = Arc::clone(&asked);
    let agent = json!({ "id": "c1", "name": "agent", "input": { "description": "d", "prompt": "p" } });
    let turns = json!([{ "tool_calls": [agent] }, echoes(&["x"]), { "text": "found" }, { "text": "done" }]);
    let (harness, _) = start(&folders, &turns, |builder| {
        let sink = move |event: &AgentEvent| {
            if let EventPayload::ModEvent { data, .. } = &event.payload {
                assert_eq!(data[1], &*event.agent_id, "the event that a mod raises is about the same agent");
                kept.lock().unwrap().push(format!("{} {}", event.agent_id, data[0].as_str().unwrap()));
            }
        };
        builder.sink(Arc::new(sink)).built_in("tells", builtin_mod!("tells", tells_of_its_agent))
    })
    .await;
    assert!(matches!(harness.prompt("go", &CancellationToken::new()).await, Prompted::Ran(_)));
    harness.end(SessionEndReason::Shutdown).await;
    let of =
        |agent: &str, hooks: &[&str]| hooks.iter().map(|hook| format!("{agent} {hook}")).collect::<Vec<_>>();
    let first = |tool| ["onTurnStart", "appendSystemPrompt", "transformContext", "beforeToolCall", tool];
    let behind = ["afterToolCall", "onTurnEnd", "shouldStopAfterTurn", "prepareNextTurn"];
    let last = [
        "onTurnStart",
        "appendSystemPrompt",
        "transformContext",
        "onTurnEnd",
        "shouldStopAfterTurn",
        "onStop",
        "onRunEnd",
    ];
    let expected = [
        of("main", &["onSessionStart", "transformInput"]),
        of("main", &first("agent")),
        of("agent:c1", &first("echo")),
        of("agent:c1", &behind),
        of("agent:c1", &last),
        of("main", &behind),
        of("main", &last),
        of("main", &["onSessionEnd"]),
    ];
    assert_eq!(*asked.lock().unwrap(), expected.concat());
}
