//! Providers of mods: what they can say, what becomes of what no model can say, and how they come and go.

use std::sync::{Arc, Mutex};

use host::providers::{CallError, ModelClient, ModelResponse, RetryPolicy};
use mod_interface::{builtin_mod, prelude::*};

use crate::support::{
    models::{self, read_file, text_delta},
    mods::{Host, compiled_in, loose},
    run::says,
    session::{Folders, library},
};

#[path = "../mods/faulty-provider/src/models.rs"]
mod faulty;

async fn faulty_provider(cmd: ModApi) -> Result<()> {
    faulty::add(&cmd)
}

/// Hosts with the provider `faulty`: compiled in, and as a library.
async fn hosts() -> [Host; 2] {
    let hosts = [Host::new(), Host::new()];
    let root = builtin_mod!("faulty-provider", faulty_provider);
    let codes = [compiled_in("faulty-provider", root), loose(library("faulty-provider"))];
    for (host, code) in hosts.iter().zip(codes) {
        assert_eq!(host.load([code]).await, (vec!["faulty-provider".to_owned()], vec![]));
    }
    hosts
}

/// What comes of one call.
async fn call(host: &Host, model: &str) -> (Result<ModelResponse, CallError>, Vec<EventPayload>) {
    let name = format!("faulty/{model}");
    let (provider, model) = host.providers.resolve(&name).unwrap();
    let mut request = models::request("hello");
    request.model = model.into();
    request.tools = [read_file()].into();
    request.effort = Some(Effort::High);
    models::complete(provider, request).await
}

#[tokio::test]
async fn an_answer_is_told_piece_by_piece_and_is_whole_at_the_end() {
    for host in hosts().await {
        let (result, events) = call(&host, "answers").await;
        let content = vec![
            ContentBlock::Thinking { thinking: "hm".to_owned(), signature: Some("signed".to_owned()) },
            ContentBlock::text("You help.; Some(High); read_file; hello"),
            ContentBlock::ToolUse { id: "1".to_owned(), name: "ls".to_owned(), input: json!({"path": "."}) },
        ];
        let usage = Usage { input_tokens: 3, output_tokens: 4, cache_read_tokens: 1, cache_write_tokens: 2 };
        assert_eq!(result, Ok(ModelResponse { content, usage, stop_reason: "tool_use".to_owned() }));
        let told: Vec<_> =
            events.into_iter().filter(|event| !matches!(event, EventPayload::MessageUpdate { .. })).collect();
        assert_eq!(
            told,
            [
                EventPayload::ThinkingStart {},
                EventPayload::ThinkingDelta { delta: "hm".to_owned() },
                EventPayload::ThinkingEnd { text: "hm".to_owned() },
                text_delta("You help.; Some(High); read_file; "),
                text_delta("hello"),
            ]
        );
        assert_eq!(host.take_errors(), [[""; 3]; 0]);
    }
}

#[tokio::test]
async fn pieces_wait_for_the_run_and_none_is_lost() {
    for host in hosts().await {
        let response = call(&host, "floods-slowly").await.0.unwrap();
        let expected: String = (0..1000).map(|number| format!("{number} ")).collect();
        assert_eq!(response.content, [ContentBlock::text(expected)]);
    }
}

/// The call is over at once, and the mod is told to be at fault.
async fn assert_faults(model: &str, fault: &str) {
    for host in hosts().await {
        let error = format!("the model provider faulty of mod:faulty-provider failed: {fault}");
        assert_eq!(call(&host, model).await.0, Err(CallError::Fatal(error)), "{model}");
        assert_eq!(host.take_errors(), [["mod:faulty-provider", "provider:faulty", fault]], "{model}");
        assert!(call(&host, "answers").await.0.is_ok(), "the next call is as good as any");
    }
}

#[tokio::test]
async fn a_provider_that_panics_fails_the_call() {
    for (model, said) in [("panics-called", "called"), ("panics", "in the middle")] {
        for host in hosts().await {
            let error = call(&host, model).await.0.unwrap_err().to_string();
            let panicked =
                format!("the model provider faulty of mod:faulty-provider failed: panicked: {said} at ");
            assert!(error.starts_with(&panicked), "{error}");
            let [[owner, place, told]] = &host.take_errors()[..] else { panic!("not told once") };
            assert_eq!((&**owner, &**place), ("mod:faulty-provider", "provider:faulty"));
            assert!(told.starts_with(&format!("panicked: {said} at ")), "{told}");
        }
    }
}

