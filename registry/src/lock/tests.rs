use super::*;
use std::fs;

const HASH: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn artifact(path: &str, target: &str) -> LockedArtifact {
    LockedArtifact {
        mod_name: "review-guard".to_owned(),
        path: path.to_owned(),
        interface: (1, 0),
        artifact: Artifact {
            target: target.to_owned(),
            file: "bin/liba.so".to_owned(),
            sha256: HASH.to_owned(),
            size: 3,
            glibc: Some((2, 28)),
        },
    }
}

fn package(id: &str) -> Package {
    Package {
        resolved: Some("1.2.0".to_owned()),
        integrity: Some("sha256-abc=".to_owned()),
        tree: format!("sha256:{HASH}"),
        artifacts: vec![
            artifact("mods/b", "x86_64-unknown-linux-gnu"),
            artifact("mods/a", "aarch64-apple-darwin"),
        ],
        ..Package::new(id.to_owned(), "x.tgz".to_owned())
    }
}

fn parse(text: &str) -> Result<Lock, (&'static str, String)> {
    Lock::parse(text, Path::new("mods.lock")).map_err(|error| (error.code(), error.to_string()))
}

#[test]
fn the_same_packages_give_the_same_bytes_in_any_order() {
    let (mut one, mut other) = (Lock::default(), Lock::default());
    one.insert(package("file:a"));
    one.insert(package("git:github.com/o/r"));
    let mut reversed = package("git:github.com/o/r");
    reversed.artifacts.reverse();
    other.insert(reversed);
    other.insert(package("file:a"));
    assert_eq!(one.to_toml().unwrap(), other.to_toml().unwrap());
    assert_eq!(parse(&one.to_toml().unwrap()).unwrap(), one);
}

#[test]
fn the_text_is_as_documented() {
    let mut lock = Lock::default();
    let mut package = package("file:review-mod");
    package.artifacts.truncate(1);
    lock.insert(package);
    let expected = format!(
        "version = 1\n\n[[package]]\nid = \"file:review-mod\"\nsource = \"x.tgz\"\nresolved = \"1.2.0\"\n\
         integrity = \"sha256-abc=\"\ntree = \"sha256:{HASH}\"\n\n[[package.artifact]]\nmod = \"review-guard\"\n\
         path = \"mods/b\"\ninterface = \"1.0\"\ntarget = \"x86_64-unknown-linux-gnu\"\nfile = \"bin/liba.so\"\n\
         sha256 = \"{HASH}\"\nsize = 3\nglibc = \"2.28\"\n"
    );
    assert_eq!(lock.to_toml().unwrap(), expected);
}

#[test]
fn git_fields_are_kept() {
    let mut lock = Lock::default();
    let git = Package {
        git_ref: Some("v1".to_owned()),
        ref_kind: Some(RefKind::Tag),
        commit: Some("0".repeat(40)),
        ..package("git:github.com/o/r")
    };
    lock.insert(git.clone());
    assert_eq!(parse(&lock.to_toml().unwrap()).unwrap().get("git:github.com/o/r"), Some(&lock.packages()[0]));
    assert_eq!(lock.packages()[0].git_ref, git.git_ref);
}

#[test]
fn a_newer_version_asks_for_a_newer_cmd() {
    assert_eq!(
        parse("version = 2\n[future]\n").unwrap_err(),
        (
            "E_LOCK_VERSION",
            "the lock file mods.lock needs a newer cmd, update cmd, expected version 1, got: 2".to_owned()
        )
    );
    assert_eq!(parse("").unwrap_err().0, "E_LOCK");
}

#[test]
fn two_entries_for_a_package_are_refused() {
    let one = Lock { packages: vec![package("file:a"), package("file:a")] };
    assert_eq!(
        parse(&one.to_toml().unwrap()).unwrap_err().1,
        "the lock file mods.lock cannot be used, restore it, or delete it and run cmd mods add for each package: expected one entry for a package, got two for: file:a"
    );
}

#[test]
fn nothing_in_an_edited_lock_leads_out_of_the_store() {
    let path = Path::new("mods.lock");
    let code = |change: &dyn Fn(&mut Package)| {
        let mut changed = package("file:a");
        change(&mut changed);
        changed.check(path).map_err(|error| error.code())
    };
    assert_eq!(code(&|_| {}), Ok(()));
    assert_eq!(code(&|package| package.artifacts[0].path = ROOT.to_owned()), Ok(()));
    assert_eq!(code(&|package| package.id = "file:../../x".to_owned()), Err("E_LOCK"));
    assert_eq!(code(&|package| package.tree = "sha256:../../x".to_owned()), Err("E_LOCK"));
    assert_eq!(code(&|package| package.artifacts[0].path = "../x".to_owned()), Err("E_LOCK"));
    assert_eq!(code(&|package| package.artifacts[0].artifact.file = "/etc/x.so".to_owned()), Err("E_LOCK"));
    assert_eq!(code(&|package| package.artifacts[0].mod_name = "../x".to_owned()), Err("E_LOCK"));
}

#[test]
fn a_lock_that_is_not_there_is_empty_and_one_that_is_written_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(Lock::read(dir.path()).unwrap(), Lock::default());
    let mut lock = Lock::default();
    lock.insert(package("file:a"));
    lock.write(dir.path()).unwrap();
    assert_eq!(Lock::read(dir.path()).unwrap(), lock);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in r#"version = 1\n(\[\[package\]\]\n|\[\[package.artifact\]\]\n|(id|source|tree|path|ref_kind) = "[a-z:./]{0,6}"\n|.{0,20}\n){0,12}"#) {
        if let Ok(lock) = Lock::parse(&text, Path::new("mods.lock")) {
            let written = lock.to_toml().unwrap();
            assert_eq!(Lock::parse(&written, Path::new("mods.lock")).unwrap(), lock);
            for package in lock.packages() {
                let _ = package.check(Path::new("mods.lock"));
            }
        }
    }
}
