use super::*;
use crate::fixtures::{Mod, target};
use std::fs;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (path, content) in files {
            let path = folder.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        folder
    }

    fn contents(&self) -> Contents {
        contents(self.0.path()).unwrap()
    }
}

fn manifest(name: &str) -> Vec<u8> {
    format!("schema = 1\nname = \"{name}\"\nversion = \"1.0.0\"\ninterface = \"1.0\"\n").into_bytes()
}

fn found(contents: &Contents) -> Vec<(&str, &str)> {
    contents.mods.iter().map(|found| (found.path.as_str(), found.manifest.name.as_str())).collect()
}

fn json(mods: &str) -> Vec<u8> {
    format!("{{\"name\":\"pack\",\"version\":\"3.0.0\",\"commandcode\":{{\"mods\":{mods}}}}}").into_bytes()
}

#[test]
fn conformance_6_the_key_of_package_json_comes_first() {
    let files: &[(&str, &[u8])] = &[
        ("package.json", &json("[\"extra/one\"]")),
        ("mod.toml", &manifest("root")),
        ("mods/two/mod.toml", &manifest("two")),
        ("extra/one/mod.toml", &manifest("one")),
    ];
    let contents = Folder::new(files).contents();
    assert_eq!(found(&contents), [("extra/one", "one")]);
    assert_eq!((contents.name.as_deref(), contents.version.as_deref()), (Some("pack"), Some("3.0.0")));
}

#[test]
fn conformance_6_without_our_key_the_folder_itself_counts() {
    let plain: &[u8] = b"{\"name\":\"pack\",\"version\":\"3.0.0\"}";
    let library = Mod::default().library();
    let (root, one, deep) = (manifest("root"), manifest("one"), manifest("deep"));
    let all: Vec<(&str, &[u8])> = vec![
        ("package.json", plain),
        ("libindex.so", &library),
        ("mods/one/mod.toml", &one),
        ("mods/a/b/mod.toml", &deep),
        ("mods/.hidden/mod.toml", &one),
        ("mods/node_modules/mod.toml", &one),
        ("mod.toml", &root),
    ];
    assert_eq!(found(&Folder::new(&all).contents()), [(".", "root")]);
    assert_eq!(found(&Folder::new(&all[..6]).contents()), [("mods/one", "one")]);
    assert_eq!(found(&Folder::new(&all[..2]).contents()), [("libindex.so", "review-guard")]);
    assert_eq!(contents(Folder::new(&all[..1]).0.path()).unwrap_err().code(), "E_NO_MODS");
}

