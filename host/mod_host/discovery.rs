//! The mods of one scope, from its files: loose libraries, folders, `mods.paths`, `mods.sources`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use registry::{
    Candidate, HostFacts, Source, State,
    filter::Filter,
    hash_bytes, lock,
    manifest::Manifest,
    object,
    package::{Contents, PackageMod},
};

use super::{
    Code, Expected, LeftOut, LoadError, Origin, Plan, Planned,
    plan::{chosen, loose},
};
use crate::{
    files,
    settings::{self, Scope},
};

/// Looks for the mods of a scope.
pub(super) struct Finder<'a> {
    pub(super) host: &'a HostFacts,
    pub(super) scope: Scope,
    /// The scope's folder, which relative paths start from.
    pub(super) folder: &'a Path,
    /// What `~` stands for.
    pub(super) user_home: Option<&'a Path>,
}

/// What an entry of a folder is.
enum Entry {
    Found,
    /// A mod that is not native.
    Foreign,
}

impl Finder<'_> {
    /// The libraries and folders in a `mods` folder, by name, one level deep.
    pub(super) fn folder(&self, folder: &Path, plan: &mut Plan) {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            Err(error) => {
                let path = folder.to_owned();
                return plan.problems.push((self.origin(folder), LoadError::Folder { path, error }));
            }
        };
        let mut paths: Vec<_> =
            entries.flatten().map(|entry| entry.path()).filter(|path| is_scanned(path)).collect();
        paths.sort();
        let entries = paths.iter().map(|path| self.entry(path, plan));
        let foreign = entries.filter(|entry| matches!(entry, Entry::Foreign)).count();
        if foreign > 0 {
            plan.notices.push(format!(
                "{foreign} TypeScript mods in {} are not native and were left alone",
                folder.display()
            ));
        }
    }

    /// The files and folders that the settings name. A folder that is no mod is a folder of mods.
    pub(super) fn paths(&self, paths: &[String], plan: &mut Plan) {
        for path in paths.iter().map(|path| self.path(path)) {
            if !path.is_dir() {
                let found = self.library(&path, plan);
                plan.take(self.origin(&path), Ok(found));
            } else if matches!(registry::contents(&path), Err(registry::Error::NoMods { .. })) {
                self.folder(&path, plan);
            } else {
                self.entry(&path, plan);
            }
        }
    }

    /// The identities of packages.
    pub(super) fn identities(&self, sources: &[settings::Source]) -> BTreeSet<String> {
        sources.iter().filter_map(|entry| self.identity(&Source::parse(&entry.source).ok()?)).collect()
    }

    /// The packages that the settings name, in their order. Those whose identity is in `shadows` are left
    /// out.
    pub(super) fn sources(&self, sources: &[settings::Source], shadows: &BTreeSet<String>, plan: &mut Plan) {
        let mut installed = BTreeMap::<_, Vec<_>>::new();
        for candidate in registry::installed(self.folder, self.host) {
            installed.entry(candidate.package.clone()).or_default().push(candidate);
        }
        let no_lock = installed.contains_key(lock::FILE_NAME);
        let mut named = BTreeSet::new();
        for entry in sources {
            let (id, source) = match self.read(entry) {
                Ok(read) => read,
                Err(error) => {
                    plan.problems.push((self.named(entry.source.clone()), LoadError::Package(error)));
                    continue;
                }
            };
            if !named.insert(id.clone()) {
                plan.notices.push(format!("mods.sources names a package twice, the first counts: {id}"));
                continue;
            }
            let filter = Filter::new(&entry.mods);
            plan.notices.extend(filter.warnings().iter().map(|warning| format!("{id}: {warning}")));
            let mut found = Plan::default();
            match source {
                Source::Path(_) => self.local(&id, &filter, &mut found),
                _ => match installed.remove(&id) {
                    Some(candidates) => self.package(candidates, &filter, &mut found),
                    None if no_lock => {}
                    None => {
                        found
                            .problems
                            .push((self.named(id.clone()), LoadError::NotInstalled { package: id.clone() }));
                    }
                },
            }
            if shadows.contains(&id) {
                found.shadow(&id);
            }
            plan.append(found);
        }
        installed.into_iter().for_each(|(id, candidates)| self.unnamed(id, candidates, plan));
    }

    /// Source and identity of an entry.
    fn read(&self, entry: &settings::Source) -> Result<(String, Source), registry::Error> {
        let source = Source::parse(&entry.source)?;
        let id = self.identity(&source).ok_or_else(|| registry::Error::Source {
            reason: "an archive is installed with cmd mods add and named file:NAME then",
            text: entry.source.clone(),
        })?;
        Ok((id, source))
    }

    fn identity(&self, source: &Source) -> Option<String> {
        source.identity(self.folder, self.user_home)
    }

    /// A folder that is used where it is.
    fn local(&self, id: &str, filter: &Filter, plan: &mut Plan) {
        let folder = Path::new(id.strip_prefix("path:").unwrap_or(id));
        match registry::contents(folder) {
            Ok(contents) => self.contents(folder, contents, filter, plan),
            Err(_) if !folder.exists() => {
                let package = id.to_owned();
                plan.problems.push((self.origin(folder), LoadError::NotInstalled { package }));
            }
            Err(error) => plan.problems.push((self.origin(folder), LoadError::Package(error))),
        }
    }

    /// The mods of a package of the store.
    fn package(&self, candidates: Vec<Candidate>, filter: &Filter, plan: &mut Plan) {
        for candidate in candidates {
            let origin = self.named(candidate.package);
            match candidate.state {
                State::Problem(error) => plan.problems.push((origin, LoadError::Package(error))),
                State::Ok(found) => {
                    let passes = filter.includes(&found.path, &found.name);
                    let expected = Expected {
                        name: found.name,
                        version: found.version.to_string(),
                        sha256: found.sha256,
                    };
                    let code = Code::Library { path: found.library, expected: Some(expected) };
                    plan.put(Planned { origin, code }, passes);
                }
            }
        }
    }

    /// What is in the store, or stands in the lock, without an entry in the settings.
    fn unnamed(&self, id: String, candidates: Vec<Candidate>, plan: &mut Plan) {
        let is_locked = |candidate: &Candidate| {
            !matches!(candidate.state, State::Problem(registry::Error::NoLockEntry { .. }))
        };
        if id != lock::FILE_NAME && candidates.iter().any(is_locked) {
            return plan.notices.push(format!(
                "a package is locked for the {}, but mods.sources does not name it, so it is not loaded: {id}",
                self.scope.as_str()
            ));
        }
        for candidate in candidates {
            if let State::Problem(error) = candidate.state {
                plan.problems.push((self.named(id.clone()), LoadError::Package(error)));
            }
        }
    }

    /// A library or a folder in a `mods` folder.
    fn entry(&self, path: &Path, plan: &mut Plan) -> Entry {
        if path.is_dir() {
            match registry::contents(path) {
                Ok(contents) => self.contents(path, contents, &Filter::default(), plan),
                Err(registry::Error::NoMods { .. }) if is_foreign_folder(path) => return Entry::Foreign,
                Err(registry::Error::NoMods { .. }) => {
                    let path = path.to_owned();
                    plan.problems.push((self.origin(&path), LoadError::NoManifest { path }));
                }
                Err(error) => plan.problems.push((self.origin(path), LoadError::Package(error))),
            }
        } else if is_library(path) {
            let found = self.library(path, plan);
            plan.take(self.origin(path), Ok(found));
        } else if path.extension().is_some_and(|extension| extension == "ts") {
            return Entry::Foreign;
        }
        Entry::Found
    }

    /// What a folder ships.
    fn contents(&self, root: &Path, contents: Contents, filter: &Filter, plan: &mut Plan) {
        let Contents { mods, problems, warnings, .. } = contents;
        plan.notices.extend(warnings.iter().map(|warning| format!("{}: {warning}", root.display())));
        for (path, error) in problems {
            plan.problems.push((self.origin(&inside(root, &path)), LoadError::Package(error)));
        }
        for found in mods.iter().filter(|found| self.is_for_here(found, &mods)) {
            let origin = self.origin(&inside(root, &found.path));
            match chosen(&found.folder(root), &found.manifest, self.host) {
                Ok(code) => {
                    let passes = filter.includes(&found.path, &found.manifest.name);
                    plan.put(Planned { origin, code }, passes);
                }
                Err(error) => plan.problems.push((origin, LoadError::Package(error))),
            }
        }
    }

    /// Of a mod that is a bare library for each target, the one for this machine counts.
    fn is_for_here(&self, found: &PackageMod, all: &[PackageMod]) -> bool {
        let fits = |manifest: &Manifest| manifest.choose(self.host).is_ok();
        let mut same = all.iter().filter(|other| other.manifest.name == found.manifest.name);
        fits(&found.manifest) || !same.any(|other| fits(&other.manifest))
    }

    /// A loose library. What it says of itself is what it is held to when it is loaded; the load tells
    /// what is wrong with one that says nothing.
    fn library(&self, path: &Path, plan: &mut Plan) -> Code {
        let Some(expected) = look(path) else { return loose(path) };
        if file_name(path).is_some_and(|name| name != expected.name) {
            plan.notices.push(format!(
                "the library calls itself {}, and that is its name in the settings too: {}",
                expected.name,
                path.display()
            ));
        }
        Code::Library { path: path.to_owned(), expected: Some(expected) }
    }

    /// A path of the settings.
    fn path(&self, text: &str) -> PathBuf {
        match (text.strip_prefix("~/"), self.user_home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.folder.join(text),
        }
    }

    fn origin(&self, path: &Path) -> Origin {
        self.named(path.display().to_string())
    }

    fn named(&self, source: String) -> Origin {
        match self.scope {
            Scope::User => Origin::User { source },
            Scope::Project => Origin::Project { source },
        }
    }
}

