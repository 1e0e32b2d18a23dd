//! The mods that are compiled in: there before all others, listed like any, and turned off like any.

use std::{
    fs,
    io::{Read, Write},
};

use serde_json::{Value, json};

use crate::support::{
    aimock::Aimock,
    models::hello,
    session::{Folders, library},
};

const KEY: &str = "sk-a-key-for-tests";

/// The mods that `mods list` tells of, each as its name, state and providers.
fn listed(folders: &Folders) -> Vec<[Value; 3]> {
    let ran = folders.cmd(&["mods", "list", "--json"]).run();
    let list: Value = serde_json::from_str(&ran.stdout).unwrap();
    let built_in = list["mods"].as_array().unwrap().iter().filter(|found| found["scope"] == "built_in");
    built_in
        .map(|found| [&found["name"], &found["state"], &found["registered"]["providers"]].map(Clone::clone))
        .collect()
}

#[test]
fn the_built_in_mods_are_listed_first_with_what_they_register() {
    let folders = Folders::new();
    let openai = [json!("provider-openai"), json!("loaded"), json!(["openai", "openai-responses"])];
    let anthropic = [json!("provider-anthropic"), json!("loaded"), json!(["anthropic"])];
    let titling = [json!("titling"), json!("loaded"), json!([])];
    assert_eq!(listed(&folders), [openai, anthropic.clone(), titling]);
    let ran = folders.cmd(&["mods", "list"]).run();
    let rows: Vec<_> = ran.stdout.lines().filter(|line| line.starts_with("provider-")).collect();
    assert!(rows.iter().all(|row| row.ends_with("  built-in  loaded  builtin")), "{rows:?}");

    folders.settings(&json!({ "mods": { "disabled": ["provider-openai", "titling"] } }));
    let off = |name: &str| [json!(name), json!("disabled"), Value::Null];
    assert_eq!(listed(&folders), [off("provider-openai"), anthropic, off("titling")]);
}

#[test]
fn a_provider_that_is_turned_off_says_by_what() {
    let folders = Folders::new();
    folders.settings(&json!({ "mods": { "disabled": ["provider-openai"] } }));
    for model in ["openai/gpt-x", "openai-responses/gpt-x"] {
        let (id, _) = model.split_once('/').unwrap();
        let ran = folders.cmd(&["-p", "go", "--model", model]).env("OPENAI_API_KEY", KEY).run();
        let told = format!(
            "error: the model provider {id} is turned off: mods.disabled in settings.json names its mod \
             provider-openai, got: {model}\n"
        );
        assert_eq!(ran.told(), (1, "", &*told));
    }
    let ran = folders.cmd(&["-p", "go", "--model", "gpt-x"]).run();
    let told =
        "error: a model is named provider/model, with one of the providers anthropic, scripted, got: gpt-x\n";
    assert_eq!(ran.told(), (1, "", told));
}

#[test]
fn how_they_are_reached_can_be_said_as_their_options_and_is_never_shown() {
    let name = "how_they_are_reached_can_be_said_as_their_options_and_is_never_shown";
    let Some(mock) = Aimock::start(name, &hello(), &[], &[("AIMOCK_API_KEYS", KEY)]) else { return };
    let folders = Folders::new();
    let options =
        [format!("provider-openai.base-url={}", mock.base_url()), format!("provider-openai.api-key={KEY}")];
    let options: Vec<_> = options.iter().flat_map(|option| ["--mod-option", option]).collect();
    let ran = folders.cmd(&[&["-p", "go", "--no-mods", "--model", "openai/gpt-x"], &*options].concat());
    // What was typed stands above the environment.
    assert_eq!(ran.env("OPENAI_API_KEY", "another").run().told(), (0, "Hello!\n", ""));
    // Nothing is said of options that the environment set, whoever is turned off.
    folders.settings(&json!({ "mods": { "disabled": ["provider-anthropic"] } }));
    let ran = folders.cmd(&[&["-p", "go", "--model", "openai/gpt-x"], &*options].concat());
    assert_eq!(ran.env("ANTHROPIC_API_KEY", KEY).run().told(), (0, "Hello!\n", ""));
}

