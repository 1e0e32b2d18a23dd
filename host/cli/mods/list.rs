use std::{
    collections::BTreeMap,
    io::{self, Write},
    time::Duration,
};

use serde::Serialize;

use super::{
    Context, UNTRUSTED,
    found::{Found, State, find},
    trial::{self, Trials},
};
use crate::{
    builtin,
    cli::{
        args::ListArgs,
        output::{Exit, Report, one_line},
    },
    mod_host::{ModHost, ModHostConfig, Origin, Plan},
    settings::{self, Places},
};

/// Every mod, in load order, and then what could not be loaded.
#[derive(Debug, Serialize)]
struct List {
    mods: Vec<Found>,
    warnings: Vec<String>,
}

impl Context<'_> {
    /// Lists what a session would load and what it would not. Unless files are to be enough, each mod is
    /// loaded in a child process. It is a failure when a mod fails.
    pub(super) async fn list(&mut self, args: &ListArgs) -> anyhow::Result<Exit> {
        let places = self.places(&args.common.workspace)?;
        let settings = settings::load(&places)?;
        let (mut mods, notices) = find(&places, &settings, &self.facts).await?;
        if !args.unloaded {
            let limit = settings.merge(false).mods.load_timeout();
            built_ins(&mut mods, &places, limit).await?;
            try_all(&self.trials(&places, limit), &mut mods).await?;
        }
        let failed = mods.iter().any(|found| matches!(found.state, State::Failed(_)));
        let warnings = [settings.warnings, notices].concat();
        self.streams.report(&List { mods, warnings }, args.common.json)?;
        Ok(if failed { Exit::Failure } else { Exit::Success })
    }
}

/// Adds to the built-in mods what they register. They are code of this program: they need no trial.
async fn built_ins(mods: &mut [Found], places: &Places, limit: Duration) -> anyhow::Result<()> {
    let host = ModHost::new(ModHostConfig::alone(&*places.cwd, limit));
    host.load(Plan::default().with_built_ins(builtin::roots()), |_| false).await?;
    for (loaded, registered) in host.mods() {
        let is_it = |found: &&mut Found| found.origin == Origin::BuiltIn && found.state == State::Found;
        let found = mods.iter_mut().filter(is_it).find(|found| found.name.as_ref() == Some(&loaded.name));
        if let Some(found) = found {
            found.state = State::Loaded;
            found.registered = serde_json::from_value(serde_json::to_value(registered)?)?;
        }
    }
    Ok(())
}

/// Adds to the mods that a session would load from a file what a trial of them tells.
async fn try_all(trials: &Trials<'_>, mods: &mut [Found]) -> Result<(), trial::Error> {
    let (mut found, mut candidates) = (Vec::new(), Vec::new());
    for mod_of in mods.iter_mut().filter(|found| found.state == State::Found) {
        if let (Some(name), Some(library)) = (&mod_of.name, &mod_of.library) {
            candidates.push((name.clone(), library.clone()));
            found.push(mod_of);
        }
    }
    for (found, tried) in found.into_iter().zip(trials.run(&candidates).await) {
        match tried {
            Ok(trial) => {
                found.state = State::Loaded;
                found.registered = trial.registered;
                found.warnings.extend(trial.warnings);
            }
            Err(error @ trial::Error::Interrupted) => return Err(error),
            Err(error) => found.state = State::Failed(error.to_string()),
        }
    }
    Ok(())
}

impl Report for List {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        for warning in &self.warnings {
            writeln!(out, "warning: {}", one_line(warning))?;
        }
        let heads = ["NAME", "VERSION", "INTERFACE", "SCOPE", "STATE", "SOURCE"].map(str::to_owned);
        let rows: Vec<_> = self.mods.iter().map(row).collect();
        let mut widths = heads.each_ref().map(|head| head.chars().count());
        for row in &rows {
            let cells = row.iter().map(|cell| cell.chars().count());
            widths.iter_mut().zip(cells).for_each(|(width, cell)| *width = cell.max(*width));
        }
        line(out, &heads, &widths)?;
        for (found, row) in self.mods.iter().zip(&rows) {
            line(out, row, &widths)?;
            details(found).iter().try_for_each(|detail| writeln!(out, "    {}", one_line(detail)))?;
        }
        if self.mods.iter().all(|found| found.origin == Origin::BuiltIn) {
            let waits = self.warnings.iter().any(|warning| warning == UNTRUSTED);
            let text = if waits { "No other loads here." } else { "Install others with cmd mods add." };
            return writeln!(out, "{text}");
        }
        Ok(())
    }
}

fn row(found: &Found) -> [String; 6] {
    let state = match &found.state {
        State::Found => "found",
        State::Loaded => "loaded",
        State::Disabled => "disabled",
        State::Filtered => "filtered",
        State::Shadowed(_) => "shadowed",
        State::Untrusted => "untrusted",
        State::Failed(_) => "failed",
    };
    let (scope, source) = match &found.origin {
        Origin::BuiltIn => ("built-in", "builtin".to_owned()),
        Origin::Session { path } => ("session", path.display().to_string()),
        Origin::User { source } => ("user", source.clone()),
        Origin::Project { source } => ("project", source.clone()),
    };
    let or_dash = |text: &Option<String>| text.as_deref().unwrap_or("-").to_owned();
    let (name, version, interface) =
        (or_dash(&found.name), or_dash(&found.version), or_dash(&found.interface));
    [name, version, interface, scope.to_owned(), state.to_owned(), source].map(|cell| one_line(&cell))
}

fn line(out: &mut dyn Write, row: &[String; 6], widths: &[usize; 6]) -> io::Result<()> {
    let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
    writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())
}

/// The lines below a mod's row.
fn details(found: &Found) -> Vec<String> {
    let mut details = Vec::new();
    match &found.state {
        State::Failed(reason) | State::Shadowed(reason) => details.push(reason.clone()),
        State::Untrusted => {
            details.push("it is new, or not what it was when the workspace was trusted".into())
        }
        State::Loaded => details.push(registered_line(&found.registered)),
        State::Filtered => details.push("the filter of its source leaves it out".into()),
        State::Found | State::Disabled => {}
    }
    details.extend(found.sha256.iter().map(|sha256| format!("sha256: {sha256}")));
    details.extend(found.warnings.iter().map(|warning| format!("warning: {warning}")));
    details
}

/// What a mod registered, in one line.
pub(super) fn registered_line(registered: &BTreeMap<String, Vec<String>>) -> String {
    let kinds = registered.iter().filter(|(_, names)| !names.is_empty());
    let kinds: Vec<_> = kinds.map(|(kind, names)| format!("{kind}: {}", names.join(", "))).collect();
    if kinds.is_empty() { "registers nothing".to_owned() } else { kinds.join("; ") }
}
