use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    path::Path,
};

use registry::{State, install::Allowed, settings::Signing, signature::KeyTrust};
use serde::Serialize;

use super::{
    Context, UNTRUSTED, packages,
    update::{Updates, Wanted},
};
use crate::{
    cli::{
        args::VerifyArgs,
        output::{Exit, Report, one_line},
    },
    settings::{self, Places, Scope, Trust},
};

/// How each installed mod compares with the lock.
#[derive(Debug, Serialize)]
struct Verified {
    #[serde(skip_serializing_if = "Option::is_none")]
    fixed: Option<Updates>,
    mods: Vec<Row>,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Row {
    scope: Scope,
    package: String,
    #[serde(rename = "mod")]
    name: Option<String>,
    signer: Option<String>,
    problem: Option<Problem>,
}

#[derive(Debug, Serialize)]
struct Problem {
    code: &'static str,
    reason: String,
}

impl Context<'_> {
    /// Hashes every installed file, and compares with the lock files of both scopes. Nothing is run, and nothing of a
    /// project that is not trusted is opened. With `--fix`, what is missing or damaged is brought back first, exactly
    /// as it is locked.
    pub(super) async fn verify(&mut self, args: &VerifyArgs) -> anyhow::Result<Exit> {
        let places = self.places(&args.common.workspace)?;
        let fixed = if args.fix { Some(self.fix(&places, args).await?) } else { None };
        let loaded = settings::load(&places)?;
        let mut mods = Vec::new();
        let scopes = self.looked_at(&places)?;
        for scope in scopes {
            let job = self.job(&places, &loaded, *scope, &args.fetching);
            mods.extend(self.rows(places.folder(*scope), *scope, job.signing()));
        }
        let sound = mods.iter().all(|row| row.problem.is_none());
        let left_out = places.project.as_deref().filter(|project| project.exists() && scopes.len() == 1);
        let mut warnings: Vec<_> = left_out.map(|_| UNTRUSTED.to_owned()).into_iter().collect();
        let loader = self.process.loader_variables.iter();
        warnings.extend(
            loader.map(|name| format!("{name} is set: the system loads other libraries with every program")),
        );
        self.streams.report(&Verified { fixed, mods, warnings }, args.common.json)?;
        Ok(if sound { Exit::Success } else { Exit::Failure })
    }

    /// The scopes that count: the project's only once it is trusted.
    fn looked_at(&self, places: &Places) -> anyhow::Result<&'static [Scope]> {
        let trusted = Trust::load(places)?.is_trusted(&places.cwd, &BTreeSet::new());
        Ok(if trusted { packages::scopes(places) } else { &[Scope::User] })
    }

    async fn fix(&self, places: &Places, args: &VerifyArgs) -> anyhow::Result<Updates> {
        let wanted = Wanted {
            packages: &[],
            latest: false,
            repair_only: true,
            locked: false,
            allowed: Allowed::default(),
            fetching: &args.fetching,
        };
        self.bring_in_line(places, &wanted).await
    }

    fn rows(&self, folder: &Path, scope: Scope, signing: &Signing) -> Vec<Row> {
        // A lock that cannot be read is a problem among the candidates.
        let verdicts = registry::verify::verdicts(folder, &self.facts, signing).unwrap_or_default();
        let mut verdicts: BTreeMap<_, _> = verdicts
            .into_iter()
            .map(|verdict| (verdict.package.id, (verdict.files.err(), verdict.key)))
            .collect();
        let candidates = registry::installed(folder, &self.facts).into_iter();
        candidates
            .map(|candidate| {
                let verdict = verdicts.get_mut(&candidate.package);
                let signer = verdict.as_ref().and_then(|(_, key)| signer(key));
                let problem = match candidate.state {
                    State::Problem(error) => Some(Problem::from(&error)),
                    State::Ok(_) => verdict.and_then(|(error, _)| error.as_ref().map(Problem::from)),
                };
                Row { scope, package: candidate.package, name: candidate.mod_name, signer, problem }
            })
            .collect()
    }
}

/// Who signed a package, and how far the key is known.
fn signer(key: &KeyTrust) -> Option<String> {
    match key {
        KeyTrust::Unsigned => None,
        KeyTrust::FirstUse(key) => Some(format!("{key}, seen first with this package")),
        KeyTrust::Configured(key) => Some(format!("{key}, named in the settings")),
    }
}

impl From<&registry::Error> for Problem {
    fn from(error: &registry::Error) -> Self {
        Self { code: error.code(), reason: error.to_string() }
    }
}

impl Report for Verified {
    fn text(&self, out: &mut dyn Write) -> std::io::Result<()> {
        if let Some(fixed) = &self.fixed {
            fixed.text(out)?;
        }
        for warning in &self.warnings {
            writeln!(out, "warning: {}", one_line(warning))?;
        }
        if self.mods.is_empty() {
            return writeln!(out, "No packages are installed.");
        }
        for Row { scope, package, name, signer, problem } in &self.mods {
            let name = name.as_deref().unwrap_or("-");
            let state = match problem {
                None => "ok".to_owned(),
                Some(Problem { code, reason }) => format!("FAILED, {reason} [{code}]"),
            };
            let signer = signer.as_deref().map(|signer| format!(", signed by {signer}")).unwrap_or_default();
            writeln!(out, "{package}  {name}  {}  {state}{signer}", scope.as_str())?;
        }
        Ok(())
    }
}
