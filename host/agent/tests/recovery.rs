//! Answers that are no end: continued, told, and not for ever.

use std::num::NonZeroU32;

use mod_interface::types::{ContentBlock, Hook, HookOutcome, StopDecision};

use super::fakes::{Ran, Scene, Turn, answer, say};
use crate::agent::{Delivery, Sender};

const GO_ON: &str =
    "user[recovery]: Your answer hit the output limit. Go on exactly where it ended, and repeat nothing.";
const SAY_SOMETHING: &str = "user[recovery]: Your answer was empty. Go on, or say that you are done.";

fn ends(text: &str, stop_reason: &str) -> Turn {
    answer(vec![ContentBlock::text(text)], stop_reason)
}

fn empty() -> Turn {
    answer(vec![], "end_turn")
}

async fn run<const N: usize>(turns: [Turn; N]) -> Ran {
    Scene::new(turns).run().await
}

#[tokio::test(start_paused = true)]
async fn a_paused_turn_goes_on_with_the_conversation_as_it_stands() {
    let ran = run([ends("one", "pause_turn"), say(" two")]).await;
    assert_eq!(ran.told(), ["user[user]: go", "assistant: one", "assistant:  two"]);
    assert_eq!(
        ran.only(["turn_end", "commit", "continuation", "turn_start", "run_end"]),
        [
            "turn_start 1",
            "turn_end 1 tools=false tokens=15",
            "commit",
            "continuation_recovery Pause 1/3",
            "turn_start 2",
            "turn_end 2 tools=false tokens=15",
            "commit",
            "run_end end_turn 2",
        ]
    );
    assert_eq!(super::fakes::told(&ran.calls[1].messages), ["user[user]: go", "assistant: one"]);
    assert_eq!(ran.outcome.result.final_text, "one two");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_cut_off_goes_on_where_it_ended_and_counts_as_one() {
    for word in ["length", "max_tokens", "MAX_TOKENS"] {
        let ran = run([ends("one", word), ends(" two", word), say(" three")]).await;
        assert_eq!(
            ran.told(),
            ["user[user]: go", "assistant: one", GO_ON, "assistant:  two", GO_ON, "assistant:  three"]
        );
        assert_eq!(
            ran.only(["continuation", "run_end"]),
            ["continuation_recovery Length 1/3", "continuation_recovery Length 2/3", "run_end end_turn 3"]
        );
        assert_eq!(ran.outcome.result.final_text, "one two three");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_says_nothing_is_asked_for_once_more() {
    let thinks = ContentBlock::Thinking { thinking: "hm".into(), signature: None };
    let ran = run([empty(), answer(vec![thinks, ContentBlock::text(" ")], "stop"), say("done")]).await;
    assert_eq!(
        ran.told(),
        ["user[user]: go", SAY_SOMETHING, "assistant: <thinking>  ", SAY_SOMETHING, "assistant: done",]
    );
    assert_eq!(
        ran.only(["continuation"]),
        ["continuation_recovery Empty 1/3", "continuation_recovery Empty 2/3"]
    );
    assert_eq!(ran.outcome.result.final_text, "done");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_an_end() {
    let ran = run([answer(vec![], "refusal")]).await;
    assert_eq!(ran.only(["continuation", "run_end"]), ["run_end end_turn 1"]);
}

#[tokio::test(start_paused = true)]
async fn after_three_times_in_a_row_the_run_ends_and_says_so() {
    let ran = run([empty(), empty(), empty(), empty()]).await;
    assert_eq!(
        ran.only(["continuation", "notice", "run_end"]),
        [
            "continuation_recovery Empty 1/3",
            "continuation_recovery Empty 2/3",
            "continuation_recovery Empty 3/3",
            "notice the answer was empty once more, and is not continued after 3 times",
            "run_end end_turn 4",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn each_kind_is_counted_for_itself_and_a_good_turn_begins_anew() {
    let call = || super::fakes::call([("c1", "echo", serde_json::json!({}))]);
    let ran = run([empty(), ends("a", "length"), empty(), call(), empty(), say("done")]).await;
    assert_eq!(
        ran.only(["continuation", "notice"]),
        [
            "continuation_recovery Empty 1/3",
            "continuation_recovery Length 1/3",
            "continuation_recovery Empty 2/3",
            "continuation_recovery Empty 1/3",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_continuation_is_a_turn_for_max_turns() {
    let mut scene = Scene::new([ends("a", "length")]);
    scene.max_turns = NonZeroU32::MIN.get();
    let ran = scene.run().await;
    assert_eq!(ran.only(["continuation", "run_end"]), ["run_end max_turns 1"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_queued_comes_before_a_nudge_but_not_before_a_pause_is_over() {
    let scene = Scene::new([ends("one", "pause_turn"), ends("two", "length"), say("three")]);
    scene.queue.push(Sender::Person, Delivery::FollowUp, "and then");
    let ran = scene.run().await;
    assert_eq!(
        ran.told(),
        [
            "user[user]: go",
            "assistant: one",
            "assistant: two",
            "user[follow_up]: and then",
            "assistant: three",
        ]
    );
    assert_eq!(ran.only(["continuation"]), ["continuation_recovery Pause 1/3"]);
    assert_eq!(ran.outcome.result.final_text, "three");
}

#[tokio::test(start_paused = true)]
async fn on_stop_is_asked_when_nothing_is_left_to_recover() {
    let scene = Scene::new([empty(), say("done")]);
    let a = scene.fake_mod("a").on(Hook::OnStop, |_| Some(HookOutcome::Stop(StopDecision::Stop)));
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.only(["continuation", "◆", "run_end"]),
        ["continuation_recovery Empty 1/3", "◆ mod:a onStop", "run_end end_turn 2"]
    );
}
