//! A mod that brings models of its own: with an HTTP client and a runtime in its own library.

use std::fs;

use serde_json::json;

use crate::support::{
    aimock::Aimock,
    models::{failure, nth},
    run::Program,
    session::{Folders, library},
};

const KEY: &str = "sk-a-key-for-tests";

/// A run with a model of the mod, which is told of this server.
fn ask(folders: &Folders, base_url: &str, prompt: &str, args: &[&str]) -> Program {
    let (mod_path, option) = (library("provider-sample"), format!("provider-sample.base-url={base_url}"));
    let own = ["--model", "sample/gpt-x", "--mod", mod_path.to_str().unwrap(), "--mod-option", &option];
    folders.cmd(&[&["-p", prompt], args, &own].concat())
}

#[test]
fn a_run_with_tools_goes_through_the_mod() {
    let call = json!([{ "id": "call_a", "name": "list_directory", "arguments": { "path": "." } }]);
    let usage = |prompt, completion| json!({ "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion });
    let fixtures = json!({ "fixtures": [
        {
            "match": { "toolCallId": "call_a", "toolResultContains": "a.txt" },
            "response": { "content": "There is one file.", "usage": usage(30, 5) },
        },
        {
            "match": { "toolName": "list_directory", "hasToolResult": false },
            "response": { "content": "Looking.", "toolCalls": call, "usage": usage(20, 10) },
        },
    ]});
    let name = "a_run_with_tools_goes_through_the_mod";
    let Some(mock) = Aimock::start(name, &fixtures, &["-c", "4"], &[("AIMOCK_API_KEYS", KEY)]) else {
        return;
    };
    let folders = Folders::new();
    fs::write(folders.work().join("a.txt"), "").unwrap();
    let program = ask(&folders, mock.base_url(), "what is here?", &["--output-format", "stream-json"]);
    let ran = program.env("SAMPLE_API_KEY", KEY).run();
    assert_eq!((ran.code(), &*ran.stderr), (0, ""));
    let deltas: Vec<_> =
        ran.events_of("text_delta").iter().map(|event| event["delta"].as_str().unwrap().to_owned()).collect();
    assert_eq!(deltas.len(), 7, "piece by piece: {deltas:?}");
    let result = &ran.events_of("run_end")[0]["result"];
    assert_eq!(result["finalText"], "There is one file.");
    let usage = json!({ "inputTokens": 50, "outputTokens": 15, "cacheReadTokens": 0, "cacheWriteTokens": 0 });
    assert_eq!((&result["usage"], &result["turnCount"]), (&usage, &json!(2)));
}

#[test]
fn a_server_that_is_busy_is_asked_again_and_one_that_refuses_is_not() {
    let mut busy = failure(429);
    busy["retryAfter"] = 1.into();
    let fixtures = json!({ "fixtures": [nth(0, busy), nth(1, json!({ "content": "Hello!" }))] });
    let name = "a_server_that_is_busy_is_asked_again_and_one_that_refuses_is_not";
    let Some(mock) = Aimock::start(name, &fixtures, &[], &[]) else { return };
    let folders = Folders::new();
    folders.settings(&json!({ "api": { "baseDelayMs": 1 } }));
    let run = |prompt| ask(&folders, mock.base_url(), prompt, &[]).env("SAMPLE_API_KEY", KEY).run();
    assert_eq!(run("hello").told(), (0, "Hello!\n", ""));
    let ran = run("good night");
    let refused = "error: the model sample/gpt-x gave no answer: the server answered 404 Not Found: ";
    assert!(ran.code() == 1 && ran.stderr.starts_with(refused), "{ran:?}");

    let gone = mock.base_url().to_owned();
    drop(mock);
    let ran = ask(&folders, &gone, "hello", &[]).env("SAMPLE_API_KEY", KEY).run();
    let gave_up =
        "error: the model sample/gpt-x gave no answer: gave up after 8 attempts: error sending request ";
    assert!(ran.code() == 1 && ran.stderr.lines().last().unwrap().starts_with(gave_up), "{ran:?}");
    let no_key = "error: no key for sample: set SAMPLE_API_KEY\n";
    assert_eq!(ask(&folders, &gone, "hello", &[]).run().told(), (1, "", no_key));
}