#[test]
fn a_mod_cannot_take_the_id_of_a_built_in_provider_until_that_is_turned_off() {
    let folders = Folders::new();
    let faulty = library("faulty-provider");
    let run = |id: &str| {
        let program = folders.cmd(&[
            "-p",
            "go",
            "--mod",
            faulty.to_str().unwrap(),
            "--model",
            &format!("{id}/answers"),
        ]);
        program
            .env("FAULTY_PROVIDER_ID", id)
            .env("OPENAI_API_KEY", KEY)
            .env("OPENAI_BASE_URL", "http://127.0.0.1:1")
    };
    folders.settings(&json!({ "api": { "maxAttempts": 1 } }));
    let ran = run("openai").run();
    let warning = "warning: mod:faulty-provider failed in provider:openai: there is a model provider of this id already, \
                   choose another: openai";
    assert!(ran.stderr.starts_with(warning), "{ran:?}");
    assert!(ran.stderr.contains("cannot talk to http://127.0.0.1:1"), "{ran:?}");
    folders.settings(&json!({ "mods": { "disabled": ["provider-openai"] }, "maxTurns": 1 }));
    let ran = run("openai").run();
    let ended = "warning: the run ended early, after 1 turn: max_turns\n";
    assert_eq!((ran.code(), &*ran.stderr), (1, ended));
    assert!(
        ran.stdout.ends_with(
            "; None; read_file,write_file,edit_file,shell_command,grep,glob,list_directory,agent; go\n"
        ),
        "{ran:?}"
    );
    assert_eq!(fs::read_dir(folders.home().join("sessions")).unwrap().count(), 1);
}

/// A server that answers each request with the next of these streams, and its address.
fn server(answers: [&'static str; 2]) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut heard = Vec::new();
            let mut piece = [0; 4096];
            while !heard.ends_with(b"}") {
                let read = stream.read(&mut piece).unwrap();
                heard.extend_from_slice(&piece[..read]);
            }
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            stream.write_all(format!("{head}data: {answer}\n\ndata: [DONE]\n\n").as_bytes()).unwrap();
        }
    });
    address
}

#[test]
fn what_no_model_can_say_is_the_servers_fault_and_asked_again() {
    let folders = Folders::new();
    folders.settings(&json!({ "api": { "baseDelayMs": 1 } }));
    let nameless =
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"arguments":"{}"}}]}}]}"#;
    let well = r#"{"choices":[{"delta":{"content":"hello"},"finish_reason":"stop"}]}"#;
    let ran = folders
        .cmd(&["-p", "go", "--model", "openai/gpt-x"])
        .env("OPENAI_API_KEY", KEY)
        .env("OPENAI_BASE_URL", server([nameless, well]))
        .run();
    assert_eq!(ran.told(), (0, "hello\n", ""));
}

/// The names that a session got, in its file.
fn names(folders: &Folders) -> Vec<Value> {
    let lines = folders.session_lines().into_iter();
    lines.filter(|line| line["type"] == "session_info").map(|line| line["name"].clone()).collect()
}

#[test]
fn a_session_is_named_after_what_a_person_said_first_once_and_not_where_titling_is_turned_off() {
    let answers = |count| {
        let text = json!({ "text": "done" });
        json!({ "turns": vec![text; count] })
    };
    let folders = Folders::new();
    let model = folders.scenario(&answers(1));
    let first = folders.cmd(&["-p", "\n  fix the   parser\nplease", "--model", &model]).run();
    assert_eq!((first.code(), names(&folders)), (0, vec![json!("fix the parser")]));
    assert_eq!(folders.cmd(&["-p", "and more", "-c", "--model", &model]).run().code(), 0);
    assert_eq!(names(&folders), [json!("fix the parser")]);

    let folders = Folders::new();
    folders.settings(&json!({ "mods": { "disabled": ["titling"] } }));
    assert_eq!(folders.play(&answers(1), &[]).run().code(), 0);
    assert_eq!(names(&folders), [Value::Null; 0]);
}
