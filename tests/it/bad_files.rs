//! Bad files where mods are kept: each gives one clear line, the other mods load and act, the exit code
//! tells, and nothing of a mod that is left out runs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use host::mod_host::host_facts;
use serde_json::json;

use crate::support::{
    cmd::{Start, finish, program},
    fixtures::archive,
    session::library,
    watch::opened,
};

/// Packs the misbehaving mod and installs it for the user.
fn installed() -> Start {
    let start = Start::new();
    let archive = archive("misbehaving", start.folders.dir());
    registry::install_archive(&start.folders.home(), &archive, &host_facts()).unwrap();
    start.settings(&json!({ "mods": { "sources": ["file:misbehaving"] } }));
    start
}

/// The folder of the installed package.
fn tree(start: &Start) -> PathBuf {
    let store = start.folders.home().join("mods/.registry/store");
    fs::read_dir(store).unwrap().next().unwrap().unwrap().path()
}

/// Changes a file of the store, which is read-only.
fn change(path: &Path, change: impl FnOnce(Vec<u8>) -> Option<Vec<u8>>) {
    let folder = path.parent().unwrap();
    allow_writing(folder);
    allow_writing(path);
    match change(fs::read(path).unwrap()) {
        Some(bytes) => fs::write(path, bytes).unwrap(),
        None => fs::remove_file(path).unwrap(),
    }
}

fn allow_writing(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(path).unwrap().permissions().mode();
    fs::set_permissions(path, PermissionsExt::from_mode(mode | 0o200)).unwrap();
}

/// The line for the installed package.
fn package(code: &str, reason: &str) -> String {
    format!("mod not loaded [{code}] from file:misbehaving (user): {reason}")
}

#[test]
fn an_installed_mod_loads() {
    let start = installed().misbehaves();
    let ran = start.run();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "done\n"));
}

#[test]
fn a_byte_of_the_library_is_another_than_when_it_was_installed() {
    let start = installed();
    let path = library_of(&tree(&start));
    let expected = registry::hash_file(&path).unwrap().sha256;
    change(&path, |mut bytes| {
        *bytes.last_mut().unwrap() ^= 1;
        Some(bytes)
    });
    let got = registry::hash_file(&path).unwrap().sha256;
    let path = start.bare(&path);
    start.refuses(&package(
        "E_HASH_MISMATCH",
        &format!(
            "the library was changed after it was packed, install it again (cmd mods update, for an archive cmd mods add), expected sha256 {expected}, \
             got {got}: {path}"
        ),
    ));
}

fn library_of(tree: &Path) -> PathBuf {
    let target = tree.join("bin").join(host_facts().target);
    fs::read_dir(target).unwrap().next().unwrap().unwrap().path()
}

#[test]
fn the_library_is_gone() {
    let start = installed();
    let path = library_of(&tree(&start));
    let size = fs::metadata(&path).unwrap().len();
    change(&path, |_| None);
    let reason = format!(
        "the file {} is not the expected one, run cmd mods update, expected {size} bytes, got: No such file or directory \
         (os error 2)",
        start.bare(&path)
    );
    start.refuses(&package("E_HASH_MISMATCH", &reason));
}

#[test]
fn no_lock_entry() {
    let start = installed();
    fs::remove_file(start.folders.home().join("mods.lock")).unwrap();
    start.refuses(&package(
        "E_NO_LOCK_ENTRY",
        "nothing in the lock file stands for this folder, run cmd mods add for its package, or remove it: \
         DIR/home/mods/.registry/file/misbehaving",
    ));
}

#[test]
fn a_lock_that_is_broken() {
    let start = installed();
    fs::write(start.folders.home().join("mods.lock"), "version = 1\n[[package]]\nid = 5\n").unwrap();
    start.refuses(
        "mod not loaded [E_LOCK] from mods.lock (user): the lock file DIR/home/mods.lock cannot be used, restore it, or \
         delete it and run cmd mods add for each package: invalid type: integer `5`, expected a string",
    );
}

#[test]
fn a_manifest_in_the_store_that_is_missing() {
    let start = installed();
    let path = tree(&start).join("mod.toml");
    change(&path, |_| None);
    start.refuses(&package("E_MANIFEST", &unusable(&start.bare(&path), "there is no such file")));
}

#[test]
fn a_manifest_in_the_store_that_is_broken() {
    let start = installed();
    let path = tree(&start).join("mod.toml");
    change(&path, |_| Some(b"schema = 1\nname = misbehaving\n".to_vec()));
    let reason = "string values must be quoted, expected literal string";
    start.refuses(&package("E_MANIFEST", &unusable(&start.bare(&path), reason)));
}

