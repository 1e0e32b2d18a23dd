//! Which mods a session would load, from files alone: nothing is run.

use std::{
    fs,
    path::{Path, PathBuf},
};

use mod_interface::abi::ModRootRef;
use registry::{HostFacts, State, manifest, manifest::Manifest};

use super::{LoadError, built};
use crate::settings::{Mods, Places, Scope};

/// A mod that is to be loaded.
pub struct Planned {
    /// Where it comes from.
    pub origin: Origin,
    /// Its code.
    pub code: Code,
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
    /// What cannot be loaded, and why.
    pub problems: Vec<(Origin, LoadError)>,
    /// What is worth a word, but no problem.
    pub notices: Vec<String>,
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
    /// Whether the project's mods count. While they do not, nothing below the project's folder is opened.
    pub project: bool,
    /// Whether the user's and the project's mods are left out.
    pub session_only: bool,
}

impl Lookup<'_> {
    /// Finds the mods, in load order: `--mod`, the user's, the project's.
    pub fn plan(&self) -> Plan {
        let mut plan = Plan::default();
        for path in self.session {
            self.session_mod(path, &mut plan);
        }
        if self.session_only {
            return plan;
        }
        self.scope(Scope::User, &mut plan);
        if self.project {
            self.scope(Scope::Project, &mut plan);
        }
        plan
    }

    fn session_mod(&self, path: &Path, plan: &mut Plan) {
        let origin = Origin::Session { path: path.to_owned() };
        plan.take(origin, named(&self.places.cwd.join(path), self.host));
    }

    fn scope(&self, scope: Scope, plan: &mut Plan) {
        let folder = self.places.folder(scope);
        self.folder(scope, &folder.join("mods"), plan);
        for path in &self.settings.layer(scope).paths {
            self.entry(scope, &folder.join(path), plan);
        }
        self.installed(scope, folder, plan);
    }

    /// The loose files and directories of a `mods` folder, by name.
    fn folder(&self, scope: Scope, folder: &Path, plan: &mut Plan) {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            Err(error) => {
                let path = folder.to_owned();
                let origin = origin(scope, folder.display().to_string());
                return plan.problems.push((origin, LoadError::Folder { path, error }));
            }
        };
        let mut paths: Vec<_> =
            entries.flatten().map(|entry| entry.path()).filter(|path| is_scanned(path)).collect();
        paths.sort();
        let all = paths.len();
        paths.retain(|path| !is_typescript(path));
        let foreign = all - paths.len();
        if foreign > 0 {
            let text = format!(
                "{foreign} TypeScript mods in {} are not native and were left alone",
                folder.display()
            );
            plan.notices.push(text);
        }
        for path in paths.iter().filter(|path| path.is_dir() || is_library(path)) {
            self.entry(scope, path, plan);
        }
    }

    fn entry(&self, scope: Scope, path: &Path, plan: &mut Plan) {
        let found = if path.is_dir() { directory(path, self.host) } else { Ok(loose(path)) };
        plan.take(origin(scope, path.display().to_string()), found);
    }

    /// The packages that are locked.
    fn installed(&self, scope: Scope, folder: &Path, plan: &mut Plan) {
        for candidate in registry::installed(folder, self.host) {
            let origin = origin(scope, candidate.package);
            let found = match candidate.state {
                State::Problem(error) => Err(LoadError::Package(error)),
                State::Ok(found) => Ok(Code::Library {
                    path: found.library,
                    expected: Some(Expected {
                        name: found.name,
                        version: found.version.to_string(),
                        sha256: found.sha256,
                    }),
                }),
            };
            plan.take(origin, found);
        }
    }
}

impl Plan {
    fn take(&mut self, origin: Origin, found: Result<Code, LoadError>) {
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
/// was built.
pub(crate) fn named(path: &Path, host: &HostFacts) -> Result<Code, LoadError> {
    if !path.is_dir() {
        return Ok(loose(path));
    }
    if path.join(manifest::FILE_NAME).exists() {
        directory(path, host)
    } else {
        built::library(path).map(|path| loose(&path))
    }
}

/// A library without a manifest: it is what it says it is.
fn loose(path: &Path) -> Code {
    Code::Library { path: path.to_owned(), expected: None }
}

/// A directory with a manifest: the library that it has for this machine.
fn directory(dir: &Path, host: &HostFacts) -> Result<Code, LoadError> {
    if !dir.join(manifest::FILE_NAME).exists() {
        return Err(LoadError::NoManifest { path: dir.to_owned() });
    }
    let manifest = Manifest::read(dir)?.manifest;
    let artifact = manifest.choose(host)?;
    let expected = Expected {
        sha256: artifact.sha256.clone(),
        version: manifest.version.to_string(),
        name: manifest.name.clone(),
    };
    Ok(Code::Library { path: dir.join(&artifact.file), expected: Some(expected) })
}

fn origin(scope: Scope, source: String) -> Origin {
    match scope {
        Scope::User => Origin::User { source },
        Scope::Project => Origin::Project { source },
    }
}

/// Dot entries hold the host's own things, `node_modules` holds other people's.
fn is_scanned(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    !name.starts_with('.') && name != "node_modules"
}

/// A mod of the kind that is not native: a file, or a package's folder.
fn is_typescript(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "ts")
        || (!path.join(manifest::FILE_NAME).exists()
            && ["package.json", "index.ts"].iter().any(|file| path.join(file).exists()))
}

fn is_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(std::env::consts::DLL_SUFFIX)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
#[path = "plan_tests.rs"]
mod tests;
