//! What mods register beside hooks, and what they ask of the host: isolated and told like a hook.

use std::sync::{Arc, Mutex};

use host::{
    hooks::{Mods, ToolCallInput},
    mod_host::Registered,
    tools::ToolContext,
};
use mod_interface::{builtin_mod, prelude::*};
use tokio_util::sync::CancellationToken;

use crate::support::{
    mods::{Host, compiled_in, loose, state},
    session::library,
};

/// The misbehaving mod, loaded.
async fn misbehaving(at: &str, how: &str) -> Host {
    let host = Host::with(|config| {
        let options = [("misbehaving.at", at), ("misbehaving.how", how)];
        config.options = options.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    });
    assert_eq!(host.load([loose(library("misbehaving"))]).await, (vec!["misbehaving".to_owned()], vec![]));
    host
}

/// The line of the misbehaving mod's source with this text.
fn line_of(text: &str) -> usize {
    let source = include_str!("../mods/misbehaving/src/bad.rs");
    source.lines().position(|line| line.contains(text)).unwrap() + 1
}

#[tokio::test(flavor = "multi_thread")]
async fn an_observer_that_panics_is_told_once() {
    let host = misbehaving("observer", "panic-called").await;
    for _ in 0..3 {
        host.bus.main().emit(EventPayload::TurnStart { turn_number: 1 });
    }
    let said =
        format!("panicked: called at tests/mods/misbehaving/src/bad.rs:{}", line_of("panic!(\"called\")"));
    assert_eq!(host.take_errors(), [["mod:misbehaving", "on:turn_start", &said]]);
}

