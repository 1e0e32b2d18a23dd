//! The program with an OpenAI-compatible model, against a server that nobody here wrote.

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{
    aimock::Aimock,
    run::{Program, Ran},
    session::{Folders, library},
};

const KEY: &str = "sk-a-key-for-tests";

/// A run with a model of `mock`, in print mode.
fn ask(folders: &Folders, mock: &Aimock, prompt: &str, args: &[&str]) -> Program {
    let program = folders.cmd(&[&["-p", prompt, "--model", "openai/gpt-x"], args].concat());
    program.env("OPENAI_BASE_URL", mock.base_url()).env("OPENAI_API_KEY", KEY)
}

/// Folders whose settings make a client that does not wait long.
fn impatient() -> Folders {
    let folders = Folders::new();
    folders.settings(&json!({ "api": { "baseDelayMs": 1 } }));
    folders
}

/// The response number `index` to the prompt.
fn nth(prompt: &str, index: usize, response: Value) -> Value {
    json!({ "match": { "userMessage": prompt, "sequenceIndex": index }, "response": response })
}

fn failure(status: u16) -> Value {
    json!({ "error": { "message": "no luck", "type": "server_error" }, "status": status })
}

fn hello() -> Value {
    json!({ "content": "Hello!" })
}

/// Nothing of a failure may look like a crash or show the key, and nothing may be left half-written.
fn is_clean(folders: &Folders, ran: &Ran) {
    let told = [&*ran.stdout, &*ran.stderr].concat();
    assert!(!told.contains("panicked") && !told.contains(KEY), "{ran:?}");
    folders.session_lines();
}

const SAYS: &str = "Counting first, then tidying up.";

