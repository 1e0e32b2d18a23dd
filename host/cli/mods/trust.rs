use std::io::Write;

use serde::Serialize;

use super::Context;
use crate::{
    cli::{
        args::{TrustArgs, UntrustArgs},
        output::{Exit, Report, Usage, one_line},
    },
    mod_host::{Lookup, ProjectMods, project_hashes},
    settings::{self, ModHash, Trust},
};

/// What is trusted now.
#[derive(Debug, Serialize)]
struct Trusted {
    workspace: String,
    mods: Vec<ModHash>,
    /// What could not be looked at, and so is not trusted.
    warnings: Vec<String>,
}

/// What is not trusted any more.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Untrusted {
    workspace: String,
    was_trusted: bool,
}

impl Context<'_> {
    /// Trusts the workspace with the mods that it has now; or takes a package whose key changed.
    pub(super) async fn trust(&mut self, args: &TrustArgs) -> anyhow::Result<Exit> {
        let places = self.places(&args.common.workspace)?;
        if let Some(package) = &args.package {
            let updates = self.trust_key(&places, package).await?;
            let exit = updates.exit();
            self.streams.report(&updates, args.common.json)?;
            return Ok(exit);
        }
        if places.project.is_none() {
            let text = "your home folder has no mods of a project, its mods are your own and always load";
            return Err(Usage(text.to_owned()).into());
        }
        let settings = settings::load(&places)?.merge(true);
        let lookup = Lookup {
            places: &places,
            settings: &settings.mods,
            host: &self.facts,
            session: &[],
            project: &ProjectMods::All,
        };
        let plan = lookup.plan();
        let mods = project_hashes(&plan);
        Trust::trust(&places, &places.cwd, mods.clone())?;
        let problems = plan.problems.iter().filter(|(origin, _)| origin.is_project());
        let report = Trusted {
            workspace: places.cwd.display().to_string(),
            mods: mods.into_iter().collect(),
            warnings: problems
                .map(|(origin, error)| format!("{error} [{}]: {origin}", error.code()))
                .collect(),
        };
        self.streams.report(&report, args.common.json)?;
        Ok(Exit::Success)
    }

    /// Takes the trust in the workspace back.
    pub(super) fn untrust(&mut self, args: &UntrustArgs) -> anyhow::Result<Exit> {
        let places = self.places(&args.common.workspace)?;
        let was_trusted = Trust::untrust(&places, &places.cwd)?;
        let report = Untrusted { workspace: places.cwd.display().to_string(), was_trusted };
        self.streams.report(&report, args.common.json)?;
        Ok(Exit::Success)
    }
}

impl Report for Trusted {
    fn text(&self, out: &mut dyn Write) -> std::io::Result<()> {
        writeln!(out, "trusted {}", self.workspace)?;
        if self.mods.is_empty() {
            writeln!(out, "  It has no mods of its own yet.")?;
        }
        for ModHash { name, sha256 } in &self.mods {
            writeln!(out, "  {}  {sha256}", one_line(name))?;
        }
        self.warnings.iter().try_for_each(|warning| writeln!(out, "  warning: {}", one_line(warning)))
    }
}

impl Report for Untrusted {
    fn text(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let before = if self.was_trusted { "is no longer trusted" } else { "was not trusted" };
        writeln!(out, "{} {before}", self.workspace)
    }
}