/// Calls a tool.
async fn call(host: &Host, name: &str, cancel: &CancellationToken) -> ToolOutput {
    let ctx = ToolContext {
        cwd: std::path::Path::new("/").into(),
        cancel: cancel.clone(),
        tool_call_id: "c1".into(),
        agent_id: "main".into(),
        hidden: Arc::new(|_| false),
        progress: Arc::new(|_| ()),
    };
    host.tools.get(name).unwrap().tool.run(json!({}), ctx).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_panics_fails_for_the_model_and_is_told() {
    for (how, text) in
        [("panic-called", "panic!(\"called\")"), ("panic-polled-later", "panic!(\"polled again\")")]
    {
        let host = misbehaving("tool", how).await;
        let output = call(&host, "misbehave", &CancellationToken::new()).await;
        let said = text.split('"').nth(1).unwrap();
        let said = format!("panicked: {said} at tests/mods/misbehaving/src/bad.rs:{}", line_of(text));
        assert_eq!(output, ToolOutput::error(format!("The tool failed: {said}")));
        assert_eq!(host.take_errors(), [["mod:misbehaving", "tool:misbehave", &said]]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_returns_an_error_fails_for_the_model_alone() {
    let host = misbehaving("tool", "error").await;
    let output = call(&host, "misbehave", &CancellationToken::new()).await;
    assert_eq!(output, ToolOutput::error("went wrong"));
    assert_eq!(host.take_errors(), [[""; 3]; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_never_returns_ends_when_the_run_is_interrupted() {
    for how in ["hang", "hang-and-panic-dropped"] {
        let host = misbehaving("tool", how).await;
        let cancel = CancellationToken::new();
        let (output, ()) = tokio::join!(call(&host, "misbehave", &cancel), async { cancel.cancel() });
        assert_eq!(output, ToolOutput::error("The tool failed: interrupted"));
        assert_eq!(host.take_errors(), [[""; 3]; 0], "that is nobody's fault");
    }
}

/// Registers what the others of its kind register too.
async fn registers(cmd: ModApi) -> Result<()> {
    let name = cmd.name().to_owned();
    let (tool, command) = (name.clone(), name.clone());
    cmd.add_tool(Tool::new("same", "").run(move |_| {
        let name = tool.clone();
        async move { Ok(name) }
    }))?;
    cmd.add_tool(Tool::new(format!("own_{name}"), "").run(|_| async { Ok("own") }))?;
    cmd.add_tool(
        Tool::new("bad-schema", "").input_schema(json!({ "type": "array" })).run(|_| async { Ok("") }),
    )?;
    for name in ["same", "help", "No"] {
        let said = command.clone();
        cmd.add_command(Command::new(name, "").run(move |_| {
            let said = said.clone();
            async move { Ok(CommandOutcome::message(said)) }
        }))?;
    }
    cmd.hooks(Hooks::new().append_system_prompt_sync(move |_, _| Ok(Some(name.clone()))))?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_of_a_name_stays_and_the_second_mod_stays_loaded() {
    let host = Host::new();
    let both = ["a", "b"].map(|name| {
        compiled_in(
            name,
            if name == "a" { builtin_mod!("a", registers) } else { builtin_mod!("b", registers) },
        )
    });
    assert_eq!(host.load(both).await, (vec!["a".to_owned(), "b".to_owned()], vec![]));
    let reserved = "the host answers to this command itself; choose another name: help";
    let no_name = "a command's name is of a-z, 0-9 and -, got: No";
    let taken = "a command of that name is there already; the first stays: same";
    let tool = "the name is taken, mod:a already has a tool of this name: same";
    let schema = "the input_schema of bad-schema cannot be used: its type must be \"object\", got: \"array\"";
    let expected = [
        ["mod:a", "tool:bad-schema", schema],
        ["mod:a", "command:help", reserved],
        ["mod:a", "command:No", no_name],
        ["mod:b", "tool:same", tool],
        ["mod:b", "tool:bad-schema", schema],
        ["mod:b", "command:same", taken],
        ["mod:b", "command:help", reserved],
        ["mod:b", "command:No", no_name],
    ];
    assert_eq!(host.take_errors(), expected);
    let cancel = CancellationToken::new();
    assert_eq!(call(&host, "same", &cancel).await, ToolOutput::text("a"));
    assert_eq!(call(&host, "own_b", &cancel).await, ToolOutput::text("own"));
    assert_eq!(host.says("same").await, "a");
    let runner = host.runner();
    let round = runner.round(host.mods.handlers(), 1);
    assert_eq!(round.append_system_prompt(&state()).await.as_deref(), Some("a\n\nb"));
    let registered: Vec<_> = host.mods.mods().into_iter().map(|(_, registered)| registered).collect();
    let of = |tools: &[&str], commands: &[&str]| Registered {
        hooks: vec!["appendSystemPrompt"],
        tools: tools.iter().map(ToString::to_string).collect(),
        commands: commands.iter().map(ToString::to_string).collect(),
        events: Vec::new(),
        channels: Vec::new(),
        ..Registered::default()
    };
    assert_eq!(registered, [of(&["same", "own_a"], &["same"]), of(&["own_b"], &[])]);
}

async fn tells_its_options(cmd: ModApi) -> Result<()> {
    let flags = ["level", "color", "none"].map(|name| cmd.get_flag::<String>(name));
    let flags = flags.into_iter().collect::<Result<Vec<_>>>()?;
    cmd.add_command(Command::new(cmd.name(), "").run(move |_| {
        let told = format!("{flags:?}");
        async move { Ok(CommandOutcome::message(told)) }
    }))?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_option_of_a_mods_own_comes_before_the_one_for_all() {
    let host = Host::with(|config| {
        let options = [("level", "1"), ("b.level", "2"), ("c.level", "3"), ("b.color", "red")];
        config.options = options.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    });
    let (a, b) = (builtin_mod!("a", tells_its_options), builtin_mod!("b", tells_its_options));
    host.load([compiled_in("a", a), compiled_in("b", b)]).await;
    assert_eq!(host.says("a").await, r#"[Some("1"), None, None]"#);
    assert_eq!(host.says("b").await, r#"[Some("2"), Some("red"), None]"#);
}

/// The interface of a mod that is kept longer than the harness lives.
static KEPT: Mutex<Option<ModApi>> = Mutex::new(None);
/// What calls from drops came to.
static DROPPED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Calls the host when it is dropped.
struct CallsAtItsDrop(ModApi);

impl Drop for CallsAtItsDrop {
    fn drop(&mut self) {
        let registered = self.0.on(EventKind::TurnEnd, |_| ()).err();
        DROPPED.lock().unwrap().push(format!("{:?}", registered.map(|error| error.to_string())));
    }
}

async fn outlives(cmd: ModApi) -> Result<()> {
    *KEPT.lock().unwrap() = Some(cmd.clone());
    let held = CallsAtItsDrop(cmd.clone());
    cmd.hooks(Hooks::new().on_stop_sync(move |_, _| {
        let _held = &held;
        Ok(StopDecision::Stop)
    }))?;
    let held = CallsAtItsDrop(cmd.clone());
    cmd.add_tool(Tool::new("held", "").run(move |_| {
        let _held = &held;
        async { Ok("") }
    }))?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mod_that_calls_when_the_harness_is_gone_is_told_so() {
    let host = Host::new();
    host.load([compiled_in("outlives", builtin_mod!("outlives", outlives))]).await;
    let kept = KEPT.lock().unwrap().take().unwrap();
    // Somebody still holds the mods' handlers: that keeps nothing alive.
    let handlers = host.mods.handlers();
    drop(host);
    let gone = "the harness of this mod is gone";
    assert_eq!(kept.get_flag::<String>("x").unwrap_err().to_string(), gone);
    assert_eq!(kept.exec("true").await.unwrap_err().to_string(), gone);
    assert_eq!(kept.ui().confirm("Really?").await.unwrap_err().to_string(), gone);
    assert_eq!(kept.on(EventKind::TurnStart, |_| ()).err().unwrap().to_string(), gone);
    kept.log(LogLevel::Info, "into the void");
    kept.ui().notify("into the void");
    assert_eq!((kept.name(), kept.id(), kept.cwd()), ("outlives", "mod:outlives", "/"));
    drop(handlers);
    let dropped = std::mem::take(&mut *DROPPED.lock().unwrap());
    assert_eq!(dropped, [format!("Some({gone:?})"), format!("Some({gone:?})")], "what it registered is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn tokio_works_inside_a_mod_that_asks_for_it() {
    let host = Host::new();
    assert_eq!(host.load([loose(library("with-runtime"))]).await, (vec!["with-runtime".to_owned()], vec![]));
    let runner = host.runner();
    for _ in 0..3 {
        let round = runner.round(host.mods.handlers(), 1);
        let prompt = round.append_system_prompt(&state()).await;
        assert_eq!(prompt.as_deref(), Some("with-runtime says: hello"));
    }
    assert_eq!(call(&host, "doze", &CancellationToken::new()).await, ToolOutput::text("woken"));
    // Given up in the middle: what is dropped then belongs to the mod's runtime too.
    let cancel = CancellationToken::new();
    let (output, ()) = tokio::join!(call(&host, "doze", &cancel), async { cancel.cancel() });
    assert_eq!(output, ToolOutput::error("The tool failed: interrupted"));
    assert_eq!(host.take_errors(), [[""; 3]; 0]);
}

/// Keeps what it is asked about.
static ASKED: Mutex<Vec<(ToolCall, Ctx)>> = Mutex::new(Vec::new());

async fn keeps(cmd: ModApi) -> Result<()> {
    cmd.hooks(Hooks::new().before_tool_call(|call, ctx| async move {
        ASKED.lock().unwrap().push((call, ctx));
        Ok(None)
    }))?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_mod_keeps_shows_what_it_was_asked_then() {
    let host = Host::new();
    host.load([compiled_in("keeps", builtin_mod!("keeps", keeps))]).await;
    let runner = host.runner();
    for name in ["first", "second"] {
        let call = ToolCallInput { id: "c".into(), name: name.into(), input: json!({ "name": name }).into() };
        runner.round(host.mods.handlers(), 1).before_tool_call(&state(), &call).await;
    }
    let asked = std::mem::take(&mut *ASKED.lock().unwrap());
    let names: Vec<_> =
        asked.iter().map(|(call, _)| (call.tool_name(), call.input_str("name").unwrap())).collect();
    assert_eq!(names, [("first", "first".to_owned()), ("second", "second".to_owned())]);
    let later = asked[0].1.exec("echo").args(["still", "served"]).await.unwrap();
    assert_eq!(later.stdout, "still served\n");
}

/// Does in its factory what works at once there.
async fn busy_factory(cmd: ModApi) -> Result<()> {
    cmd.ui().notify(&format!("color {:?}", cmd.get_flag::<String>("color")?));
    cmd.log(LogLevel::Info, "logged");
    let output = cmd.exec("echo").args(["ran"]).await?;
    cmd.ui().notify(output.stdout.trim());
    cmd.events().emit("nobody-listens", &json!(1))
}

#[tokio::test(flavor = "multi_thread")]
async fn decision_30_in_the_factory_exec_flags_notices_and_logging_work_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("mods.log");
    let host = Host::with(|config| {
        config.options = [("color".to_owned(), "red".to_owned())].into();
        config.log_file = Some(log.clone());
    });
    let loaded = host.load([compiled_in("busy", builtin_mod!("busy", busy_factory))]).await;
    assert_eq!(loaded, (vec!["busy".to_owned()], vec![]));
    let notice = |text: &str| EventPayload::Notice { level: NoticeLevel::Info, message: text.to_owned() };
    assert_eq!(host.take_events(), [notice("color Some(\"red\")"), notice("ran")]);
    let logged = std::fs::read_to_string(&log).unwrap();
    assert_eq!(logged.split_once(' ').unwrap().1, "info mod:busy logged\n");
}
