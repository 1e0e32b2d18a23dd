use std::sync::{Arc, OnceLock};

use super::{Fault, Registered, Script, TestHost, TestMod, block_on, frame::Question};
use crate::{sdk::*, types::*};

/// Loads a mod that registers these hooks.
async fn hooked(hooks: impl FnOnce() -> Hooks + Send + 'static) -> TestMod {
    let factory = move |cmd: ModApi| async move { cmd.hooks(hooks()).map(drop) };
    TestHost::new().load(factory).await.unwrap()
}

/// Asks for a service as a mod does, also for one that the SDK has no verb for.
fn ask(tested: &TestMod, service: &str, args: &Value) -> Result<Value, String> {
    let answer = tested.core.frame(Question::Factory).frame().call_now(service, &args.to_string())?;
    Ok(serde_json::from_str(&answer).unwrap())
}

fn result() -> RunResult {
    RunResult {
        final_text: "done".to_owned(),
        stop_reason: StopReason::EndTurn,
        turn_count: 3,
        usage: Usage { input_tokens: 1, output_tokens: 2, cache_read_tokens: 3, cache_write_tokens: 4 },
    }
}

async fn asks(cmd: ModApi) -> Result<()> {
    let ui = cmd.ui();
    let colour: Option<String> = cmd.get_flag("colour")?;
    let said = format!(
        "{} {:?} {:?} {:?} {:?} in {} as {}",
        ui.confirm("Sure?").await?,
        ui.select("Which?", &["red", "blue"]).await?,
        ui.input("Why?").await?,
        colour,
        cmd.exec("git").args(["branch", "-a"]).await?,
        cmd.cwd(),
        cmd.id(),
    );
    ui.notify(&said);
    cmd.log(LogLevel::Warn, "asked");
    Ok(())
}

#[test]
fn the_host_answers_what_the_test_says_and_records_what_was_asked() {
    let host = TestHost::new().name("asker").cwd("/tree").option("colour", "green").confirm(true);
    let host = host.select("blue").input("because").exec("git branch -a", "main\n");
    let asker = block_on(host.load(asks)).unwrap();
    let notice = r#"true Some("blue") Some("because") Some("green") ExecOutput { stdout: "main\n", stderr: "", code: Some(0) } in /tree as mod:asker"#;
    assert_eq!(asker.notices(), [notice]);
    assert_eq!(asker.questions(), ["Sure?", "Which?", "Why?"]);
    assert_eq!(asker.executed(), ["git branch -a"]);
    assert_eq!(asker.log(), [(LogLevel::Warn, "asked".to_owned())]);
    let services: Vec<_> = asker.asked().into_iter().map(|asked| asked.service).collect();
    let expected = ["flag", "ui.confirm", "ui.select", "ui.input", "exec", "ui.notify", "log"];
    assert_eq!(services, expected);
    assert_eq!(
        asker.events(),
        [EventPayload::Notice { level: NoticeLevel::Info, message: notice.to_owned() }]
    );
}

#[test]
fn what_the_test_says_nothing_of_is_answered_as_where_nobody_is_there() {
    let alone = block_on(TestHost::new().exec("git branch -a", "").load(asks)).unwrap();
    let notice = r#"false None None None ExecOutput { stdout: "", stderr: "", code: Some(0) } in /project as mod:test"#;
    assert_eq!(alone.notices(), [notice]);
}

#[test]
fn a_process_or_a_choice_that_the_test_does_not_know_fails_with_what_it_knows() {
    let failed = |reason: &str| Fault::Failed { place: "load".to_owned(), reason: reason.to_owned() };
    let unknown = block_on(TestHost::new().exec("git status", "").exec("ls", "").load(asks)).unwrap_err();
    let reason = "the test says nothing of what `git branch -a` prints, give it with exec(); it knows: `git status`, `ls`";
    assert_eq!(unknown, failed(reason));
    let unknown = block_on(TestHost::new().select("pink").load(asks)).unwrap_err();
    let reason = r#"the test selects "pink", which is none of the options: "red", "blue""#;
    assert_eq!(unknown, failed(reason));
}

#[test]
fn a_service_that_nobody_knows_is_recorded_and_answered_as_the_test_says() {
    let host = TestHost::new().answer("paint", "done").refuse("paint", "no paint");
    let painter = block_on(host.load(|_| async { Ok(()) })).unwrap();
    let red = || json!({ "colour": "red" });
    let told = [(); 3].map(|()| ask(&painter, "paint", &red()));
    assert_eq!(told, [Ok(json!("done")), Err("no paint".to_owned()), Err("no paint".to_owned())]);
    let later = painter.core.frame(Question::Factory).frame().call("wait", "{}");
    assert_eq!(block_on(later).as_deref(), Ok("null"));
    assert_eq!(painter.asked_of("paint"), [red(), red(), red()]);
    assert_eq!(painter.asked_of("wait"), [json!({})]);
}

