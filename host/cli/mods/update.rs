use std::{collections::BTreeSet, io::Write};

use registry::{
    install::{Allowed, rollback},
    update::{Outcome, UpdateOptions, Updated},
};
use serde::Serialize;

use super::{
    Context,
    job::Job,
    packages::{self, Entry},
};
use crate::{
    cli::{
        args::{Fetching, UpdateArgs},
        output::{Exit, Report, one_line},
    },
    settings::{self, Places, Scope, Trust},
};

/// What became of each package.
#[derive(Debug, Serialize)]
pub(super) struct Updates {
    packages: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    package: String,
    scope: Scope,
    #[serde(flatten)]
    done: Done,
}

#[derive(Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
enum Done {
    Installed {
        version: String,
    },
    Restored,
    Unchanged,
    /// The key of the archive that is added next is trusted.
    KeyForgotten,
    Changed {
        from: String,
        to: String,
    },
    Failed {
        code: &'static str,
        reason: String,
    },
}

/// Which packages to bring in line, and how.
pub(super) struct Wanted<'a> {
    /// The packages that were named; all, when none was.
    pub(super) packages: &'a [String],
    pub(super) latest: bool,
    pub(super) repair_only: bool,
    pub(super) locked: bool,
    pub(super) allowed: Allowed,
    pub(super) fetching: &'a Fetching,
}

impl Context<'_> {
    /// Brings the packages of both scopes in line with settings and lock. One that fails keeps what it has
    /// and holds up no other.
    pub(super) async fn update(&mut self, args: &UpdateArgs) -> anyhow::Result<Exit> {
        let places = self.places(&args.common.workspace)?;
        if let Some(package) = &args.rollback {
            return self.roll_back(&places, package, args.common.json);
        }
        let allowed =
            Allowed { moved_tag: args.accept_moved, downgrade: args.allow_downgrade, ..Allowed::default() };
        let wanted = Wanted {
            packages: &args.packages,
            latest: args.latest,
            repair_only: false,
            locked: args.locked,
            allowed,
            fetching: &args.fetching,
        };
        let updates = self.bring_in_line(&places, &wanted).await?;
        let exit = updates.exit();
        self.streams.report(&updates, args.common.json)?;
        Ok(exit)
    }

    /// Updates, and lets what the user brought into a trusted project be trusted.
    pub(super) async fn bring_in_line(
        &self,
        places: &Places,
        wanted: &Wanted<'_>,
    ) -> anyhow::Result<Updates> {
        let loaded = settings::load(places)?;
        let trusted = Trust::load(places)?.is_trusted(&places.cwd, &BTreeSet::new());
        let mut entries = packages::entries(places, &loaded, Scope::Project);
        // What somebody else's project has is brought in where that was asked for, and else left alone.
        if places.project.is_none() || (wanted.repair_only && !trusted) {
            entries.clear();
        }
        let project: BTreeSet<_> = entries.iter().map(|entry| entry.id.clone()).collect();
        let user = packages::entries(places, &loaded, Scope::User).into_iter();
        // A package that the project names is the project's.
        entries.extend(user.filter(|entry| !project.contains(&entry.id)));
        if !wanted.packages.is_empty() {
            let meant = wanted
                .packages
                .iter()
                .map(|typed| packages::meant(places, &entries, &self.process.cwd, typed));
            entries = meant.map(|entry| entry.cloned()).collect::<Result<_, _>>()?;
        }
        let mut rows = Vec::new();
        for scope in packages::scopes(places) {
            let texts: Vec<_> = entries.iter().filter(|entry| entry.scope == *scope).cloned().collect();
            if texts.is_empty() {
                continue;
            }
            // Nothing of a project runs before it is trusted, not even on trial.
            let tried = *scope == Scope::User || trusted;
            let job =
                self.job(places, &loaded, *scope, wanted.fetching).allowing(wanted.allowed).trying(tried);
            rows.extend(updated(job, places, *scope, texts, wanted).await?);
        }
        let moved = rows.iter().filter(|row| row.scope == Scope::Project && row.is_new());
        self.trust_installed(places, &moved.map(|row| row.package.clone()).collect())?;
        Ok(Updates { packages: rows })
    }

    /// Takes the key that a package is signed with now. An archive must be added again for that.
    pub(super) async fn trust_key(&self, places: &Places, typed: &String) -> anyhow::Result<Updates> {
        let loaded = settings::load(places)?;
        let scopes = packages::scopes(places).iter();
        let known: Vec<_> = scopes.flat_map(|scope| packages::entries(places, &loaded, *scope)).collect();
        let Entry { scope, id, .. } = packages::meant(places, &known, &self.process.cwd, typed)?.clone();
        if id.starts_with("file:") {
            registry::install::forget_signer(places.folder(scope), &id)?;
            return Ok(Updates { packages: vec![Row { package: id, scope, done: Done::KeyForgotten }] });
        }
        let wanted = Wanted {
            packages: std::slice::from_ref(typed),
            latest: true,
            repair_only: false,
            locked: false,
            allowed: Allowed { other_signer: true, ..Allowed::default() },
            fetching: &Fetching { offline: false, no_wait: false },
        };
        self.bring_in_line(places, &wanted).await
    }

    fn roll_back(&mut self, places: &Places, typed: &str, json: bool) -> anyhow::Result<Exit> {
        let known: Vec<_> =
            packages::scopes(places).iter().flat_map(|scope| packages::locked(places, *scope)).collect();
        let Entry { scope, id, .. } = packages::meant(places, &known, &self.process.cwd, typed)?;
        let locked = |id: &str| -> Result<_, registry::Error> {
            let lock = registry::lock::Lock::read(places.folder(*scope))?;
            Ok(lock.get(id).and_then(|package| package.resolved.clone()).unwrap_or_default())
        };
        let from = locked(id)?;
        let to = rollback(places.folder(*scope), id)?.resolved.unwrap_or_default();
        if *scope == Scope::Project {
            self.trust_installed(places, &BTreeSet::from([id.clone()]))?;
        }
        let row = Row { package: id.clone(), scope: *scope, done: Done::Changed { from, to } };
        self.streams.report(&Updates { packages: vec![row] }, json)?;
        Ok(Exit::Success)
    }
}

