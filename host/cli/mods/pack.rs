use std::{
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use registry::{Metadata, PackArtifact, PackInput, version::show};
use serde::Serialize;

use super::{
    Context, build,
    sign::{Password, Signer},
};
use crate::{
    cli::{
        args::PackArgs,
        output::{Exit, Report},
        process::Hidden,
    },
    files,
};

/// What was packed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Packed {
    archive: PathBuf,
    name: String,
    version: String,
    interface: String,
    targets: Vec<String>,
    /// The key that it is signed with.
    signer: Option<String>,
}

impl Context<'_> {
    /// Packs a mod: the libraries that were named, or else the one that cargo builds. Name and versions
    /// are those that the library itself tells; where there are several, they must tell the same.
    pub(super) fn pack(&mut self, args: &PackArgs) -> anyhow::Result<Exit> {
        let package = build::package(&self.process.cargo, &self.typed(&args.path))?;
        let libraries = if args.libraries.is_empty() {
            vec![build::library(&self.process.cargo, &package)?]
        } else {
            args.libraries.iter().map(|library| self.typed(library)).collect()
        };
        let libraries = libraries.into_iter().map(|path| self.look_into(path));
        let (metadata, artifacts): (Vec<_>, Vec<_>) =
            libraries.collect::<anyhow::Result<Vec<_>>>()?.into_iter().unzip();
        let first = metadata.first().context("there is no library to pack")?;
        let input = PackInput {
            name: first.name.clone(),
            package: None,
            version: first.version.clone(),
            interface: first.interface,
            description: package.description,
            license: package.license,
            artifacts,
            // Without the `.` in its middle that stands for here.
            out_dir: self.typed(&args.out).components().collect(),
        };
        let signer = args.sign_with.as_deref().map(|key| self.signer(key)).transpose()?;
        let report = Packed {
            archive: signed(&input, signer.as_ref())?,
            name: first.name.clone(),
            version: first.version.to_string(),
            interface: show(first.interface),
            targets: input.artifacts.into_iter().map(|artifact| artifact.target).collect(),
            signer: signer.map(|signer| signer.public),
        };
        self.streams.report(&report, args.json)?;
        Ok(Exit::Success)
    }

    fn signer(&self, key: &Path) -> anyhow::Result<Signer> {
        let password = match &self.process.sign_password {
            Some(Hidden(password)) => Password::Given(password),
            None if self.process.terminal => Password::Asked,
            None => Password::Missing,
        };
        Signer::read(&self.typed(key), &password)
    }

    /// What a library says of itself. It may be for another machine than this one.
    fn look_into(&self, path: PathBuf) -> anyhow::Result<(Metadata, PackArtifact)> {
        let bytes = files::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let refused = |refusal| registry::Error::Refused { file: path.clone(), refusal };
        let inspection = registry::object::inspect(&bytes).map_err(refused)?;
        let declared = inspection.metadata.as_ref().map_or(&self.facts.target, |metadata| &metadata.target);
        let metadata = registry::object::check_declared(&inspection, declared).map_err(refused)?;
        let artifact = PackArtifact { target: metadata.target.clone(), path, glibc: None };
        Ok((metadata, artifact))
    }
}

fn signed(input: &PackInput, signer: Option<&Signer>) -> Result<PathBuf, registry::Error> {
    let Some(signer) = signer else { return registry::pack(input) };
    let comment = format!("{} {}", input.name, input.version);
    registry::pack_signed(input, &signer.public, &|sums| {
        let failed = |error: minisign::PError| registry::Error::BadSignature {
            package: input.name.clone(),
            reason: error.to_string(),
        };
        signer.sign(sums, &comment).map_err(failed)
    })
}

impl Report for Packed {
    fn text(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let Self { archive, name, version, interface, targets, signer } = self;
        let targets = targets.join(", ");
        writeln!(
            out,
            "packed {name} {version} (interface {interface}, {targets}) into {}",
            archive.display()
        )?;
        signer.iter().try_for_each(|signer| writeln!(out, "signed by {signer}"))
    }
}
