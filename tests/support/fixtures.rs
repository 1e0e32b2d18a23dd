//! Libraries that are wrong in one way: sample mods of this build, a few of their bytes changed.

use std::{
    fs,
    ops::Range,
    path::{Path, PathBuf},
    process::Command,
};

use host::mod_host::host_facts;
use memchr::memmem;
use object::{Object, ObjectSection};
use registry::{PackArtifact, PackInput};

use super::session::library;

/// A library's bytes.
#[derive(Clone)]
pub(crate) struct Library(Vec<u8>);

/// An entry of a dynamic section: tag and value.
type Dynamic = (u64, u64);

/// Tags of a dynamic section.
pub(crate) mod tag {
    pub(crate) const TEXTREL: u64 = 22;
    pub(crate) const RUNPATH: u64 = 29;
    pub(crate) const FLAGS: u64 = 30;
    /// Says how many relocations are of one kind: the loader does without it.
    pub(crate) const RELACOUNT: u64 = 0x6fff_fff9;
    pub(crate) const AUDIT: u64 = 0x6fff_fefc;
}

/// `DF_STATIC_TLS`.
pub(crate) const STATIC_TLS: u64 = 0x10;

/// Packs a mod of this build, of version 1.0.0.
pub(crate) fn archive(name: &str, folder: &Path) -> PathBuf {
    let path = Library::stripped(name).write(&folder.join("lib.so"));
    let packed = registry::pack(&PackInput {
        name: name.to_owned(),
        package: None,
        version: "1.0.0".parse().unwrap(),
        interface: (1, 0),
        description: None,
        license: None,
        artifacts: vec![PackArtifact { target: host_facts().target, path, glibc: None }],
        out_dir: folder.to_owned(),
    });
    packed.unwrap()
}

const PT_GNU_STACK: u32 = 0x6474_e551;

impl Library {
    /// A mod of this build.
    pub(crate) fn built(name: &str) -> Self {
        Self::read(&library(name))
    }

    /// The library of that file.
    pub(crate) fn read(path: &Path) -> Self {
        Self(fs::read(path).unwrap())
    }

    /// A mod of this build without what only debuggers read, which is most of it; as it is where there is
    /// no `strip`.
    pub(crate) fn stripped(name: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lib.so");
        fs::copy(library(name), &path).unwrap();
        let _unstripped = Command::new("strip").arg(&path).status();
        Self::read(&path)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn write(&self, path: &Path) -> PathBuf {
        fs::write(path, &self.0).unwrap();
        path.to_owned()
    }

    /// The processor that the file's header names.
    pub(crate) fn machine(mut self, machine: u16) -> Self {
        self.0[18..20].copy_from_slice(&machine.to_le_bytes());
        self
    }

    /// Writes over each `from` of a section. A text that is shorter is filled up: JSON with spaces, which it
    /// does not mind at its end, everything else with zeros.
    pub(crate) fn replace(mut self, section: &str, from: &str, to: &str) -> Self {
        let range = self.section(section);
        let places: Vec<_> =
            memmem::find_iter(&self.0[range.clone()], from).map(|at| range.start + at).collect();
        assert!(!places.is_empty(), "{section} has no {from}");
        let fill = if section == ".cmdmod" { b' ' } else { 0 };
        let mut to = to.as_bytes().to_vec();
        to.resize(from.len(), fill);
        for at in places {
            self.0[at..at + from.len()].copy_from_slice(&to);
        }
        self
    }

    /// Changes what the mod says of itself before it runs.
    pub(crate) fn metadata(self, from: &str, to: &str) -> Self {
        self.replace(".cmdmod", from, to)
    }

    /// Takes the metadata away: its section has another name.
    pub(crate) fn without_metadata(mut self) -> Self {
        let at = memmem::rfind(&self.0, b".cmdmod").unwrap();
        self.0[at..at + 7].copy_from_slice(b".nomods");
        self
    }

    /// Makes another entry of the entry `tag` of the dynamic section.
    pub(crate) fn dynamic(mut self, tag: u64, make: impl FnOnce(u64) -> Dynamic) -> Self {
        let range = self.section(".dynamic");
        let entry = self.0[range].chunks_exact_mut(16).find(|entry| word(&entry[..8]) == tag).unwrap();
        let (tag, value) = make(word(&entry[8..]));
        entry[..8].copy_from_slice(&tag.to_le_bytes());
        entry[8..].copy_from_slice(&value.to_le_bytes());
        self
    }

    /// Asks for an executable stack.
    pub(crate) fn executable_stack(mut self) -> Self {
        let (start, size, count) = (word(&self.0[32..40]), self.0[54], self.0[56]);
        let mut headers = self.0[usize::try_from(start).unwrap()..].chunks_exact_mut(size.into());
        let stack =
            headers.by_ref().take(count.into()).find(|header| header[..4] == PT_GNU_STACK.to_le_bytes());
        stack.unwrap()[4] |= 1;
        self
    }

    fn section(&self, name: &str) -> Range<usize> {
        let file = object::File::parse(&*self.0).unwrap();
        let (start, size) = file.section_by_name(name).unwrap().file_range().unwrap();
        let start = usize::try_from(start).unwrap();
        start..start + usize::try_from(size).unwrap()
    }
}

fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().unwrap())
}
