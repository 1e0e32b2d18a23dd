//! Whatever a mod does in a hook, it is told, and the run goes on as if the mod had had no opinion.

use std::time::Duration;

use futures::future::join_all;
use host::{
    hooks::{Mods, Round, ToolCallInput},
    mod_host::Code,
};
use mod_interface::{builtin_mod, prelude::*};

use crate::support::{
    misbehaving::{Misbehaving, as_built, options},
    mods::{Host, compiled_in, state},
};

/// A mod that answers every hook with something that shows.
async fn eager(cmd: ModApi) -> Result<()> {
    cmd.hooks(
        Hooks::new()
            .transform_context_sync(|_, _| Ok(vec![MessageEdit::Append { message: Message::user("eager") }]))
            .append_system_prompt_sync(|_, _| Ok(Some("eager".to_owned())))
            .before_tool_call_sync(|_, _| Ok(Some(BeforeToolCall::rewrite(json!({ "eager": true })))))
            .after_tool_call_sync(|_, _| Ok(Some(AfterToolCall::text("eager"))))
            .on_turn_start_sync(|_, _| Ok(StatePatch::mod_state(json!("start"))))
            .on_turn_end_sync(|_, _| Ok(StatePatch::mod_state(json!("end"))))
            .should_stop_after_turn_sync(|_, _| Ok(true))
            .prepare_next_turn_sync(|_, _| {
                Ok(Some(NextTurn { model: Some("a/b".to_owned()), ..NextTurn::default() }))
            })
            .on_run_end_sync(|_, ctx| notify(ctx))
            .on_stop_sync(|_, _| Ok(StopDecision::Continue { reason: Some("eager".to_owned()) }))
            .transform_input_sync(|_, _| Ok(TransformInput::Transform { text: "eager".to_owned() }))
            .on_session_start_sync(|_, ctx| notify(ctx))
            .on_session_end_sync(|_, ctx| notify(ctx)),
    )?;
    Ok(())
}

fn notify(ctx: &Ctx) -> Result<()> {
    ctx.ui().notify("eager");
    Ok(())
}

/// Asks the mods at one hook; all that comes of it.
async fn ask(host: &Host, hook: Hook) -> String {
    let runner = host.runner();
    verdict(&runner.round(host.mods.handlers(), 1), hook).await
}

async fn verdict(round: &Round<'_>, hook: Hook) -> String {
    let mut state = state();
    let call = ToolCallInput { id: "c".into(), name: "t".into(), input: json!({}).into() };
    match hook {
        Hook::TransformContext => {
            format!("{:?}", round.transform_context(&state, state.messages.clone()).await)
        }
        Hook::AppendSystemPrompt => format!("{:?}", round.append_system_prompt(&state).await),
        Hook::BeforeToolCall => format!("{:?}", round.before_tool_call(&state, &call).await),
        Hook::AfterToolCall => format!("{:?}", round.after_tool_call(&state, &call, vec![], false).await),
        Hook::OnTurnStart => {
            round.on_turn_start(&mut state).await;
            format!("{state:?}")
        }
        Hook::OnTurnEnd => {
            round.on_turn_end(&mut state, true, Usage::default()).await;
            format!("{state:?}")
        }
        Hook::ShouldStopAfterTurn => format!("{:?}", round.should_stop_after_turn(&state).await),
        Hook::PrepareNextTurn => {
            format!("{:?}", round.prepare_next_turn(&state, NextTurn::default(), |_| Ok(())).await)
        }
        Hook::OnRunEnd => {
            let usage = Usage::default();
            let result = RunResult {
                final_text: String::new(),
                stop_reason: StopReason::EndTurn,
                turn_count: 1,
                usage,
            };
            format!("{:?}", round.on_run_end(&state, result.into()).await)
        }
        Hook::OnStop => format!("{:?}", round.on_stop(&state, StopReason::EndTurn, "".into()).await),
        Hook::TransformInput => format!("{:?}", round.transform_input(&state, "typed").await),
        Hook::OnSessionStart => {
            format!("{:?}", round.on_session(&state, SessionChange::Start(SessionStartSource::Startup)).await)
        }
        Hook::OnSessionEnd => {
            format!("{:?}", round.on_session(&state, SessionChange::End(SessionEndReason::Shutdown)).await)
        }
    }
}

