use std::{fs, io::Write, path::Path};

use anyhow::Context as _;
use registry::{Installed, Installer, State, install::Step};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Context, list::registered_line, trial::Trial};
use crate::{
    cli::{
        args::AddArgs,
        output::{Exit, Report, Usage},
    },
    settings::{self, Places, Scope},
};

/// What was installed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Added {
    package: String,
    version: Option<String>,
    previous: Option<String>,
    scope: Scope,
    folder: String,
    mods: Vec<Trial>,
    warnings: Vec<String>,
}

impl Context<'_> {
    /// Installs an archive. Before anything of it counts it is installed in a folder of its own, where
    /// each of its mods is loaded once, in a child process.
    pub(super) async fn add(&mut self, args: &AddArgs) -> anyhow::Result<Exit> {
        let places = self.places(&args.common.workspace)?;
        let scope = if args.global || places.project.is_none() { Scope::User } else { Scope::Project };
        let archive = self.typed(&args.archive);
        if !archive.is_file() {
            let text =
                format!("there is no such archive, make one with cmd mods pack: {}", args.archive.display());
            return Err(Usage(text).into());
        }

        let rehearsal = tempfile::tempdir().context("cannot make a folder to try the mods in")?;
        let name = archive.file_name().unwrap_or_default();
        let copy = rehearsal.path().join(name);
        fs::copy(&archive, &copy).with_context(|| format!("cannot read {}", args.archive.display()))?;
        let mods = self.rehearse(&places, &rehearsal.path().join("scope"), &copy).await?;

        let installed = self.install(places.folder(scope), &copy)?;
        add_source(&places, scope, &installed.id)?;
        let report = Added {
            package: installed.id,
            version: installed.resolved,
            previous: installed.previous,
            scope,
            folder: places.folder(scope).display().to_string(),
            warnings: installed.warnings,
            mods,
        };
        self.streams.report(&report, args.common.json)?;
        Ok(Exit::Success)
    }

    fn install(&self, scope_root: &Path, archive: &Path) -> Result<Installed, registry::Error> {
        let progress = |step| {
            if step == Step::Waiting {
                anstream::eprintln!("waiting for another cmd that changes the packages");
            }
        };
        Installer::new(scope_root, &self.facts).progress(&progress).archive(archive)
    }

    /// Installs the archive where it harms nobody, loads its mods, and takes all of it away again.
    async fn rehearse(
        &self,
        places: &Places,
        scope_root: &Path,
        archive: &Path,
    ) -> anyhow::Result<Vec<Trial>> {
        let installed = self.install(scope_root, archive)?;
        let trials = self.try_all(places, scope_root).await;
        // The store's folders are read-only: the registry knows how to remove them.
        registry::remove(scope_root, &installed.id)?;
        trials.context("nothing was installed")
    }

    async fn try_all(&self, places: &Places, scope_root: &Path) -> anyhow::Result<Vec<Trial>> {
        let limit = settings::load(places)?.merge(false).mods.load_timeout();
        let mut trials = Vec::new();
        for candidate in registry::installed(scope_root, &self.facts) {
            // A mod without a library for this machine is a warning of the real installation.
            if let State::Ok(found) = candidate.state {
                trials.push(self.trials(places, limit).run(&found.name, &found.library).await?);
            }
        }
        Ok(trials)
    }
}

/// Names the package in the settings, unless they name it already, in whatever form.
fn add_source(places: &Places, scope: Scope, id: &str) -> settings::Result<()> {
    let key = ["mods", "sources"];
    settings::edit(&places.settings(scope), |document| {
        let sources = document.get(&key).unwrap_or(Value::Null);
        let known = sources.as_array().is_some_and(|sources| sources.iter().any(|source| names(source, id)));
        if known { Ok(()) } else { document.append(&key, &json!(id)) }
    })
}

/// Whether an entry of `mods.sources` means the package, at any version.
fn names(entry: &Value, id: &str) -> bool {
    let text = entry.as_str().or_else(|| entry.get("source")?.as_str());
    text.and_then(|text| text.strip_prefix(id)).is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
}

impl Report for Added {
    fn text(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let version = self.version.as_deref().unwrap_or_default();
        let previous = match &self.previous {
            Some(previous) if previous != version => format!(", in the place of {previous}"),
            _ => String::new(),
        };
        writeln!(out, "installed {} {version} for the {}{previous}", self.package, self.scope.as_str())?;
        for found in &self.mods {
            writeln!(out, "  {} {}: {}", found.name, found.version, registered_line(&found.registered))?;
            for warning in &found.warnings {
                writeln!(out, "  warning: {warning}")?;
            }
        }
        for warning in &self.warnings {
            writeln!(out, "  warning: {warning}")?;
        }
        if self.scope == Scope::Project {
            writeln!(out, "It loads once the workspace is trusted.")?;
        }
        Ok(())
    }
}
