//! The contracts of the hooks around a turn.

use mod_interface::types::{
    Effort, EffortChange, Hook, HookOutcome, Message, MessageEdit, MessageSource, NextTurn, RunResult,
    StatePatch, StopReason, Usage,
};
use serde_json::json;

use super::fakes::{FakeMod, Scene, Turn, call, choices, say, told};
use crate::hooks::Subject;

fn one_call() -> [Turn; 2] {
    [call([("c1", "echo", json!({}))]), say("done")]
}

fn note(text: &str) -> Message {
    Message::user_from(MessageSource::Mod, text)
}

fn edits(edits: Vec<MessageEdit>) -> Option<HookOutcome> {
    Some(HookOutcome::TransformContext(edits))
}

#[tokio::test(start_paused = true)]
async fn transform_context_holds_for_one_call_and_never_for_the_state() {
    let scene = Scene::new(one_call());
    let a = scene.fake_mod("a").on(Hook::TransformContext, |input| {
        let text = format!("note {}", input.turn_number);
        edits(vec![MessageEdit::Append { message: note(&text) }])
    });
    let ran = scene.with([a]).run().await;
    assert_eq!(told(&ran.calls[0].messages), ["user[user]: go note 1"]);
    assert_eq!(
        told(&ran.calls[1].messages),
        ["user[user]: go", "assistant: <call c1>", "user[user]: <c1: echo ran {}> note 2"]
    );
    assert_eq!(ran.told().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn transform_context_is_threaded_and_a_failing_mod_leaves_it_unchanged() {
    let scene = Scene::new([say("hi")]);
    let appends = |id: &'static str| {
        move |input: &crate::hooks::HookInput| {
            let Subject::Context(messages) = &input.subject else { panic!("no context") };
            let message = note(&format!("{id} saw {}", messages.len()));
            edits(vec![MessageEdit::Append { message }])
        }
    };
    let a = scene.fake_mod("a").on(Hook::TransformContext, appends("a"));
    let bad = scene.fake_mod("bad").failing(Hook::TransformContext, "boom");
    let worse = scene.fake_mod("worse").on(Hook::TransformContext, |_| {
        let good = MessageEdit::Append { message: note("half done") };
        edits(vec![good, MessageEdit::Remove { start: 0, end: 9 }])
    });
    let c = scene.fake_mod("c").on(Hook::TransformContext, appends("c"));
    let ran = scene.with([a, bad, worse, c]).run().await;
    assert_eq!(told(&ran.calls[0].messages), ["user[user]: go a saw 1 c saw 2"]);
    assert_eq!(
        ran.only(["mod_error"]),
        [
            "mod_error mod:bad transformContext: boom",
            "mod_error mod:worse transformContext: answered something invalid: an edit of messages 0..9, \
             where there are: 3",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn append_system_prompt_joins_non_empty_texts_behind_the_base() {
    let scene = Scene::new([say("hi")]);
    let says = |id: &str, text: &'static str| {
        scene
            .fake_mod(id)
            .on(Hook::AppendSystemPrompt, move |_| Some(HookOutcome::AppendSystemPrompt(text.into())))
    };
    let mods = [says("a", "one"), says("b", ""), says("c", "two")];
    let ran = scene.with(mods).run().await;
    assert_eq!(&*ran.calls[0].system, "base default\n\none\n\ntwo");
}

#[tokio::test(start_paused = true)]
async fn the_system_prompt_is_the_same_bytes_in_every_round_for_the_same_durable_inputs() {
    let scene = Scene::new(one_call());
    let a = scene
        .fake_mod("a")
        .on(Hook::AppendSystemPrompt, |_| Some(HookOutcome::AppendSystemPrompt("mine".into())))
        .watching([Hook::TransformContext, Hook::OnTurnStart, Hook::OnTurnEnd]);
    let ran = scene.with([a]).run().await;
    let prompts: Vec<_> = ran.calls.iter().map(|call| &*call.system).collect();
    assert_eq!(prompts, ["base default\n\nmine"; 2]);
}

#[tokio::test(start_paused = true)]
async fn on_turn_start_and_on_turn_end_persist_what_they_change() {
    let scene = Scene::new(one_call());
    let bumping = |key: &'static str| {
        move |input: &crate::hooks::HookInput| {
            let mut slot = input.state.mod_state.get("mod:a").cloned().unwrap_or_else(|| json!({}));
            slot[key] = json!(slot[key].as_u64().unwrap_or(0) + 1);
            Some(HookOutcome::State(StatePatch::mod_state(slot)))
        }
    };
    let a = scene.fake_mod("a").on(Hook::OnTurnStart, bumping("start")).on(Hook::OnTurnEnd, bumping("end"));
    let b = scene.fake_mod("b").on(Hook::OnTurnStart, |input| {
        assert_eq!(input.state.mod_state["mod:a"]["start"], json!(input.turn_number));
        (input.turn_number == 1).then(|| HookOutcome::State(StatePatch::default().append(note("by b"))))
    });
    let ran = scene.with([a, b]).run().await;
    assert_eq!(ran.commits[0].mod_state["mod:a"], json!({"start": 1, "end": 1}));
    assert_eq!(ran.commits[1].mod_state["mod:a"], json!({"start": 2, "end": 2}));
    assert_eq!(ran.told()[1], "user[mod]: by b");
    assert_eq!(told(&ran.calls[0].messages), ["user[user]: go by b"]);
}

#[tokio::test(start_paused = true)]
async fn decision_28_a_failing_turn_hook_keeps_the_prior_state_whole() {
    let scene = Scene::new([say("hi")]);
    let a = scene
        .fake_mod("a")
        .on(Hook::OnTurnStart, |_| Some(HookOutcome::State(StatePatch::mod_state(json!("a")))));
    let bad = scene.fake_mod("bad").on(Hook::OnTurnStart, |_| {
        let empty = Message { content: vec![], ..note("") };
        Some(HookOutcome::State(StatePatch::mod_state(json!("bad")).append(note("x")).append(empty)))
    });
    let deep = scene.fake_mod("deep").on(Hook::OnTurnEnd, |_| {
        let deep = (0..65).fold(json!(1), |inner, _| json!([inner]));
        Some(HookOutcome::State(StatePatch::mod_state(deep)))
    });
    let ran = scene.with([a, bad, deep]).run().await;
    assert_eq!(serde_json::to_value(&ran.outcome.state.mod_state).unwrap(), json!({"mod:a": "a"}));
    assert_eq!(ran.told(), ["user[user]: go", "assistant: hi"]);
    assert_eq!(
        ran.only(["mod_error"]),
        [
            "mod_error mod:bad onTurnStart: answered something invalid: a message needs at least one block, \
             got none in a message of role: user",
            "mod_error mod:deep onTurnEnd: answered something invalid: JSON nested deeper than: 64",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn on_turn_end_receives_this_turns_usage_also_in_the_round_that_stops() {
    let scene = Scene::new(one_call());
    let log = scene.log.clone();
    let a = scene.fake_mod("a").on(Hook::OnTurnEnd, move |input| {
        let Subject::TurnEnd { had_tool_calls, usage } = &input.subject else { panic!("no turn") };
        log.add(format!("seen {} {had_tool_calls} {}", input.turn_number, usage.total()));
        None
    });
    let ran = scene.with([a]).run().await;
    assert_eq!(ran.only(["seen"]), ["seen 1 true 15", "seen 2 false 15"]);
    let usage = Usage { input_tokens: 20, output_tokens: 10, ..Usage::default() };
    assert_eq!(ran.outcome.result.usage, usage);
}

#[tokio::test(start_paused = true)]
async fn on_run_end_sees_the_final_state_and_result_with_the_usage_of_all_turns_and_changes_neither() {
    let scene = Scene::new(one_call());
    let a = scene.fake_mod("a").on(Hook::OnRunEnd, |input| {
        let Subject::RunEnd(result) = &input.subject else { panic!("no result") };
        let expected = RunResult {
            final_text: "done".to_owned(),
            stop_reason: StopReason::EndTurn,
            turn_count: 2,
            usage: Usage { input_tokens: 20, output_tokens: 10, ..Usage::default() },
        };
        assert_eq!(**result, expected);
        assert_eq!(
            told(&input.state.messages)[2..],
            ["user[tool_results]: <c1: echo ran {}>", "assistant: done"]
        );
        Some(HookOutcome::ShouldStop)
    });
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.only(["mod_error", "run_end"]),
        [
            "mod_error mod:a onRunEnd: answered something invalid: the answer of another hook: an early stop",
            "run_end end_turn 2",
        ]
    );
}

fn next(fake: FakeMod, turn: u32, model: Option<&str>, effort: Option<EffortChange>) -> FakeMod {
    let change = NextTurn { model: model.map(str::to_owned), effort };
    fake.on(Hook::PrepareNextTurn, move |input| {
        (input.turn_number == turn).then(|| HookOutcome::NextTurn(change.clone()))
    })
}

fn three_calls() -> [Turn; 4] {
    let again = || call([("c1", "echo", json!({}))]);
    [again(), again(), again(), say("done")]
}

#[tokio::test(start_paused = true)]
async fn later_mods_override_earlier_ones_per_field() {
    let scene = Scene::new(one_call());
    let low = Some(EffortChange::Set(Effort::Low));
    let a = next(scene.fake_mod("a"), 1, Some("p/a"), low);
    let b = next(scene.fake_mod("b"), 1, Some("p/b"), None);
    let ran = scene.with([a, b]).run().await;
    assert_eq!(choices(&ran.calls), [("p/one", None), ("p/b", Some(Effort::Low))]);
}

#[tokio::test(start_paused = true)]
async fn effort_has_three_states() {
    let scene = Scene::new(three_calls());
    scene.choice.set_effort(Some(Effort::High));
    let sets = next(scene.fake_mod("sets"), 1, None, Some(EffortChange::Set(Effort::Low)));
    let leaves = next(scene.fake_mod("leaves"), 2, Some("p/two"), None);
    let resets = next(scene.fake_mod("resets"), 3, None, Some(EffortChange::Reset));
    let ran = scene.with([sets, leaves, resets]).run().await;
    assert_eq!(
        choices(&ran.calls),
        [
            ("p/one", Some(Effort::High)),
            ("p/one", Some(Effort::Low)),
            ("p/two", Some(Effort::Low)),
            ("p/two", None)
        ]
    );
    assert_eq!(
        ran.only(["model_request_start"]),
        ["p/one", "p/one", "p/two", "p/two"].map(|model| format!("model_request_start {model}"))
    );
}

#[tokio::test(start_paused = true)]
async fn decision_21_prepare_next_turn_wins_over_set_model_and_set_effort_for_the_rest_of_the_run() {
    let mut scene = Scene::new([
        call([("c1", "echo", json!({}))]),
        call([("c2", "echo", json!({}))]),
        say("done"),
        say("next run"),
    ]);
    let choice = std::sync::Arc::clone(&scene.choice);
    let low = Some(EffortChange::Set(Effort::Low));
    let a = next(scene.fake_mod("a"), 1, Some("p/hook"), low).on(Hook::OnTurnStart, move |input| {
        choice.set_model(format!("p/set{}", input.turn_number));
        choice.set_effort(Some(if input.turn_number == 1 { Effort::High } else { Effort::Max }));
        None
    });
    scene = scene.with([a]);
    let (agent, _) = scene.agent();
    for _ in 0..2 {
        agent.run(scene.state.clone(), Some(Message::user("go")), &scene.cancel).await;
    }
    scene.follows_the_diagrams();
    let calls = scene.model.calls.lock().unwrap();
    let (set, hook) = (("p/set1", Some(Effort::High)), ("p/hook", Some(Effort::Low)));
    assert_eq!(choices(&calls), [set, hook, hook, set]);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_cannot_be_called_is_the_mods_fault_and_changes_nothing() {
    let scene = Scene::new(one_call());
    let a = next(scene.fake_mod("a"), 1, Some("nonsense"), Some(EffortChange::Set(Effort::Low)));
    let ran = scene.with([a]).run().await;
    assert_eq!(choices(&ran.calls), [("p/one", None), ("p/one", None)]);
    assert_eq!(
        ran.only(["mod_error"]),
        ["mod_error mod:a prepareNextTurn: answered something invalid: no such model: nonsense"]
    );
}