#[test]
fn a_factory_that_fails_or_panics_is_a_fault() {
    let fails = |_: ModApi| async { Err(Error::msg("no key")) };
    let fault = block_on(TestHost::new().load(fails)).unwrap_err();
    assert_eq!(fault.to_string(), "load failed: no key");
    let line = line!() + 1;
    let panics = |_: ModApi| async { panic!("no luck") };
    let fault = block_on(TestHost::new().load(panics)).unwrap_err();
    assert_eq!(fault.to_string(), format!("load panicked: no luck at {}:{line}", file!()));
}

/// Hooks that answer with what they were asked.
fn every_hook() -> Hooks {
    Hooks::new()
        .transform_context_sync(|context, _| {
            let message = Message::user(format!("{} before", context.message_count()));
            Ok(vec![MessageEdit::Append { message }])
        })
        .append_system_prompt_sync(|turn, _| Ok(Some(format!("round {}", turn.turn_number()))))
        .before_tool_call_sync(|call, _| {
            Ok(Some(BeforeToolCall::rewrite(json!([call.tool_name(), call.input_json()]))))
        })
        .after_tool_call_sync(|result, _| {
            Ok(Some(AfterToolCall::text(format!("{} {}", result.text(), result.is_error()))))
        })
        .on_turn_start_sync(|_, _| Ok(StatePatch::default().append(Message::user("start"))))
        .on_turn_end_sync(|turn, _| Ok(StatePatch::mod_state(json!([turn.had_tool_calls(), turn.usage()]))))
        .should_stop_after_turn_sync(|turn, _| Ok(turn.state().mod_state::<Value>()?.is_some()))
        .prepare_next_turn_sync(|_, _| Ok(Some(NextTurn { model: Some("a/b".to_owned()), effort: None })))
        .on_run_end_sync(|end, ctx| {
            let result = end.result()?;
            ctx.ui().notify(&format!("{} {}", result.final_text, result.usage.total()));
            Ok(())
        })
        .on_stop_sync(|stop, _| {
            Ok(StopDecision::Continue { reason: Some(stop.last_assistant_text().to_owned()) })
        })
        .transform_input_sync(|prompt, _| {
            Ok(TransformInput::Transform { text: prompt.text().to_uppercase() })
        })
        .on_session_start_sync(|session, ctx| {
            ctx.ui().notify(session.reason());
            Ok(())
        })
        .on_session_end_sync(|session, ctx| {
            ctx.ui().notify(session.reason());
            Ok(())
        })
}

