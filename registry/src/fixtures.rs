//! Real libraries for the tests, built once by the compilers of this machine.

use crate::{
    HostFacts, PackArtifact, PackInput,
    object::{self, Inspection},
    version::MajorMinor,
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// A section of this many bytes is compiled in, and written over for each test.
const ROOM: usize = 1024;
const SOURCE: &str = "#[used] #[unsafe(link_section = \".cmdmod\")] static METADATA: [u8; 1024] = [b'@'; 1024];\n\
     #[unsafe(no_mangle)] pub extern \"C\" fn entry(n: u32) -> u32 { if n > 7 { panic!(\"{n}\") } else { n } }\n";

/// A mod, as its metadata says.
#[derive(Clone)]
pub(crate) struct Mod {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) interface: &'static str,
    pub(crate) target: String,
    pub(crate) panic: &'static str,
}

impl Default for Mod {
    fn default() -> Self {
        Self { name: "review-guard", version: "1.2.0", interface: "1.0", target: target(), panic: "unwind" }
    }
}

impl Mod {
    /// A library that says this of itself.
    pub(crate) fn library(&self) -> Vec<u8> {
        with_metadata(good(), &self.json())
    }

    pub(crate) fn json(&self) -> String {
        format!(
            r#"{{"schema":1,"name":"{}","version":"{}","interface":"{}","hooks":["before_tool_call"],"target":"{}","panic":"{}","rustc":"1.95.0","later":0}}"#,
            self.name, self.version, self.interface, self.target, self.panic
        )
    }

    /// Packs it for this machine.
    pub(crate) fn pack(&self, dir: &Path) -> PathBuf {
        self.pack_with(dir, &self.library())
    }

    /// Packs these bytes as this mod.
    pub(crate) fn pack_with(&self, dir: &Path, library: &[u8]) -> PathBuf {
        crate::pack(&self.input(dir, library)).unwrap()
    }

    pub(crate) fn input(&self, dir: &Path, library: &[u8]) -> PackInput {
        let path = dir.join(format!("lib{}.so", self.name.replace('-', "_")));
        fs::write(&path, library).unwrap();
        PackInput {
            name: self.name.to_owned(),
            package: None,
            version: self.version.parse().unwrap(),
            interface: crate::version::parse(self.interface).unwrap(),
            description: Some("guards".to_owned()),
            license: Some("MIT".to_owned()),
            artifacts: vec![PackArtifact { target: self.target.clone(), path, glibc: None }],
            out_dir: dir.to_owned(),
        }
    }
}

/// This machine, with interface 1.0 and a glibc that is new enough.
pub(crate) fn host() -> HostFacts {
    HostFacts { interface: (1, 0), target: target(), glibc: Some((99, 0)) }
}

pub(crate) fn target() -> String {
    static TARGET: OnceLock<String> = OnceLock::new();
    TARGET
        .get_or_init(|| {
            let output = Command::new("rustc").arg("-vV").output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
        })
        .clone()
}

/// The library, without metadata of its own yet.
pub(crate) fn good() -> &'static [u8] {
    static LIBRARY: OnceLock<Vec<u8>> = OnceLock::new();
    LIBRARY.get_or_init(|| rustc(&[]))
}

/// Builds a library with more arguments for the compiler.
pub(crate) fn rustc(arguments: &[&str]) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.rs"), SOURCE).unwrap();
    run(Command::new("rustc")
        .current_dir(dir.path())
        .args(["--crate-type", "cdylib", "--edition", "2024", "-C", "strip=symbols", "-o", "a.so", "a.rs"])
        .args(arguments));
    fs::read(dir.path().join("a.so")).unwrap()
}

/// Builds something from C.
pub(crate) fn cc(source: &str, arguments: &[&str]) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.c"), source).unwrap();
    run(Command::new("cc").current_dir(dir.path()).args(["-o", "a.out", "a.c"]).args(arguments));
    fs::read(dir.path().join("a.out")).unwrap()
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Writes the metadata into the room that was compiled in.
pub(crate) fn with_metadata(library: &[u8], json: &str) -> Vec<u8> {
    let mut bytes = library.to_vec();
    let at = bytes.windows(ROOM).position(|window| window.iter().all(|byte| *byte == b'@')).unwrap();
    bytes[at..at + ROOM].fill(0);
    bytes[at..at + json.len()].copy_from_slice(json.as_bytes());
    bytes
}

pub(crate) fn inspect(bytes: &[u8]) -> Inspection {
    object::inspect(bytes).unwrap()
}

pub(crate) fn glibc_floor() -> MajorMinor {
    inspect(good()).glibc_floor.unwrap()
}
