//! Which mods a session would load, from files alone: nothing is run.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use mod_interface::abi::ModRootRef;
use registry::{HostFacts, manifest, manifest::Manifest};

use super::{LoadError, ProjectMods, built, discovery::Finder, trust};
use crate::settings::{Mods, Places, Scope};

/// A mod that is to be loaded.
pub struct Planned {
    /// Where it comes from.
    pub origin: Origin,
    /// Its code.
    pub code: Code,
}

impl Planned {
    /// The mod's name, where it is known before its bytes are looked at.
    pub fn name(&self) -> Option<&str> {
        match &self.code {
            Code::BuiltIn { name, .. } => Some(name),
            Code::Library { expected, .. } => expected.as_ref().map(|expected| expected.name.as_str()),
        }
    }
}

/// The code of a mod.
pub enum Code {
    /// Compiled into this program.
    BuiltIn {
        /// Its name.
        name: &'static str,
        /// Its root module.
        root: ModRootRef,
    },
    /// A library on disk.
    Library {
        /// The file.
        path: PathBuf,
        /// What the file must be; a loose library is what it says it is.
        expected: Option<Expected>,
    },
}

/// What a manifest and a lock say of a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The mod's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The hash of its library.
    pub sha256: String,
}

/// Where a mod comes from.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "scope", rename_all = "snake_case")]
pub enum Origin {
    /// Compiled in.
    BuiltIn,
    /// Named with `--mod`.
    Session {
        /// What was named.
        path: PathBuf,
    },
    /// The user's own.
    User {
        /// The file, directory or package.
        source: String,
    },
    /// The project's.
    Project {
        /// The file, directory or package.
        source: String,
    },
}

impl Origin {
    /// Whether it is the project's.
    pub fn is_project(&self) -> bool {
        matches!(self, Self::Project { .. })
    }
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("cmd itself"),
            Self::Session { path } => write!(f, "--mod {}", path.display()),
            Self::User { source } => write!(f, "{source} (user)"),
            Self::Project { source } => write!(f, "{source} (project)"),
        }
    }
}

/// What was found, and what stands in the way of the rest.
#[derive(Default)]
pub struct Plan {
    /// The mods, in load order.
    pub mods: Vec<Planned>,
    /// Mods that are there and are not to be loaded, though nothing is wrong with them.
    pub left_out: Vec<(Planned, LeftOut)>,
    /// What cannot be loaded, and why.
    pub problems: Vec<(Origin, LoadError)>,
    /// What is worth a word, but no problem.
    pub notices: Vec<String>,
}

/// Why a mod that could be loaded is not to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    /// The filter of its source leaves it out.
    Filtered,
    /// The project names the same package.
    Shadowed,
    /// It is a project's, and not what it was when the workspace was trusted.
    Untrusted,
}

/// Where to look.
pub struct Lookup<'a> {
    /// The folders of user and project.
    pub places: &'a Places,
    /// The `mods` settings of both.
    pub settings: &'a Mods,
    /// This machine.
    pub host: &'a HostFacts,
    /// The paths of `--mod`.
    pub session: &'a [PathBuf],
    /// Which of the project's mods count. While none do, nothing below the project's folder is opened.
    pub project: &'a ProjectMods,
}

impl Lookup<'_> {
    /// Finds the mods, in load order: `--mod`, the user's, the project's.
    pub fn plan(&self) -> Plan {
        let mut plan = Plan::default();
        for path in self.session {
            let origin = Origin::Session { path: path.to_owned() };
            plan.take(
                origin,
                named(&self.places.cwd.join(path), self.places.cargo_target.as_deref(), self.host),
            );
        }
        let project = self.places.project.is_some() && *self.project != ProjectMods::None;
        let shadows = if project {
            self.finder(Scope::Project).identities(&self.settings.project.sources)
        } else {
            BTreeSet::new()
        };
        self.scope(Scope::User, &shadows, &mut plan);
        if project {
            self.scope(Scope::Project, &BTreeSet::new(), &mut plan);
        }
        if let ProjectMods::Trusted(trust) = self.project {
            trust::sift(&mut plan, trust, &self.places.cwd);
        }
        plan
    }

    fn scope(&self, scope: Scope, shadows: &BTreeSet<String>, plan: &mut Plan) {
        let (finder, layer) = (self.finder(scope), self.settings.layer(scope));
        finder.folder(&finder.folder.join("mods"), plan);
        finder.paths(&layer.paths, plan);
        finder.sources(&layer.sources, shadows, plan);
    }

    fn finder(&self, scope: Scope) -> Finder<'_> {
        let user_home = self.places.user_home.as_deref();
        Finder { host: self.host, scope, folder: self.places.folder(scope), user_home }
    }
}

impl Plan {
    pub(super) fn take(&mut self, origin: Origin, found: Result<Code, LoadError>) {
        match found {
            Ok(code) => self.mods.push(Planned { origin, code }),
            Err(error) => self.problems.push((origin, error)),
        }
    }

    /// Puts the compiled-in mods first.
    #[must_use]
    pub fn with_built_ins(mut self, built_ins: impl IntoIterator<Item = (&'static str, ModRootRef)>) -> Self {
        let built_ins = built_ins.into_iter();
        let planned = built_ins
            .map(|(name, root)| Planned { origin: Origin::BuiltIn, code: Code::BuiltIn { name, root } });
        self.mods.splice(0..0, planned);
        self
    }
}

/// What a path that somebody typed names: a library, a directory with a manifest, or a cargo package that
/// was built, into `cargo_target` or beside its source.
pub(super) fn named(path: &Path, cargo_target: Option<&Path>, host: &HostFacts) -> Result<Code, LoadError> {
    if !path.is_dir() {
        return Ok(loose(path));
    }
    if path.join(manifest::FILE_NAME).exists() {
        directory(path, host)
    } else {
        built::library(path, cargo_target).map(|path| loose(&path))
    }
}

/// A library without a manifest: it is what it says it is.
pub(super) fn loose(path: &Path) -> Code {
    Code::Library { path: path.to_owned(), expected: None }
}

/// A directory with a manifest: the library that it has for this machine.
fn directory(dir: &Path, host: &HostFacts) -> Result<Code, LoadError> {
    if !dir.join(manifest::FILE_NAME).exists() {
        return Err(LoadError::NoManifest { path: dir.to_owned() });
    }
    let manifest = Manifest::read(dir)?.manifest;
    Ok(chosen(dir, &manifest, host)?)
}

/// The library in `dir` that a manifest has for this machine.
pub(super) fn chosen(dir: &Path, manifest: &Manifest, host: &HostFacts) -> Result<Code, registry::Error> {
    let artifact = manifest.choose(host)?;
    let expected = Expected {
        sha256: artifact.sha256.clone(),
        version: manifest.version.to_string(),
        name: manifest.name.clone(),
    };
    Ok(Code::Library { path: dir.join(&artifact.file), expected: Some(expected) })
}
