//! What the SDK spares authors, seen through the host of a test.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use super::{Script, TestHost, block_on};
use crate::{sdk::*, types::*};

#[test]
fn hooks_that_share_a_value_all_see_it_and_keep_it() {
    async fn counts(cmd: ModApi) -> Result<()> {
        let calls = Arc::new(AtomicU32::new(0));
        let hooks = Hooks::sharing(&calls)
            .fail_closed()
            .before_tool_call_sync(|calls, call, _| {
                calls.fetch_add(1, Relaxed);
                let fails = call.input_str("fail").map(|text| Err(Error::msg(text)));
                fails.unwrap_or(Ok(None))
            })
            .append_system_prompt(|calls, _, _| async move { Ok(Some(calls.load(Relaxed).to_string())) });
        cmd.hooks(hooks).map(drop)
    }
    block_on(async {
        let counts = TestHost::new().load(counts).await.unwrap();
        let script = Script::new("go").tool("grep", "nothing");
        let script = script.calls("grep", json!({})).and_calls("grep", json!({ "fail": "no" })).says("done");
        let ran = counts.run(script).await.unwrap();
        let prompts: Vec<_> = ran.calls.iter().map(|call| call.system.as_str()).collect();
        assert_eq!(prompts, ["0", "2"]);
        assert_eq!(ran.faults(), ["beforeToolCall: no"]);
        assert_eq!(ran.results()[0], "nothing");
        assert_ne!(ran.results()[1], "nothing", "it fails closed");
    });
}

#[test]
fn an_error_of_who_only_listens_is_told() {
    async fn listens(cmd: ModApi) -> Result<()> {
        cmd.on(EventKind::RunStart, |event| event.ctx().ui().set_status("runs"))?;
        cmd.on(EventKind::TurnStart, |event| {
            let EventPayload::TurnStart { turn_number } = event.parse()?.payload else { return Ok(()) };
            Err(Error::msg(format!("tired in turn {turn_number}")))
        })?;
        cmd.events().on("tests", |message| message.data::<bool>().map(drop)).map(drop)
    }
    block_on(async {
        let listens = TestHost::new().load(listens).await.unwrap();
        let ran = listens.run(Script::new("go").says("done")).await.unwrap();
        assert_eq!(ran.faults(), ["on:turn_start: tired in turn 1"]);
        assert_eq!(listens.status().as_deref(), Some("runs"));
        let said = listens.say("tests", &json!("green")).unwrap_err().to_string();
        assert_eq!(
            said,
            "bus:tests failed: invalid type: string \"green\", expected a boolean at line 1 column 7"
        );
    });
}

#[test]
fn a_session_that_begins_shows_what_was_kept_of_the_one_before() {
    async fn keeps(cmd: ModApi) -> Result<()> {
        cmd.hooks(
            Hooks::new().on_turn_end_sync(|_, _| Ok(StatePatch::mod_state(json!(7)))).on_session_start_sync(
                |session, ctx| {
                    let kept: Option<u32> = session.state().mod_state()?;
                    ctx.ui().notify(&format!("{} {kept:?}", session.reason()));
                    Ok(())
                },
            ),
        )
        .map(drop)
    }
    block_on(async {
        let keeps = TestHost::new().load(keeps).await.unwrap();
        keeps.on_session_start(SessionStartSource::Startup).await.unwrap();
        keeps.on_turn_end(false, Usage::default()).await.unwrap();
        keeps.on_session_start(SessionStartSource::Resume).await.unwrap();
        assert_eq!(keeps.notices(), ["startup None", "resume Some(7)"]);
    });
}

#[test]
fn somebody_is_there_where_the_test_answers() {
    async fn looks(cmd: ModApi) -> Result<()> {
        cmd.ui().notify(&cmd.ui().is_interactive().to_string());
        Ok(())
    }
    block_on(async {
        let alone = TestHost::new().load(looks).await.unwrap();
        let answered = TestHost::new().confirm(false).load(looks).await.unwrap();
        assert_eq!([alone.notices(), answered.notices()], [["false"], ["true"]]);
    });
}

#[test]
fn a_flag_is_declared_and_read_at_once_with_a_value_where_it_has_a_default() {
    async fn flags(cmd: ModApi) -> Result<()> {
        let loud: bool = cmd.flag(Flag::boolean("loud").default(true))?;
        let times: u64 = cmd.flag(Flag::number("times").description("how often").default(2))?;
        let color: Option<String> = cmd.flag(Flag::string("color"))?;
        cmd.ui().notify(&format!("{loud} {times} {color:?}"));
        Ok(())
    }
    block_on(async {
        let unset = TestHost::new().load(flags).await.unwrap();
        let set = TestHost::new().option("loud", "false").option("times", "7").option("color", "red");
        assert_eq!(unset.notices(), ["true 2 None"]);
        assert_eq!(set.load(flags).await.unwrap().notices(), ["false 7 Some(\"red\")"]);
        let refused = TestHost::new().option("times", "-1").load(flags).await.unwrap_err().to_string();
        assert_eq!(refused, "load failed: a number is a whole one from 0, got: -1");
    });
}

#[test]
fn tools_and_commands_that_never_wait_answer_as_others_do() {
    async fn both(cmd: ModApi) -> Result<()> {
        let length = |text: &str| match text.len() {
            0 => Err(Error::msg("no text")),
            length => Ok(length.to_string()),
        };
        cmd.add_tool(
            Tool::new("length", "Measures")
                .run_sync(move |call| length(&call.input_str("text").unwrap_or_default())),
        )?;
        cmd.add_command(
            Command::new("length", "Measures")
                .run_sync(move |call| length(call.args()).map(CommandOutcome::message)),
        )?;
        Ok(())
    }
    block_on(async {
        let both = TestHost::new().load(both).await.unwrap();
        assert_eq!(both.call_tool("length", json!({ "text": "four" })).await.unwrap(), ToolOutput::text("4"));
        assert_eq!(both.call_tool("length", json!({})).await.unwrap(), ToolOutput::error("no text"));
        assert_eq!(both.run_command("length", "four").await.unwrap(), CommandOutcome::message("4"));
        let failed = both.run_command("length", "").await.unwrap_err().to_string();
        assert_eq!(failed, "command:length failed: no text");
    });
}
