//! Programs of npm that tests talk to. Versions and hashes stand in `<name>/package-lock.json`; each is installed
//! once, under `target/npm`, and none of its scripts is run by that.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use tempfile::TempDir;

/// Installs the package of `tests/support/<name>`, unless it is there; gives its `node_modules`. `None` where
/// there is no npm.
pub(crate) fn install(name: &str) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support").join(name);
    let package: Value =
        serde_json::from_str(&fs::read_to_string(source.join("package.json")).unwrap()).unwrap();
    let dependencies = package["dependencies"].as_object().unwrap();
    let version = dependencies.values().next().unwrap().as_str().unwrap();
    let npm = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("npm");
    let home = npm.join(format!("{name}-{version}"));
    if !home.exists() {
        // Beside its place, so that it appears there whole, whoever else installs it meanwhile.
        fs::create_dir_all(&npm).unwrap();
        let new = TempDir::new_in(&npm).unwrap();
        for file in ["package.json", "package-lock.json"] {
            fs::copy(source.join(file), new.path().join(file)).unwrap();
        }
        let command = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
        let output = match Command::new("npm").args(command).current_dir(new.path()).output() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            output => output.unwrap(),
        };
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "npm could not install {name} {version}: {said}");
        if fs::rename(new.path(), &home).is_err() {
            assert!(home.exists(), "cannot move {name} to its place: {}", home.display());
        }
    }
    Some(home.join("node_modules"))
}

/// Says that a test is skipped. Not by the macro: what it prints, the test runner keeps to itself when the test
/// passes.
pub(crate) fn skip<T>(name: &str) -> Option<T> {
    let line = format!("skipped, because there is no npm: {name}\n");
    io::stderr().write_all(line.as_bytes()).unwrap();
    None
}
