use std::{fs, io::Write, path::PathBuf};

use anyhow::Context as _;
use registry::{PackArtifact, PackInput, version::show};
use serde::Serialize;

use super::{Context, build};
use crate::cli::{
    args::PackArgs,
    output::{Exit, Report},
};

/// What was packed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Packed {
    archive: PathBuf,
    name: String,
    version: String,
    interface: String,
    target: String,
}

impl Context<'_> {
    /// Builds a mod with cargo and packs what came of it. Name and versions are those that the library
    /// itself tells.
    pub(super) fn pack(&mut self, args: &PackArgs) -> anyhow::Result<Exit> {
        let built = build::build(&self.process.cargo, &self.typed(&args.path))?;
        let bytes =
            fs::read(&built.library).with_context(|| format!("cannot read {}", built.library.display()))?;
        let refused = |refusal| registry::Error::Refused { file: built.library.clone(), refusal };
        let inspection = registry::object::inspect(&bytes).map_err(refused)?;
        let metadata = registry::object::check_declared(&inspection, &self.facts.target).map_err(refused)?;
        let input = PackInput {
            name: metadata.name.clone(),
            package: None,
            version: metadata.version.clone(),
            interface: metadata.interface,
            description: built.description,
            license: built.license,
            artifacts: vec![PackArtifact {
                target: metadata.target.clone(),
                path: built.library.clone(),
                glibc: inspection.glibc_floor,
            }],
            out_dir: self.typed(&args.out),
        };
        let report = Packed {
            archive: registry::pack(&input)?,
            name: metadata.name,
            version: metadata.version.to_string(),
            interface: show(metadata.interface),
            target: metadata.target,
        };
        self.streams.report(&report, args.json)?;
        Ok(Exit::Success)
    }
}

impl Report for Packed {
    fn text(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let Self { archive, name, version, interface, target } = self;
        writeln!(out, "packed {name} {version} (interface {interface}, {target}) into {}", archive.display())
    }
}