#[test]
fn entries_are_directories_folders_of_them_libraries_and_globs() {
    let library = Mod::default().library();
    let names = ["mods/one", "mods/two", "deep/a/three", "extra/four"];
    let manifests: Vec<(String, Vec<u8>)> = names
        .iter()
        .map(|path| (format!("{path}/mod.toml"), manifest(path.rsplit('/').next().unwrap())))
        .collect();
    let at = |entries: &str| {
        let mut files: Vec<(&str, &[u8])> =
            manifests.iter().map(|(path, text)| (path.as_str(), text.as_slice())).collect();
        let json = json(entries);
        files.extend([("package.json", json.as_slice()), ("mods/libreview_guard.so", &library)]);
        let contents = Folder::new(&files).contents();
        found(&contents).into_iter().map(|(path, _)| path.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(at("[\"./mods/one/\", \"mods/two/mod.toml\"]"), ["mods/one", "mods/two"]);
    assert_eq!(at("[\"mods\"]"), ["mods/libreview_guard.so", "mods/one", "mods/two"]);
    assert_eq!(at("[\"mods/libreview_guard.so\"]"), ["mods/libreview_guard.so"]);
    assert_eq!(
        at("[\"**\"]"),
        ["deep/a/three", "extra/four", "mods/libreview_guard.so", "mods/one", "mods/two"]
    );
    assert_eq!(
        at("[\"mods/t*\", \"mods/*/mod.toml\", \"mods/one\"]"),
        ["mods/two", "mods/libreview_guard.so", "mods/one"]
    );
}

#[test]
fn threat_4_entries_that_lead_out_of_the_package_are_left_out_with_a_warning() {
    let one = manifest("one");
    for entry in ["../x", "/etc", "mods/../../x", "C:/x"] {
        let json = json(&format!("[\"{entry}\", \"mods/one\"]"));
        let contents = Folder::new(&[("package.json", &json), ("mods/one/mod.toml", &one)]).contents();
        assert_eq!(found(&contents), [("mods/one", "one")]);
        assert_eq!(contents.warnings.len(), 1, "{entry}: {:?}", contents.warnings);
    }
    let json = json("[\"../*\", \"none\", \"non*\", \"mods/one\"]");
    let contents = Folder::new(&[("package.json", &json), ("mods/one/mod.toml", &one)]).contents();
    assert_eq!(
        contents.warnings,
        [
            "a pattern of package.json has a .. part, it matches nothing: ../*",
            "package.json has a pattern that no mod matches: ../*",
            "package.json names a mod that is not there, it is left out: none",
            "package.json has a pattern that no mod matches: non*",
        ]
    );
}

#[test]
fn a_mod_that_cannot_be_used_hides_no_other() {
    let (one, bad) = (manifest("one"), b"schema = 9".to_vec());
    let contents =
        Folder::new(&[("mods/a/mod.toml", &bad), ("mods/b/mod.toml", &one), ("mods/x.so", b"text")])
            .contents();
    assert_eq!(found(&contents), [("mods/b", "one")]);
    let problems: Vec<(&str, &str)> =
        contents.problems.iter().map(|(path, error)| (path.as_str(), error.code())).collect();
    assert_eq!(problems, [("mods/a", "E_MOD_SCHEMA"), ("mods/x.so", "E_NOT_A_LIBRARY")]);
}

#[test]
fn a_library_is_named_like_its_file_and_must_agree() {
    let library = Mod::default().library();
    let contents =
        Folder::new(&[("mods/libreview_guard.so", &library), ("mods/other.so", &library)]).contents();
    let manifest = &contents.mods[0].manifest;
    assert_eq!(
        (manifest.name.as_str(), manifest.artifacts[0].target.as_str()),
        ("review-guard", target().as_str())
    );
    assert_eq!(contents.problems[0].1.code(), "E_IDENTITY");
    assert_eq!(contents.mods[0].folder(Path::new("/p")), Path::new("/p/mods"));
    assert_eq!(contents.mods[0].in_package("libreview_guard.so"), "mods/libreview_guard.so");
}

#[test]
fn the_second_of_a_name_is_left_out() {
    let one = manifest("one");
    let contents = Folder::new(&[("mods/a/mod.toml", &one), ("mods/b/mod.toml", &one)]).contents();
    assert_eq!(found(&contents), [("mods/a", "one")]);
    assert_eq!(
        contents.warnings,
        ["mods/b: the package has two mods of a name, the second is left out: one"]
    );
}

#[test]
fn dependencies_are_told_not_installed() {
    let one = manifest("one");
    let json: &[u8] = b"{\"name\":\"a\",\"dependencies\":{\"left-pad\":\"1\"}}";
    let contents = Folder::new(&[("mod.toml", &one), ("package.json", json)]).contents();
    assert_eq!(
        contents.warnings,
        ["package.json has dependencies, they are not installed: a mod brings what it needs"]
    );
}

#[test]
fn threat_15_a_package_json_that_is_too_big_is_not_read() {
    let big = format!("{{\"name\":\"{}\"}}", "a".repeat(manifest::MAX_BYTES as usize));
    let folder = Folder::new(&[("package.json", big.as_bytes()), ("mod.toml", &self::manifest("one"))]);
    assert_eq!(contents(folder.0.path()).unwrap_err().code(), "E_TOO_BIG");
}
