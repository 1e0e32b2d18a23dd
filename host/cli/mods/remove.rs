use std::io::Write;

use serde::Serialize;

use super::{Context, packages};
use crate::{
    cli::{
        args::RemoveArgs,
        output::{Exit, Report, Usage},
    },
    settings::{self, Scope},
};

/// What was removed.
#[derive(Debug, Serialize)]
struct Removed {
    package: String,
    scope: Scope,
}

impl Context<'_> {
    /// Takes a package out of the settings, the lock and the store, in this order: what a crash leaves is
    /// never named.
    pub(super) fn remove(&mut self, args: &RemoveArgs) -> anyhow::Result<Exit> {
        let places = self.places(&args.common.workspace)?;
        let scope = if args.global || places.project.is_none() { Scope::User } else { Scope::Project };
        let loaded = settings::load(&places)?;
        let known = |scope| {
            let named = packages::entries(&places, &loaded, scope);
            named.into_iter().chain(packages::locked(&places, scope)).collect::<Vec<_>>()
        };
        let (here, cwd) = (known(scope), &self.process.cwd);
        let entry = packages::meant(&places, &here, cwd, &args.package).map_err(|error| {
            let users = scope == Scope::Project
                && packages::meant(&places, &known(Scope::User), cwd, &args.package).is_ok();
            if users {
                Usage(format!("the package is installed for the user, remove it with -g: {}", args.package))
            } else {
                error
            }
        })?;
        packages::unname(&places, scope, &entry.id)?;
        if !entry.id.starts_with("path:") {
            match registry::remove(places.folder(scope), &entry.id) {
                // It was named and never installed.
                Ok(()) | Err(registry::Error::UnknownPackage { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.streams.report(&Removed { package: entry.id.clone(), scope }, args.common.json)?;
        Ok(Exit::Success)
    }
}

impl Report for Removed {
    fn text(&self, out: &mut dyn Write) -> std::io::Result<()> {
        writeln!(out, "removed {} for the {}", self.package, self.scope.as_str())
    }
}
