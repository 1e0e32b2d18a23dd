use std::path::Path;

use mod_interface::{
    abi::{Completed, Entry, Frame, Reply},
    types::{AgentEvent, EventPayload},
};

use super::*;
use crate::{mod_host::fixture::World, tools::ToolContext};

fn refused(text: &str) -> Result<String, String> {
    Err(text.to_owned())
}

fn done() -> Result<String, String> {
    Ok("null".to_owned())
}

#[tokio::test]
async fn a_service_that_this_host_has_not_is_told_with_its_interface() {
    let world = World::new();
    let unknown = "this host (interface 1.0) has no service: telepathy";
    assert_eq!(world.now("telepathy", "{}"), refused(unknown));
    assert_eq!(world.later("telepathy", "{}").await, refused(unknown));
}

struct Nothing;

impl Entry for Nothing {
    fn call(&self, _: &Frame, reply: &mut Reply) -> u32 {
        reply.completed = Completed::default();
        reply.completed.status
    }
}

#[tokio::test]
async fn what_cannot_be_registered_is_told() {
    let world = World::new();
    let add = |kind: &str, spec: &str| {
        world.frame(Question::Factory).add(kind, spec, Callable::new(Box::new(Nothing)))
    };
    let unknown = "this host (interface 1.0) has nothing to register of kind: hologram";
    assert_eq!(add("hologram", "{}"), Err(unknown.to_owned()));
    assert_eq!(add("event", r#"{"kind": "sunrise"}"#), Err("no such event: sunrise".to_owned()));
    let bad = "bad arguments for tool: missing field `name` at line 1 column 2";
    assert_eq!(add("tool", "{}"), Err(bad.to_owned()));
    let hooks = world.frame(Question::Factory).add_hooks("", HookObject::new([]));
    assert_eq!(
        hooks,
        Err("bad arguments for hooks: EOF while parsing a value at line 1 column 0".to_owned())
    );
    assert_eq!(add("event", r#"{"kind": "turn_end", "later": 1}"#), Ok(1), "what is not known is ignored");
}

#[tokio::test]
async fn of_two_that_take_a_command_at_once_one_has_it() {
    let world = World::new();
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = Arc::clone(&told);
    world.core.bus.add(Arc::new(move |event: &AgentEvent| {
        let EventPayload::ModError { hook, error, .. } = &event.payload else { return };
        kept.lock().unwrap().push(format!("{hook}: {error}"));
    }));
    for number in 0..200 {
        let spec = json!({ "name": format!("c{number}"), "description": "" }).to_string();
        let both = std::sync::Barrier::new(2);
        let take = || {
            let frame = world.frame(Question::Factory);
            both.wait();
            frame.add("command", &spec, Callable::new(Box::new(Nothing))).unwrap()
        };
        std::thread::scope(|scope| {
            let (first, second) = (scope.spawn(take), take());
            let refused = [first.join().unwrap(), second].into_iter().filter(|id| *id == 0);
            assert_eq!(refused.count(), 1);
        });
        let error =
            format!("command:c{number}: a command of that name is there already; the first stays: c{number}");
        assert_eq!(std::mem::take(&mut *told.lock().unwrap()), [error]);
        assert_eq!(world.core.commands().len(), number + 1);
    }
}

#[tokio::test]
async fn arguments_that_are_none_are_told() {
    let world = World::new();
    let told = refused("bad arguments for log: missing field `level` at line 1 column 2");
    assert_eq!(world.now("log", "{}"), told);
    let told =
        refused("bad arguments for exec: invalid type: integer `5`, expected a string at line 1 column 12");
    assert_eq!(world.later("exec", r#"{"command":5}"#).await, told);
}

#[tokio::test]
async fn progress_is_for_tools_that_run() {
    let world = World::new();
    let args = r#"{"message":"half"}"#;
    assert_eq!(world.now("progress", args), refused("only a tool that runs can tell its progress"));
    let told = Arc::new(std::sync::Mutex::new(String::new()));
    let kept = Arc::clone(&told);
    let ctx = ToolContext {
        cwd: Path::new("/").into(),
        cancel: CancellationToken::new(),
        tool_call_id: "c".into(),
        agent_id: "main".into(),
        hidden: Arc::new(|_| false),
        progress: Arc::new(move |text| kept.lock().unwrap().push_str(text)),
    };
    let frame = world.frame(Question::Tool(Arc::new(crate::mod_host::frame::ToolQuestion {
        name: "t".into(),
        input: "{}".into(),
        ctx,
    })));
    assert_eq!(frame.call_now("progress", args), done());
    assert_eq!(*told.lock().unwrap(), "half");
}

#[tokio::test]
async fn a_process_runs_in_the_workspace_or_below_it_and_its_end_is_told() {
    let world = World::new();
    let below = world.dir.path().join("below");
    std::fs::create_dir(&below).unwrap();
    let run = async |args: &str| {
        let answer = world.later("exec", args).await;
        answer
            .map(|json| json.replace(&world.dir.path().canonicalize().unwrap().display().to_string(), "DIR"))
    };
    assert_eq!(
        run(r#"{"command":"pwd"}"#).await,
        Ok(r#"{"code":0,"stderr":"","stdout":"DIR\n"}"#.to_owned())
    );
    let in_below = r#"{"command":"sh","args":["-c","pwd; echo no >&2; exit 3"],"cwd":"below"}"#;
    assert_eq!(run(in_below).await, Ok(r#"{"code":3,"stderr":"no\n","stdout":"DIR/below\n"}"#.to_owned()));
    let killed = r#"{"command":"sh","args":["-c","kill -9 $$"]}"#;
    assert_eq!(run(killed).await, Ok(r#"{"code":null,"stderr":"","stdout":""}"#.to_owned()));
    let missing = run(r#"{"command":"no-such-program"}"#).await.unwrap_err();
    assert!(missing.contains("no-such-program"), "{missing}");
}

#[tokio::test]
async fn who_waits_for_an_interruption_that_never_comes_is_told_that_the_harness_is_gone() {
    let world = World::new();
    let mut waits = Box::pin(world.later("interrupted", "null"));
    assert!(futures::poll!(&mut waits).is_pending());
    world.core.clear();
    assert_eq!(waits.await, refused("the harness of this mod is gone"));
}

#[tokio::test]
async fn nobody_answers_a_question_where_nobody_is() {
    let world = World::new();
    assert_eq!(world.later("ui.confirm", r#"{"title":"?"}"#).await, Ok("false".to_owned()));
    assert_eq!(world.later("ui.select", r#"{"title":"?","options":["a"]}"#).await, done());
    assert_eq!(world.later("ui.input", r#"{"title":"?"}"#).await, done());
}

#[tokio::test]
async fn what_a_mod_logs_bears_its_name() {
    let world = World::new();
    assert_eq!(world.now("log", r#"{"level":"warn","message":"hot"}"#), done());
    let log = std::fs::read_to_string(world.dir.path().join("mods.log")).unwrap();
    assert!(log.ends_with(" warn mod:a hot\n"), "{log}");
}

#[tokio::test]
async fn what_is_too_much_is_refused_or_cut() {
    let world = World::new();
    let args = |message: &str| json!({ "level": "info", "message": message, "command": message }).to_string();
    let much = args(&"x".repeat(MAX_ARGS));
    let told = |service: &str| {
        Err(format!("too much for {service}, expected at most 4194304 bytes, got: {}", much.len()))
    };
    for service in ["log", "ui.notify", "progress", "emit", "bus.emit", "flag", "dispose"] {
        assert_eq!(world.now(service, &much), told(service));
    }
    for service in ["exec", "ui.confirm", "ui.select", "ui.input"] {
        assert_eq!(world.later(service, &much).await, told(service));
    }
    let tool = world.frame(Question::Factory).add("tool", &much, Callable::new(Box::new(Nothing)));
    assert_eq!(tool.map(|_| String::new()), told("tool"));

    let events = Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = Arc::clone(&events);
    world.core.bus.add(Arc::new(move |event: &AgentEvent| kept.lock().unwrap().push(event.payload.clone())));
    let long = args(&"ü".repeat(MAX_SHOWN));
    assert_eq!([world.now("log", &long), world.now("ui.notify", &long)], [done(), done()]);
    let message = format!("{}… [65536 bytes cut]", "ü".repeat(MAX_SHOWN / 2));
    let log = std::fs::read_to_string(world.dir.path().join("mods.log")).unwrap();
    assert!(log.ends_with(&format!(" info mod:a {message}\n")));
    assert_eq!(*events.lock().unwrap(), [EventPayload::Notice { level: NoticeLevel::Info, message }]);
}

#[tokio::test]
async fn a_harness_that_is_gone_serves_nothing() {
    let world = World::new();
    let frame = world.frame(Question::Factory);
    let gone = refused("the harness of this mod is gone");
    world.core.clear();
    assert_eq!(frame.call_now("flag", r#"{"name":"x"}"#), gone, "it is torn down");
    drop(world);
    assert_eq!(frame.call_now("flag", r#"{"name":"x"}"#), gone, "it is no more");
    assert_eq!(frame.call("exec", r#"{"command":"true"}"#).await, gone);
}

#[tokio::test]
async fn what_is_asked_of_a_session_that_never_comes_is_bounded_and_nonsense_is_refused() {
    let world = World::new();
    let queue = || world.now("queue_message", r#"{"content":"x","deliverAs":"steer"}"#);
    assert!((0..1024).all(|_| queue() == Ok("null".to_owned())));
    let full = "too much is asked before the session begins, at most 1024 calls and 4194304 bytes are kept";
    assert_eq!(queue(), Err(full.to_owned()));
    let large = format!(r#"{{"content":"{}","deliverAs":"steer"}}"#, "x".repeat(3 << 20));
    let other = World::new();
    let twice = [(); 2].map(|()| other.now("queue_message", &large));
    assert_eq!(twice, [Ok("null".to_owned()), Err(full.to_owned())]);
    let refused = |service: &str, args: &str| world.now(service, args).unwrap_err();
    let unknown = refused("queue_message", r#"{"content":"x","deliverAs":"soon"}"#);
    assert_eq!(
        unknown,
        "bad arguments for queue_message: unknown variant `soon`, expected `steer` or `follow_up` at line 1 column 33"
    );
    let effort = refused("set_effort", r#"{"effort":"huge"}"#);
    assert!(effort.starts_with("bad arguments for set_effort: unknown variant `huge`"), "{effort}");
    let kind = refused("flag.add", r#"{"name":"x","type":"list"}"#);
    assert!(kind.starts_with("bad arguments for flag.add: unknown variant `list`"), "{kind}");
    // Told, and not active.
    assert_eq!(world.now("flag.add", r#"{"name":"x","type":"number","default":-1}"#), Ok("0".to_owned()));
    assert_eq!(world.now("flag.add", r#"{"name":"x","type":"boolean","default":"yes"}"#), Ok("0".to_owned()));
    assert_eq!(world.now("ui.set_status", r#"{"text":null}"#), Ok("0".to_owned()));
    assert!(refused("show_entry", r#"{"customType":" ","data":1}"#).starts_with("the type of an entry"));
}