/// The misbehaving mod in front of the eager one.
async fn misbehaving(way: Code, hook: Hook, how: &str, limit: Duration) -> Host {
    let host = Host::with(|config| {
        config.options = options(hook.wire_name(), how).into();
        config.hook_timeout = Some(limit);
    });
    let eager = compiled_in("eager", builtin_mod!("eager", eager));
    let loaded = host.load([way, eager]).await;
    assert_eq!(loaded, (vec!["misbehaving".to_owned(), "eager".to_owned()], vec![]));
    host
}

/// What the hook comes to with the eager mod alone.
async fn without(hook: Hook) -> String {
    let host = Host::new();
    host.load([compiled_in("eager", builtin_mod!("eager", eager))]).await;
    let verdict = ask(&host, hook).await;
    format!("{verdict} {:?}", host.take_events())
}

/// One runtime thread: its clock can be stopped, and then leaps to the next timer when all wait.
#[tokio::test]
async fn a_hook_that_never_answers_times_out_and_the_others_decide() {
    let mods = Misbehaving::new();
    let limit = Duration::from_millis(70);
    for hook in Hook::ALL {
        let expected = without(hook).await;
        let hows = ["hang", "hang-and-panic-dropped"];
        for (how, way) in hows.iter().flat_map(|how| mods.ways().map(|way| (how, way))) {
            let host = misbehaving(way, hook, how, limit).await;
            tokio::time::pause();
            let start = tokio::time::Instant::now();
            let verdict = ask(&host, hook).await;
            let took = start.elapsed();
            tokio::time::resume();

            // Work that must be completed has a minute.
            let limit = if matches!(hook, Hook::OnRunEnd | Hook::OnSessionEnd) { 60_000 } else { 70 };
            assert!((limit..limit + 5).contains(&took.as_millis()), "{hook}: {took:?}");
            let mut events = host.take_events();
            let error = events.remove(0);
            let mod_error = EventPayload::ModError {
                mod_id: "mod:misbehaving".to_owned(),
                hook: hook.wire_name().to_owned(),
                error: format!("timeout: took longer than {limit} ms of its own time"),
            };
            assert_eq!(error, mod_error);
            assert_eq!(format!("{verdict} {events:?}"), expected, "{hook} {how}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_fails_in_any_way_is_told_with_its_place_and_the_others_decide() {
    let mods = Misbehaving::new();
    let hows = [
        ("error", "went wrong"),
        ("panic-called", "panicked: called at "),
        ("panic-payload", "panicked: a panic without a text at "),
        ("panic-polled-later", "panicked: polled again at "),
        ("panic-dropped", "panicked: a panic without a text at "),
        ("panic-dropped-later", "panicked: a panic without a text at "),
    ];
    for hook in Hook::ALL {
        let expected = without(hook).await;
        for ((how, said), way) in hows.iter().flat_map(|how| mods.ways().map(|way| (*how, way))) {
            let host = misbehaving(way, hook, how, Duration::from_secs(30)).await;
            let verdict = ask(&host, hook).await;
            let mut events = host.take_events();
            let EventPayload::ModError { mod_id, hook: place, error } = events.remove(0) else { panic!() };
            assert_eq!((mod_id.as_str(), place.as_str()), ("mod:misbehaving", hook.wire_name()));
            let (text, place) = error.split_at(said.len());
            assert_eq!(text, said, "{hook} {how}");
            assert_eq!(place.is_empty(), how == "error");
            let place = as_built(place);
            assert!(place.is_empty() || place.starts_with("tests/mods/misbehaving/src/bad.rs:"), "{place}");
            assert_eq!(format!("{verdict} {events:?}"), expected, "{hook} {how}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guard_that_fails_blocks_the_call_and_says_so() {
    let mods = Misbehaving::new();
    for way in mods.ways() {
        let host = misbehaving(way, Hook::BeforeToolCall, "fail-closed", Duration::from_secs(30)).await;
        let verdict = ask(&host, Hook::BeforeToolCall).await;
        let [[_, _, error]] = &host.take_errors()[..] else { panic!() };
        assert!(as_built(error).starts_with("panicked: called at tests/mods/misbehaving/src/bad.rs:"));
        let reason =
            format!("This call could not be evaluated by mod:misbehaving, so it did not run: {error}");
        let expected = format!(
            "BeforeVerdict {{ input: Object {{}}, rewritten_by: None, contexts: [], blocked: Some({reason:?}), terminate: false }}"
        );
        assert_eq!(verdict, expected, "the mods behind it are not asked");
    }
}

async fn guard_that_hangs(cmd: ModApi) -> Result<()> {
    cmd.hooks(Hooks::new().fail_closed().before_tool_call(|_, _| std::future::pending()))?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guard_that_never_answers_blocks_the_call() {
    let host = Host::with(|config| config.hook_timeout = Some(Duration::from_millis(20)));
    host.load([compiled_in("guard", builtin_mod!("guard", guard_that_hangs))]).await;
    let call = ToolCallInput { id: "c".into(), name: "t".into(), input: json!({}).into() };
    let runner = host.runner();
    let verdict = runner.round(host.mods.handlers(), 1).before_tool_call(&state(), &call).await;
    let reason = "This call could not be evaluated by mod:guard, so it did not run: timeout: took longer than 20 ms of its \
                  own time";
    assert_eq!(verdict.blocked.as_deref(), Some(reason));
}

async fn waits_for_the_host(cmd: ModApi) -> Result<()> {
    cmd.hooks(Hooks::new().append_system_prompt(|_, ctx| async move {
        let slept = ctx.exec("sleep").args(["0.4"]).await?;
        let asked = ctx.ui().confirm("Really?").await?;
        Ok(Some(format!("{:?} {asked}", slept.code)))
    }))?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn decision_24_the_time_that_a_hook_waits_for_the_host_is_not_its_own() {
    let host = Host::with(|config| config.hook_timeout = Some(Duration::from_millis(150)));
    host.load([compiled_in("patient", builtin_mod!("patient", waits_for_the_host))]).await;
    assert_eq!(ask(&host, Hook::AppendSystemPrompt).await, r#"Some("Some(0) false")"#);
    assert_eq!(host.take_errors(), [[""; 3]; 0]);
}

/// The longest wait of these tests: a mod that blocks is named after two seconds. So all wait at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 30)]
async fn decision_25_a_mod_that_blocks_is_named_with_hook_and_time_and_only_once() {
    let mods = Misbehaving::new();
    let asked = Hook::ALL.into_iter().flat_map(|hook| mods.ways().map(|way| (hook, way)));
    let asked = asked.map(|(hook, way)| async move {
        let host = misbehaving(way, hook, "spin", Duration::from_secs(30)).await;
        let spins = tokio::spawn(async move {
            ask(&host, hook).await;
            host
        });
        (hook, spins.await.unwrap())
    });
    for (hook, host) in join_all(asked).await {
        let told = host.take_events().into_iter().filter_map(|event| match event {
            // The eager mod's own is no warning.
            EventPayload::Notice { level: NoticeLevel::Warning, message } => Some(message),
            _ => None,
        });
        let named = format!("mod:misbehaving has been in {hook} for 2 s without awaiting");
        assert_eq!(told.collect::<Vec<_>>(), [named]);
    }
}

/// Disposes its own hook when it is asked for the first time.
async fn once(cmd: ModApi) -> Result<()> {
    let own = std::sync::Arc::new(std::sync::OnceLock::<Registration>::new());
    let disposed = std::sync::Arc::clone(&own);
    let registration = cmd.hooks(Hooks::new().append_system_prompt(move |_, _| {
        let own = std::sync::Arc::clone(&disposed);
        async move {
            let own = own.get().ok_or_else(|| Error::msg("asked too early"))?;
            own.dispose();
            own.dispose();
            Ok(Some("once".to_owned()))
        }
    }))?;
    own.set(registration).map_err(|_| Error::msg("set twice"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mod_may_dispose_its_hook_in_that_very_hook() {
    let host = Host::new();
    host.load([compiled_in("once", builtin_mod!("once", once))]).await;
    let runner = host.runner();
    let round = runner.round(host.mods.handlers(), 1);
    assert_eq!(verdict(&round, Hook::AppendSystemPrompt).await, r#"Some("once")"#);
    assert_eq!(
        verdict(&round, Hook::AppendSystemPrompt).await,
        r#"Some("once")"#,
        "the round goes on as it began"
    );
    assert_eq!(ask(&host, Hook::AppendSystemPrompt).await, "None");
    assert_eq!(host.take_errors(), [[""; 3]; 0]);
}
