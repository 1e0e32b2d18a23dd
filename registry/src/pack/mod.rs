//! From built libraries to an archive: `mod.toml`, the libraries, and a `package.json` that npm can publish.

use crate::{
    Error, archive, disk,
    error::IoContext,
    hash::{FileHash, hash_bytes},
    install::check_library,
    manifest::{self, Artifact, Manifest},
    package::ROOT,
    portable::check_package_name,
    signature,
    version::MajorMinor,
};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

const MAX_LIBRARY: u64 = 256 * 1024 * 1024;

/// What to pack.
#[derive(Debug, Clone)]
pub struct PackInput {
    /// The mod's name.
    pub name: String,
    /// The package's name; the mod's when there is none. It may have a scope: `@team/review-mod`.
    pub package: Option<String>,
    /// The mod's version, and the package's.
    pub version: semver::Version,
    /// The interface version it was built for.
    pub interface: MajorMinor,
    /// One line about it.
    pub description: Option<String>,
    /// Its licence.
    pub license: Option<String>,
    /// The libraries.
    pub artifacts: Vec<PackArtifact>,
    /// Where the archive goes.
    pub out_dir: PathBuf,
}

/// A built library.
#[derive(Debug, Clone)]
pub struct PackArtifact {
    /// The Rust target triple it was built for.
    pub target: String,
    /// The library.
    pub path: PathBuf,
    /// The oldest glibc that it runs on; read from the library when there is none.
    pub glibc: Option<MajorMinor>,
}

#[derive(Serialize)]
struct PackageJson<'a> {
    name: &'a str,
    version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    license: Option<&'a str>,
    files: [&'a str; 4],
    commandcode: Declared<'a>,
}

#[derive(Serialize)]
struct Declared<'a> {
    mods: [&'a str; 1],
}

/// Packs a mod into `<name>-<version>.tgz`, the same bytes for the same libraries, and gives the archive's path. Each
/// library is looked into: it must be the mod it is packed as.
///
/// # Errors
/// `E_NAME`, `E_MANIFEST`, `E_IO`, the refusals of [`crate::object::check_declared`], `E_TARGET_LIES`, `E_IDENTITY`.
pub fn pack(input: &PackInput) -> Result<PathBuf, Error> {
    let (_, files) = collect(input, None)?;
    write(input, &files)
}

/// Packs a mod as [`pack`] does, and signs it. `sign` gets the text of `mods.sums` and gives the text of
/// `mods.sums.minisig`, made with the secret half of `signer`.
///
/// # Errors
/// As [`pack`], and what `sign` fails with; `E_SIGNATURE` when its answer is not a signature by `signer`.
pub fn pack_signed(
    input: &PackInput,
    signer: &str,
    sign: &dyn Fn(&str) -> Result<String, Error>,
) -> Result<PathBuf, Error> {
    let (sums, mut files) = collect(input, Some(signer))?;
    let text = sign(&sums)?;
    signature::verify_text(package_name(input), sums.as_bytes(), &text, &[signer])?;
    files.insert(signature::SIGNATURE.to_owned(), text.into_bytes());
    write(input, &files)
}

type Files = BTreeMap<String, Vec<u8>>;

fn package_name(input: &PackInput) -> &str {
    input.package.as_deref().unwrap_or(&input.name)
}

/// The files of the package, `mods.sums` among them, and the text of that one.
fn collect(input: &PackInput, signer: Option<&str>) -> Result<(String, Files), Error> {
    let package = package_name(input);
    check_package_name(package)?;
    let mut manifest = Manifest {
        name: input.name.clone(),
        version: input.version.clone(),
        interface: input.interface,
        description: input.description.clone(),
        license: input.license.clone(),
        signer: signer.map(str::to_owned),
        artifacts: Vec::new(),
    };
    let mut files = Files::new();
    for artifact in &input.artifacts {
        let (row, bytes) = add(artifact, &manifest)?;
        files.insert(row.file.clone(), bytes);
        manifest.artifacts.push(row);
    }
    files.insert(manifest::FILE_NAME.to_owned(), manifest.to_toml()?.into_bytes());
    files.insert("package.json".to_owned(), package_json(package, &manifest)?);
    let hashes: BTreeMap<String, FileHash> =
        files.iter().map(|(path, bytes)| (path.clone(), hash_bytes(bytes))).collect();
    let sums = signature::sums_text(package, &input.version.to_string(), &hashes);
    files.insert(signature::SUMS.to_owned(), sums.clone().into_bytes());
    Ok((sums, files))
}

fn write(input: &PackInput, files: &Files) -> Result<PathBuf, Error> {
    let bytes = archive::pack(files)?;
    fs::create_dir_all(&input.out_dir).at("create", &input.out_dir)?;
    let stem = package_name(input).trim_start_matches('@').replace('/', "-");
    let path = input.out_dir.join(format!("{stem}-{}.tgz", input.version));
    disk::write_atomic(&path, &bytes, 0o644)?;
    Ok(path)
}

/// The row of a library in the manifest, and its bytes.
fn add(artifact: &PackArtifact, manifest: &Manifest) -> Result<(Artifact, Vec<u8>), Error> {
    let bytes = disk::read_bounded(&artifact.path, MAX_LIBRARY)?;
    let name = artifact.path.file_name().unwrap_or_default().to_string_lossy();
    let file = format!("bin/{}/{name}", artifact.target);
    let inspection = check_library(&bytes, manifest, &file, &artifact.target)?;
    let hash = hash_bytes(&bytes);
    let floor = inspection.glibc_floor.filter(|_| artifact.target.contains("-gnu"));
    let row = Artifact {
        target: artifact.target.clone(),
        file,
        sha256: hash.sha256,
        size: hash.size,
        glibc: artifact.glibc.or(floor),
    };
    Ok((row, bytes))
}

fn package_json(name: &str, manifest: &Manifest) -> Result<Vec<u8>, Error> {
    let json = PackageJson {
        name,
        version: manifest.version.to_string(),
        description: manifest.description.as_deref(),
        license: manifest.license.as_deref(),
        files: [manifest::FILE_NAME, "bin", signature::SUMS, signature::SIGNATURE],
        commandcode: Declared { mods: [ROOT] },
    };
    let mut bytes = serde_json::to_vec_pretty(&json).map_err(|error| Error::Manifest {
        path: Path::new("package.json").to_owned(),
        reason: error.to_string(),
    })?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests;
