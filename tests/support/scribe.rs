//! A mod that does to the record of its session what commands say, and sessions that have it.

use std::sync::{Arc, Mutex};

use host::{
    harness::{Harness, HarnessBuilder, Prompted, Recording},
    settings::Settings,
};
use mod_interface::{
    builtin_mod,
    prelude::*,
    types::{AgentEvent, SessionEndReason},
};
use tokio_util::sync::CancellationToken;

use super::{behaving::line, session::Folders, told::told};

/// What the next round shall say to the model, and whether the mod puts it into the state itself.
type Next = Arc<Mutex<Option<(String, bool)>>>;

pub(crate) async fn scribe(cmd: ModApi) -> Result<()> {
    let unbound = cmd.sessions().leaf_id().err().map(|error| error.to_string());
    cmd.ui().notify(&format!("in the factory: {} {unbound:?}", cmd.session().is_some()));
    let next = Next::default();
    let prefix = if cmd.name() == "scribe" { "" } else { "other-" };
    for what in WHAT {
        let (api, next) = (cmd.clone(), Arc::clone(&next));
        let command = Command::new(format!("{prefix}{what}"), "Does it").run(move |call| {
            let (api, next) = (api.clone(), Arc::clone(&next));
            async move {
                let done = act(&api, what, call.args(), &next).await;
                Ok(done.unwrap_or_else(|error| CommandOutcome::message(format!("error: {error}"))))
            }
        });
        cmd.add_command(command)?;
    }
    let hooks = Hooks::new()
        .on_turn_start(move |_, ctx| {
            let said = next.lock().unwrap().take();
            async move {
                let (Some((text, fold)), Some(session)) = (said, ctx.session()) else {
                    return Ok(StatePatch::default());
                };
                let said = session.append_custom_message_entry(CustomMessage::new("said", text))?;
                Ok(if fold { StatePatch::default().append(said.message) } else { StatePatch::default() })
            }
        })
        .on_turn_end_sync(|turn, _| {
            let turns = turn.state().mod_state::<u32>()?.unwrap_or_default();
            Ok(StatePatch::mod_state(json!(turns + 1)))
        });
    cmd.hooks(hooks)?;
    Ok(())
}

const WHAT: [&str; 14] = [
    "keep",
    "kept",
    "say",
    "show",
    "fold",
    "leave",
    "tree",
    "leaf",
    "go",
    "go-noting",
    "go-ask",
    "label",
    "name",
    "info",
];

async fn act(cmd: &ModApi, what: &str, args: &str, next: &Next) -> Result<CommandOutcome> {
    let (first, rest) = args.split_once(' ').unwrap_or((args, ""));
    let session = cmd.session().ok_or_else(|| Error::msg("no session"))?;
    let said = match what {
        "keep" => session.append_custom_entry(first, &serde_json::from_str::<Value>(rest)?)?,
        "kept" => {
            let entries = session.get_custom_entries::<Value>(first)?;
            json!(entries.into_iter().map(|entry| entry.data).collect::<Vec<_>>()).to_string()
        }
        "say" => session.append_custom_message_entry(CustomMessage::new("said", args))?.entry_id,
        "show" => {
            let said = CustomMessage::new(first, rest).display(true).details(json!({ "of": first }));
            session.append_custom_message_entry(said)?.entry_id
        }
        "fold" | "leave" => {
            *next.lock().unwrap() = Some((args.to_owned(), what == "fold"));
            String::new()
        }
        "tree" => {
            let tree = cmd.sessions().tree()?;
            let lines = tree.nodes().map(|node| {
                let parent = node.parent().map_or("", |parent| parent.id());
                format!("{} < {parent} {}{}", node.id(), node.kind(), node.label().unwrap_or_default())
            });
            lines.collect::<Vec<_>>().join("\n").replace(tree.root().id(), "ROOT")
        }
        "leaf" => cmd.sessions().leaf_id()?,
        "go" => {
            cmd.sessions().navigate_tree(target(cmd, first)?).await?;
            "gone".to_owned()
        }
        "go-noting" => {
            let target = target(cmd, first)?.summarize();
            let target = if rest.is_empty() { target } else { target.custom_instructions(rest) };
            cmd.sessions().navigate_tree(target).await?;
            "gone".to_owned()
        }
        "go-ask" => {
            cmd.sessions().navigate_tree(target(cmd, first)?).await?;
            return Ok(CommandOutcome::prompt(rest));
        }
        "label" => {
            cmd.sessions().set_label(first, rest)?;
            "labelled".to_owned()
        }
        "name" => {
            cmd.set_session_name(args)?;
            format!("{:?}", session.info()?.name)
        }
        _ => format!("{:?}", session.info()?.first_prompt),
    };
    Ok(CommandOutcome::message(said))
}

fn target(cmd: &ModApi, id: &str) -> Result<Navigation> {
    Ok(match id {
        "ROOT" => Navigation::to(cmd.sessions().tree()?.root().id()),
        id => Navigation::to(id),
    })
}

/// A session that goes on.
pub(crate) struct Desk {
    pub(crate) harness: Harness,
    events: Arc<Mutex<Vec<String>>>,
    conversation: Mutex<Vec<String>>,
}

impl Desk {
    /// Begins a session of the mods `scribe` and `other`, with answers of the model.
    pub(crate) async fn open(folders: &Folders, record: Recording, answers: &[&str]) -> Self {
        Self::with(folders, record, answers, |builder| builder).await
    }

    pub(crate) async fn with(
        folders: &Folders,
        record: Recording,
        answers: &[&str],
        build: impl FnOnce(HarnessBuilder) -> HarnessBuilder,
    ) -> Self {
        let turns: Vec<_> = answers.iter().map(|text| json!({ "text": text })).collect();
        let events: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&events);
        let mut settings = Settings::default();
        // What names there are is what these mods give.
        settings.mods.user.disabled.push("titling".to_owned());
        let builder = Harness::builder()
            .places(folders.places())
            .settings(settings)
            .model(Some(folders.scenario(&json!({ "turns": turns }))))
            .record(record)
            .built_in("scribe", builtin_mod!("scribe", scribe))
            .built_in("other", builtin_mod!("other", scribe))
            .sink(Arc::new(move |event: &AgentEvent| kept.lock().unwrap().push(line(event))));
        Self { harness: build(builder).start().await.unwrap(), events, conversation: Mutex::default() }
    }

    /// What comes of a prompt: what the model or a command says.
    pub(crate) async fn ask(&self, prompt: &str) -> String {
        match self.harness.prompt(prompt, &CancellationToken::new()).await {
            Prompted::Ran(outcome) => {
                *self.conversation.lock().unwrap() = told(&outcome.state.messages);
                let turns = outcome.state.mod_state.get("mod:scribe").cloned().unwrap_or_default();
                format!("{} ({turns})", outcome.error.map_or(outcome.result.final_text, |it| it.to_string()))
            }
            Prompted::Handled { message } => message.unwrap_or_default(),
            Prompted::Failed => "failed".to_owned(),
        }
    }

    /// The conversation as the last run left it.
    pub(crate) fn conversation(&self) -> Vec<String> {
        self.conversation.lock().unwrap().clone()
    }

    /// The events of these kinds since they were last taken.
    pub(crate) fn take(&self, kinds: &[&str]) -> Vec<String> {
        let events = std::mem::take(&mut *self.events.lock().unwrap());
        events.into_iter().filter(|line| kinds.iter().any(|kind| line.starts_with(kind))).collect()
    }

    pub(crate) async fn close(self) {
        self.harness.end(SessionEndReason::Shutdown).await;
    }
}
