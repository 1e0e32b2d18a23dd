//! How a run stops, what keeps it going, and what is said meanwhile.

use std::sync::Arc;

use mod_interface::types::{
    AfterToolCall, Hook, HookOutcome, Message, MessageSource, StopDecision, StopReason,
};
use serde_json::json;

use super::fakes::{FakeMod, Scene, Turn, call, say};
use crate::{
    agent::{Delivery, Sender},
    hooks::Subject,
};

fn going_on(fake: FakeMod, reason: Option<&'static str>) -> FakeMod {
    fake.on(Hook::OnStop, move |_| {
        Some(HookOutcome::Stop(StopDecision::Continue { reason: reason.map(str::to_owned) }))
    })
}

fn one_call() -> [Turn; 2] {
    [call([("c1", "echo", json!({}))]), say("done")]
}

#[tokio::test(start_paused = true)]
async fn should_stop_ends_with_the_first_that_says_so() {
    let scene = Scene::new(one_call());
    let a = scene.fake_mod("a").watching([Hook::ShouldStopAfterTurn]);
    let b = scene.fake_mod("b").on(Hook::ShouldStopAfterTurn, |_| Some(HookOutcome::ShouldStop));
    let c = scene.fake_mod("c").watching([Hook::ShouldStopAfterTurn, Hook::OnStop]);
    let ran = scene.with([a, b, c]).run().await;
    assert_eq!(
        ran.only(["◆", "run_end"]),
        ["◆ mod:a shouldStopAfterTurn", "◆ mod:b shouldStopAfterTurn", "run_end stop_hook 1"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_failing_should_stop_means_go_on() {
    let scene = Scene::new(one_call());
    let a = scene.fake_mod("a").failing(Hook::ShouldStopAfterTurn, "boom");
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.only(["mod_error", "notice", "run_end"]),
        [
            "mod_error mod:a shouldStopAfterTurn: boom",
            "notice mod:a failed once more at shouldStopAfterTurn",
            "run_end end_turn 2",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn decision_11_a_run_stops_after_the_max_turns_th_commit_and_on_stop_is_not_asked() {
    for (turns, max_turns) in [(one_call(), 1), ([call([("c1", "echo", json!({}))]), say("done")], 2)] {
        let mut scene = Scene::new(turns);
        scene.max_turns = max_turns;
        let a = scene.fake_mod("a").watching([Hook::OnStop, Hook::ShouldStopAfterTurn]);
        let ran = scene.with([a]).run().await;
        assert_eq!(ran.only(["run_end"]), [format!("run_end max_turns {max_turns}")]);
        assert_eq!(ran.commits.len(), max_turns as usize);
        assert_eq!(ran.only(["◆"]).last(), Some(&"◆ mod:a shouldStopAfterTurn"));
    }
}

#[tokio::test(start_paused = true)]
async fn on_stop_keeps_a_finished_run_going_with_its_reason() {
    let scene = Scene::new([say("half"), say("whole")]);
    let a = scene.fake_mod("a").on(Hook::OnStop, |input| {
        let Subject::Stop { stop_reason, last_assistant_text } = &input.subject else { panic!("no stop") };
        assert_eq!(*stop_reason, StopReason::EndTurn);
        Some(HookOutcome::Stop(match &**last_assistant_text {
            "half" => StopDecision::Continue { reason: Some("finish it".into()) },
            _ => StopDecision::Stop,
        }))
    });
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.told(),
        ["user[user]: go", "assistant: half", "user[stop_hook]: finish it", "assistant: whole"]
    );
    assert_eq!(ran.only(["run_end"]), ["run_end end_turn 2"]);
}

#[tokio::test(start_paused = true)]
async fn decision_20_the_first_that_continues_wins_and_the_rest_are_not_asked() {
    let scene = Scene::new([say("one"), say("two")]);
    let once = scene.fake_mod("once").on(Hook::OnStop, |input| {
        (input.turn_number == 1).then_some(HookOutcome::Stop(StopDecision::Continue { reason: None }))
    });
    let later = scene.fake_mod("later").watching([Hook::OnStop]);
    let ran = scene.with([once, later]).run().await;
    assert_eq!(ran.only(["◆"]), ["◆ mod:once onStop", "◆ mod:once onStop", "◆ mod:later onStop"]);
    assert_eq!(ran.told()[2], "user[stop_hook]: A stop hook asks you to keep working.");
}

#[tokio::test(start_paused = true)]
async fn decision_20_at_eight_forced_continuations_a_notice_says_that_the_cap_ended_the_run() {
    let turns: [Turn; 9] = std::array::from_fn(|_| say("again"));
    let scene = Scene::new(turns);
    let a = going_on(scene.fake_mod("a"), None);
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.only(["notice", "run_end"]),
        [
            "notice the run ends although a stop hook wants to go on, which it may in a row: 8 times",
            "run_end end_turn 9",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn decision_20_only_a_real_user_message_resets_the_count_of_forced_continuations() {
    let mut turns = Vec::from_iter((0..9).map(|_| say("first")));
    turns.extend((0..2).map(|_| say("automated")));
    turns.extend((0..9).map(|_| say("typed")));
    let Ok(turns) = <[Turn; 20]>::try_from(turns) else { panic!("20 turns") };
    let mut scene = Scene::new(turns);
    let a = going_on(scene.fake_mod("a"), None);
    scene = scene.with([a]);
    let (agent, _) = scene.agent();
    let mut counts = Vec::new();
    for source in [MessageSource::User, MessageSource::Mod, MessageSource::Mod, MessageSource::User] {
        let message = Message::user_from(source, "go");
        let outcome = agent.run(scene.state.clone(), Some(message), &scene.cancel).await;
        counts.push(outcome.result.turn_count);
    }
    assert_eq!(counts, [9, 1, 1, 9]);
    scene.follows_the_diagrams();
}

#[tokio::test(start_paused = true)]
async fn decision_20_what_a_person_queues_resets_the_count_and_what_a_mod_queues_does_not() {
    for (sender, turns) in [(Sender::Person, 5 + 8 + 1), (Sender::Mod, 5 + 4 + 1)] {
        let script: [Turn; 14] = std::array::from_fn(|_| say("again"));
        let scene = Scene::new(script);
        let queue = Arc::clone(&scene.queue);
        let a = going_on(scene.fake_mod("a"), None).on(Hook::OnTurnEnd, move |input| {
            if input.turn_number == 5 {
                queue.push(sender, Delivery::FollowUp, "and this");
            }
            None
        });
        let ran = scene.with([a]).run().await;
        assert_eq!(ran.only(["run_end"]), [format!("run_end end_turn {turns}")]);
    }
}

#[tokio::test(start_paused = true)]
async fn decision_23_steering_is_polled_before_the_run_and_after_each_tool_batch() {
    let scene = Scene::new([call([("c1", "echo", json!({}))]), say("done")]);
    scene.queue.push(Sender::Mod, Delivery::Steer, "queued before");
    let queue = Arc::clone(&scene.queue);
    let a = scene.fake_mod("a").on(Hook::AfterToolCall, move |_| {
        queue.push(Sender::Mod, Delivery::Steer, "a mod steers");
        queue.push(Sender::Person, Delivery::Steer, "a person steers");
        None
    });
    let a = a.on(Hook::OnTurnEnd, |input| {
        assert_eq!(input.state.messages.len(), if input.turn_number == 1 { 6 } else { 7 });
        None
    });
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.told(),
        [
            "user[user]: go",
            "user[steering]: queued before",
            "assistant: <call c1>",
            "user[tool_results]: <c1: echo ran {}>",
            "user[steering]: a person steers",
            "user[steering]: a mod steers",
            "assistant: done",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_stopping_batch_leaves_the_queue_for_the_next_run() {
    for reason in [StopReason::PermissionDenied, StopReason::Terminate] {
        let mut scene = Scene::new([call([("c1", "echo", json!({}))]), say("next run")]);
        scene.deny = if reason == StopReason::PermissionDenied { vec!["echo"] } else { vec![] };
        let queue = Arc::clone(&scene.queue);
        let a = scene.fake_mod("a").on(Hook::OnTurnStart, move |input| {
            if input.state.messages.len() == 1 {
                queue.push(Sender::Person, Delivery::Steer, "wait");
            }
            None
        });
        let a = a.on(Hook::AfterToolCall, |_| {
            let answer = AfterToolCall { terminate: true, ..AfterToolCall::default() };
            Some(HookOutcome::AfterToolCall(answer))
        });
        scene = scene.with([a]);
        let (agent, _) = scene.agent();
        let first = agent.run(scene.state.clone(), Some(Message::user("go")), &scene.cancel).await;
        assert_eq!((first.result.stop_reason, first.state.messages.len()), (reason, 3));
        let second = agent.run(first.state, None, &scene.cancel).await;
        let told = super::fakes::told(&second.state.messages);
        assert_eq!(told[3..], ["user[steering]: wait", "assistant: next run"]);
        scene.follows_the_diagrams();
    }
}

#[tokio::test(start_paused = true)]
async fn decision_23_follow_ups_come_when_the_run_would_stop_and_ahead_of_on_stop() {
    let scene = Scene::new([call([("c1", "echo", json!({}))]), say("one"), say("two"), say("three")]);
    scene.queue.push(Sender::Mod, Delivery::FollowUp, "then this");
    let queue = Arc::clone(&scene.queue);
    let a = scene.fake_mod("a").watching([Hook::OnStop]).on(Hook::OnTurnEnd, move |input| {
        if input.turn_number == 2 {
            queue.push(Sender::Person, Delivery::Steer, "typed meanwhile");
        }
        None
    });
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.told()[3..],
        [
            "assistant: one",
            "user[steering]: typed meanwhile",
            "assistant: two",
            "user[follow_up]: then this",
            "assistant: three",
        ]
    );
    assert_eq!(ran.only(["◆ mod:a onStop", "run_end"]), ["◆ mod:a onStop", "run_end end_turn 4"]);
}
