//! Mods and packages for tests, made of one library of this build: name and version are written over.

use std::{
    fs,
    path::{Path, PathBuf},
};

use mod_interface::abi::TARGET;
use registry::{PackArtifact, PackInput, hash_bytes};
use serde_json::Value;

use super::{fixtures::Library, run::Ran, session::Folders};

/// What the library is called and which version it has, as it is built.
const NAME: &str = "numbered-000";
const VERSION: &str = "0.3.7";

/// The mod `numbered-<number>`. It has a command that says who it is.
pub(crate) fn numbered(number: u16) -> Library {
    versioned(number, VERSION)
}

/// The same in another version, which is as long.
pub(crate) fn versioned(number: u16, version: &str) -> Library {
    let name = format!("numbered-{number:03}");
    [".cmdmod", ".rodata"].iter().fold(Library::built("numbered"), |library, section| {
        library.replace(section, NAME, &name).replace(section, VERSION, version)
    })
}

/// Writes a mod directory for the mod `numbered-<number>`.
pub(crate) fn mod_folder(dir: &Path, number: u16) {
    mod_folder_at(dir, number, VERSION);
}

/// The same in another version.
pub(crate) fn mod_folder_at(dir: &Path, number: u16, version: &str) {
    let library = versioned(number, version);
    let hash = hash_bytes(library.bytes());
    let manifest = format!(
        "schema = 1\nname = \"numbered-{number:03}\"\nversion = \"{version}\"\ninterface = \"1.0\"\n\n[[artifact]]\n\
         target = \"{TARGET}\"\nfile = \"bin/mod.so\"\nsha256 = \"{}\"\nsize = {}\n",
        hash.sha256, hash.size
    );
    write(&dir.join("mod.toml"), manifest.as_bytes());
    write(&dir.join("bin/mod.so"), library.bytes());
}

/// Writes a file, and the folders that it is in.
pub(crate) fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Packs `numbered-<number>` at a version as an npm package of this name, or of its own.
pub(crate) fn archive(dir: &Path, number: u16, version: &str, package: Option<&str>) -> PathBuf {
    let path = dir.join(format!("numbered-{number}-{version}.so"));
    versioned(number, version).write(&path);
    registry::pack(&PackInput {
        name: format!("numbered-{number:03}"),
        package: package.map(str::to_owned),
        version: version.parse().unwrap(),
        interface: (1, 0),
        description: None,
        license: None,
        artifacts: vec![PackArtifact { target: TARGET.to_owned(), path, glibc: None }],
        out_dir: dir.to_owned(),
    })
    .unwrap()
}

/// The mods that are listed: name, scope and state, in order.
pub(crate) fn states(folders: &Folders) -> Vec<String> {
    let list = list(folders);
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let mods = list["mods"].as_array().unwrap().iter();
    mods.map(|found| ["name", "scope", "state"].map(|key| text(&found[key])).join(" ")).collect()
}

/// What `mods list` says, without loading any, but for those that are compiled in.
pub(crate) fn list(folders: &Folders) -> Value {
    let ran = folders.cmd(&["mods", "list", "--static", "--json"]).run();
    let mut list: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    list["mods"].as_array_mut().unwrap().retain(|found| found["scope"] != "built_in");
    list
}

/// What `mods list` prints, without the mods that are compiled in, and the columns as narrow as they may be.
pub(crate) fn without_built_ins(list: &str) -> String {
    let mut of_built_in = false;
    let own = list.lines().filter(|line| {
        of_built_in = line.contains("  built-in  ") || (of_built_in && line.starts_with("    "));
        !of_built_in
    });
    let tidy = own.map(|line| {
        let indented = line.starts_with("    ");
        let cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>();
        if indented { line.to_owned() } else { cells.join("  ") }
    });
    tidy.map(|line| line + "\n").collect()
}

/// Runs a command that must go well.
#[track_caller]
pub(crate) fn mods(folders: &Folders, args: &[&str]) -> Ran {
    let ran = folders.cmd(&[&["mods"], args].concat()).run();
    assert_eq!(ran.code(), 0, "{args:?}: {ran:?}");
    ran
}
