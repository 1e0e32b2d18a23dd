use super::*;
use crate::{
    fixtures::{Mod, host, target},
    hash_bytes, install_archive,
};
use std::fs;

fn scope_with(mods: &[&'static str]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("scope");
    for name in mods {
        let archive = Mod { name, ..Mod::default() }.pack(dir.path());
        install_archive(&root, &archive, &host()).unwrap();
    }
    (dir, root)
}

fn codes(root: &Path, host: &HostFacts) -> Vec<(String, Option<String>, &'static str)> {
    let state = |candidate: Candidate| {
        let code = match candidate.state {
            State::Ok(_) => "ok",
            State::Problem(error) => error.code(),
        };
        (candidate.package, candidate.mod_name, code)
    };
    installed(root, host).into_iter().map(state).collect()
}

fn row(package: &str, mod_name: Option<&str>, code: &'static str) -> (String, Option<String>, &'static str) {
    (package.to_owned(), mod_name.map(str::to_owned), code)
}

/// The folder of the one package that is installed.
fn tree(root: &Path) -> PathBuf {
    Store::at(root).tree_dir(&Lock::read(root).unwrap().packages()[0].tree)
}

fn overwrite(path: &Path, content: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, content).unwrap();
}

#[test]
fn a_scope_without_packages_has_no_mods() {
    let dir = tempfile::tempdir().unwrap();
    assert!(installed(dir.path(), &host()).is_empty());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_start_gets_all_that_it_needs() {
    let (_dir, root) = scope_with(&["review-guard"]);
    let found = installed(&root, &host()).remove(0);
    let State::Ok(found) = found.state else { panic!("{found:?}") };
    let library = Mod::default().library();
    let dir = tree(&root);
    let expected = super::Mod {
        name: "review-guard".to_owned(),
        version: semver::Version::new(1, 2, 0),
        interface: (1, 0),
        description: Some("guards".to_owned()),
        path: ".".to_owned(),
        library: dir.join(format!("bin/{}/libreview_guard.so", target())),
        dir,
        sha256: hash_bytes(&library).sha256,
        size: library.len() as u64,
    };
    assert_eq!(found, expected);
}

#[test]
fn one_bad_package_hides_no_other() {
    let (_dir, root) = scope_with(&["a", "b", "c"]);
    let lock = Lock::read(&root).unwrap();
    let b = Store::at(&root).tree_dir(&lock.get("file:b").unwrap().tree);
    overwrite(&b.join("mod.toml"), b"schema = [");
    assert_eq!(
        codes(&root, &host()),
        [
            row("file:a", Some("a"), "ok"),
            row("file:b", Some("b"), "E_MANIFEST"),
            row("file:c", Some("c"), "ok")
        ]
    );
}

#[test]
fn the_lock_alone_says_which_tree_counts() {
    let (_dir, root) = scope_with(&["a"]);
    let pointer = root.join("mods/.registry/file/a/current");
    let code = || codes(&root, &host())[0].2;
    overwrite(&pointer, b"{");
    assert_eq!(code(), "ok");
    fs::remove_file(&pointer).unwrap();
    assert_eq!(code(), "ok");
    crate::disk::remove_tree(&tree(&root)).unwrap();
    assert_eq!(code(), "E_NOT_INSTALLED");
}

#[test]
fn threat_6_a_manifest_or_lock_that_was_edited_is_drift() {
    let (_dir, root) = scope_with(&["a"]);
    let manifest = tree(&root).join("mod.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let code = || codes(&root, &host())[0].2;
    let hash = Lock::read(&root).unwrap().packages()[0].artifacts[0].artifact.sha256.clone();
    let zeros = "0".repeat(64);
    overwrite(&manifest, text.replace(&hash, &zeros).as_bytes());
    assert_eq!(code(), "E_LOCK_DRIFT");
    overwrite(&manifest, text.replace("name = \"a\"", "name = \"b\"").as_bytes());
    assert_eq!(code(), "E_LOCK_DRIFT");
    overwrite(&manifest, text.as_bytes());
    let lock = Lock::path(&root);
    let locked = fs::read_to_string(&lock).unwrap();
    overwrite(&lock, locked.replace(&hash, &zeros).as_bytes());
    assert_eq!(code(), "E_LOCK_DRIFT");
    overwrite(&lock, locked.replace("path = \".\"", "path = \"../..\"").as_bytes());
    assert_eq!(code(), "E_LOCK");
}

#[test]
fn a_lock_that_cannot_be_read_is_one_problem() {
    let (_dir, root) = scope_with(&["a"]);
    overwrite(&Lock::path(&root), b"version = 9");
    assert_eq!(codes(&root, &host()), [row("mods.lock", None, "E_LOCK_VERSION")]);
    overwrite(&Lock::path(&root), b"version = [");
    assert_eq!(codes(&root, &host()), [row("mods.lock", None, "E_LOCK")]);
}

#[test]
fn what_lies_in_the_registry_without_being_locked_is_told() {
    let (_dir, root) = scope_with(&["a", "b"]);
    let mut lock = Lock::read(&root).unwrap();
    lock.remove("file:a");
    lock.write(&root).unwrap();
    fs::create_dir(root.join("mods/.registry/by-hand")).unwrap();
    assert_eq!(
        codes(&root, &host()),
        [
            row("file:b", Some("b"), "ok"),
            row("by-hand", None, "E_NO_LOCK_ENTRY"),
            row("file:a", None, "E_NO_LOCK_ENTRY")
        ]
    );
    fs::remove_file(Lock::path(&root)).unwrap();
    assert_eq!(
        codes(&root, &host()),
        [
            row("by-hand", None, "E_NO_LOCK_ENTRY"),
            row("file:a", None, "E_NO_LOCK_ENTRY"),
            row("file:b", None, "E_NO_LOCK_ENTRY"),
        ]
    );
}

#[test]
fn another_machine_is_told_what_the_mod_has() {
    let (_dir, root) = scope_with(&["a"]);
    let facts = |change: &dyn Fn(&mut HostFacts)| {
        let mut facts = host();
        change(&mut facts);
        codes(&root, &facts)[0].2
    };
    assert_eq!(facts(&|host| host.target = "aarch64-apple-darwin".to_owned()), "E_NO_ARTIFACT");
    assert_eq!(facts(&|host| host.glibc = Some((2, 1))), "E_GLIBC");
    assert_eq!(facts(&|host| host.interface = (2, 0)), "E_INTERFACE_MAJOR");
}

#[test]
fn threat_14_a_changed_library_is_found_by_size_or_by_hash() {
    let (_dir, root) = scope_with(&["a"]);
    let State::Ok(found) = installed(&root, &host()).remove(0).state else { panic!() };
    let package = Lock::read(&root).unwrap().packages()[0].clone();
    let mut bytes = fs::read(&found.library).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    overwrite(&found.library, &bytes);
    assert_eq!(codes(&root, &host())[0].2, "ok");
    assert_ne!(crate::hash_file(&found.library).unwrap().sha256, found.sha256);
    assert_eq!(verify_tree(&root, &package).unwrap_err().code(), "E_LOCK_DRIFT");
    overwrite(&found.library, &bytes[..last]);
    assert_eq!(codes(&root, &host())[0].2, "E_HASH_MISMATCH");
    fs::remove_file(&found.library).unwrap();
    assert_eq!(codes(&root, &host())[0].2, "E_HASH_MISMATCH");
}

#[cfg(unix)]
#[test]
fn threat_14_a_registry_that_others_may_write_to_loads_nothing() {
    let (_dir, root) = scope_with(&["a", "b"]);
    crate::disk::set_mode(&root.join("mods/.registry"), 0o777).unwrap();
    assert_eq!(
        codes(&root, &host()),
        [row("file:a", None, "E_PERMISSIONS"), row("file:b", None, "E_PERMISSIONS")]
    );
}

#[test]
fn a_start_writes_nothing() {
    let (_dir, root) = scope_with(&["a"]);
    let before = tree_files(&root).unwrap();
    installed(&root, &host());
    assert_eq!(tree_files(&root).unwrap(), before);
}

#[test]
fn a_verdict_says_of_each_package_what_is_known_of_it() {
    let (_dir, root) = scope_with(&["a", "b"]);
    let mut lock = Lock::read(&root).unwrap();
    let mut signed = lock.get("file:b").unwrap().clone();
    signed.signer = Some("RW1".to_owned());
    lock.insert(signed);
    lock.write(&root).unwrap();
    overwrite(&tree(&root).join("package.json"), b"{}");
    let keys = std::collections::BTreeMap::from([("file:*".to_owned(), vec!["RW1".to_owned()])]);
    let configured = Signing { keys, ..Signing::default() };
    let said = |signing: &Signing| {
        let row = |verdict: Verdict| {
            let ok = verdict.mods.iter().filter(|found| matches!(found.state, State::Ok(_))).count();
            (verdict.package.id, verdict.files.map_err(|error| error.code()), verdict.key, ok)
        };
        verdicts(&root, &host(), signing).unwrap().into_iter().map(row).collect::<Vec<_>>()
    };
    let a = ("file:a".to_owned(), Err("E_LOCK_DRIFT"), KeyTrust::Unsigned, 1);
    let b = |key| ("file:b".to_owned(), Ok(()), key, 1);
    assert_eq!(said(&Signing::default()), [a.clone(), b(KeyTrust::FirstUse("RW1".to_owned()))]);
    assert_eq!(said(&configured), [a, b(KeyTrust::Configured("RW1".to_owned()))]);
}
