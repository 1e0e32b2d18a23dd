use super::{
    FetchOptions,
    process::{command, reason, run},
};
use crate::{
    Error,
    archive::MAX_ARCHIVE,
    disk,
    error::IoContext,
    hash::integrity_sha512,
    source::{NpmSource, redacted},
};
use serde::Deserialize;
use std::{fs, path::Path};

/// An archive from an npm registry, as it was published.
pub(crate) struct NpmPackage {
    pub(crate) version: String,
    pub(crate) integrity: String,
    pub(crate) registry: Option<String>,
    pub(crate) archive: Vec<u8>,
}

/// What `npm pack --json` says.
#[derive(Deserialize)]
struct Packed {
    name: String,
    version: String,
    integrity: String,
    filename: String,
}

/// Downloads a package into an empty folder. npm resolves ranges and tags; nothing is unpacked and no script is run.
///
/// # Errors
/// `E_TOOL_MISSING`, `E_FETCH`, `E_OFFLINE`, `E_INTEGRITY`, `E_TIMEOUT`.
pub(crate) fn fetch(source: &NpmSource, folder: &Path, options: &FetchOptions) -> Result<NpmPackage, Error> {
    // Without a package of its own, npm would look for one in the folders above, and take that one's settings.
    let own = folder.join("package.json");
    fs::write(&own, "{}").at("write", &own)?;
    let mut npm = command("npm", options);
    npm.current_dir(folder).args(["pack", "--ignore-scripts", "--json", "--loglevel=error"]);
    npm.arg("--pack-destination").arg(folder);
    if options.offline {
        npm.arg("--offline");
    }
    npm.arg("--").arg(source.to_string());
    let said = run(npm, "npm", options)?;
    if !said.success {
        return Err(failure(source, &said.stderr, options));
    }
    let packed: Vec<Packed> = serde_json::from_slice(&said.stdout)
        .map_err(|error| fetch_error(source, format!("npm said something unknown: {error}")))?;
    let [packed] = packed.as_slice() else {
        return Err(fetch_error(source, format!("expected one package, got: {}", packed.len())));
    };
    if packed.name != source.name || packed.filename.contains(['/', '\\']) {
        return Err(fetch_error(source, format!("expected {}, got: {}", source.name, packed.name)));
    }
    let archive = disk::read_bounded(&folder.join(&packed.filename), MAX_ARCHIVE)?;
    let found = integrity_sha512(&archive);
    if found != packed.integrity {
        return Err(Error::Integrity {
            package: format!("npm:{source}"),
            expected: packed.integrity.clone(),
            found,
        });
    }
    Ok(NpmPackage {
        version: packed.version.clone(),
        integrity: found,
        registry: registry(source, folder, options)?,
        archive,
    })
}

/// The registry that npm takes the package from: that of its scope, or the one for all.
fn registry(source: &NpmSource, folder: &Path, options: &FetchOptions) -> Result<Option<String>, Error> {
    let scope = source.name.split_once('/').map_or("", |(scope, _)| scope);
    let mut npm = command("npm", options);
    npm.current_dir(folder).args(["config", "get", "--", "registry", &format!("{scope}:registry")]);
    let said = run(npm, "npm", options)?;
    let text = String::from_utf8_lossy(&said.stdout);
    let value = |key: &str| {
        let start = format!("{key}=");
        text.lines().find_map(|line| line.strip_prefix(&start)).filter(|value| value.contains("://"))
    };
    let own = value(&format!("{scope}:registry"));
    Ok(own.or_else(|| value("registry")).map(redacted))
}

fn failure(source: &NpmSource, stderr: &str, options: &FetchOptions) -> Error {
    let has = |code: &str| stderr.contains(code);
    if has("EINTEGRITY") {
        return Error::Integrity {
            package: format!("npm:{source}"),
            expected: "what the registry says of it".to_owned(),
            found: reason(stderr),
        };
    }
    if options.offline && (has("ENOTCACHED") || has("ETARGET") || has("ENOTFOUND")) {
        return Error::Offline { package: format!("npm:{source}") };
    }
    fetch_error(source, reason(stderr))
}

fn fetch_error(source: &NpmSource, reason: String) -> Error {
    Error::Fetch { what: format!("npm:{source}"), reason }
}
