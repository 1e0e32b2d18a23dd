use std::sync::Arc;

use super::*;
use crate::{
    abi::{decode_model, fixture::Recording},
    types::Usage,
};

/// What a call of the provider comes to, and what the host was asked meanwhile; it answers every service so.
fn call(provider: Provider, answer: &str) -> (Option<ModelOutcome>, Vec<(String, String)>) {
    let messages = vec![Message::user("hello there")];
    let recording = Arc::new(Recording { messages, answer: answer.to_owned(), ..Recording::default() });
    let api = ModApi::new(recording.frame(), RuntimeHandle::none());
    api.add_provider(provider).unwrap();
    let callable = recording.callables.lock().unwrap().pop().unwrap();
    recording.take();
    let mut reply = Reply::default();
    callable.call(&recording.frame(), &mut reply);
    (decode_model(&reply.completed.answer).unwrap(), recording.take())
}

fn push(pieces: &str) -> (String, String) {
    ("model.push".to_owned(), pieces.to_owned())
}

#[test]
fn a_provider_is_registered_with_its_models() {
    let recording = Arc::new(Recording { answer: "null".to_owned(), ..Recording::default() });
    let api = ModApi::new(recording.frame(), RuntimeHandle::none());
    let provider =
        Provider::new("acme").model("a-1", "A One").stream(|_, _| async { Ok(ModelDone::new("stop")) });
    assert!(api.add_provider(provider).unwrap().is_active());
    let spec = r#"{"id":"acme","models":[{"id":"a-1","name":"A One"}]}"#;
    assert_eq!(recording.take(), [("provider".to_owned(), spec.to_owned())]);
}

#[test]
fn a_stream_reads_the_request_pushes_pieces_and_says_how_it_ended() {
    let usage = Usage { input_tokens: 1, ..Usage::default() };
    let provider = Provider::new("acme").stream(move |request, mut sink| async move {
        assert_eq!((request.model(), request.system(), request.effort()), ("m", "s", Some(Effort::Low)));
        assert_eq!(request.tools()[0].name, "ls");
        assert_eq!(request.to_messages()?, [Message::user("hello there")]);
        sink.thinking("hm").await?;
        sink.signature("s").await?;
        sink.push(ModelPiece::BlockEnd).await?;
        sink.text("hi").await?;
        sink.tool_use("1", "ls").await?;
        sink.tool_input("{}").await?;
        sink.alive().await?;
        sink.push_all(&[]).await?;
        Ok(ModelDone::new("tool_use").usage(usage))
    });
    let (outcome, asked) = call(provider, "true");
    let done = ModelDone { stop_reason: "tool_use".to_owned(), usage };
    assert_eq!(outcome, Some(ModelOutcome::Done(done)));
    assert_eq!(
        asked,
        [
            push(r#"[{"thinking":"hm"}]"#),
            push(r#"[{"signature":"s"}]"#),
            push(r#"["block_end"]"#),
            push(r#"[{"text":"hi"}]"#),
            push(r#"[{"tool_use":{"id":"1","name":"ls"}}]"#),
            push(r#"[{"tool_input":"{}"}]"#),
            push(r#"["alive"]"#),
        ]
    );
}

#[test]
fn a_push_waits_where_there_is_no_room() {
    let provider = Provider::new("acme").stream(|_, mut sink| async move {
        sink.text("hi").await?;
        Ok(ModelDone::new("stop"))
    });
    // The first time at once, the second time to be waited for.
    assert_eq!(call(provider, "false").1, [push(r#"[{"text":"hi"}]"#), push(r#"[{"text":"hi"}]"#)]);
}

#[test]
fn a_failure_says_whether_to_try_again() {
    let failed = |error: fn() -> ModelError| {
        let provider = Provider::new("acme").stream(move |_, _| async move { Err(error()) });
        let (outcome, _) = call(provider, "true");
        let Some(ModelOutcome::Failed(failure)) = outcome else { panic!("{outcome:?}") };
        (failure.message, failure.retryable, failure.retry_after_ms)
    };
    assert_eq!(failed(|| ModelError::fatal("no key")), ("no key".to_owned(), false, None));
    let wait = || ModelError::retryable("busy").retry_after(Duration::from_secs(3));
    assert_eq!(failed(wait), ("busy".to_owned(), true, Some(3000)));
    let any = || ModelError::from("x".parse::<u8>().unwrap_err());
    assert_eq!(failed(any), ("invalid digit found in string".to_owned(), true, None));
    assert_eq!(failed(|| Error::msg("a text").into()), ("a text".to_owned(), true, None));
}
