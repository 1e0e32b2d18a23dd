use super::*;
use crate::fixtures::{Mod, glibc_floor, good, target, with_metadata};

#[test]
fn the_same_libraries_give_the_same_archive() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (first, second) = (Mod::default().pack(one.path()), Mod::default().pack(two.path()));
    assert_eq!(first.file_name().unwrap(), "review-guard-1.2.0.tgz");
    assert_eq!(fs::read(first).unwrap(), fs::read(second).unwrap());
}

#[test]
fn an_archive_holds_manifest_library_and_package_json() {
    let dir = tempfile::tempdir().unwrap();
    let library = Mod::default().library();
    let archive = Mod::default().pack(dir.path());
    let root = dir.path().join("out");
    let files = archive::unpack(&fs::read(archive).unwrap(), &root).unwrap();
    let file = format!("bin/{}/libreview_guard.so", target());
    assert_eq!(
        files.keys().map(String::as_str).collect::<Vec<_>>(),
        [&file, "mod.toml", "mods.sums", "package.json"]
    );
    let manifest = Manifest::read(&root).unwrap();
    let hash = hash_bytes(&library);
    let expected = Manifest {
        name: "review-guard".to_owned(),
        version: semver::Version::new(1, 2, 0),
        interface: (1, 0),
        description: Some("guards".to_owned()),
        license: Some("MIT".to_owned()),
        signer: None,
        artifacts: vec![Artifact {
            target: target(),
            file,
            sha256: hash.sha256,
            size: hash.size,
            glibc: Some(glibc_floor()),
        }],
    };
    assert_eq!(manifest, manifest::Parsed { manifest: expected, warnings: vec![] });
    assert_eq!(
        fs::read_to_string(root.join("package.json")).unwrap(),
        "{\n  \"name\": \"review-guard\",\n  \"version\": \"1.2.0\",\n  \"description\": \"guards\",\n  \"license\": \"MIT\",\n  \
         \"files\": [\n    \"mod.toml\",\n    \"bin\",\n    \"mods.sums\",\n    \"mods.sums.minisig\"\n  ],\n  \"commandcode\": {\n    \"mods\": [\n      \".\"\n    ]\n  }\n}\n"
    );
}

#[test]
fn a_package_may_be_called_otherwise_than_its_mod() {
    let dir = tempfile::tempdir().unwrap();
    let mut input = Mod::default().input(dir.path(), &Mod::default().library());
    input.package = Some("@team/review-mod".to_owned());
    assert_eq!(pack(&input).unwrap().file_name().unwrap(), "team-review-mod-1.2.0.tgz");
    input.package = Some("../x".to_owned());
    assert_eq!(pack(&input).unwrap_err().code(), "E_NAME");
}

#[test]
fn what_could_never_be_loaded_is_not_packed() {
    let dir = tempfile::tempdir().unwrap();
    let code = |library: &[u8], change: &dyn Fn(&mut PackInput)| {
        let mut input = Mod::default().input(dir.path(), library);
        change(&mut input);
        pack(&input).unwrap_err().code()
    };
    let library = Mod::default().library();
    assert_eq!(code(b"hello", &|_| {}), "E_NOT_A_LIBRARY");
    assert_eq!(code(&with_metadata(good(), ""), &|_| {}), "E_METADATA");
    assert_eq!(code(&Mod { panic: "abort", ..Mod::default() }.library(), &|_| {}), "E_PANIC_ABORT");
    assert_eq!(code(&library, &|input| input.version = semver::Version::new(2, 0, 0)), "E_IDENTITY");
    assert_eq!(
        code(&library, &|input| input.artifacts[0].target = "aarch64-apple-darwin".to_owned()),
        "E_TARGET_LIES"
    );
    assert_eq!(code(&library, &|input| input.artifacts.push(input.artifacts[0].clone())), "E_MANIFEST");
    assert_eq!(code(&library, &|input| input.artifacts[0].path = "/no/such/file".into()), "E_IO");
}

#[test]
fn a_signature_that_is_none_is_not_packed() {
    let dir = tempfile::tempdir().unwrap();
    let input = Mod::default().input(dir.path(), &Mod::default().library());
    let key = "RWQBAQEBAQEBAYqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c";
    let seen = std::cell::RefCell::new(String::new());
    let sign = |sums: &str| {
        *seen.borrow_mut() = sums.to_owned();
        Ok("no signature".to_owned())
    };
    assert_eq!(pack_signed(&input, key, &sign).unwrap_err().code(), "E_SIGNATURE");
    let sums = seen.into_inner();
    let paths: Vec<&str> = sums.lines().map(|line| line.rsplit(' ').next().unwrap()).collect();
    let file = format!("bin/{}/libreview_guard.so", target());
    assert_eq!(paths, ["1.2.0", &file, "mod.toml", "package.json"]);
    assert!(!dir.path().join("review-guard-1.2.0.tgz").exists());
}
