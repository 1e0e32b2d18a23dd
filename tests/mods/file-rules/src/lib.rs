//! Blocks, or warns, as rules in files say: `.commandcode/rules/*.json`, or the folder of `--mod-option file-rules.dir=DIR`.
//! They are read whenever something is judged, so a new one holds from the next call on.
//!
//! ```json
//! { "on": "tool", "action": "block", "message": "Not by force.", "conditions": [
//!     { "field": "tool", "op": "is", "text": "shell_command" },
//!     { "field": "command", "op": "contains", "text": "push --force" } ] }
//! ```
//!
//! It shows one set of rules behind three hooks, and data of one's own that strangers write.
#![forbid(unsafe_code)]

mod rule;

use std::{
    collections::BTreeSet,
    fs, io,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use mod_interface::prelude::*;

use rule::{Action, On, Rule};

export_mod!(file_rules);

struct Rules {
    dir: PathBuf,
    /// What was wrong with files, so that each is told once.
    told: Mutex<BTreeSet<String>>,
}

async fn file_rules(cmd: ModApi) -> Result<()> {
    let dir =
        cmd.flag(Flag::string("dir").default(".commandcode/rules").description("Where the rules are"))?;
    let rules = Arc::new(Rules { dir: cmd.place(dir), told: Mutex::default() });
    let hooks = Hooks::sharing(&rules)
        .fail_closed()
        .before_tool_call_sync(|rules, call, ctx| {
            let input: Value = call.input()?;
            let rules = rules.that_hold(ctx, On::Tool, |field| match field {
                "tool" => Some(call.tool_name().to_owned()),
                field => input
                    .get(field)
                    .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
            })?;
            Ok(match messages(&rules, Action::Block) {
                Some(reason) => Some(BeforeToolCall::block(reason)),
                None => messages(&rules, Action::Warn).map(BeforeToolCall::context),
            })
        })
        .transform_input_sync(|rules, prompt, ctx| {
            let rules = rules
                .that_hold(ctx, On::Prompt, |field| (field == "text").then(|| prompt.text().to_owned()))?;
            warn(ctx, &rules);
            Ok(messages(&rules, Action::Block).map_or(TransformInput::Continue, TransformInput::handled))
        })
        .on_stop_sync(|rules, stop, ctx| {
            let text = stop.last_assistant_text();
            let rules = rules.that_hold(ctx, On::Stop, |field| (field == "text").then(|| text.to_owned()))?;
            warn(ctx, &rules);
            Ok(messages(&rules, Action::Block).map_or(StopDecision::Stop, StopDecision::go_on))
        });
    cmd.hooks(hooks)?;
    Ok(())
}

/// What the rules with this action say.
fn messages(rules: &[Rule], action: Action) -> Option<String> {
    let said = rules.iter().filter(|rule| rule.action == action).map(|rule| rule.message.as_str());
    let said: Vec<_> = said.collect();
    (!said.is_empty()).then(|| said.join("\n"))
}

fn warn(ctx: &Ctx, rules: &[Rule]) {
    if let Some(warning) = messages(rules, Action::Warn) {
        ctx.ui().notify(&warning);
    }
}

impl Rules {
    /// The rules about this whose conditions all hold, in the order of their files' names.
    fn that_hold(&self, ctx: &Ctx, on: On, field: impl Fn(&str) -> Option<String>) -> Result<Vec<Rule>> {
        let mut files = match fs::read_dir(&self.dir) {
            Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
        files.sort();
        let read = files.into_iter().filter_map(|file| {
            let rule = fs::read_to_string(&file).map_err(Error::from).and_then(|text| Rule::read(&text));
            // One that is wrong leaves the others in force.
            rule.map_err(|error| self.tell_once(ctx, format!("file-rules: {}: {error}", file.display()))).ok()
        });
        Ok(read.filter(|rule| rule.on == on && rule.holds(&field)).collect())
    }

    fn tell_once(&self, ctx: &Ctx, wrong: String) {
        if self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(wrong.clone()) {
            ctx.ui().notify(&wrong);
        }
    }
}