/// The reason for a manifest that says nothing.
fn unusable(path: &str, reason: &str) -> String {
    format!("the manifest {path} cannot be used, correct it or get the package anew: {reason}")
}

/// A folder among the user's mods, with the misbehaving library and this manifest.
fn folder(manifest: Option<&str>) -> Start {
    let start = Start::new();
    let folder = start.folders.home().join("mods/own");
    fs::create_dir_all(&folder).unwrap();
    fs::copy(library("misbehaving"), folder.join("lib.so")).unwrap();
    if let Some(manifest) = manifest {
        fs::write(folder.join("mod.toml"), manifest).unwrap();
    }
    start
}

/// The line for the folder.
fn own(code: &str, reason: &str) -> String {
    format!("mod not loaded [{code}] from DIR/home/mods/own (user): {reason}")
}

/// A manifest for the misbehaving library, with changes.
fn manifest(changes: &[(&str, &str)]) -> String {
    let hash = registry::hash_file(&library("misbehaving")).unwrap();
    let mut text = format!(
        "schema = 1\nname = \"misbehaving\"\nversion = \"1.0.0\"\ninterface = \"1.0\"\n\n[[artifact]]\ntarget = \"{}\"\nfile \
         = \"lib.so\"\nsha256 = \"{}\"\nsize = {}\n",
        host_facts().target,
        hash.sha256,
        hash.size
    );
    for (from, to) in changes {
        assert!(text.contains(from));
        text = text.replace(from, to);
    }
    text
}

#[test]
fn a_folder_with_a_manifest_loads() {
    let ran = folder(Some(&manifest(&[]))).misbehaves().run();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "done\n"), "{}", ran.stderr);
}

#[test]
fn a_folder_without_a_manifest() {
    folder(None).refuses(&own(
        "E_NOT_A_MOD",
        "no mod here, expected a folder with a mod.toml; put it there or take the folder away: DIR/home/mods/own",
    ));
}

#[test]
fn a_manifest_that_is_broken() {
    folder(Some("schema = 1\nname = ")).refuses(&own(
        "E_MANIFEST",
        &unusable("DIR/home/mods/own/mod.toml", "string values must be quoted, expected literal string"),
    ));
}

#[test]
fn a_manifest_of_a_newer_schema() {
    folder(Some(&manifest(&[("schema = 1", "schema = 2")]))).refuses(&own(
        "E_MOD_SCHEMA",
        "the manifest DIR/home/mods/own/mod.toml needs a newer cmd, update cmd, expected schema 1, got: 2",
    ));
}

#[test]
fn a_manifest_without_an_artifact_for_this_machine() {
    let target = host_facts().target;
    let reason = format!(
        "the mod misbehaving has no artifact for {target}, ask its author for one, has artifacts for: \
         s390x-unknown-linux-gnu"
    );
    folder(Some(&manifest(&[(&target, "s390x-unknown-linux-gnu")]))).refuses(&own("E_NO_ARTIFACT", &reason));
}

#[test]
fn a_manifest_that_names_a_library_that_is_not_there() {
    folder(Some(&manifest(&[("lib.so", "other.so")]))).refuses(&own(
        "E_UNREADABLE",
        "cannot read the library, check its path and who may read it: No such file or directory (os error 2): \
         DIR/home/mods/own/other.so",
    ));
}

#[test]
fn a_library_that_is_not_what_its_manifest_says() {
    folder(Some(&manifest(&[("1.0.0", "1.0.1")]))).refuses(&own(
        "E_IDENTITY",
        "the library is misbehaving 1.0.0, its manifest says misbehaving 1.0.1; pack or install it again",
    ));
}

#[test]
fn a_library_with_another_hash_than_its_manifest_says() {
    let hash = registry::hash_file(&library("misbehaving")).unwrap().sha256;
    let other = "0".repeat(64);
    let reason = format!(
        "the library was changed after it was packed, install it again (cmd mods update, for an archive cmd mods add), expected sha256 {other}, got \
         {hash}: DIR/home/mods/own/lib.so"
    );
    folder(Some(&manifest(&[(&hash, &other)]))).refuses(&own("E_HASH_MISMATCH", &reason));
}

