//! What is not installed, and that this changes nothing.

use super::{
    tests::{Scope, archive, manifest, newer},
    *,
};
use crate::fixtures::{Mod, host, target};
use std::{cell::RefCell, collections::BTreeMap, fs};

#[test]
fn what_could_not_be_loaded_is_not_installed() {
    let scope = Scope::new();
    scope.install(&newer()).unwrap();
    let before = fs::read(Lock::path(&scope.root())).unwrap();
    let with_host = |change: &dyn Fn(&mut HostFacts)| {
        let mut host = host();
        change(&mut host);
        install_archive(&scope.root(), &scope.archive(&Mod::default()), &host).unwrap_err().code()
    };
    assert_eq!(with_host(&|host| host.target = "riscv64gc-unknown-linux-gnu".to_owned()), "E_NO_ARTIFACT");
    assert_eq!(with_host(&|host| host.glibc = Some((2, 1))), "E_GLIBC");
    assert_eq!(with_host(&|host| host.interface = (2, 0)), "E_INTERFACE_MAJOR");
    assert_eq!(with_host(&|host| host.interface = (0, 9)), "E_INTERFACE_MAJOR");
    let missing = install_archive(&scope.root(), Path::new("/no/such.tgz"), &host()).unwrap_err();
    assert_eq!(missing.code(), "E_IO");
    assert_eq!(fs::read(Lock::path(&scope.root())).unwrap(), before);
    assert_eq!((scope.trees(), scope.leftovers()), (1, 0));
    assert_eq!(scope.start(), ["review-guard 1.3.0"]);
}

#[test]
fn a_package_that_is_not_as_its_manifest_says_is_refused() {
    let scope = Scope::new();
    let library = Mod::default().library();
    let target = target();
    let code = |files: &[(&str, &[u8])]| {
        let result = install_archive(&scope.root(), &archive(scope.dir.path(), files), &host());
        assert_eq!((scope.trees(), scope.leftovers()), (0, 0));
        result.unwrap_err().code()
    };
    let good = manifest("review-guard", &[(&target, "a.so", &library)]);
    assert_eq!(code(&[("readme.md", b"")]), "E_NO_MODS");
    assert_eq!(code(&[("mod.toml", b"schema = 1")]), "E_MANIFEST");
    assert_eq!(code(&[("mod.toml", b"schema = 7")]), "E_MOD_SCHEMA");
    assert_eq!(code(&[("mod.toml", good.as_bytes())]), "E_MANIFEST");
    assert_eq!(code(&[("mod.toml", good.as_bytes()), ("a.so", b"other")]), "E_HASH_MISMATCH");
    assert_eq!(
        code(&[("mod.toml", good.as_bytes()), ("a.so", &library), ("package.json", b"{")]),
        "E_MANIFEST"
    );
    let text = manifest("review-guard", &[(&target, "a.so", b"hello")]);
    assert_eq!(code(&[("mod.toml", text.as_bytes()), ("a.so", b"hello")]), "E_NOT_A_LIBRARY");
    let renamed = manifest("other", &[(&target, "a.so", &library)]);
    assert_eq!(code(&[("mod.toml", renamed.as_bytes()), ("a.so", &library)]), "E_IDENTITY");
}

#[test]
fn threat_22_swapped_targets_with_right_hashes_are_refused() {
    let scope = Scope::new();
    let mine = Mod::default().library();
    let other = Mod { target: "aarch64-unknown-linux-gnu".to_owned(), ..Mod::default() }.library();
    let mut other_machine = other.clone();
    other_machine[18..20].copy_from_slice(&183u16.to_le_bytes());
    let attempt = |rows: &[(&str, &str, &[u8])]| {
        let text = manifest("review-guard", rows);
        let mut files: Vec<(&str, &[u8])> = rows.iter().map(|(_, file, bytes)| (*file, *bytes)).collect();
        files.push(("mod.toml", text.as_bytes()));
        install_archive(&scope.root(), &archive(scope.dir.path(), &files), &host())
            .map_err(|error| error.code())
    };
    let target = target();
    let arm = "aarch64-unknown-linux-gnu";
    assert_eq!(attempt(&[(arm, "a.so", &mine), (&target, "b.so", &other_machine)]), Err("E_TARGET_LIES"));
    assert_eq!(attempt(&[(&target, "a.so", &mine), (arm, "b.so", &other)]), Err("E_TARGET_LIES"));
    assert!(attempt(&[(&target, "a.so", &mine), (arm, "b.so", &other_machine)]).is_ok());
    assert_eq!(Lock::read(&scope.root()).unwrap().packages()[0].artifacts.len(), 2);
}

#[test]
fn threat_9_what_is_declined_changes_nothing() {
    let scope = Scope::new();
    scope.install(&Mod::default()).unwrap();
    let archive = scope.archive(&newer());
    let (root, host) = (scope.root(), host());
    let shown = RefCell::new(Vec::new());
    let review = |offer: &Offer<'_>| {
        let version = |package: &lock::Package| package.resolved.clone().unwrap();
        let library = offer.root.join(format!("bin/{}/libreview_guard.so", target()));
        shown.borrow_mut().push((version(offer.package), offer.replaces.map(version), library.is_file()));
        Err(Error::Declined { reason: "the user said no".to_owned() })
    };
    let error = Installer::new(&root, &host).review(&review).archive(&archive).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("E_DECLINED", "the package was not installed, and nothing was changed: the user said no")
    );
    assert_eq!(shown.into_inner(), [("1.3.0".to_owned(), Some("1.2.0".to_owned()), true)]);
    assert_eq!(
        (scope.start(), scope.trees(), scope.leftovers()),
        (vec!["review-guard 1.2.0".to_owned()], 1, 0)
    );
}

#[test]
fn who_does_not_want_to_wait_is_told_that_another_is_at_work() {
    let scope = Scope::new();
    let archive = scope.archive(&Mod::default());
    let store = Store::at(&scope.root());
    let _held = store.hold(None).unwrap();
    let host = host();
    let root = scope.root();
    let error = Installer::new(&root, &host).no_wait().archive(&archive).unwrap_err();
    assert_eq!(error.code(), "E_BUSY");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_of_the_disk() {
    let archive = crate::archive::pack(&BTreeMap::from([("a".to_owned(), vec![1; 10])])).unwrap();
    let error = unpack(&archive, Path::new("/proc/self/nothing")).unwrap_err();
    assert_eq!(error.code(), "E_IO");
}
