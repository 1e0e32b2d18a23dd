use super::*;
use crate::{
    Candidate, State,
    fixtures::{Mod, host, target},
    installed,
    manifest::{Artifact, Manifest},
};
use std::{cell::RefCell, fs, path::PathBuf};

pub(super) struct Scope {
    pub(super) dir: tempfile::TempDir,
}

impl Scope {
    pub(super) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(super) fn root(&self) -> PathBuf {
        self.dir.path().join("scope")
    }

    pub(super) fn archive(&self, packed: &Mod) -> PathBuf {
        packed.pack(self.dir.path())
    }

    pub(super) fn install(&self, packed: &Mod) -> Result<Installed, Error> {
        install_archive(&self.root(), &self.archive(packed), &host())
    }

    /// What a start would find: names of good mods, codes of problems.
    pub(super) fn start(&self) -> Vec<String> {
        installed(&self.root(), &host()).into_iter().map(said).collect()
    }

    pub(super) fn trees(&self) -> usize {
        fs::read_dir(self.root().join("mods/.registry/store")).unwrap().count()
    }

    pub(super) fn leftovers(&self) -> usize {
        fs::read_dir(self.root().join("mods/.registry/tmp")).unwrap().count()
    }
}

fn said(candidate: Candidate) -> String {
    match candidate.state {
        State::Ok(found) => format!("{} {}", found.name, found.version),
        State::Problem(error) => error.code().to_owned(),
    }
}

pub(super) fn newer() -> Mod {
    Mod { version: "1.3.0", ..Mod::default() }
}

/// An archive of these files, below `package/`.
pub(super) fn archive(dir: &Path, files: &[(&str, &[u8])]) -> PathBuf {
    let files = files.iter().map(|(path, content)| ((*path).to_owned(), content.to_vec())).collect();
    let path = dir.join("hand-made.tgz");
    fs::write(&path, crate::archive::pack(&files).unwrap()).unwrap();
    path
}

/// The text of a manifest with these artefacts.
pub(super) fn manifest(name: &str, artifacts: &[(&str, &str, &[u8])]) -> String {
    let rows = artifacts.iter().map(|(target, file, bytes)| {
        let hash = crate::hash_bytes(bytes);
        Artifact {
            target: (*target).to_owned(),
            file: (*file).to_owned(),
            sha256: hash.sha256,
            size: hash.size,
            glibc: None,
        }
    });
    let manifest = Manifest {
        name: name.to_owned(),
        version: semver::Version::new(1, 2, 0),
        interface: (1, 0),
        description: None,
        license: None,
        signer: None,
        artifacts: rows.collect(),
    };
    manifest.to_toml().unwrap()
}

#[test]
fn an_archive_is_installed_locked_and_found_at_the_next_start() {
    let scope = Scope::new();
    let done = scope.install(&Mod::default()).unwrap();
    let lock = Lock::read(&scope.root()).unwrap();
    let entry = lock.get("file:review-guard").unwrap();
    let bytes = fs::read(scope.dir.path().join("review-guard-1.2.0.tgz")).unwrap();
    assert_eq!(
        done,
        Installed {
            id: "file:review-guard".to_owned(),
            resolved: Some("1.2.0".to_owned()),
            previous: None,
            tree: entry.tree.clone(),
            reused: false,
            mods: vec![InstalledMod {
                name: "review-guard".to_owned(),
                version: semver::Version::new(1, 2, 0),
                interface: (1, 0),
                path: ".".to_owned(),
                targets: vec![target()],
            }],
            warnings: vec![],
        }
    );
    assert_eq!(entry.source, "review-guard-1.2.0.tgz");
    assert_eq!(entry.integrity, Some(hash::integrity_sha256(&bytes)));
    assert_eq!(scope.start(), ["review-guard 1.2.0"]);
    assert_eq!(scope.leftovers(), 0);
    assert!(crate::verify_tree(&scope.root(), entry).is_ok());
}

#[test]
fn the_same_archive_twice_changes_nothing() {
    let scope = Scope::new();
    scope.install(&Mod::default()).unwrap();
    let lock = fs::read(Lock::path(&scope.root())).unwrap();
    let again = scope.install(&Mod::default()).unwrap();
    assert!(again.reused);
    assert_eq!(fs::read(Lock::path(&scope.root())).unwrap(), lock);
    assert_eq!(scope.trees(), 1);
}

#[test]
fn a_newer_version_takes_the_place_and_the_one_before_is_kept() {
    let scope = Scope::new();
    scope.install(&Mod::default()).unwrap();
    assert_eq!(scope.install(&newer()).unwrap().previous, Some("1.2.0".to_owned()));
    assert_eq!(scope.start(), ["review-guard 1.3.0"]);
    assert_eq!(scope.trees(), 2);
    scope.install(&Mod { version: "1.4.0", ..Mod::default() }).unwrap();
    assert_eq!(scope.trees(), 2);
}