#[test]
fn every_hook_is_asked_with_what_the_test_built() {
    block_on(async {
        let all = hooked(every_hook).await;
        assert_eq!(all.hooks(), Hook::ALL.into_iter().collect());
        all.on_session_start(SessionStartSource::Resume).await.unwrap();
        let typed = all.transform_input("go").await.unwrap();
        assert_eq!(typed, TransformInput::Transform { text: "GO".to_owned() });
        let patch = all.on_turn_start().await.unwrap();
        assert_eq!(patch, StatePatch::default().append(Message::user("start")));
        all.set_turn(7);
        assert_eq!(all.append_system_prompt().await.unwrap().as_deref(), Some("round 7"));
        let seen = all.transform_context().await.unwrap();
        assert_eq!(seen, [Message::user("start"), Message::user("1 before")]);
        let before = all.before_tool_call("t", json!({ "a": 1 })).await.unwrap();
        assert_eq!(before, Some(BeforeToolCall::rewrite(json!(["t", r#"{"a":1}"#]))));
        let after = all.after_tool_call("t", json!({}), ToolOutput::error("bad")).await.unwrap();
        assert_eq!(after, Some(AfterToolCall::text("bad true")));
        assert!(!all.should_stop_after_turn().await.unwrap());
        all.on_turn_end(true, result().usage).await.unwrap();
        assert_eq!(all.mod_state(), Some(json!([true, result().usage])));
        assert!(all.should_stop_after_turn().await.unwrap(), "what a hook keeps is there for the next");
        let next = all.prepare_next_turn().await.unwrap();
        assert_eq!(next, Some(NextTurn { model: Some("a/b".to_owned()), effort: None }));
        let stop = all.on_stop("more").await.unwrap();
        assert_eq!(stop, StopDecision::Continue { reason: Some("more".to_owned()) });
        all.on_run_end(result()).await.unwrap();
        all.on_session_end(SessionEndReason::Shutdown).await.unwrap();
        assert_eq!(all.notices(), ["resume", "done 10", "shutdown"]);
        assert_eq!(all.state().messages.len(), 1, "the context was for one call");
    });
}

#[test]
fn several_registrations_of_a_hook_answer_as_one() {
    let factory = |cmd: ModApi| async move {
        for number in [1, 2] {
            let hooks = Hooks::new().before_tool_call_sync(move |call, _| {
                let mut input: Value = call.input()?;
                input["seen"] = json!([input["seen"], number]);
                let context = Some(format!("context {number}"));
                Ok(Some(BeforeToolCall { additional_context: context, ..BeforeToolCall::rewrite(input) }))
            });
            cmd.hooks(hooks.on_turn_end_sync(move |_, _| {
                Ok(StatePatch::mod_state(json!(number)).append(Message::user(number.to_string())))
            }))?;
        }
        Ok(())
    };
    block_on(async {
        let twice = TestHost::new().load(factory).await.unwrap();
        let answer = twice.before_tool_call("t", json!({})).await.unwrap();
        let expected = BeforeToolCall {
            additional_context: Some("context 1\n\ncontext 2".to_owned()),
            ..BeforeToolCall::rewrite(json!({ "seen": [[null, 1], 2] }))
        };
        assert_eq!(answer, Some(expected));
        let patch = twice.on_turn_end(false, Usage::default()).await.unwrap();
        let both = StatePatch::mod_state(json!(2)).append(Message::user("1")).append(Message::user("2"));
        assert_eq!(patch, both);
    });
}

#[test]
fn a_hook_that_fails_panics_or_answers_nonsense_is_a_fault() {
    block_on(async {
        let failing = hooked(|| {
            Hooks::new()
                .on_stop(|_, _| async { Err(Error::msg("cannot say")) })
                .append_system_prompt_sync(|_, _| panic!("lost"))
                .transform_context_sync(|_, _| Ok(vec![MessageEdit::Remove { start: 0, end: 9 }]))
        })
        .await;
        let said = failing.on_stop("").await.unwrap_err().to_string();
        assert_eq!(said, "onStop failed: cannot say");
        let fault = failing.append_system_prompt().await.unwrap_err();
        assert_eq!(fault.place(), "appendSystemPrompt");
        assert!(fault.cause().starts_with("panicked: lost at "), "{fault}");
        let said = failing.transform_context().await.unwrap_err().to_string();
        assert_eq!(
            said,
            "transformContext answered something invalid: an edit of messages 0..9, where there are: 0"
        );
        let said = failing.on_run_end(result()).await.unwrap_err().to_string();
        let has = "transformContext, appendSystemPrompt, onStop";
        assert_eq!(said, format!("no such hook: onRunEnd, the mod has: {has}"));
    });
}

async fn many_things(cmd: ModApi) -> Result<()> {
    let log = cmd.clone();
    cmd.on(EventKind::ToolQueued, move |event| log.ui().notify(event.tool_name()))?;
    cmd.on(EventKind::RunStart, |_| -> Result<()> { panic!("no runs") })?;
    let hears = cmd.clone();
    cmd.events().on("tests", move |message| hears.ui().notify(&message.json()))?;
    let says = cmd.clone();
    let tool = Tool::new("double", "Doubles").run(move |call| {
        let says = says.clone();
        async move {
            let number: u64 = call.input_str("number").unwrap_or_default().parse()?;
            says.events().emit("tests", &number)?;
            call.ctx().emit("doubled", &json!(number))?;
            Ok((2 * number).to_string())
        }
    });
    cmd.add_tool(tool)?;
    let wave = |call: CommandCall| async move { Ok(CommandOutcome::message(format!("~{}~", call.args()))) };
    cmd.add_command(Command::new("wave", "Waves").run(wave))?;
    Ok(())
}

#[test]
fn tools_commands_observers_and_listeners_are_asked_by_name() {
    block_on(async {
        let many = TestHost::new().load(many_things).await.unwrap();
        let doubled = many.call_tool("double", json!({ "number": "21" })).await.unwrap();
        assert_eq!(doubled, ToolOutput::text("42"));
        let refused = many.call_tool("double", json!({ "number": "x" })).await.unwrap();
        assert_eq!(refused, ToolOutput::error("invalid digit found in string"));
        assert_eq!(many.said(), [("tests".to_owned(), json!(21))]);
        assert_eq!(many.emitted(), [("doubled".to_owned(), json!(21))]);
        let waved = many.run_command("wave", "hi").await.unwrap();
        assert_eq!(waved, CommandOutcome::message("~hi~"));
        let queued = EventPayload::ToolQueued {
            tool_call_id: "1".to_owned(),
            tool_name: "grep".to_owned(),
            input: json!({}),
        };
        many.tell(queued).unwrap();
        many.say("tests", &json!("green")).unwrap();
        assert_eq!(many.notices(), ["21", "grep", r#""green""#]);
        let fault = many.tell(EventPayload::RunStart { session_id: "s".into() }).unwrap_err();
        assert!(fault.to_string().starts_with("on:run_start panicked: no runs at "), "{fault}");

        let said = |fault: Option<Fault>| fault.unwrap().to_string();
        let fault = many.call_tool("triple", json!({})).await.err();
        assert_eq!(said(fault), "no such tool: triple, the mod has: double");
        let fault = many.run_command("weve", "").await.err();
        assert_eq!(said(fault), "no such command: weve, the mod has: wave");
        let fault = many.tell(EventPayload::Interrupted {}).err();
        assert_eq!(said(fault), "no such observer: interrupted, the mod has: tool_queued, run_start");
        let fault = many.say("builds", &json!(1)).err();
        assert_eq!(said(fault), "no such listener: builds, the mod has: tests");
        assert_eq!(many.tools().into_iter().map(|tool| tool.name).collect::<Vec<_>>(), ["double"]);
        assert_eq!(many.commands(), ["wave"]);
    });
}

#[test]
fn a_registration_that_is_undone_is_gone_and_a_taken_name_is_refused() {
    let kept: Arc<OnceLock<Registration>> = Arc::default();
    let shared = Arc::clone(&kept);
    let factory = move |cmd: ModApi| async move {
        let command = || Command::new("wave", "Waves").run(|_| async { Ok(CommandOutcome::Done) });
        shared.get_or_init(|| cmd.add_command(command()).unwrap());
        assert!(!cmd.add_command(command())?.is_active());
        Ok(())
    };
    block_on(async {
        let waver = TestHost::new().load(factory).await.unwrap();
        let spec = json!({ "name": "wave", "description": "Waves", "argumentHint": null });
        assert_eq!(waver.registered(), [Registered { kind: "command".to_owned(), spec }]);
        let refused = EventPayload::ModError {
            mod_id: "mod:test".to_owned(),
            hook: "command:wave".to_owned(),
            error: "its name is taken already".to_owned(),
        };
        assert_eq!(waver.events(), [refused]);
        kept.get().unwrap().dispose();
        assert_eq!(waver.registered(), []);
        let gone = waver.run_command("wave", "").await.unwrap_err().to_string();
        assert_eq!(gone, "no such command: wave, the mod has: none");
    });
}

#[test]
fn a_mod_that_outlives_its_harness_is_told_so() {
    let kept: Arc<OnceLock<ModApi>> = Arc::default();
    let shared = Arc::clone(&kept);
    let loaded = block_on(TestHost::new().load(move |cmd: ModApi| async move {
        shared.get_or_init(|| cmd);
        Ok(())
    }));
    drop(loaded.unwrap());
    let colour: Result<Option<String>> = kept.get().unwrap().get_flag("colour");
    let error = colour.unwrap_err();
    assert_eq!(error.to_string(), "the harness is gone");
}

#[test]
fn listeners_that_answer_each_other_without_end_are_stopped() {
    let factory = |cmd: ModApi| async move {
        let again = cmd.clone();
        cmd.events().on("echo", move |_| again.events().emit("echo", &1).unwrap())?;
        Ok(())
    };
    let echo = block_on(TestHost::new().load(factory)).unwrap();
    echo.say("echo", &json!(0)).unwrap();
    assert_eq!(echo.said().len(), 8);
    let looped = EventPayload::ModError {
        mod_id: "mod:test".to_owned(),
        hook: "bus:echo".to_owned(),
        error: "answered something invalid: mods answer each other in a loop, 8 deep".to_owned(),
    };
    assert_eq!(echo.events(), [looped]);
}

#[cfg(feature = "runtime")]
#[test]
fn the_clock_is_paused_and_a_hook_that_takes_too_long_is_a_fault() {
    use std::time::Duration;
    let sleeps = |seconds| {
        move |_: Stop, _: Ctx| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Ok(StopDecision::Stop)
        }
    };
    block_on(async {
        let quick = hooked(move || Hooks::new().on_stop(sleeps(9))).await;
        assert_eq!(quick.on_stop("").await, Ok(StopDecision::Stop));
        let slow = hooked(move || Hooks::new().on_stop(sleeps(11))).await;
        let fault = slow.on_stop("").await.unwrap_err();
        assert_eq!(fault, Fault::TimedOut { place: "onStop".to_owned(), limit_ms: 10_000 });
        let ran = slow.run(Script::new("go").says("done")).await.unwrap();
        assert_eq!(ran.faults(), ["onStop: timeout: took longer than 10000 ms of its own time"]);
    });
}

#[path = "live_tests.rs"]
mod live;
#[path = "run_tests.rs"]
mod runs;