#[test]
fn a_manifest_that_asks_for_a_newer_glibc() {
    let with_glibc = manifest(&[]) + "glibc = \"99.1\"\n";
    let (major, minor) = host_facts().glibc.unwrap();
    let reason = format!(
        "lib.so: needs a newer glibc, build it on an older system or update this one, expected at most {major}.{minor}, \
         got: 99.1"
    );
    folder(Some(&with_glibc)).refuses(&own("E_GLIBC", &reason));
}

#[test]
fn a_mods_folder_that_is_none() {
    let start = Start::new();
    fs::write(start.folders.home().join("mods"), "").unwrap();
    start.refuses(&no_folder("Not a directory (os error 20)"));
}

#[test]
fn a_mods_folder_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let start = Start::new();
    let folder = start.folders.home().join("mods");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, PermissionsExt::from_mode(0o000)).unwrap();
    if fs::read_dir(&folder).is_ok() {
        // Who runs the tests may read everything: the test above stands for this one.
        return;
    }
    start.refuses(&no_folder("Permission denied (os error 13)"));
}

/// The line for the user's folder of mods.
fn no_folder(error: &str) -> String {
    format!(
        "mod not loaded [E_UNREADABLE] from DIR/home/mods (user): cannot look for mods, make this a folder that you may \
         read: {error}: DIR/home/mods"
    )
}

#[test]
fn a_folder_that_is_no_mod() {
    let start = Start::new();
    let path = start.path("none");
    fs::create_dir(&path).unwrap();
    start.with_mod(&path).refuses(
        "mod not loaded [E_NOT_A_MOD] from --mod DIR/none: no mod here: expected a library, a directory with mod.toml, or a \
         package that was built (there is no Cargo.toml either): DIR/none",
    );
}

#[test]
fn a_cargo_package_that_was_not_built() {
    let start = Start::new();
    let path = start.path("package");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("Cargo.toml"), "[package]\nname = \"a-mod\"\n").unwrap();
    start.with_mod(&path).refuses(
        "mod not loaded [E_NOT_A_MOD] from --mod DIR/package: no mod here: expected a library, a directory with mod.toml, \
         or a package that was built (no liba_mod.so below target; run `cargo build`): DIR/package",
    );
}

#[test]
fn a_package_that_is_not_unpacked() {
    let start = installed();
    let path = start.path("misbehaving-1.0.0.tgz");
    fs::remove_dir_all(start.folders.home()).unwrap();
    fs::create_dir(start.folders.home()).unwrap();
    start.with_mod(&path).refuses(
        "mod not loaded [E_NOT_A_LIBRARY] from --mod DIR/misbehaving-1.0.0.tgz: DIR/misbehaving-1.0.0.tgz: not a shared \
         library, expected the .so, .dylib or .dll of a crate with crate-type = [\"cdylib\"], got: a gzip archive, \
         install it with cmd mods add",
    );
}

#[test]
fn mods_that_are_not_native_are_left_alone_and_told_of() {
    let start = Start::new();
    let mods = start.folders.home().join("mods");
    for folder in ["package", "index"] {
        fs::create_dir_all(mods.join(folder)).unwrap();
    }
    for (file, text) in [("loose.ts", ""), ("package/package.json", "{}"), ("index/index.ts", "")] {
        fs::write(mods.join(file), text).unwrap();
    }
    let ran = start.run();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "done\n"));
    assert_eq!(
        ran.stderr.lines().next(),
        Some("info: 3 TypeScript mods in DIR/home/mods are not native and were left alone")
    );
}

#[test]
fn nothing_of_a_projects_mods_is_opened_by_a_start_that_does_not_load_them() {
    let start = Start::new();
    let mods = start.folders.work().join(".commandcode/mods");
    fs::create_dir_all(mods.join("own")).unwrap();
    fs::copy(library("misbehaving"), mods.join("libmisbehaving.so")).unwrap();
    fs::write(mods.join("own/mod.toml"), manifest(&[])).unwrap();
    let archive = archive("misbehaving", start.folders.dir());
    registry::install_archive(mods.parent().unwrap(), &archive, &host_facts()).unwrap();
    let model = start.folders.scenario(&json!({ "turns": [{ "text": "done" }] }));
    let run = |more: &[&str]| {
        let child = program(&start.folders).args(["-p", "go", "--model", &model]).args(more).spawn();
        assert_eq!(finish(&start.folders, child.unwrap()).code, Some(i32::from(!more.is_empty())));
    };
    assert_eq!(opened(&mods, || run(&[])), 0);
    // Now they are three of a name.
    assert!(opened(&mods, || run(&["--dangerously-skip-permissions"])) > 0, "else it proves nothing");
}