#[test]
fn a_removed_package_leaves_nothing() {
    let scope = Scope::new();
    scope.install(&Mod::default()).unwrap();
    scope.install(&Mod { name: "other", ..Mod::default() }).unwrap();
    remove(&scope.root(), "file:review-guard").unwrap();
    assert_eq!(scope.start(), ["other 1.2.0"]);
    assert_eq!(scope.trees(), 1);
    let error = remove(&scope.root(), "file:review-guard").unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("E_UNKNOWN_PACKAGE", "no such package is installed, see cmd mods list: file:review-guard")
    );
}

#[test]
fn one_package_may_have_several_mods() {
    let scope = Scope::new();
    let (one, two) =
        (Mod { name: "one", ..Mod::default() }.library(), Mod { name: "two", ..Mod::default() }.library());
    let target = target();
    let json = br#"{"name":"@team/both","version":"2.0.0","commandcode":{"mods":["./mods/one","mods/two/","../x","none"]}}"#;
    let path = archive(
        scope.dir.path(),
        &[
            ("package.json", json),
            ("mods/one/mod.toml", manifest("one", &[(&target, "a.so", &one)]).as_bytes()),
            ("mods/one/a.so", &one),
            ("mods/two/mod.toml", manifest("two", &[(&target, "b/a.so", &two)]).as_bytes()),
            ("mods/two/b/a.so", &two),
        ],
    );
    let done = install_archive(&scope.root(), &path, &host()).unwrap();
    assert_eq!((done.id.as_str(), done.resolved.as_deref()), ("file:@team/both", Some("2.0.0")));
    assert_eq!(
        done.warnings,
        [
            "package.json names a mod outside the package, it is left out: the package has a path that cannot be used, it has a part that is . or .., get the package anew from its author: \"../x\"",
            "package.json names a mod that is not there, it is left out: none",
        ]
    );
    assert_eq!(scope.start(), ["one 1.2.0", "two 1.2.0"]);
    assert!(scope.root().join("mods/.registry/file/@team/both/current").is_file());
}

#[test]
fn bare_libraries_are_mods_too_and_only_that_of_this_machine_is_looked_for() {
    let scope = Scope::new();
    let mine = Mod::default().library();
    let mut other = Mod { target: "aarch64-unknown-linux-gnu".to_owned(), ..Mod::default() }.library();
    other[18..20].copy_from_slice(&183u16.to_le_bytes());
    let path = archive(
        scope.dir.path(),
        &[
            ("package.json", br#"{"name":"bare","version":"0.1.0"}"#),
            ("mods/libreview_guard.so", &mine),
            ("mods/review_guard.so", &other),
        ],
    );
    install_archive(&scope.root(), &path, &host()).unwrap();
    let State::Ok(found) = installed(&scope.root(), &host()).remove(0).state else { panic!() };
    assert_eq!((found.path.as_str(), found.size), ("mods/libreview_guard.so", mine.len() as u64));
    assert_eq!(fs::read(found.library).unwrap(), mine);
    assert_eq!(scope.start().len(), 1);
    assert_eq!(Lock::read(&scope.root()).unwrap().packages()[0].artifacts.len(), 2);
}

#[test]
fn the_steps_are_told_in_order() {
    let scope = Scope::new();
    let archive = scope.archive(&Mod::default());
    let told = RefCell::new(Vec::new());
    let host = host();
    let (root, tell) = (scope.root(), |step| told.borrow_mut().push(step));
    Installer::new(&root, &host).progress(&tell).no_wait().archive(&archive).unwrap();
    assert_eq!(
        told.into_inner(),
        [Step::Held, Step::Unpacked, Step::Checked, Step::Stored, Step::Locked, Step::Pointed]
    );
}

#[test]
fn a_rollback_goes_back_and_forth() {
    let scope = Scope::new();
    scope.install(&Mod::default()).unwrap();
    scope.install(&newer()).unwrap();
    let back =
        |id: &str| rollback(&scope.root(), id).map(|package| package.resolved).map_err(|error| error.code());
    assert_eq!(back("file:review-guard"), Ok(Some("1.2.0".to_owned())));
    assert_eq!(scope.start(), ["review-guard 1.2.0"]);
    assert_eq!(back("file:review-guard"), Ok(Some("1.3.0".to_owned())));
    assert_eq!(scope.start(), ["review-guard 1.3.0"]);
    // A crash between lock and pointer: the pointer is the one from before.
    let pointer = scope.root().join("mods/.registry/file/review-guard/current");
    back("file:review-guard").unwrap();
    let before = fs::read(&pointer).unwrap();
    scope.install(&newer()).unwrap();
    fs::write(&pointer, before).unwrap();
    assert_eq!(back("file:review-guard"), Ok(Some("1.2.0".to_owned())));
    assert_eq!(back("file:none"), Err("E_UNKNOWN_PACKAGE"));
    scope.install(&Mod { name: "other", ..Mod::default() }).unwrap();
    assert_eq!(back("file:other"), Err("E_NO_PREVIOUS"));
}

#[test]
fn threat_11_an_archive_that_is_too_big_is_not_read() {
    let scope = Scope::new();
    let archive = scope.root().with_file_name("big.tgz");
    // It takes no room on the disk.
    fs::File::create(&archive).unwrap().set_len(crate::archive::MAX_ARCHIVE + 1).unwrap();
    assert_eq!(install_archive(&scope.root(), &archive, &host()).unwrap_err().code(), "E_TOO_BIG");
}
