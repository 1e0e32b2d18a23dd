//! The seven reasons for which a run stops, each with its whole list.

use mod_interface::types::{AfterToolCall, Hook, HookOutcome, StopReason};
use serde_json::json;

use super::fakes::{Scene, Turn, call, say};

/// A run that stops for this reason, with a mod that has the hooks behind a turn.
fn scene(reason: StopReason) -> Scene {
    let turn = match reason {
        StopReason::Terminate | StopReason::PermissionDenied => call([("c1", "echo", json!({}))]),
        StopReason::Error => Turn::Fail("overloaded"),
        _ => say("hi"),
    };
    let mut scene = Scene::new([turn]);
    scene.max_turns = u32::from(reason == StopReason::MaxTurns);
    scene.deny = if reason == StopReason::PermissionDenied { vec!["echo"] } else { vec![] };
    let cancel = scene.cancel.clone();
    let a = scene
        .fake_mod("a")
        .watching([Hook::OnTurnEnd, Hook::OnStop, Hook::PrepareNextTurn, Hook::OnRunEnd])
        .on(Hook::AfterToolCall, |_| {
            let answer = AfterToolCall { terminate: true, ..AfterToolCall::default() };
            Some(HookOutcome::AfterToolCall(answer))
        })
        .on(Hook::ShouldStopAfterTurn, move |_| {
            if reason == StopReason::Interrupted {
                cancel.cancel();
            }
            (reason == StopReason::StopHook).then_some(HookOutcome::ShouldStop)
        });
    scene.with([a])
}

/// What comes before, behind the model's answer, and at the end.
fn whole(behind: &[&'static str], end: &[&'static str]) -> Vec<&'static str> {
    let begin = ["run_start s1", "turn_start 1", "message_start", "model_request_start p/one"];
    [&begin, behind, end].concat()
}

const SAID: [&str; 6] = [
    "text_delta hi",
    "model_request_end p/one tokens=15 end_turn",
    "message_end hi",
    "◆ mod:a onTurnEnd",
    "turn_end 1 tools=false tokens=15",
    "commit",
];

/// A turn with one call, of which this is told.
fn called(told: &[&'static str]) -> Vec<&'static str> {
    let begin =
        ["model_request_end p/one tokens=15 tool_use", "message_end tool_use", "tool_queued c1 echo {}"];
    let end = ["◆ mod:a onTurnEnd", "turn_end 1 tools=true tokens=15", "commit"];
    [&begin, told, &end].concat()
}

#[tokio::test(start_paused = true)]
async fn decision_11_for_each_stop_reason_on_stop_is_asked_at_a_natural_end_alone_and_on_run_end_once() {
    let (should_stop, run_end) = ("◆ mod:a shouldStopAfterTurn", "◆ mod:a onRunEnd");
    let runs = ["tool_running c1", "◆ mod:a afterToolCall c1", "tool_completed c1: echo ran {}"];
    let denied = "tool_denied c1: a deny rule forbids this call: echo";
    let failed = "run_error the model p/one gave no answer: overloaded";
    let expected = [
        (StopReason::EndTurn, whole(&SAID, &[should_stop, "◆ mod:a onStop", run_end, "run_end end_turn 1"])),
        (StopReason::MaxTurns, whole(&SAID, &[should_stop, run_end, "run_end max_turns 1"])),
        (StopReason::StopHook, whole(&SAID, &[should_stop, run_end, "run_end stop_hook 1"])),
        (StopReason::Terminate, whole(&called(&runs), &[run_end, "run_end terminate 1"])),
        (StopReason::PermissionDenied, whole(&called(&[denied]), &[run_end, "run_end permission_denied 1"])),
        (
            StopReason::Interrupted,
            whole(&SAID, &[should_stop, "interrupted", run_end, "run_end interrupted 1"]),
        ),
        (StopReason::Error, whole(&[], &[failed, run_end, "run_end error 0"])),
    ];
    for (reason, log) in expected {
        let ran = scene(reason).run().await;
        assert_eq!(
            (ran.outcome.result.stop_reason, ran.log),
            (reason, log.into_iter().map(str::to_owned).collect())
        );
    }
}
