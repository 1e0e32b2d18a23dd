//! Inputs that are not what the tool takes: told as they were sent, mended, and judged as they run.

use mod_interface::types::{BeforeToolCall, ContentBlock, Hook, HookOutcome};
use serde_json::{Value, json};

use super::fakes::{FakeTool, Ran, Scene, answer, call, say};
use crate::hooks::Subject;

fn read(scene: &mut Scene) {
    scene.tools = vec![FakeTool::new("read").taking(json!({
        "type": "object",
        "properties": {"file_path": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["file_path"],
        "additionalProperties": false,
    }))];
}

/// Runs one call of `read`, or of `echo`, which takes any object.
async fn run(name: &str, input: Value) -> Ran {
    let mut scene = Scene::new([call([("c1", name, input)]), say("done")]);
    if name == "read" {
        read(&mut scene);
    }
    scene.run().await
}

/// The inputs of the calls in the conversation, and in what the model was sent behind them.
fn inputs(ran: &Ran) -> [Vec<Value>; 2] {
    let inputs = |content: &[ContentBlock]| {
        let inputs = content.iter().filter_map(|block| match block {
            ContentBlock::ToolUse { input, .. } => Some(input.clone()),
            _ => None,
        });
        inputs.collect::<Vec<_>>()
    };
    [&ran.outcome.state.messages[1], &ran.calls[1].messages[1]].map(|message| inputs(&message.content))
}

#[tokio::test(start_paused = true)]
async fn decision_12_an_input_that_can_only_have_meant_one_object_is_shown_as_sent_and_runs_as_that() {
    for (sent, raw_type, meant) in [
        (json!(null), "null", json!({})),
        (json!([]), "array", json!({})),
        (json!([{"n": 1}]), "array", json!({"n": 1})),
        (json!("{\"n\":1}"), "string", json!({"n": 1})),
    ] {
        let ran = run("echo", sent.clone()).await;
        assert_eq!(
            ran.only(["tool_"]),
            [
                &format!("tool_queued c1 echo {sent}"),
                &format!("tool_input_coerced {raw_type} recovered=true"),
                "tool_running c1",
                &format!("tool_completed c1: echo ran {meant}"),
            ]
        );
        assert_eq!(inputs(&ran), [vec![meant.clone()], vec![meant]]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_input_that_is_no_object_is_an_error_result_that_says_what_was_sent() {
    for (sent, raw_type) in [(json!([1]), "array"), (json!("{\"n\":"), "string"), (json!(7), "number")] {
        let ran = run("echo", sent.clone()).await;
        let error = format!("the input must be one JSON object, got {raw_type}: {sent}");
        assert_eq!(
            ran.only(["tool_"]),
            [
                format!("tool_queued c1 echo {sent}"),
                format!("tool_input_coerced {raw_type} recovered=false"),
                format!("tool_errored c1: {error}"),
            ]
        );
        assert_eq!(ran.told()[2], format!("user[tool_results]: <c1 failed: {error}>"));
        assert_eq!(inputs(&ran), [vec![sent.clone()], vec![json!({ "input": sent })]]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_input_that_could_not_be_read_back_from_the_record_is_an_error_result_and_does_not_stay() {
    let deep = (0..70).fold(json!(1), |inner, _| json!({ "a": inner }));
    for sent in [deep.clone(), json!(deep.to_string())] {
        let ran = run("echo", sent.clone()).await;
        let end = "tool_errored c1: the input cannot be taken: JSON nested deeper than: 64";
        assert_eq!(ran.only(["tool_errored", "tool_running"]), [end]);
        assert_eq!(inputs(&ran)[1], [json!({})]);
    }
}

#[tokio::test(start_paused = true)]
async fn decision_12_an_input_that_the_schema_refuses_is_repaired_behind_tool_queued_and_runs_repaired() {
    let ran = run("read", json!({"filePath": "a", "limit": "3"})).await;
    assert_eq!(
        ran.only(["tool_"]),
        [
            "tool_queued c1 read {\"filePath\":\"a\",\"limit\":\"3\"}",
            "tool_input_repaired key_case,number_in_text hints=0 keys=filePath,limit repaired=true",
            "tool_running c1",
            "tool_completed c1: read ran {\"file_path\":\"a\",\"limit\":3}",
        ]
    );
    let runs = vec![json!({"file_path": "a", "limit": 3})];
    assert_eq!(inputs(&ran), [runs.clone(), runs]);
}

#[tokio::test(start_paused = true)]
async fn an_input_can_be_coerced_and_repaired() {
    let ran = run("read", json!([{"path": "a"}])).await;
    assert_eq!(
        ran.only(["tool_"]),
        [
            "tool_queued c1 read [{\"path\":\"a\"}]",
            "tool_input_coerced array recovered=true",
            "tool_input_repaired key_alias hints=0 keys=path repaired=true",
            "tool_running c1",
            "tool_completed c1: read ran {\"file_path\":\"a\"}",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn what_repair_cannot_make_good_does_not_run_and_the_model_gets_the_hints() {
    let sent = json!({"path": "a", "limit": "many"});
    let ran = run("read", sent.clone()).await;
    let lines = ran.only(["tool_"]);
    assert_eq!(lines[1], "tool_input_repaired key_alias hints=1 keys=limit,path repaired=false");
    let error = lines[2].strip_prefix("tool_errored c1: ").unwrap();
    assert_eq!(lines.len(), 3);
    assert!(error.ends_with("; path is called file_path here"), "{error}");
    assert_eq!(inputs(&ran), [vec![sent.clone()], vec![sent]]);
}

#[tokio::test(start_paused = true)]
async fn a_good_input_is_never_touched() {
    let ran = run("read", json!({"file_path": "12", "limit": 3})).await;
    assert_eq!(
        ran.only(["tool_"]),
        [
            "tool_queued c1 read {\"file_path\":\"12\",\"limit\":3}",
            "tool_running c1",
            "tool_completed c1: read ran {\"file_path\":\"12\",\"limit\":3}",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn hooks_see_the_mended_call_in_the_state_too_and_a_rewrite_stays_out_of_it() {
    let mut scene = Scene::new([call([("c1", "read", json!({"path": "a"}))]), say("done")]);
    read(&mut scene);
    let a = scene.fake_mod("a").on(Hook::BeforeToolCall, |input| {
        let Subject::ToolCall(call) = &input.subject else { panic!("not a call") };
        assert_eq!(*call.input, json!({"file_path": "a"}));
        let last = &input.state.messages.last().unwrap().content[0];
        assert!(matches!(last, ContentBlock::ToolUse { input, .. } if *input == json!({"file_path": "a"})));
        let input = Some(json!({"file_path": "rewritten"}));
        Some(HookOutcome::BeforeToolCall(BeforeToolCall { input, ..Default::default() }))
    });
    let ran = scene.with([a]).run().await;
    assert_eq!(ran.only(["tool_completed"]), ["tool_completed c1: read ran {\"file_path\":\"rewritten\"}"]);
    assert_eq!(inputs(&ran)[0], [json!({"file_path": "a"})]);
}

#[tokio::test(start_paused = true)]
async fn decision_12_every_call_of_a_batch_is_queued_before_any_is_mended() {
    let ran = Scene::new([
        call([("c1", "echo", json!(null)), ("c2", "echo", json!({})), ("c3", "echo", json!([]))]),
        say("done"),
    ]);
    let ran = ran.run().await;
    assert_eq!(
        ran.only(["tool_queued", "tool_input", "tool_running"]),
        [
            "tool_queued c1 echo null",
            "tool_queued c2 echo {}",
            "tool_queued c3 echo []",
            "tool_input_coerced null recovered=true",
            "tool_input_coerced array recovered=true",
            "tool_running c1",
            "tool_running c2",
            "tool_running c3",
        ]
    );
    assert_eq!(inputs(&ran)[0], [json!({}), json!({}), json!({})]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_made_of_a_call_that_was_cut_off() {
    let cut = ContentBlock::ToolUse { id: "c1".into(), name: "echo".into(), input: json!("{\"n\":") };
    let ran = Scene::new([answer(vec![cut], "max_tokens"), say("done")]).run().await;
    assert_eq!(
        ran.only(["tool_"]),
        [
            "tool_queued c1 echo \"{\\\"n\\\":\"",
            "tool_errored c1: This call did not run: the answer hit the output limit, so its input may be \
             incomplete. Send it again.",
        ]
    );
    assert_eq!(inputs(&ran)[1], [json!({"input": "{\"n\":"})]);
}
