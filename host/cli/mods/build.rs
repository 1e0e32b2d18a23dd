//! Building a mod with cargo.

use std::{
    io::BufReader,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, bail};
use cargo_metadata::{Message, Metadata, MetadataCommand, Package};

use crate::cli::{output::Usage, process::SIGN_PASSWORD};

/// Builds a mod's library in release. Cargo's own messages go where this program's do. `cargo` is the
/// program to call.
pub(super) fn library(cargo: &Path, package: &Package) -> anyhow::Result<PathBuf> {
    let mut child = Command::new(cargo)
        .args(["build", "--release", "--lib", "--message-format=json-render-diagnostics"])
        .args(["--package", &package.id.repr])
        .arg("--manifest-path")
        .arg(&package.manifest_path)
        // Build scripts are other people's code.
        .env_remove(SIGN_PASSWORD)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {}", cargo.display()))?;
    let output = child.stdout.take().context("cargo has no output")?;
    let library = built_library(package, BufReader::new(output));
    let status = child.wait().context("cannot wait for cargo")?;
    if !status.success() {
        bail!("cargo could not build {}: {status}", package.name);
    }
    library
}

/// The cargo package in `folder`, which must have a shared library.
pub(super) fn package(cargo: &Path, folder: &Path) -> anyhow::Result<Package> {
    let manifest = folder.join("Cargo.toml");
    if !manifest.is_file() {
        bail!("there is no cargo package here, expected a Cargo.toml in: {}", folder.display());
    }
    let metadata: Metadata = MetadataCommand::new()
        .cargo_path(cargo)
        .manifest_path(&manifest)
        .no_deps()
        .exec()
        .with_context(|| format!("cannot read the cargo package {}", manifest.display()))?;
    let manifest = manifest.canonicalize()?;
    let package = metadata.packages.into_iter().find(|package| package.manifest_path == *manifest);
    let Some(package) = package else {
        bail!("this is a workspace, expected the folder of one of its packages, got: {}", manifest.display());
    };
    if !package.targets.iter().any(|target| target.is_cdylib()) {
        bail!(
            "the package {} builds no shared library, add crate-type = [\"cdylib\"] to [lib] in: {}",
            package.name,
            manifest.display()
        );
    }
    Ok(package)
}

/// What is said of a folder that has the source of a mod where a packed one is expected.
pub(super) fn unpacked(folder: &Path) -> Option<Usage> {
    let is_source = folder.join("Cargo.toml").is_file() && !folder.join("mod.toml").exists();
    let text =
        "this is the source of a mod, pack it first with cmd mods pack, or try it where it is with cmd --mod";
    is_source.then(|| Usage(format!("{text}: {}", folder.display())))
}

/// Reads what cargo says to its end, and picks the package's library out of it.
fn built_library(package: &Package, output: BufReader<impl std::io::Read>) -> anyhow::Result<PathBuf> {
    let mut library = None;
    for message in Message::parse_stream(output) {
        if let Message::CompilerArtifact(artifact) = message.context("cannot read what cargo says")?
            && artifact.package_id == package.id
            && artifact.target.is_cdylib()
        {
            library = artifact.filenames.into_iter().find(|file| {
                matches!(file.extension(), Some(extension) if extension == std::env::consts::DLL_EXTENSION)
            });
        }
    }
    library.map(Into::into).with_context(|| format!("cargo names no shared library of {}", package.name))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn build(cargo: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
        library(cargo, &package(cargo, folder)?)
    }

    fn error(files: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let error = format!("{:#}", build(Path::new(env!("CARGO")), &root).unwrap_err());
        error.replace(&root.display().to_string(), "ROOT")
    }

    const PACKAGE: &str = "[package]\nname = \"a-mod\"\nversion = \"1.0.0\"\nedition = \"2024\"\n";

    #[test]
    fn a_library_is_built_and_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("src")).unwrap();
        let manifest = "[lib]\ncrate-type = [\"cdylib\", \"rlib\"]\n[workspace]\n";
        fs::write(root.join("Cargo.toml"), format!("{PACKAGE}{manifest}")).unwrap();
        fs::write(root.join("src/lib.rs"), "").unwrap();
        let built = build(Path::new(env!("CARGO")), &root).unwrap();
        assert!(built.is_file());
        assert_eq!(built.file_name().unwrap().to_str(), Some("liba_mod.so"));
    }

    #[test]
    fn a_folder_that_is_no_mod_is_told_before_anything_is_built() {
        assert_eq!(error(&[]), "there is no cargo package here, expected a Cargo.toml in: ROOT");
        let package = format!("{PACKAGE}[workspace]\n");
        assert_eq!(
            error(&[("Cargo.toml", &package), ("src/lib.rs", "")]),
            "the package a-mod builds no shared library, add crate-type = [\"cdylib\"] to [lib] in: ROOT/Cargo.toml"
        );
        let workspace = "[workspace]\nmembers = [\"a\"]\nresolver = \"3\"\n";
        assert_eq!(
            error(&[("Cargo.toml", workspace), ("a/Cargo.toml", PACKAGE), ("a/src/lib.rs", "")]),
            "this is a workspace, expected the folder of one of its packages, got: ROOT/Cargo.toml"
        );
    }

    #[test]
    fn a_mod_that_does_not_compile_is_told_after_cargos_own_messages() {
        let manifest = format!("{PACKAGE}[lib]\ncrate-type = [\"cdylib\"]\n[workspace]\n");
        assert_eq!(
            error(&[("Cargo.toml", &manifest), ("src/lib.rs", "compile_error!(\"no\");")]),
            "cargo could not build a-mod: exit status: 101"
        );
    }

    #[test]
    fn a_cargo_that_is_missing_is_told() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("Cargo.toml"), PACKAGE).unwrap();
        let error = build(Path::new("/nowhere/cargo"), folder.path()).unwrap_err();
        let error = crate::cli::output::describe(error.as_ref())
            .replace(&folder.path().display().to_string(), "ROOT");
        assert_eq!(
            error,
            "cannot read the cargo package ROOT/Cargo.toml: failed to start `cargo metadata`: No such file or directory (os error 2)"
        );
    }
}
