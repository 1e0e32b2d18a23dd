use std::sync::Mutex;

use futures::future::BoxFuture;
use mod_interface::types::{AgentEvent, EventPayload, MAIN_AGENT, NoticeLevel, RunResult, StopReason, Usage};
use serde_json::Value::Null;

use super::*;
use crate::{
    events::EventSink,
    harness::Recording,
    settings::{Loaded, Places},
};

/// A program whose runs raise these events and end like this.
fn scripted(events: Vec<AgentEvent>, ended: Result<Ended, &'static str>) -> Box<RunPrompt> {
    Box::new(move |_, sink: Arc<dyn EventSink>, _| -> BoxFuture<'static, Result<Finished, BoxError>> {
        let (events, ended) = (events.clone(), ended.clone());
        Box::pin(async move {
            events.iter().for_each(|event| sink.emit(event));
            ended
                .map(|ended| Finished { ended, mods_not_loaded: 0, mod_timing: None })
                .map_err(BoxError::from)
        })
    })
}

/// A stream that can be looked at afterwards.
#[derive(Clone, Default)]
struct Stream(Arc<Mutex<Vec<u8>>>);

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

fn request() -> RunRequest {
    RunRequest {
        places: Places::new("/w".into(), Some("/h".into()), None).unwrap(),
        settings: Loaded::default(),
        prompt: "hi".into(),
        model: None,
        mods: Vec::new(),
        mod_options: Vec::new(),
        no_mods: false,
        max_turns: None,
        permission_mode: None,
        skip_permissions: false,
        allow: Vec::new(),
        deny: Vec::new(),
        record: Recording::New,
        mod_timing: false,
    }
}

fn main_event(payload: EventPayload) -> AgentEvent {
    AgentEvent { payload, agent_id: MAIN_AGENT.into() }
}

fn result(stop_reason: StopReason) -> RunResult {
    let usage = Usage { input_tokens: 3, output_tokens: 4, ..Usage::default() };
    RunResult { final_text: "the \u{1b}[1manswer\u{1b}[0m\n".into(), stop_reason, turn_count: 2, usage }
}

fn events() -> Vec<AgentEvent> {
    let (tool_call_id, tool_name) = ("1".to_owned(), "shell_command".to_owned());
    let sub_agent = EventPayload::Notice { level: NoticeLevel::Info, message: "from below".into() };
    let payloads = [
        EventPayload::RunStart { session_id: "s1".into() },
        EventPayload::ModelRequestStart { model: "a/b".into() },
        EventPayload::Notice { level: NoticeLevel::Warning, message: "look\nout".into() },
        EventPayload::ModError { mod_id: "mod:x".into(), hook: "onStop".into(), error: "boom".into() },
        EventPayload::ToolRunning {
            tool_call_id: tool_call_id.clone(),
            tool_name: tool_name.clone(),
            description: Some("list".into()),
        },
        EventPayload::ToolErrored { tool_call_id, tool_name, error: "exit 1".into() },
        EventPayload::ApiRetry { attempt: 4, error: "503".into(), delay_ms: 200 },
    ];
    let sub_agent = AgentEvent { payload: sub_agent, agent_id: "sub-1".into() };
    payloads.into_iter().map(main_event).chain([sub_agent]).collect()
}

/// Prints a run and gives the way it ended, and what stands on both streams.
fn printed(
    format: OutputFormat,
    verbose: bool,
    terminal: bool,
    run: &RunPrompt,
) -> (anyhow::Result<Exit>, String, String) {
    let (out, err) = (Stream::default(), Stream::default());
    let printing = Printing { format, verbose, terminal, out: out.clone(), err: err.clone() };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let exit = runtime.block_on(printing.run(run, Ok(request()), CancellationToken::new()));
    (exit, out.text(), anstream::adapter::strip_str(&err.text()).to_string())
}

#[test]
fn text_is_the_answer_alone_and_messages_go_to_standard_error() {
    let run = |verbose, terminal| {
        let run = scripted(events(), Ok(Ended::Run(result(StopReason::EndTurn))));
        let (exit, out, err) = printed(OutputFormat::Text, verbose, terminal, &*run);
        (exit.unwrap(), out, err)
    };
    let quiet = "warning: look out\nwarning: mod:x failed in onStop: boom\nwarning: the model request is tried again in 200 ms, attempt 4: 503\ninfo: [sub-1] from below\n";
    assert_eq!(run(false, false), (Exit::Success, "the \u{1b}[1manswer\u{1b}[0m\n".into(), quiet.into()));
    let verbose = "warning: look out\nwarning: mod:x failed in onStop: boom\ntool: shell_command runs: list\ntool: shell_command failed: exit 1\nwarning: the model request is tried again in 200 ms, attempt 4: 503\ninfo: [sub-1] from below\n";
    assert_eq!(run(true, true), (Exit::Success, "the answer\n".into(), verbose.into()));
}

