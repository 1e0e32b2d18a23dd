use std::sync::Arc;

use super::*;
use crate::sdk::Flag;
use crate::{
    abi::fixture::{Recording, ready},
    types::{CommandOutcome, StopDecision},
};

fn api(answer: &str) -> (ModApi, Arc<Recording>) {
    let recording = Arc::new(Recording { answer: answer.to_owned(), ..Recording::default() });
    (ModApi::new(recording.frame(), RuntimeHandle::none()), recording)
}

fn asked(what: &str, args: &str) -> (String, String) {
    (what.to_owned(), args.to_owned())
}

#[test]
fn each_verb_tells_the_host_what_it_registers() {
    let (api, recording) = api("null");
    api.add_tool(Tool::new("t", "does").read_only().run(|_| async { Ok("x") })).unwrap();
    api.add_command(
        Command::new("c", "does").argument_hint("<x>").run(|_| async { Ok(CommandOutcome::Done) }),
    )
    .unwrap();
    api.on(EventKind::TurnEnd, |_| ()).unwrap();
    api.hooks(Hooks::new().on_stop_sync(|_, _| Ok(StopDecision::Stop))).unwrap();
    let tool = r#"{"description":"does","input_schema":{"properties":{},"required":[],"type":"object"},"name":"t","read_only":true}"#;
    let expected = [
        asked("tool", tool),
        asked("command", r#"{"argumentHint":"<x>","description":"does","name":"c"}"#),
        asked("event", r#"{"kind":"turn_end"}"#),
        asked("hooks", r#"{"failClosed":false}"#),
    ];
    assert_eq!(recording.take(), expected);
    assert_eq!((recording.callables.lock().unwrap().len(), recording.hooks.lock().unwrap().len()), (3, 1));
}

#[test]
fn a_registration_is_undone_by_its_number_and_not_by_its_drop() {
    let (api, recording) = api("null");
    let registration = api.on(EventKind::TurnEnd, |_| ()).unwrap();
    recording.take();
    drop(registration.clone());
    assert_eq!(recording.take(), []);
    registration.dispose();
    registration.dispose();
    let dispose = asked("dispose", r#"{"id":5}"#);
    assert_eq!(recording.take(), [dispose.clone(), dispose], "the host knows that it is done");
}

#[test]
fn a_hook_that_is_given_twice_is_refused_before_the_host_hears_of_it() {
    let (api, recording) = api("null");
    let stop = |hooks: Hooks| hooks.on_stop_sync(|_, _| Ok(StopDecision::Stop));
    let refused = api.hooks(stop(stop(Hooks::new()))).err().unwrap().to_string();
    assert_eq!(refused, "a hook set twice in one Hooks; call hooks() once for each: onStop");
    assert_eq!(recording.take(), []);
    api.hooks(stop(Hooks::new())).unwrap();
    api.hooks(stop(Hooks::new())).unwrap();
}

#[test]
fn services_are_asked_by_name_and_their_answers_read() {
    let (api, recording) = api(r#""red""#);
    assert_eq!(api.get_flag::<String>("color").unwrap().as_deref(), Some("red"));
    let no_bool = api.get_flag::<bool>("color").unwrap_err().to_string();
    assert_eq!(no_bool, "a boolean is true or false, got: red");
    let no_number = api.get_flag::<u64>("color").unwrap_err().to_string();
    assert_eq!(no_number, "a number is a whole one from 0, got: red");
    assert_eq!(
        ready(api.ui().input("Which?").placeholder("red").into_future()).unwrap().as_deref(),
        Some("red")
    );
    api.log(crate::sdk::LogLevel::Warn, "hot");
    api.ui().notify("look");
    let expected = [
        asked("flag", r#"{"name":"color"}"#),
        asked("flag", r#"{"name":"color"}"#),
        asked("flag", r#"{"name":"color"}"#),
        asked("ui.input", r#"{"placeholder":"red","title":"Which?"}"#),
        asked("log", r#"{"level":"warn","message":"hot"}"#),
        asked("ui.notify", r#"{"message":"look"}"#),
    ];
    assert_eq!(recording.take(), expected);
}

#[test]
fn an_answer_of_another_kind_is_an_error_and_no_panic() {
    let (api, _recording) = api("5");
    let kind = "invalid type: integer `5`, expected a string";
    assert_eq!(api.get_flag::<String>("color").unwrap_err().to_string(), kind);
    assert_eq!(
        ready(api.ui().confirm("Really?").message("No way back").into_future()).unwrap_err().to_string(),
        "invalid type: integer `5`, expected a boolean"
    );
    let (api, _recording) = self::api("no json");
    assert_eq!(api.get_flag::<String>("color").unwrap_err().to_string(), "expected ident at line 1 column 2");
}

#[test]
fn a_flag_is_told_with_its_type_and_its_default() {
    let (api, recording) = api("7");
    assert!(api.add_flag(Flag::boolean("loud").default(true)).unwrap().is_active());
    api.add_flag(Flag::string("color").default("red").description("of the text")).unwrap();
    api.add_flag(Flag::number("times").default(2)).unwrap();
    let expected = [
        asked("flag.add", r#"{"default":true,"description":null,"name":"loud","type":"boolean"}"#),
        asked("flag.add", r#"{"default":"red","description":"of the text","name":"color","type":"string"}"#),
        asked("flag.add", r#"{"default":2,"description":null,"name":"times","type":"number"}"#),
    ];
    assert_eq!(recording.take(), expected);
}

#[test]
fn a_process_is_told_whole() {
    let (api, recording) = api(r#"{"stdout":"out","stderr":"","code":null,"later":1}"#);
    let output = ready(api.exec("ls").args(["-l", "-a"]).cwd("below").into_future()).unwrap();
    assert_eq!((output.stdout.as_str(), output.stderr.as_str(), output.code), ("out", "", None));
    assert_eq!(recording.take(), [asked("exec", r#"{"args":["-l","-a"],"command":"ls","cwd":"below"}"#)]);
}

#[test]
fn what_is_asked_of_the_session_is_told_whole() {
    let (api, recording) = api("null");
    api.queue_message("look", crate::types::DeliverAs::FollowUp).unwrap();
    api.set_model("a/b").unwrap();
    api.set_effort(Some(crate::types::Effort::High)).unwrap();
    api.set_effort(None).unwrap();
    let expected = [
        asked("queue_message", r#"{"content":"look","deliverAs":"follow_up"}"#),
        asked("set_model", r#"{"model":"a/b"}"#),
        asked("set_effort", r#"{"effort":"high"}"#),
        asked("set_effort", r#"{"effort":null}"#),
    ];
    assert_eq!(recording.take(), expected);
}

#[test]
fn what_is_shown_is_told_whole() {
    let (api, recording) = api("9");
    api.add_renderer("note", |note: String| vec![note]).unwrap();
    api.show_entry("note", &"text").unwrap();
    api.ui().set_status("busy").unwrap();
    api.ui().widget(crate::types::Placement::BelowEditor, Vec::new).unwrap();
    api.ui().refresh_widgets();
    api.set_active_tools(["grep"]).unwrap();
    let expected = [
        asked("renderer", r#"{"customType":"note"}"#),
        asked("show_entry", r#"{"customType":"note","data":"text"}"#),
        asked("ui.set_status", r#"{"text":"busy"}"#),
        asked("widget", r#"{"placement":"below-editor"}"#),
        asked("ui.refresh_widgets", "null"),
        asked("tools.set_active", r#"{"names":["grep"]}"#),
    ];
    assert_eq!(recording.take(), expected);
    assert_eq!(recording.callables.lock().unwrap().len(), 2);
}
