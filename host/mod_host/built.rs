//! The library of a cargo package that was built: what `--mod` takes while a mod is being written.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde::Deserialize;

use super::LoadError;
use crate::files;

#[derive(Deserialize)]
struct Manifest {
    package: Named,
    lib: Option<LibName>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
struct LibName {
    name: Option<String>,
}

/// The newest library that was built of the package in `dir`, into `target` or beside its source.
pub(super) fn library(dir: &Path, target: Option<&Path>) -> Result<PathBuf, LoadError> {
    let refused = |hint: String| LoadError::NotAMod { path: dir.to_owned(), hint };
    let manifest = dir.join("Cargo.toml");
    let text =
        files::read_text(&manifest).map_err(|_| refused("there is no Cargo.toml either".to_owned()))?;
    let manifest: Manifest =
        toml::from_str(&text).map_err(|error| refused(format!("its Cargo.toml: {}", error.message())))?;
    let name = manifest.lib.and_then(|lib| lib.name).unwrap_or(manifest.package.name).replace('-', "_");
    let file = format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let dir = dir.canonicalize().map_err(|error| LoadError::Unreadable { path: dir.to_owned(), error })?;
    // A package of a workspace is built into the folder of the workspace's root.
    let targets = dir.ancestors().map(|ancestor| ancestor.join("target")).chain(target.map(Path::to_owned));
    let built =
        targets.flat_map(|target| ["release", "debug"].map(|profile| target.join(profile).join(&file)));
    let below = target.unwrap_or(Path::new("target"));
    let newest = built.filter_map(|path| Some((modified(&path)?, path))).max();
    newest
        .map(|(_, path)| path)
        .ok_or_else(|| refused(format!("no {file} below {}; run `cargo build`", below.display())))
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tempfile::TempDir;

    use super::*;

    fn package(manifest: &str) -> TempDir {
        let dir = TempDir::new().unwrap();
        fs::create_dir(dir.path().join("package")).unwrap();
        fs::write(dir.path().join("package/Cargo.toml"), manifest).unwrap();
        dir
    }

    /// Builds nothing, but leaves what a build of that age leaves.
    fn build(dir: &TempDir, target: &str, library: &str, age: u64) {
        let path = dir.path().join(target).join(file(library));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let built = fs::File::create(path).unwrap();
        built.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
    }

    fn file(library: &str) -> String {
        format!("{}{library}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX)
    }

    fn found(dir: &TempDir) -> Result<PathBuf, String> {
        let root = dir.path().canonicalize().unwrap();
        let elsewhere = dir.path().join("elsewhere");
        let elsewhere = Some(&*elsewhere).filter(|folder| folder.exists());
        let found = library(&dir.path().join("package"), elsewhere).map_err(|error| error.to_string());
        found
            .map(|path| path.strip_prefix(root).unwrap().to_owned())
            .map_err(|error| error.replace(&dir.path().display().to_string(), "DIR"))
    }

    #[test]
    fn the_newest_build_counts_of_the_package_or_of_its_workspace() {
        let dir = package("[package]\nname = \"a-mod\"\n");
        build(&dir, "package/target/debug", "a_mod", 30);
        assert_eq!(found(&dir), Ok(Path::new("package/target/debug").join(file("a_mod"))));
        build(&dir, "target/release", "a_mod", 20);
        assert_eq!(found(&dir), Ok(Path::new("target/release").join(file("a_mod"))));
        build(&dir, "target/debug", "a_mod", 10);
        build(&dir, "target/debug", "another", 0);
        assert_eq!(found(&dir), Ok(Path::new("target/debug").join(file("a_mod"))));
    }

    #[test]
    fn a_build_counts_that_went_where_the_user_says_that_builds_go() {
        let dir = package("[package]\nname = \"a-mod\"\n");
        build(&dir, "elsewhere/debug", "another", 0);
        let missing = format!("(no {} below DIR/elsewhere; run `cargo build`)", file("a_mod"));
        assert!(found(&dir).unwrap_err().contains(&missing));
        build(&dir, "package/target/debug", "a_mod", 20);
        build(&dir, "elsewhere/release", "a_mod", 10);
        let canonical = |path: PathBuf| path.canonicalize().unwrap();
        let library = library(&dir.path().join("package"), Some(&dir.path().join("elsewhere"))).unwrap();
        assert_eq!(canonical(library), canonical(dir.path().join("elsewhere/release").join(file("a_mod"))));
    }

    #[test]
    fn a_library_may_have_a_name_of_its_own() {
        let dir = package("[package]\nname = \"a-mod\"\n[lib]\nname = \"own\"\n");
        build(&dir, "package/target/debug", "own", 0);
        assert_eq!(found(&dir), Ok(Path::new("package/target/debug").join(file("own"))));
    }

    #[test]
    fn a_folder_that_is_no_package_says_what_is_missing() {
        let missing = |hint: &str| {
            Err(format!(
                "no mod here: expected a library, a directory with mod.toml, or a package that was built ({hint}): \
                 DIR/package"
            ))
        };
        let no_build = format!("no {} below target; run `cargo build`", file("a_mod"));
        assert_eq!(found(&package("[package]\nname = \"a-mod\"\n")), missing(&no_build));
        let workspace = package("[workspace]\n");
        assert_eq!(found(&workspace), missing("its Cargo.toml: missing field `package`"));
        fs::remove_file(workspace.path().join("package/Cargo.toml")).unwrap();
        assert_eq!(found(&workspace), missing("there is no Cargo.toml either"));
    }
}