/// A turn that calls a mod's tool and one that a mod blocks, and the answer.
fn todos() -> Value {
    let tool_calls = json!([
        { "id": "call_a", "name": "count_todos", "arguments": {} },
        { "id": "call_b", "name": "shell_command", "arguments": { "command": "rm -rf ." } },
    ]);
    let usage = |prompt, completion| json!({ "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion });
    json!({ "fixtures": [
        {
            "match": { "toolCallId": "call_b", "toolResultContains": "Blocked by block-dangerous-commands" },
            "response": { "content": "Two TODOs are left.", "usage": usage(30, 5) },
        },
        {
            "match": { "toolName": "count_todos", "hasToolResult": false },
            "response": { "content": SAYS, "toolCalls": tool_calls, "usage": usage(20, 10) },
        },
    ]})
}

fn folders_with_todos() -> Folders {
    let folders = Folders::new();
    fs::write(folders.work().join("a.rs"), "// TODO one\n// TODO two\n").unwrap();
    folders
}

#[test]
fn mods_act_in_a_run_with_a_streaming_model() {
    let name = "mods_act_in_a_run_with_a_streaming_model";
    let Some(mock) = Aimock::start(name, &todos(), &["-c", "16"], &[]) else { return };
    let mods = ["block-dangerous-commands", "custom-tool", "observe-events"].map(library);
    let run = |format: &str| {
        let folders = folders_with_todos();
        let mods = mods.iter().flat_map(|path| ["--mod", path.to_str().unwrap()]);
        let args: Vec<_> =
            ["--dangerously-skip-permissions", "--output-format", format].into_iter().chain(mods).collect();
        let ran = ask(&folders, &mock, "how many TODOs are left?", &args).run();
        assert!(folders.work().join("a.rs").exists());
        is_clean(&folders, &ran);
        ran
    };
    let notice = "observe-events: 2 turns, 1 tools run, 1 calls blocked";
    assert_eq!(run("text").told(), (0, "Two TODOs are left.\n", &*format!("info: {notice}\n")));

    let usage = json!({ "inputTokens": 50, "outputTokens": 15, "cacheReadTokens": 0, "cacheWriteTokens": 0 });
    let result = json!({ "finalText": "Two TODOs are left.", "stopReason": "end_turn", "turnCount": 2, "usage": usage });
    let expected = json!({
        "sessionId": "SESSION",
        "model": "openai/gpt-x",
        "error": null,
        "notices": [{ "level": "info", "message": notice }],
        "modErrors": [],
        "denied": [],
        "result": result,
    });
    let ran = run("json");
    assert_eq!((ran.code(), ran.json(), &*ran.stderr), (0, expected, ""));

    let ran = run("stream-json");
    let expected = todo_events(notice, &result);
    assert_eq!((ran.code(), &*ran.stderr), (0, ""));
    for (index, (got, expected)) in ran.events().into_iter().zip(&expected).enumerate() {
        assert_eq!(got, *expected, "event {index}");
    }
    assert_eq!(ran.events().len(), expected.len());
}

/// Every event of that run, in order.
fn todo_events(notice: &str, result: &Value) -> Vec<Value> {
    let mut events = vec![
        json!({ "type": "session_start", "source": "startup" }),
        json!({ "type": "run_start", "sessionId": "SESSION" }),
    ];
    events.extend(turn(1, calling(), "tool_calls", (20, 10), tools()));
    events.extend(turn(2, answering(), "stop", (30, 5), Vec::new()));
    events.extend([
        json!({ "type": "run_end", "result": result }),
        json!({ "type": "session_titled", "title": "how many TODOs are left?" }),
        json!({ "type": "notice", "level": "info", "message": notice }),
        json!({ "type": "session_shutdown", "reason": "shutdown" }),
    ]);
    events.iter_mut().for_each(|event| event["agentId"] = "main".into());
    events
}

/// The events of a turn around those that stream its answer and those of its tools. The last one that
/// streams has the whole answer.
fn turn(
    number: u32,
    streaming: Vec<Value>,
    stop_reason: &str,
    usage: (u32, u32),
    tools: Vec<Value>,
) -> Vec<Value> {
    let content = streaming.last().unwrap()["message"]["content"].clone();
    let (input, output) = usage;
    let usage =
        json!({ "inputTokens": input, "outputTokens": output, "cacheReadTokens": 0, "cacheWriteTokens": 0 });
    let calls = !tools.is_empty();
    let mut events = vec![
        json!({ "type": "turn_start", "turnNumber": number }),
        json!({ "type": "message_start" }),
        json!({ "type": "model_request_start", "model": "openai/gpt-x" }),
    ];
    events.extend(streaming);
    events.extend([
        json!({ "type": "model_request_end", "model": "openai/gpt-x", "usage": usage, "stopReason": stop_reason }),
        json!({ "type": "message_end", "content": content }),
    ]);
    events.extend(tools);
    events.push(json!({ "type": "turn_end", "turnNumber": number, "hadToolCalls": calls, "usage": usage }));
    events
}

fn delta(delta: &str) -> Value {
    json!({ "type": "text_delta", "delta": delta })
}

fn update(content: Value) -> Value {
    json!({ "type": "message_update", "message": { "role": "assistant", "content": content } })
}

fn calling() -> Vec<Value> {
    let text = json!({ "type": "text", "text": SAYS });
    let count = |input| json!({ "type": "tool_use", "id": "call_a", "name": "count_todos", "input": input });
    let remove =
        |input| json!({ "type": "tool_use", "id": "call_b", "name": "shell_command", "input": input });
    vec![
        delta("Counting first, "),
        delta("then tidying up."),
        update(json!([text, count("".into())])),
        update(json!([text, count(json!({})), remove("".into())])),
        update(json!([text, count(json!({})), remove(json!({ "command": "rm -rf ." }))])),
    ]
}

fn answering() -> Vec<Value> {
    let whole = json!([{ "type": "text", "text": "Two TODOs are left." }]);
    vec![delta("Two TODOs are le"), delta("ft."), update(whole)]
}

fn tools() -> Vec<Value> {
    let of = |kind: &str, id: &str, name: &str, key: &str, value: Value| json!({ "type": kind, "toolCallId": id, "toolName": name, key: value });
    let count = |kind, key, value| of(kind, "call_a", "count_todos", key, value);
    let remove = |kind, key, value| of(kind, "call_b", "shell_command", key, value);
    let counted = json!([{ "type": "text", "text": "2 TODO markers in 1 files\n2 in ./a.rs" }]);
    let blocked = "Blocked by block-dangerous-commands: `rm -rf` deletes a tree without asking.";
    vec![
        count("tool_queued", "input", json!({})),
        remove("tool_queued", "input", json!({ "command": "rm -rf ." })),
        count("tool_running", "description", Value::Null),
        count("tool_completed", "result", counted),
        remove("tool_hook_blocked", "hookOutput", blocked.into()),
    ]
}

#[test]
fn a_server_that_recovers_is_asked_again() {
    let name = "a_server_that_recovers_is_asked_again";
    let mut busy = failure(429);
    busy["retryAfter"] = 1.into();
    let mut cut = nth("cut", 0, json!({ "content": "Hello! How can I help you today?" }));
    cut["truncateAfterChunks"] = 3.into();
    let fixtures: Vec<_> = (0..5)
        .map(|index| nth("failing", index, failure(500)))
        .chain([
            nth("failing", 5, hello()),
            nth("busy", 0, busy),
            nth("busy", 1, hello()),
            cut,
            nth("cut", 1, hello()),
        ])
        .collect();
    let Some(mock) = Aimock::start(name, &json!({ "fixtures": fixtures }), &["-l", "20", "-c", "16"], &[])
    else {
        return;
    };
    let folders = impatient();
    let run = |prompt| {
        let ran = ask(&folders, &mock, prompt, &["--output-format", "stream-json"]).run();
        is_clean(&folders, &ran);
        let result = &ran.events_of("run_end")[0]["result"];
        assert_eq!((ran.code(), &result["finalText"]), (0, &"Hello!".into()), "{ran:?}");
        ran
    };
    let retries = run("failing").events_of("api_retry");
    let told: Vec<_> = retries.iter().map(|retry| (&retry["attempt"], &retry["error"])).collect();
    let error = "the model endpoint answered 500 Internal Server Error: no luck".into();
    assert_eq!(told, [(&5.into(), &error), (&6.into(), &error)]);

    let start = Instant::now();
    assert_eq!(run("busy").events_of("api_retry"), [Value::Null; 0]);
    assert!(start.elapsed() >= Duration::from_secs(1));

    // What came before the cut counts no longer, and an empty update says so.
    let texts: Vec<_> = run("cut")
        .events_of("message_update")
        .iter()
        .map(|event| event["message"]["content"].clone())
        .collect();
    assert_eq!(texts.iter().filter(|content| **content == json!([])).count(), 1, "{texts:?}");
    assert_eq!(texts.last(), Some(&json!([{ "type": "text", "text": "Hello!" }])));
}

#[test]
fn a_server_that_never_answers_well_ends_the_run_with_the_reason() {
    let name = "a_server_that_never_answers_well_ends_the_run_with_the_reason";
    let chaotic = |prompt: &str, chaos: Value| json!({ "match": { "userMessage": prompt }, "response": hello(), "chaos": chaos });
    let mut cut = json!({ "match": { "userMessage": "cut" }, "response": { "content": "Hello! How can I help you today?" } });
    cut["truncateAfterChunks"] = 2.into();
    let fixtures = json!({ "fixtures": [
        chaotic("drop", json!({ "dropRate": 1 })),
        chaotic("malformed", json!({ "malformedRate": 1 })),
        chaotic("disconnect", json!({ "disconnectRate": 1 })),
        { "match": { "userMessage": "long wait" }, "response": { "error": { "message": "no luck" }, "status": 429, "retryAfter": 3600 } },
        cut,
    ]});
    let Some(mock) = Aimock::start(name, &fixtures, &["-l", "5", "-c", "16"], &[]) else { return };
    let origin = mock.base_url().strip_suffix("/v1").unwrap();
    let endpoint = |said: &str| format!("the model endpoint answered {said}");
    let gave_up = |reason: String| format!("gave up after 8 attempts: {reason}");
    let talk = |reason: &str| format!("cannot talk to {origin}: {reason}");
    let cases = [
        ("drop", gave_up(endpoint("500 Internal Server Error: Chaos: request dropped"))),
        (
            "malformed",
            gave_up(endpoint(
                "with broken JSON (key must be a string at line 1 column 2): {malformed json: <<<chaos>>>",
            )),
        ),
        (
            "disconnect",
            gave_up(talk("client error (SendRequest): connection closed before message completed")),
        ),
        ("cut", gave_up(talk("error reading a body from connection: unexpected EOF during chunk size line"))),
        (
            "long wait",
            endpoint(
                "429 Too Many Requests: no luck; the server asks to wait 3600 s, more than the 60 s that a run waits: try again later",
            ),
        ),
        (
            "unknown",
            endpoint("404 Not Found: No fixture matched; check the model's name and OPENAI_BASE_URL"),
        ),
    ];
    for (prompt, reason) in cases {
        let folders = impatient();
        let error = format!("the model openai/gpt-x gave no answer: {reason}");
        let ran = ask(&folders, &mock, prompt, &[]).run();
        is_clean(&folders, &ran);
        assert_eq!((ran.code(), &*ran.stdout, folders.session_files()), (1, "", vec![]));
        assert_eq!(ran.stderr.lines().last(), Some(&*format!("error: {error}")));
        let ran = ask(&folders, &mock, prompt, &["--output-format", "json"]).run();
        is_clean(&folders, &ran);
        let object = ran.json();
        assert_eq!(
            (ran.code(), &object["error"], &object["result"]["stopReason"]),
            (1, &error.into(), &"error".into())
        );
    }
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let folders = impatient();
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let program = folders.cmd(&["-p", "go", "--model", "openai/gpt-x"]);
    let ran = program.env("OPENAI_BASE_URL", format!("http://{unused}/v1")).env("OPENAI_API_KEY", KEY).run();
    is_clean(&folders, &ran);
    let error = format!(
        "error: the model openai/gpt-x gave no answer: gave up after 8 attempts: cannot talk to http://{unused}: \
         client error (Connect): tcp connect error: Connection refused (os error 111)"
    );
    assert_eq!((ran.code(), ran.stderr.lines().last()), (1, Some(&*error)));
}

#[test]
fn a_key_that_is_missing_or_wrong_is_told_and_never_shown() {
    let folders = impatient();
    let ran = folders.cmd(&["-p", "go", "--model", "openai/gpt-x"]).run();
    let told = "error: no key for the model provider openai: set OPENAI_API_KEY (with OPENAI_BASE_URL at a server on \
                this machine, any value will do)\n";
    assert_eq!(ran.told(), (1, "", told));

    let fixtures = json!({ "fixtures": [{ "match": {}, "response": hello() }] });
    let name = "a_key_that_is_missing_or_wrong_is_told_and_never_shown";
    let Some(mock) = Aimock::start(name, &fixtures, &[], &[("AIMOCK_API_KEYS", "another-key")]) else {
        return;
    };
    let ran = ask(&folders, &mock, "go", &[]).run();
    is_clean(&folders, &ran);
    let told = "error: the model openai/gpt-x gave no answer: the model endpoint answered 401 Unauthorized: Invalid API \
                key; check OPENAI_API_KEY\n";
    assert_eq!(ran.told(), (1, "", told));
}
