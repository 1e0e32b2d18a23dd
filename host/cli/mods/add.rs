use std::{
    collections::BTreeSet,
    io::Write,
    path::{Path, PathBuf},
};

use registry::{Installed, Source};
use serde::Serialize;

use super::{
    Context, build,
    job::{Asked, Job},
    list::registered_line,
    packages,
    trial::Trial,
};
use crate::{
    cli::{
        args::AddArgs,
        output::{Exit, Report, Usage},
    },
    settings::{self, ModHash, Places, Scope, Trust},
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
    /// Whether a session loads it as it is.
    trusted: bool,
}

impl Context<'_> {
    /// Installs a package, or names a folder that is used where it is. Before anything of it counts, each
    /// of its mods is loaded once, in a child process.
    pub(super) async fn add(&mut self, args: &AddArgs) -> anyhow::Result<Exit> {
        let places = self.places(&args.common.workspace)?;
        let scope = if args.global || places.project.is_none() { Scope::User } else { Scope::Project };
        let loaded = settings::load(&places)?;
        let job = self.job(&places, &loaded, scope, &args.fetching);
        let source = self.source(&args.source)?;
        let (installed, mods, text) = match &source {
            Source::Path(path) => {
                let folder = self
                    .typed(path)
                    .canonicalize()
                    .map_err(|error| Usage(format!("there is no such folder: {error}: {}", args.source)))?;
                let local = local(&job, &folder).await;
                let (installed, mods) =
                    local.map_err(|error| build::unpacked(&folder).map_or(error, Into::into))?;
                (installed, mods, written(&places, scope, &folder))
            }
            Source::Archive(path) => {
                let path = self.typed(path);
                let (installed, mods) = job.run(move |installer| installer.archive(&path)).await?;
                let installed = installed?;
                let id = installed.id.clone();
                (installed, mods, id)
            }
            _ => {
                let asked = match (args.yes, self.process.terminal) {
                    (true, _) => Asked::NoNeed,
                    (false, true) => Asked::User,
                    (false, false) => Asked::Missing,
                };
                // A repository stays written as it was typed.
                let text =
                    if matches!(source, Source::Npm(_)) { source.to_string() } else { args.source.clone() };
                let wanted = text.clone();
                let (installed, mods) =
                    job.asking(asked).run(move |installer| installer.add(&wanted)).await?;
                (installed.map_err(|error| self.looked_for(&args.source, error))?, mods, text)
            }
        };
        packages::name(&places, scope, &installed.id, &text)?;
        let trusted =
            scope == Scope::User || self.trust_installed(&places, &BTreeSet::from([installed.id.clone()]))?;
        let report = Added {
            package: installed.id,
            version: installed.resolved,
            previous: installed.previous,
            scope,
            folder: places.folder(scope).display().to_string(),
            warnings: installed.warnings,
            mods,
            trusted,
        };
        self.streams.report(&report, args.common.json)?;
        Ok(Exit::Success)
    }

    /// Reads what was typed. An archive or a folder needs no `./` before it when it is there and cannot be
    /// anything else.
    fn source(&self, typed: &str) -> anyhow::Result<Source> {
        let path = Path::new(typed);
        if (typed.ends_with(".tgz") || typed.ends_with(".tar.gz")) && !typed.contains(':') {
            if !self.typed(path).is_file() {
                let text = format!("there is no such archive, make one with cmd mods pack: {typed}");
                return Err(Usage(text).into());
            }
            return Ok(Source::Archive(path.to_owned()));
        }
        Ok(Source::parse(typed)?)
    }

    /// Says what was looked for where a name alone was typed, and nothing is called that.
    fn looked_for(&self, typed: &str, error: registry::Error) -> anyhow::Error {
        let missing = matches!(error, registry::Error::Fetch { .. } | registry::Error::Offline { .. });
        if !missing || typed.contains([':', '/', '@']) {
            return error.into();
        }
        let hint = match self.typed(Path::new(typed)).is_dir() {
            true => format!("did you mean the folder ./{typed}?"),
            false => format!("a folder is ./{typed}, an archive {typed}.tgz, a repository OWNER/REPO"),
        };
        anyhow::Error::from(error).context(format!("the name {typed} is that of a package of npm, {hint}"))
    }

    /// Lets the mods of packages that the user installed join those of a trusted project. False when it is
    /// not trusted.
    pub(super) fn trust_installed(&self, places: &Places, ids: &BTreeSet<String>) -> anyhow::Result<bool> {
        if !Trust::load(places)?.is_trusted(&places.cwd, &BTreeSet::new()) {
            return Ok(false);
        }
        let installed = registry::installed(places.folder(Scope::Project), &self.facts).into_iter();
        let mods = installed.filter(|candidate| ids.contains(&candidate.package)).filter_map(|candidate| {
            match candidate.state {
                registry::State::Ok(found) => Some(ModHash { name: found.name, sha256: found.sha256 }),
                registry::State::Problem(_) => None,
            }
        });
        Trust::extend(places, &places.cwd, mods.collect())?;
        Ok(true)
    }
}

/// A folder that is used where it is: it is tried, and nothing is copied.
async fn local(job: &Job, folder: &Path) -> anyhow::Result<(Installed, Vec<Trial>)> {
    let contents = registry::contents(folder)?;
    if let Some((_, error)) = contents.problems.into_iter().next() {
        return Err(error.into());
    }
    let mods = job.try_all(folder).await?;
    let installed = Installed {
        id: format!("path:{}", folder.display()),
        resolved: contents.version,
        previous: None,
        tree: String::new(),
        reused: false,
        mods: Vec::new(),
        warnings: contents.warnings,
    };
    Ok((installed, mods))
}

/// How a folder is written into the settings of a scope: one of the project from the project's folder, so
/// that the settings hold wherever the project is.
fn written(places: &Places, scope: Scope, folder: &Path) -> String {
    let inside = folder.strip_prefix(&places.cwd).ok().filter(|_| scope == Scope::Project);
    let path = inside.map_or_else(|| folder.to_owned(), |inside| PathBuf::from("..").join(inside));
    path.display().to_string()
}

impl Report for Added {
    fn text(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let version = self.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
        let previous = match &self.previous {
            Some(previous) if Some(previous) != self.version.as_ref() => {
                format!(", in the place of {previous}")
            }
            _ => String::new(),
        };
        writeln!(out, "installed {}{version} for the {}{previous}", self.package, self.scope.as_str())?;
        for found in &self.mods {
            writeln!(out, "  {} {}: {}", found.name, found.version, registered_line(&found.registered))?;
            for warning in &found.warnings {
                writeln!(out, "  warning: {warning}")?;
            }
        }
        for warning in &self.warnings {
            writeln!(out, "  warning: {warning}")?;
        }
        if !self.trusted {
            writeln!(
                out,
                "It loads once the workspace is trusted, see cmd mods trust; in print mode only with --dangerously-skip-permissions."
            )?;
        }
        Ok(())
    }
}
