use std::{collections::BTreeMap, io::Write};

use futures::StreamExt;
use serde::Serialize;

use super::Context;
use crate::{
    cli::{
        args::ListArgs,
        backend::{FoundMod, ModState},
        output::{Exit, Report, one_line},
    },
    settings::{self, Places},
};

/// How many mods are tried at a time.
const AT_ONCE: usize = 4;

/// Every mod, in load order.
#[derive(Debug, Serialize)]
struct List {
    mods: Vec<FoundMod>,
    warnings: Vec<String>,
}

impl Context<'_> {
    /// Lists what a session would load and what it would not. Unless files are to be enough, each mod is
    /// loaded in a child process.
    pub(super) async fn list(&mut self, args: &ListArgs) -> anyhow::Result<Exit> {
        let places = self.places(&args.common.workspace)?;
        let settings = settings::load(&places)?;
        let mut mods = self.backend.find_mods(&places, &settings);
        if !args.unloaded {
            let tried = futures::stream::iter(mods).map(|found| self.tried(&places, found));
            mods = tried.buffered(AT_ONCE).collect().await;
        }
        let failed = mods.iter().any(|found| matches!(found.state, ModState::Failed(_)));
        self.streams.report(&List { mods, warnings: settings.warnings }, args.common.json)?;
        Ok(if failed { Exit::Failure } else { Exit::Success })
    }

    /// The mod with what a trial of it told, if a session would load it from a file.
    async fn tried(&self, places: &Places, mut found: FoundMod) -> FoundMod {
        if let (ModState::Found, Some(path)) = (&found.state, &found.path) {
            match self.trials(places).run(&found.name, path).await {
                Ok(trial) => {
                    found.state = ModState::Loaded;
                    found.registered = trial.registered;
                    found.warnings.extend(trial.warnings);
                }
                Err(error) => found.state = ModState::Failed(error.to_string()),
            }
        }
        found
    }
}

impl Report for List {
    fn text(&self, out: &mut dyn Write) -> std::io::Result<()> {
        for warning in &self.warnings {
            writeln!(out, "warning: {}", one_line(warning))?;
        }
        if self.mods.is_empty() {
            return writeln!(out, "There are no mods. Install one with cmd mods add.");
        }
        let rows: Vec<_> = self.mods.iter().map(row).collect();
        let heads = ["NAME", "VERSION", "SCOPE", "STATE", "SOURCE"].map(str::to_owned);
        let widths = widths(&heads, &rows);
        line(out, &heads, &widths)?;
        for (found, row) in self.mods.iter().zip(&rows) {
            line(out, row, &widths)?;
            details(out, found)?;
        }
        Ok(())
    }
}

type Row = [String; 5];

fn row(found: &FoundMod) -> Row {
    let state = match &found.state {
        ModState::Found => "found",
        ModState::Loaded => "loaded",
        ModState::Disabled => "disabled",
        ModState::Shadowed(_) => "shadowed",
        ModState::Untrusted => "untrusted",
        ModState::Failed(_) => "failed",
    };
    let scope = found.scope.map_or("-", settings::Scope::as_str);
    let version = found.version.as_deref().unwrap_or("-");
    [&found.name, version, scope, state, &found.source].map(one_line)
}

fn widths(heads: &Row, rows: &[Row]) -> [usize; 5] {
    let mut widths = [0; 5];
    for row in rows.iter().chain([heads]) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    widths
}

fn line(out: &mut dyn Write, row: &Row, widths: &[usize; 5]) -> std::io::Result<()> {
    let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
    writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())
}

fn details(out: &mut dyn Write, found: &FoundMod) -> std::io::Result<()> {
    let mut details = Vec::new();
    if let ModState::Failed(reason) | ModState::Shadowed(reason) = &found.state {
        details.push(reason.clone());
    }
    if found.state == ModState::Loaded {
        details.push(registered_line(&found.registered));
    }
    details.extend(found.hash.iter().map(|hash| format!("hash: {hash}")));
    details.extend(found.warnings.iter().map(|warning| format!("warning: {warning}")));
    details.iter().try_for_each(|detail| writeln!(out, "    {}", one_line(detail)))
}

/// What a mod registered, in one line.
pub(super) fn registered_line(registered: &BTreeMap<String, Vec<String>>) -> String {
    let kinds = registered.iter().filter(|(_, names)| !names.is_empty());
    let kinds: Vec<_> = kinds.map(|(kind, names)| format!("{kind}: {}", names.join(", "))).collect();
    if kinds.is_empty() { "registers nothing".to_owned() } else { kinds.join("; ") }
}