async fn updated(
    job: Job,
    places: &Places,
    scope: Scope,
    entries: Vec<Entry>,
    wanted: &Wanted<'_>,
) -> anyhow::Result<Vec<Row>> {
    let Wanted { latest, repair_only, locked, .. } = *wanted;
    let options = UpdateOptions { latest, repair_only, locked, only: None };
    let (base, home) = (places.folder(scope).to_owned(), places.user_home.clone());
    let texts: Vec<_> = entries.into_iter().map(|entry| entry.text).collect();
    let (done, _trials) = job
        .run(move |installer| registry::update::update(installer, &texts, &base, home.as_deref(), &options))
        .await?;
    Ok(done.into_iter().map(|updated| Row::new(scope, updated)).collect())
}

impl Updates {
    pub(super) fn exit(&self) -> Exit {
        let failed = self.packages.iter().any(|row| matches!(row.done, Done::Failed { .. }));
        if failed { Exit::Failure } else { Exit::Success }
    }
}

impl Row {
    fn new(scope: Scope, updated: Updated) -> Self {
        let done = match updated.outcome {
            Outcome::Installed(version) => Done::Installed { version },
            Outcome::Restored => Done::Restored,
            Outcome::Unchanged => Done::Unchanged,
            Outcome::Changed(from, to) => Done::Changed { from, to },
            Outcome::Failed(error) => Done::Failed { code: error.code(), reason: error.to_string() },
        };
        Self { package: updated.id, scope, done }
    }

    fn is_new(&self) -> bool {
        matches!(self.done, Done::Installed { .. } | Done::Changed { .. })
    }
}

impl Report for Updates {
    fn text(&self, out: &mut dyn Write) -> std::io::Result<()> {
        if self.packages.is_empty() {
            return writeln!(out, "The settings name no packages.");
        }
        for Row { package, scope, done } in &self.packages {
            let done = match done {
                Done::Installed { version } => format!("installed {version}"),
                Done::Restored => "restored".to_owned(),
                Done::Unchanged => "unchanged".to_owned(),
                Done::KeyForgotten => {
                    "the key of its next archive is trusted, add that with cmd mods add".to_owned()
                }
                Done::Changed { from, to } => format!("{from} -> {to}"),
                Done::Failed { code, reason } => format!("FAILED, {} [{code}]", one_line(reason)),
            };
            writeln!(out, "{package}  {}  {}", scope.as_str(), done.trim_end())?;
        }
        Ok(())
    }
}
