//! Scripted runs.

use super::*;
use crate::{testing::Ran, types::EventKind as Kind};

/// Notes each hook as it is asked, and each event as it is told.
async fn notes(cmd: ModApi) -> Result<()> {
    for kind in [Kind::RunStart, Kind::TurnStart, Kind::ToolQueued, Kind::ToolRunning, Kind::ToolCompleted] {
        let api = cmd.clone();
        cmd.on(kind, move |event| api.log(LogLevel::Info, event.kind_name()))?;
    }
    for kind in [Kind::TurnEnd, Kind::RunEnd] {
        let api = cmd.clone();
        cmd.on(kind, move |event| api.log(LogLevel::Info, event.kind_name()))?;
    }
    macro_rules! note {
        ($hooks:expr, $($name:ident => $answer:expr),*) => {
            $hooks$(.$name(|_, ctx| {
                ctx.log(LogLevel::Info, stringify!($name).trim_end_matches("_sync"));
                Ok($answer)
            }))*
        };
    }
    cmd.hooks(note!(Hooks::new(),
        transform_input_sync => TransformInput::Transform { text: "rewritten".to_owned() },
        on_turn_start_sync => StatePatch::default(),
        append_system_prompt_sync => Some("Be brief.".to_owned()),
        transform_context_sync => vec![MessageEdit::Append { message: Message::user("only now") }],
        before_tool_call_sync => Some(BeforeToolCall::context("before")),
        after_tool_call_sync => Some(AfterToolCall::context("after")),
        on_turn_end_sync => StatePatch::default(),
        should_stop_after_turn_sync => false,
        prepare_next_turn_sync => Some(NextTurn { model: Some("a/b".to_owned()), effort: Some(EffortChange::Set(Effort::Low)) }),
        on_stop_sync => StopDecision::Stop,
        on_run_end_sync => ()
    ))?;
    Ok(())
}

#[test]
fn hooks_and_events_come_in_the_order_of_the_loop() {
    let script = || {
        let usage = Usage { input_tokens: 5, output_tokens: 1, ..Usage::default() };
        let script = Script::new("typed").system("Base.").tool("ls", "a.rs").calls("ls", json!({ "p": 1 }));
        script.using(usage).says("One file.")
    };
    block_on(async {
        let noting = TestHost::new().load(notes).await.unwrap();
        let ran = noting.run(script()).await.unwrap();
        let log: Vec<_> = noting.log().into_iter().map(|(_, line)| line).collect();
        let round = "on_turn_start turn_start append_system_prompt transform_context";
        let tool = "tool_queued before_tool_call tool_running after_tool_call tool_completed";
        let expected = format!(
            "transform_input run_start {round} {tool} on_turn_end turn_end should_stop_after_turn prepare_next_turn \
             {round} on_turn_end turn_end should_stop_after_turn on_stop on_run_end run_end"
        );
        assert_eq!(log.join(" "), expected);

        let sent = |call: usize| {
            let texts = ran.calls[call].messages.iter().map(Message::text).collect::<Vec<_>>();
            (ran.calls[call].model.clone(), ran.calls[call].effort, ran.calls[call].system.clone(), texts)
        };
        let system = || "Base.\n\nBe brief.".to_owned();
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(sent(0), ("test/model".to_owned(), None, system(), texts(&["rewritten", "only now"])));
        let second = texts(&["rewritten", "", "", "only now"]);
        assert_eq!(sent(1), ("a/b".to_owned(), Some(Effort::Low), system(), second));
        assert_eq!(ran.results(), ["a.rs\nbefore\nafter"]);
        assert_eq!(ran.messages.len(), 4);
        let result = RunResult {
            final_text: "One file.".to_owned(),
            stop_reason: StopReason::EndTurn,
            turn_count: 2,
            usage: Usage { input_tokens: 5, output_tokens: 1, ..Usage::default() },
        };
        assert_eq!((ran.result.clone(), ran.faults()), (Some(result), Vec::new()));
        use Kind::*;
        let model = [MessageStart, ModelRequestStart];
        let told = [TextDelta, ModelRequestEnd, MessageEnd];
        let calls = [ModelRequestEnd, MessageEnd, ToolQueued, ToolRunning, ToolCompleted];
        let expected = [
            &[RunStart, TurnStart][..],
            &model,
            &calls,
            &[TurnEnd, TurnStart],
            &model,
            &told,
            &[TurnEnd, RunEnd],
        ];
        assert_eq!(ran.kinds(), expected.concat());
    });
}

