//! Every capability in one file, each as small as it can be. Copy what you need; `cargo doc` of `mod-interface` says
//! for each when it is asked, how answers combine, and what stands when it fails.
#![forbid(unsafe_code)]

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use mod_interface::prelude::*;

export_mod!(kitchen_sink);

async fn kitchen_sink(cmd: ModApi) -> Result<()> {
    // Flags: `--mod-option kitchen-sink.quiet=true`.
    let quiet =
        cmd.flag(Flag::boolean("quiet").default(false).description("Shows no status and no widget"))?;

    // In the factory there is no session yet: what is asked of it is kept until there is.
    cmd.set_effort(Some(Effort::Low))?;
    cmd.set_session_name("down the sink")?;
    cmd.show_entry("sunk", &json!({ "what": "the factory" }))?;

    add_tools(&cmd)?;
    add_commands(&cmd)?;
    add_session_commands(&cmd)?;
    watch(&cmd, quiet)?;
    cmd.hooks(hooks())?;
    cmd.log(LogLevel::Info, "kitchen-sink is ready");
    Ok(())
}

/// What the model can call, and which tools it has.
fn add_tools(cmd: &ModApi) -> Result<()> {
    let exec = cmd.clone();
    cmd.add_tool(Tool::new("sink_version", "Says which version of git is there").read_only().run(
        move |_| {
            // A process: no shell, and it ends with the run.
            let git = exec.exec("git").args(["--version"]);
            async move { Ok(git.await?.stdout) }
        },
    ))?;
    // All but one. What other mods allow is intersected with it.
    let tools = cmd.get_all_tools()?.into_iter().filter(|name| name != "list_directory");
    cmd.set_active_tools(tools)?;
    Ok(())
}

/// `/sink` asks a person, where there is one, and the model; `/unsink` takes the command away again.
fn add_commands(cmd: &ModApi) -> Result<()> {
    let sink = cmd.add_command(Command::new("sink", "Asks for a word").run(|call| async move {
        let word = call.ctx().ui().input("Which word?").placeholder("sink").await?;
        Ok(CommandOutcome::prompt(format!("Use the word {}.", word.as_deref().unwrap_or("sink"))))
    }))?;
    let api = cmd.clone();
    cmd.add_command(Command::new("unsink", "Takes /sink away").run(move |_| {
        // Twice is once.
        sink.dispose();
        sink.dispose();
        let told = api.events().emit("sink", &json!("gone"));
        async move { told.map(|()| CommandOutcome::message("gone")) }
    }))?;
    Ok(())
}

/// `/keep` keeps a word with the session and tells the model once, `/back` goes on before what came last.
fn add_session_commands(cmd: &ModApi) -> Result<()> {
    let api = cmd.clone();
    cmd.add_command(Command::new("keep", "Keeps a word").argument_hint("<word>").run(move |call| {
        let api = api.clone();
        async move {
            // In the factory it would be `None`.
            let Some(session) = api.session() else { return Ok(CommandOutcome::Done) };
            let entry = session.append_custom_entry("sink/word", &call.args())?;
            api.sessions().set_label(&entry, call.args())?;
            let said = CustomMessage::new("sink/word", format!("The word is {}.", call.args()));
            session.append_custom_message_entry(said.display(true))?;
            let words = session.get_custom_entries::<String>("sink/word")?;
            let words: Vec<_> = words.into_iter().map(|word| word.data).collect();
            Ok(CommandOutcome::message(words.join(", ")))
        }
    }))?;
    let api = cmd.clone();
    cmd.add_command(Command::new("back", "Goes on before what came last").run(move |_| {
        let api = api.clone();
        async move {
            let (tree, leaf) = (api.sessions().tree()?, api.sessions().leaf_id()?);
            let before = tree.node(&leaf).and_then(|leaf| leaf.parent());
            let Some(before) = before else { return Ok(CommandOutcome::message("at the root")) };
            api.sessions().navigate_tree(Navigation::to(before.id())).await?;
            Ok(CommandOutcome::message(format!("at {}", before.label().unwrap_or(before.kind()))))
        }
    }))?;
    Ok(())
}

/// What is observed and shown: a renderer, a status segment, a widget, the bus between mods.
fn watch(cmd: &ModApi, quiet: bool) -> Result<()> {
    cmd.add_renderer("sunk", |sunk: Value| vec![format!("\u{1b}[36msunk:\u{1b}[0m {}", sunk["what"])])?;
    let log = cmd.clone();
    cmd.events().on("sink", move |message| log.ui().notify(&format!("on the bus: {}", message.json())))?;
    if quiet {
        return Ok(());
    }
    let turns = Arc::new(AtomicU32::new(0));
    let (painted, api) = (Arc::clone(&turns), cmd.clone());
    cmd.ui().widget(Placement::AboveEditor, move || vec![format!("turns: {}", painted.load(Relaxed))])?;
    cmd.on(EventKind::TurnEnd, move |_| {
        let turns = turns.fetch_add(1, Relaxed) + 1;
        api.ui().refresh_widgets();
        api.ui().set_status(&format!("sink: {turns}"))
    })?;
    Ok(())
}

/// The hooks, in the order in which a run asks them.
fn hooks() -> Hooks {
    Hooks::new()
        .transform_input_sync(|prompt, _| Ok(TransformInput::text(prompt.text().replace("!!", "at once"))))
        .on_turn_start_sync(|_, _| Ok(StatePatch::default()))
        .append_system_prompt_sync(|_, _| Ok(Some("There is a kitchen sink.".to_owned())))
        .transform_context_sync(|_, _| Ok(Vec::new()))
        .before_tool_call_sync(|call, _| {
            let hidden = call.input_str("path").is_some_and(|path| path.ends_with(".env"));
            Ok(hidden.then(|| BeforeToolCall::block("Secrets stay where they are.")))
        })
        .after_tool_call_sync(|result, _| {
            Ok(result.is_error().then(|| AfterToolCall::context("Try another way.")))
        })
        // Kept with the session: each mod has one slot.
        .on_turn_end_sync(|turn, _| Ok(StatePatch::mod_state(json!({ "turns": turn.turn_number() }))))
        .should_stop_after_turn_sync(|turn, _| Ok(turn.turn_number() >= 50))
        .prepare_next_turn_sync(|_, _| Ok(None))
        .on_stop_sync(|_, _| Ok(StopDecision::Stop))
        .on_run_end(|run, ctx| async move {
            let result = run.result()?;
            ctx.emit("run", &json!({ "turns": result.turn_count }))
        })
}
