use std::io::Write;

use serde::Serialize;

use super::{Context, packages};
use crate::{
    cli::{
        args::LockArgs,
        output::{Exit, Report, one_line},
    },
    settings::{self, Scope},
};

/// What does not agree.
#[derive(Debug, Serialize)]
struct Checked {
    differences: Vec<Difference>,
}

#[derive(Debug, Serialize)]
struct Difference {
    scope: Scope,
    code: &'static str,
    reason: String,
}

impl Context<'_> {
    /// Compares settings, lock files and installed packages. Nothing is written, fetched or run.
    pub(super) fn lock(&mut self, args: &LockArgs) -> anyhow::Result<Exit> {
        let places = self.places(&args.common.workspace)?;
        let loaded = settings::load(&places)?;
        let mut differences = Vec::new();
        for scope in packages::scopes(&places) {
            let folder = places.folder(*scope);
            let entries = packages::entries(&places, &loaded, *scope);
            let texts: Vec<_> = entries.iter().map(|entry| entry.text.as_str()).collect();
            let found = registry::update::check_lock(folder, &texts, folder, places.user_home.as_deref());
            differences.extend(found.into_iter().map(|error| Difference {
                scope: *scope,
                code: error.code(),
                reason: error.to_string(),
            }));
        }
        let exit = if differences.is_empty() { Exit::Success } else { Exit::Failure };
        self.streams.report(&Checked { differences }, args.common.json)?;
        Ok(exit)
    }
}

impl Report for Checked {
    fn text(&self, out: &mut dyn Write) -> std::io::Result<()> {
        if self.differences.is_empty() {
            return writeln!(out, "Settings, lock files and installed packages agree.");
        }
        let mut differences = self.differences.iter();
        differences.try_for_each(|Difference { scope, code, reason }| {
            writeln!(out, "{}  {} [{code}]", scope.as_str(), one_line(reason))
        })
    }
}