#[test]
fn the_mods_own_tool_runs_and_a_block_is_what_the_model_sees() {
    let factory = |cmd: ModApi| async move {
        let shout = |call: Invocation| async move { Ok(call.input_str("text").unwrap_or_default() + "!") };
        cmd.add_tool(Tool::new("shout", "Shouts").run(shout))?;
        cmd.hooks(Hooks::new().before_tool_call_sync(|call, _| {
            Ok((call.tool_name() == "rm").then(|| BeforeToolCall::block("No.").and_terminate()))
        }))?;
        Ok(())
    };
    block_on(async {
        let shouter = TestHost::new().load(factory).await.unwrap();
        let script = Script::new("go").calls("shout", json!({ "text": "hey" })).and_calls("rm", json!({}));
        let ran = shouter.run(script).await.unwrap();
        assert_eq!(ran.results(), ["hey!", "No."]);
        assert_eq!(ran.result.unwrap().stop_reason, StopReason::Terminate);
        let again = shouter.run(Script::new("and now?").says("Nothing.")).await.unwrap();
        let texts: Vec<_> = again.messages.iter().map(Message::text).collect();
        assert_eq!(texts, ["go", "", "", "and now?", "Nothing."], "the conversation goes on");
        assert_eq!(again.kinds()[0], Kind::RunStart, "with its own events alone");
    });
}

#[test]
fn a_failure_is_a_mod_error_and_a_guard_that_fails_closed_blocks() {
    let failing = |closed: bool| {
        let guard = Hooks::new()
            .before_tool_call_sync(|_, _| Err(Error::msg("cannot judge")))
            .transform_context_sync(|_, _| Ok(vec![MessageEdit::Remove { start: 3, end: 9 }]));
        if closed { guard.fail_closed() } else { guard }
    };
    let script = || Script::new("go").tool("ls", "a.rs").calls("ls", json!({})).says("done");
    let faults = [
        "transformContext: answered something invalid: an edit of messages 3..9, where there are: 1",
        "beforeToolCall: cannot judge",
    ];
    block_on(async {
        let open = hooked(move || failing(false)).await;
        let ran = open.run(script()).await.unwrap();
        assert_eq!(
            (ran.faults()[..2].to_vec(), ran.results()),
            (faults.map(str::to_owned).to_vec(), vec!["a.rs".to_owned()])
        );
        let closed = hooked(move || failing(true)).await;
        let ran = closed.run(script()).await.unwrap();
        let blocked = "This call could not be evaluated by mod:test, so it did not run: cannot judge";
        assert_eq!(ran.results(), [blocked]);
    });
}

#[test]
fn a_run_is_kept_going_eight_times_in_a_row() {
    block_on(async {
        let eager =
            hooked(|| Hooks::new().on_stop_sync(|_, _| Ok(StopDecision::Continue { reason: None }))).await;
        let script = (0..9).fold(Script::new("go"), |script, round| script.says(round.to_string()));
        let ran = eager.run(script).await.unwrap();
        assert_eq!((ran.text(), ran.calls.len()), ("8", 9));
        assert_eq!(ran.messages[2].text(), "A stop hook asks you to keep working.");
        let short = eager.run(Script::new("go").says("once")).await.unwrap_err().to_string();
        let over = "the model is asked once more than it has answers; give the script one with says() or calls(), it has: 1";
        assert_eq!(short, over);
    });
}

#[test]
fn a_prompt_that_the_mod_consumes_is_no_run() {
    block_on(async {
        let consumes = hooked(|| {
            Hooks::new().transform_input_sync(|_, _| Ok(TransformInput::Handled { message: None }))
        })
        .await;
        let ran = consumes.run(Script::new("hi")).await.unwrap();
        assert_eq!(ran, Ran { calls: vec![], events: vec![], messages: vec![], result: None });
    });
}

#[test]
fn a_tool_that_nobody_has_is_the_scripts_mistake() {
    block_on(async {
        let none = hooked(Hooks::new).await;
        let script = Script::new("go").tool("ls", "a.rs").calls("grep", json!({}));
        let missing = none.run(script).await.unwrap_err().to_string();
        assert_eq!(missing, "no such tool: grep, the mod has: ls (of the script)");
    });
}