#[test]
fn what_is_odd_about_the_settings_is_told_first() {
    let run = scripted(events(), Ok(Ended::Run(result(StopReason::EndTurn))));
    let mut request = request();
    request.settings.warnings = vec!["settings.json: unknown setting `x`".into()];
    let (out, err) = (Stream::default(), Stream::default());
    let format = OutputFormat::StreamJson;
    let printing = Printing { format, verbose: false, terminal: false, out: out.clone(), err };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    runtime.block_on(printing.run(&*run, Ok(request), CancellationToken::new())).unwrap();
    assert_eq!(
        out.text().lines().next(),
        Some(
            r#"{"type":"notice","level":"warning","message":"settings.json: unknown setting `x`","agentId":"main"}"#
        )
    );
}

#[test]
fn stream_json_is_one_event_a_line_and_nothing_else() {
    let run = scripted(events(), Ok(Ended::Run(result(StopReason::EndTurn))));
    let (exit, out, err) = printed(OutputFormat::StreamJson, true, false, &*run);
    assert_eq!((exit.unwrap(), err), (Exit::Success, String::new()));
    let lines: Vec<AgentEvent> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, events());
    assert_eq!(out.lines().next(), Some(r#"{"type":"run_start","sessionId":"s1","agentId":"main"}"#));
}

#[test]
fn json_is_one_object_at_the_end() {
    let denied = EventPayload::ToolDenied {
        tool_call_id: "c1".into(),
        tool_name: "shell_command".into(),
        reason: "nobody is there".into(),
    };
    let mut events = events();
    events.push(AgentEvent { payload: denied, agent_id: "main".into() });
    let run = scripted(events, Ok(Ended::Run(result(StopReason::StopHook))));
    let (exit, out, err) = printed(OutputFormat::Json, true, false, &*run);
    assert_eq!((exit.unwrap(), err), (Exit::Success, String::new()));
    let expected = serde_json::json!({
        "sessionId": "s1",
        "model": "a/b",
        "error": null,
        "notices": [{"level": "warning", "message": "look\nout"}, {"level": "info", "message": "from below"}],
        "modErrors": [{"modId": "mod:x", "hook": "onStop", "error": "boom"}],
        "denied": [{"toolCallId": "c1", "toolName": "shell_command", "reason": "nobody is there"}],
        "result": {
            "finalText": "the \u{1b}[1manswer\u{1b}[0m\n",
            "stopReason": "stop_hook",
            "turnCount": 2,
            "usage": {"inputTokens": 3, "outputTokens": 4, "cacheReadTokens": 0, "cacheWriteTokens": 0},
        },
    });
    assert_eq!(
        (out.lines().count(), serde_json::from_str::<serde_json::Value>(&out).unwrap()),
        (1, expected)
    );
}

#[test]
fn a_run_that_did_not_come_to_its_own_end_says_so_and_ends_with_one() {
    let run = |reason, payload: Option<EventPayload>| {
        let events = payload.into_iter().map(main_event).collect();
        let result = RunResult { final_text: String::new(), ..result(reason) };
        let run = scripted(events, Ok(Ended::Run(result)));
        let (exit, out, err) = printed(OutputFormat::Text, false, false, &*run);
        assert_eq!(out, "");
        (exit.unwrap(), err)
    };
    let denied = EventPayload::ToolDenied {
        tool_call_id: "1".into(),
        tool_name: "write_file".into(),
        reason: "nobody is there to ask".into(),
    };
    let cases = [
        (StopReason::EndTurn, None, Exit::Success, ""),
        (
            StopReason::MaxTurns,
            None,
            Exit::Failure,
            "warning: the run ended early, after 2 turns: max_turns\n",
        ),
        (
            StopReason::Terminate,
            None,
            Exit::Failure,
            "warning: the run ended early, after 2 turns: terminate\n",
        ),
        (
            StopReason::PermissionDenied,
            Some(denied),
            Exit::Failure,
            "warning: write_file was denied: nobody is there to ask\nwarning: the run ended early, after 2 turns: permission_denied\n",
        ),
        (
            StopReason::Interrupted,
            Some(EventPayload::Interrupted {}),
            Exit::Failure,
            "warning: the run was interrupted\n",
        ),
        (
            StopReason::Error,
            Some(EventPayload::RunError { error: "no answer".into() }),
            Exit::Failure,
            "error: no answer\n",
        ),
    ];
    for (reason, payload, exit, err) in cases {
        assert_eq!(run(reason, payload), (exit, err.to_owned()), "{reason:?}");
    }
}

#[test]
fn a_slash_command_that_failed_is_no_success() {
    let run = |format| {
        let (exit, out, _) = printed(format, false, false, &*scripted(Vec::new(), Ok(Ended::Failed)));
        (exit.unwrap(), out)
    };
    assert_eq!(run(OutputFormat::Text), (Exit::Failure, String::new()));
    let object = "{\"denied\":[],\"error\":null,\"modErrors\":[],\"model\":null,\"notices\":[],\"result\":null,\"sessionId\":null}\n";
    assert_eq!(run(OutputFormat::Json), (Exit::Failure, object.to_owned()));
}

#[test]
fn a_prompt_that_a_mod_consumed_prints_what_the_mod_says() {
    let run = |format, message: Option<&str>| {
        let ended = Ok(Ended::Handled(message.map(Into::into)));
        let (exit, out, _) = printed(format, false, false, &*scripted(Vec::new(), ended));
        (exit.unwrap(), out)
    };
    assert_eq!(run(OutputFormat::Text, Some("pong")), (Exit::Success, "pong\n".into()));
    assert_eq!(run(OutputFormat::Text, None), (Exit::Success, String::new()));
    assert_eq!(
        run(OutputFormat::Json, Some("pong")).1,
        "{\"denied\":[],\"error\":null,\"message\":\"pong\",\"modErrors\":[],\"model\":null,\"notices\":[],\"result\":null,\"sessionId\":null}\n"
    );
}

#[test]
fn a_run_that_cannot_begin_is_told_after_all_that_was_printed() {
    let not_begun = |format| {
        let (exit, out, err) = printed(format, false, false, &*scripted(events(), Err("no model")));
        assert_eq!((exit.unwrap(), err.lines().last()), (Exit::Failure, Some("error: no model")));
        (out, err.lines().count())
    };
    assert_eq!(not_begun(OutputFormat::Text), (String::new(), 5));
    let (out, err) = not_begun(OutputFormat::Json);
    let object: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((out.lines().count(), err), (1, 1));
    assert_eq!(
        [&object["error"], &object["sessionId"], &object["result"]],
        [&"no model".into(), &"s1".into(), &Null]
    );
    let (out, err) = not_begun(OutputFormat::StreamJson);
    let last = r#"{"type":"run_error","error":"no model","agentId":"main"}"#;
    assert_eq!((out.lines().count(), out.lines().last(), err), (events().len() + 1, Some(last), 1));
}

#[test]
fn a_request_that_cannot_be_made_is_printed_like_a_run_that_cannot_begin() {
    let run = scripted(Vec::new(), Err("never called"));
    let out = Stream::default();
    let format = OutputFormat::Json;
    let printing = Printing { format, verbose: false, terminal: false, out: out.clone(), err: io::sink() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let request = Err(anyhow::anyhow!("is a directory").context("cannot read settings.json"));
    let error = runtime.block_on(printing.run(&*run, request, CancellationToken::new())).unwrap_err();
    assert_eq!(error.to_string(), "cannot read settings.json");
    assert_eq!(
        out.text(),
        "{\"denied\":[],\"error\":\"cannot read settings.json: is a directory\",\"modErrors\":[],\"model\":null,\"notices\":[],\"result\":null,\"sessionId\":null}\n"
    );
}

#[test]
fn a_reader_that_goes_away_interrupts_the_run() {
    let run = |_, sink: Arc<dyn EventSink>, cancel: CancellationToken| -> BoxFuture<'static, _> {
        Box::pin(async move {
            sink.emit(&main_event(EventPayload::MessageStart {}));
            cancel.cancelled().await;
            Ok(Finished {
                ended: Ended::Run(result(StopReason::Interrupted)),
                mods_not_loaded: 0,
                mod_timing: None,
            })
        })
    };
    let (reader, out) = io::pipe().unwrap();
    drop(reader);
    let format = OutputFormat::StreamJson;
    let printing = Printing { format, verbose: false, terminal: false, out, err: io::sink() };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let error = runtime.block_on(printing.run(&run, Ok(request()), CancellationToken::new())).unwrap_err();
    assert_eq!(error.downcast::<io::Error>().unwrap().kind(), io::ErrorKind::BrokenPipe);
}

#[test]
fn a_run_without_a_mod_that_it_should_have_had_is_no_success() {
    let run = |_, _, _| -> BoxFuture<'static, _> {
        Box::pin(async {
            Ok(Finished {
                ended: Ended::Run(result(StopReason::EndTurn)),
                mods_not_loaded: 1,
                mod_timing: None,
            })
        })
    };
    let format = OutputFormat::Text;
    let printing = Printing { format, verbose: false, terminal: false, out: io::sink(), err: io::sink() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let exit = runtime.block_on(printing.run(&run, Ok(request()), CancellationToken::new()));
    assert_eq!(exit.unwrap().code(), 1);
}
