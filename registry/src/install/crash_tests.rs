//! What is there when an installer is killed, and when there are many.

use super::tests::{Scope, newer};
use super::*;
use crate::fixtures::{Mod, host};
use std::path::PathBuf;

#[test]
fn threat_23_a_crash_at_any_step_leaves_a_store_that_the_next_installation_mends() {
    let steps = [Step::Held, Step::Unpacked, Step::Checked, Step::Stored, Step::Locked, Step::Pointed];
    for stop in steps {
        let scope = Scope::new();
        scope.install(&Mod::default()).unwrap();
        let archive = scope.archive(&newer());
        let status = crash_at(&scope.root(), &archive, stop);
        assert!(!status.success());
        let found = scope.start();
        let allowed: &[&str] = match stop {
            Step::Locked | Step::Pointed => &["review-guard 1.3.0"],
            _ => &["review-guard 1.2.0"],
        };
        assert_eq!(found, allowed, "{stop:?}");
        let lock = Lock::read(&scope.root()).unwrap();
        lock.packages().iter().for_each(|package| crate::verify_tree(&scope.root(), package).unwrap());
        install_archive(&scope.root(), &archive, &host()).unwrap();
        assert_eq!(scope.start(), ["review-guard 1.3.0"], "{stop:?}");
        assert_eq!((scope.trees(), scope.leftovers()), (2, 0), "{stop:?}");
    }
}

/// Runs an installation in a process of its own, which ends itself at this step without cleaning up.
fn crash_at(root: &Path, archive: &Path, stop: Step) -> std::process::ExitStatus {
    std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "install::crash_tests::child_of_the_crash_test", "--nocapture"])
        .env("REGISTRY_TEST_CRASH", format!("{stop:?}"))
        .env("REGISTRY_TEST_ROOT", root)
        .env("REGISTRY_TEST_ARCHIVE", archive)
        .output()
        .unwrap()
        .status
}

#[test]
fn child_of_the_crash_test() {
    let (Some(stop), Some(root), Some(archive)) = (
        std::env::var_os("REGISTRY_TEST_CRASH"),
        std::env::var_os("REGISTRY_TEST_ROOT"),
        std::env::var_os("REGISTRY_TEST_ARCHIVE"),
    ) else {
        return;
    };
    let stop = stop.into_string().unwrap();
    let abort = |step: Step| {
        if stop == "none" || format!("{step:?}") != stop {
            return;
        }
        std::process::abort();
    };
    let host = host();
    Installer::new(Path::new(&root), &host).progress(&abort).archive(Path::new(&archive)).unwrap();
}

#[test]
fn threat_23_eight_installers_at_once() {
    let scope = Scope::new();
    let names = ["a", "b", "c", "d"];
    let archives: Vec<PathBuf> =
        names.iter().map(|name| scope.archive(&Mod { name, ..Mod::default() })).collect();
    let children: Vec<_> = archives
        .iter()
        .chain(&archives)
        .map(|archive| {
            std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "install::crash_tests::child_of_the_crash_test"])
                .env("REGISTRY_TEST_CRASH", "none")
                .env("REGISTRY_TEST_ROOT", scope.root())
                .env("REGISTRY_TEST_ARCHIVE", archive)
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(scope.start(), ["a 1.2.0", "b 1.2.0", "c 1.2.0", "d 1.2.0"]);
    assert_eq!((scope.trees(), scope.leftovers()), (4, 0));
}