impl Plan {
    fn put(&mut self, planned: Planned, passes: bool) {
        if passes { self.mods.push(planned) } else { self.left_out.push((planned, LeftOut::Filtered)) }
    }

    /// Leaves all of it out: the project names the same package.
    fn shadow(&mut self, id: &str) {
        let mods = std::mem::take(&mut self.mods).into_iter();
        self.left_out.extend(mods.map(|planned| (planned, LeftOut::Shadowed)));
        self.problems.clear();
        self.notices.push(format!("the project names the same package as the user, its own counts: {id}"));
    }

    fn append(&mut self, other: Self) {
        self.mods.extend(other.mods);
        self.left_out.extend(other.left_out);
        self.problems.extend(other.problems);
        self.notices.extend(other.notices);
    }
}

/// What a library says of itself, with its hash.
fn look(path: &Path) -> Option<Expected> {
    let bytes = files::read(path).ok()?;
    let metadata = object::inspect(&bytes).ok()?.metadata?;
    Some(Expected {
        name: metadata.name,
        version: metadata.version.to_string(),
        sha256: hash_bytes(&bytes).sha256,
    })
}

/// `libreview_guard.so` is the mod `review-guard`.
fn file_name(path: &Path) -> Option<String> {
    let stem = path.file_stem()?.to_str()?;
    Some(stem.strip_prefix(std::env::consts::DLL_PREFIX).unwrap_or(stem).replace('_', "-"))
}

/// The path of a mod in a folder.
fn inside(root: &Path, path: &str) -> PathBuf {
    if path == registry::ROOT { root.to_owned() } else { root.join(path) }
}

/// Dot entries hold the host's own things, `node_modules` holds other people's.
fn is_scanned(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    !name.starts_with('.') && name != "node_modules"
}

/// A package's folder of the kind that is not native.
fn is_foreign_folder(path: &Path) -> bool {
    ["package.json", "index.ts"].iter().any(|file| path.join(file).exists())
}

fn is_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(std::env::consts::DLL_SUFFIX)
}
