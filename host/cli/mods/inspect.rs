use std::{io::Write, path::Path};

use anyhow::Context as _;
use registry::{manifest::Manifest, object, version::show};
use serde::Serialize;

use super::{Context, build};
use crate::{
    cli::{
        args::InspectArgs,
        output::{Exit, Report},
    },
    files,
};

/// What a library says about itself.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Inspected {
    file: String,
    size: u64,
    sha256: String,
    format: &'static str,
    machine: String,
    #[serde(flatten)]
    metadata: Option<Said>,
    glibc: Option<String>,
    needed: Vec<String>,
    /// Why it cannot be loaded here.
    refusal: Option<Refused>,
}

/// What the mod in it says.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Said {
    name: String,
    version: String,
    interface: String,
    hooks: Vec<String>,
    target: String,
    panic: String,
    rustc: Option<String>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Refused {
    code: &'static str,
    reason: String,
}

impl Context<'_> {
    /// Reads a library, or the one for this machine in a mod's folder. None of it is run. It is a
    /// failure when the library could not be loaded here.
    pub(super) fn inspect(&mut self, args: &InspectArgs) -> anyhow::Result<Exit> {
        let mut path = self.typed(&args.file);
        if path.is_dir() {
            if let Some(unpacked) = build::unpacked(&path) {
                return Err(unpacked.into());
            }
            let manifest = Manifest::read(&path)?.manifest;
            path = path.join(&manifest.choose(&self.facts)?.file);
        }
        let report = inspect(&path, &self.facts)?;
        self.streams.report(&report, args.json)?;
        Ok(if report.refusal.is_none() { Exit::Success } else { Exit::Failure })
    }
}

fn inspect(path: &Path, facts: &registry::HostFacts) -> anyhow::Result<Inspected> {
    let bytes = files::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let refused = |refusal| registry::Error::Refused { file: path.to_owned(), refusal };
    let inspection = object::inspect(&bytes).map_err(refused)?;
    let refusal = object::check(&inspection, facts)
        .err()
        .map(|refusal| Refused { code: refusal.code(), reason: refusal.to_string() });
    let hash = registry::hash_bytes(&bytes);
    Ok(Inspected {
        file: path.display().to_string(),
        size: hash.size,
        sha256: hash.sha256,
        format: inspection.format.name(),
        machine: inspection.machine,
        metadata: inspection.metadata.map(Said::from),
        glibc: inspection.glibc_floor.map(show),
        needed: inspection.needed,
        refusal,
    })
}

impl From<registry::Metadata> for Said {
    fn from(metadata: registry::Metadata) -> Self {
        let registry::Metadata { name, version, interface, hooks, target, panic, rustc } = metadata;
        Self { name, version: version.to_string(), interface: show(interface), hooks, target, panic, rustc }
    }
}

impl Report for Inspected {
    fn text(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let mut rows = vec![("file", self.file.clone())];
        if let Some(said) = &self.metadata {
            rows.extend([
                ("mod", format!("{} {}", said.name, said.version)),
                ("interface", said.interface.clone()),
                ("hooks", said.hooks.join(", ")),
                ("target", said.target.clone()),
                ("panic", said.panic.clone()),
                ("compiler", said.rustc.clone().unwrap_or_default()),
            ]);
        }
        rows.extend([
            ("format", format!("{} {}", self.machine, self.format)),
            ("glibc", self.glibc.clone().unwrap_or_default()),
            ("needs", self.needed.join(", ")),
            ("size", self.size.to_string()),
            ("sha256", self.sha256.clone()),
            (
                "loads",
                match &self.refusal {
                    None => "yes".to_owned(),
                    Some(Refused { code, reason }) => format!("no, {reason} [{code}]"),
                },
            ),
        ]);
        let rows = rows.iter().filter(|(_, value)| !value.is_empty());
        rows.into_iter().try_for_each(|(name, value)| writeln!(out, "{name:<9}  {value}"))
    }
}
