use std::io::Write;

use registry::{State, lock::Lock};
use serde::Serialize;

use super::Context;
use crate::{
    cli::{
        args::VerifyArgs,
        output::{Exit, Report},
    },
    settings::Scope,
};

/// How each installed mod compares with the lock.
#[derive(Debug, Serialize)]
struct Verified {
    mods: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    scope: Scope,
    package: String,
    #[serde(rename = "mod")]
    name: Option<String>,
    problem: Option<Problem>,
}

#[derive(Debug, Serialize)]
struct Problem {
    code: &'static str,
    reason: String,
}

impl Context<'_> {
    /// Hashes every installed file, and compares with the lock files of both scopes. Nothing is run.
    pub(super) fn verify(&mut self, args: &VerifyArgs) -> anyhow::Result<Exit> {
        let places = self.places(&args.common.workspace)?;
        let scopes: &[_] =
            if places.project.is_some() { &[Scope::User, Scope::Project] } else { &[Scope::User] };
        let mut mods = Vec::new();
        for scope in scopes {
            let folder = places.folder(*scope);
            for candidate in registry::installed(folder, &self.facts) {
                let problem = match candidate.state {
                    State::Problem(error) => Some(error),
                    State::Ok(_) => Lock::read(folder)
                        .and_then(|lock| {
                            lock.get(&candidate.package)
                                .map_or(Ok(()), |package| registry::verify_tree(folder, package))
                        })
                        .err(),
                };
                let problem = problem.map(|error| Problem { code: error.code(), reason: error.to_string() });
                mods.push(Row {
                    scope: *scope,
                    package: candidate.package,
                    name: candidate.mod_name,
                    problem,
                });
            }
        }
        let sound = mods.iter().all(|row| row.problem.is_none());
        self.streams.report(&Verified { mods }, args.common.json)?;
        Ok(if sound { Exit::Success } else { Exit::Failure })
    }
}

impl Report for Verified {
    fn text(&self, out: &mut dyn Write) -> std::io::Result<()> {
        if self.mods.is_empty() {
            return writeln!(out, "No packages are installed.");
        }
        for Row { scope, package, name, problem } in &self.mods {
            let name = name.as_deref().unwrap_or("-");
            let state = match problem {
                None => "ok".to_owned(),
                Some(Problem { code, reason }) => format!("FAILED, {reason} [{code}]"),
            };
            writeln!(out, "{package}  {name}  {}  {state}", scope.as_str())?;
        }
        Ok(())
    }
}