#[tokio::test]
async fn a_tool_call_needs_an_id_of_its_own_and_a_name_and_input_needs_a_tool_call() {
    let invalid = |what: &str| format!("answered something invalid: {what}");
    let cases = [
        ("no-call-id", r#"a tool call needs an id and a name, got id: "", name: "ls""#),
        ("no-call-name", r#"a tool call needs an id and a name, got id: "1", name: """#),
        ("same-call-id", "two tool calls of one answer have the same id: 1"),
        ("input-first", "a piece of a tool's input outside of a tool call"),
        ("input-behind-text", "a piece of a tool's input outside of a tool call"),
    ];
    for (model, what) in cases {
        assert_faults(model, &invalid(what)).await;
    }
}

#[tokio::test]
async fn a_provider_that_floods_is_given_up() {
    let most = "answered something invalid: more than any model says, expected at most 33554432 bytes";
    assert_faults("floods-with-nothing", most).await;
    for host in hosts().await {
        let error = "the response is longer than any model's, expected at most 16777216 bytes".to_owned();
        assert_eq!(call(&host, "floods").await.0, Err(CallError::Fatal(error)));
    }
}

#[tokio::test]
async fn a_failure_that_the_provider_tells_is_no_fault_of_the_mod() {
    for host in hosts().await {
        let fatal = |text: &str| Err(CallError::Fatal(text.to_owned()));
        assert_eq!(call(&host, "fails").await.0, fatal("the server knows no such model"));
        let busy = "the server is busy; the server asks to wait 3600 s, more than the 60 s that a run waits: try again \
                    later";
        assert_eq!(call(&host, "is-busy").await.0, fatal(busy));
        assert_eq!(call(&host, "breaks").await.0, models::gave_up("the connection broke"));
        assert_eq!(host.take_errors(), [[""; 3]; 0]);
    }
}

#[tokio::test]
async fn a_provider_that_stalls_or_never_returns_is_given_up_for_each_try() {
    let hosts = hosts().await;
    tokio::time::pause();
    for host in hosts {
        for model in ["stalls", "blocks"] {
            let (provider, _) = host.providers.resolve("faulty/stalls").unwrap();
            let client =
                ModelClient::new(provider, RetryPolicy { max_attempts: 2, ..RetryPolicy::default() });
            let mut request = models::request("hello");
            request.model = model.into();
            let result = client.complete(request, &host.bus.main(), &host.cancel).await;
            let last = "nothing came from the model for 120 s".to_owned();
            assert_eq!(result, Err(CallError::GaveUp { attempts: 2, last }), "{model}");
        }
    }
}

#[tokio::test]
async fn an_interruption_reaches_a_provider_whose_code_never_returns() {
    for host in hosts().await {
        let (provider, _) = host.providers.resolve("faulty/blocks").unwrap();
        let client = ModelClient::new(provider, RetryPolicy::default());
        let mut request = models::request("hello");
        request.model = "blocks".into();
        let (emitter, cancel) = (host.bus.main(), host.cancel.clone());
        let calling = client.complete(request, &emitter, &cancel);
        let interrupting = async { host.cancel.cancel() };
        assert_eq!(tokio::join!(calling, interrupting).0, Err(CallError::Interrupted));
    }
}

#[tokio::test]
async fn a_model_that_cannot_be_called_is_told_in_the_words_of_its_provider() {
    for host in hosts().await {
        let refused = |name: &str| host.providers.resolve(name).map(drop).unwrap_err().to_string();
        assert_eq!(refused("faulty/keyless"), "no key for faulty: set FAULTY_KEY");
        assert_eq!(host.take_errors(), [[""; 3]; 0]);
        let error = refused("faulty/unprepared");
        let panicked = "the model provider faulty of mod:faulty-provider failed: panicked: prepared at ";
        assert!(error.starts_with(panicked), "{error}");
        assert_eq!(host.take_errors().len(), 1);
    }
}

/// Registers what `ADDED` tells of; the registrations are kept there.
async fn adds(cmd: ModApi) -> Result<()> {
    let say = |said: &'static str| {
        move |_: ModelRequest, mut sink: ModelSink| async move {
            sink.text(said).await?;
            Ok(ModelDone::new("stop"))
        }
    };
    let first = Provider::new("acme").model("one", "One").model("two", "Two").stream(say("first"));
    let first = cmd.add_provider(first)?;
    let same = cmd.add_provider(Provider::new("acme").stream(say("second")))?;
    assert!(first.is_active() && !same.is_active());
    for id in ["", "Acme", "ac/me", &"a".repeat(65)] {
        assert!(!cmd.add_provider(Provider::new(id).stream(say("never")))?.is_active());
    }
    for models in [["", "x"], ["x", "x"]] {
        let provider = Provider::new("odd").model(models[0], "").model(models[1], "").stream(say("never"));
        assert!(!cmd.add_provider(provider)?.is_active());
    }
    let (disposes, removed) = (Mutex::new(Some(first)), Command::new("remove", ""));
    cmd.add_command(removed.run(move |_| {
        let first = disposes.lock().unwrap().take();
        async move {
            first.into_iter().for_each(|first| first.dispose());
            Ok(CommandOutcome::Done)
        }
    }))?;
    Ok(())
}

#[tokio::test]
async fn an_id_that_is_taken_or_malformed_is_told_and_the_mod_stays() {
    let host = Host::new();
    let loaded = host.load([compiled_in("adds", builtin_mod!("adds", adds))]).await;
    assert_eq!(loaded, (vec!["adds".to_owned()], vec![]));
    let id = |id: &str| {
        let fault = format!("a provider's id is of a-z, 0-9 and -, 64 characters at most, got: {id}");
        ["mod:adds".to_owned(), format!("provider:{id}"), fault]
    };
    let odd = |id: &str| {
        let fault = format!("each model of a provider has an id of its own, got one again: {id:?}");
        ["mod:adds".to_owned(), "provider:odd".to_owned(), fault]
    };
    let taken = "there is a model provider of this id already, choose another: acme";
    assert_eq!(
        host.take_errors(),
        [
            ["mod:adds".to_owned(), "provider:acme".to_owned(), taken.to_owned()],
            id(""),
            id("Acme"),
            id("ac/me"),
            id(&"a".repeat(65)),
            odd(""),
            odd("x"),
        ]
    );
    assert_eq!(host.mods.mods()[0].1.providers, ["acme"]);
    let refused = |name: &str| host.providers.resolve(name).map(drop).unwrap_err().to_string();
    let known = "the provider has no such model, only one, two";
    assert_eq!(refused("acme/on"), format!("{known} (did you mean acme/one?), got: acme/on"));
    assert_eq!(refused("acme/seven"), format!("{known}, got: acme/seven"));
}

#[tokio::test]
async fn a_provider_that_is_disposed_is_gone_and_calls_that_are_going_on_are_not_cut() {
    let host = Host::new();
    host.load([compiled_in("adds", builtin_mod!("adds", adds))]).await;
    let (provider, _) = host.providers.resolve("acme/one").unwrap();
    host.run("remove").await.unwrap();
    host.run("remove").await.unwrap();
    let gone = host.providers.resolve("acme/one").map(drop).unwrap_err().to_string();
    assert_eq!(gone, "there is no such model provider, only , got: acme/one");
    let response = models::complete(Arc::clone(&provider), models::request("hello")).await.0.unwrap();
    assert_eq!(response.content, [ContentBlock::text("first")]);
    drop(host);
    let error = provider.prepare("one").unwrap_err().to_string();
    assert_eq!(error, "the harness of this mod is gone");
}

#[test]
fn nothing_of_a_session_is_lost_when_a_provider_goes_wrong() {
    let folders = Folders::new();
    let faulty = library("faulty-provider");
    assert_eq!(folders.play(&says("One."), &[]).run().told(), (0, "One.\n", ""));
    let recorded = folders.session_lines();
    for (model, fault) in [
        ("same-call-id", "answered something invalid: two tool calls of one answer have the same id: 1"),
        ("input-first", "answered something invalid: a piece of a tool's input outside of a tool call"),
    ] {
        let (model, path) = (format!("faulty/{model}"), faulty.to_str().unwrap());
        let ran = folders.cmd(&["-p", "more", "--continue", "--model", &model, "--mod", path]).run();
        let told = format!(
            "warning: mod:faulty-provider failed in provider:faulty: {fault}\n\
             error: the model {model} gave no answer: the model provider faulty of mod:faulty-provider failed: {fault}\n"
        );
        assert_eq!(ran.told(), (1, "", &*told));
        assert_eq!(folders.session_lines(), recorded);
    }
    assert_eq!(folders.play(&says("Two."), &["--continue"]).run().told(), (0, "Two.\n", ""));
    assert_eq!(folders.session_files().len(), 1);
}
