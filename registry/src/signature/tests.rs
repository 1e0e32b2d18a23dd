use super::*;
use crate::{
    hash_bytes,
    manifest::Manifest,
    package::{PackageMod, ROOT},
};
use std::fs;

const KEY_A: &str = "RWQBAQEBAQEBAYqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c";
const KEY_B: &str = "RWQCAgICAgICAoE5dw6ofRdfVqNUZsNMfszLjYqRtO43ol32D1uPybOU";
const BY_A: &str = "untrusted comment: x\nRUQBAQEBAQEBAb7d2IqrRcxTW8GDpis1Fs5mvYzbsdm5soCUCfHiwuAjHiXbu+hXbSSdJeaClaPo9rxFYkJnYlp7/rhi9H300wg=\ntrusted comment: timestamp:0\njlCMLdXbJUwXgm1DQ5RhMU7rUGBfMRM6HLhoFUN9K82P3XC9ceaedpXJ35ofjekaXv+i2rfpMGFhNpBMVemyAA==\n";
const BY_B: &str = "untrusted comment: x\nRUQCAgICAgICAj4rHDYMVqn/tom9L/SJF/7cfjnYLXUKUbmRPvjIPHjJ1cVMoVBj+/pYWNl/w8uWySiV1WfPoXCqB0jW8/Wv9wY=\ntrusted comment: timestamp:0\nyU0/8QcR/jwaFALO77jSyLLI3LUnUdoJ7JbHlnULBB5C1qUUbJVxEfvCl0cQVAMZeJ+vv7xfE7DLOHm8pbVxAw==\n";
const SUMS_TEXT: &str = "# review-mod 1.0.0\n7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed  3  a.txt\n3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3  3  bin/b.txt\n";

/// A package of two files, signed or not.
struct Package {
    dir: tempfile::TempDir,
    files: BTreeMap<String, FileHash>,
    contents: Contents,
}

impl Package {
    fn new(signature: Option<&str>, declared: Option<&str>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let manifest = Manifest {
            name: "review-guard".to_owned(),
            version: semver::Version::new(1, 0, 0),
            interface: (1, 0),
            description: None,
            license: None,
            signer: declared.map(str::to_owned),
            artifacts: vec![],
        };
        let contents = Contents {
            name: Some("review-mod".to_owned()),
            version: Some("1.0.0".to_owned()),
            mods: vec![PackageMod { path: ROOT.to_owned(), manifest }],
            ..Contents::default()
        };
        let mut package = Self { dir, files: BTreeMap::new(), contents };
        package.add("a.txt", "one");
        package.add("bin/b.txt", "two");
        if let Some(signature) = signature {
            package.add(SUMS, SUMS_TEXT);
            package.add(SIGNATURE, signature);
        }
        package
    }

    fn add(&mut self, path: &str, content: &str) {
        let whole = self.dir.path().join(path);
        fs::create_dir_all(whole.parent().unwrap()).unwrap();
        fs::write(whole, content).unwrap();
        self.files.insert(path.to_owned(), hash_bytes(content.as_bytes()));
    }

    fn check(
        &self,
        policy: &Signing,
        known: Option<&str>,
        accept: bool,
    ) -> Result<Option<String>, &'static str> {
        let subject = Subject {
            id: "npm:@team/review-mod",
            root: self.dir.path(),
            files: &self.files,
            contents: &self.contents,
            known,
        };
        check(&subject, policy, accept).map_err(|error| error.code())
    }
}

fn policy(mode: SigningMode, keys: &[&str]) -> Signing {
    let keys = keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
    let keys =
        if keys.is_empty() { BTreeMap::new() } else { BTreeMap::from([("npm:@team/*".to_owned(), keys)]) };
    Signing { mode, keys }
}

fn key(key: &str) -> Result<Option<String>, &'static str> {
    Ok(Some(key.to_owned()))
}

#[test]
fn without_a_signature_nothing_is_asked_by_default() {
    let package = Package::new(None, None);
    assert_eq!(package.check(&Signing::default(), None, false), Ok(None));
    assert_eq!(package.check(&policy(SigningMode::Require, &[]), None, false), Err("E_UNSIGNED"));
    assert_eq!(package.check(&policy(SigningMode::Tofu, &[KEY_A]), None, false), Err("E_UNSIGNED"));
}

#[test]
fn the_key_of_the_first_time_must_stay() {
    let tofu = Signing::default();
    let (by_a, by_b) = (Package::new(Some(BY_A), Some(KEY_A)), Package::new(Some(BY_B), Some(KEY_B)));
    assert_eq!(by_a.check(&tofu, None, false), key(KEY_A));
    assert_eq!(by_a.check(&tofu, Some(KEY_A), false), key(KEY_A));
    assert_eq!(by_b.check(&tofu, Some(KEY_A), false), Err("E_SIGNER_CHANGED"));
    assert_eq!(by_b.check(&tofu, Some(KEY_A), true), key(KEY_B));
    assert_eq!(Package::new(None, None).check(&tofu, Some(KEY_A), false), Err("E_SIGNER_CHANGED"));
    assert_eq!(Package::new(Some(BY_A), None).check(&tofu, Some(KEY_A), false), Err("E_SIGNER_CHANGED"));
    assert_eq!(Package::new(None, None).check(&tofu, Some(KEY_A), true), Ok(None));
}

#[test]
fn configured_keys_count_alone() {
    for mode in [SigningMode::Tofu, SigningMode::Require] {
        let policy = policy(mode, &[KEY_B, KEY_A]);
        assert_eq!(Package::new(Some(BY_A), Some(KEY_B)).check(&policy, Some(KEY_B), false), key(KEY_A));
        let other =
            Signing { keys: BTreeMap::from([("npm:@team/*".to_owned(), vec![KEY_B.to_owned()])]), mode };
        assert_eq!(Package::new(Some(BY_A), Some(KEY_A)).check(&other, None, false), Err("E_SIGNATURE"));
    }
    assert_eq!(
        Package::new(Some(BY_A), Some(KEY_A)).check(&policy(SigningMode::Require, &[]), None, false),
        Err("E_SIGNATURE")
    );
}

#[test]
fn a_signature_by_another_key_or_of_other_files_is_bad() {
    let tofu = Signing::default();
    assert_eq!(Package::new(Some(BY_B), Some(KEY_A)).check(&tofu, None, false), Err("E_SIGNATURE"));
    assert_eq!(Package::new(Some("hello"), Some(KEY_A)).check(&tofu, None, false), Err("E_SIGNATURE"));
    assert_eq!(Package::new(Some(BY_A), Some("RW")).check(&tofu, None, false), Err("E_SIGNATURE"));
    let changes: [&dyn Fn(&mut Package); 4] = [
        &|package| package.add("a.txt", "changed"),
        &|package| package.add("more.txt", ""),
        &|package| package.contents.version = Some("1.0.1".to_owned()),
        &|package| package.contents.name = Some("other".to_owned()),
    ];
    for change in changes {
        let mut package = Package::new(Some(BY_A), Some(KEY_A));
        change(&mut package);
        assert_eq!(package.check(&tofu, None, false), Err("E_SIGNATURE"));
    }
}

#[test]
fn mode_off_looks_at_nothing_and_forgets_no_key() {
    let off = policy(SigningMode::Off, &[]);
    assert_eq!(Package::new(Some("hello"), Some(KEY_B)).check(&off, Some(KEY_A), false), key(KEY_A));
}

/// A signer in a few lines of JavaScript: minisign's format over the ed25519 of node.
const SIGNER: &str = r"
const crypto = require('crypto'), [seed, sums] = [Number(process.argv[1]), process.argv[2]];
const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, seed)]);
const key = crypto.createPrivateKey({key: der, format: 'der', type: 'pkcs8'}), id = Buffer.alloc(8, seed);
const sign = bytes => crypto.sign(null, bytes, key), comment = 'timestamp:0';
const signature = sign(crypto.createHash('blake2b512').update(sums).digest());
const line = Buffer.concat([Buffer.from('ED'), id, signature]).toString('base64');
const global = sign(Buffer.concat([signature, Buffer.from(comment)])).toString('base64');
process.stdout.write(`untrusted comment: x\n${line}\ntrusted comment: ${comment}\n${global}\n`);
";

#[test]
fn a_signed_package_is_installed_by_key_and_another_key_is_refused_until_allowed() {
    use crate::{
        Installer,
        fetch::fixtures::has,
        fixtures::{Mod, host},
        install::Allowed,
        lock::Lock,
        pack_signed,
    };
    if !has("node") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let scope = dir.path().join("scope");
    let packed = |version: &'static str, seed: u8, key: &str| {
        let packed = Mod { version, ..Mod::default() };
        let sign = |sums: &str| {
            let output = std::process::Command::new("node")
                .args(["-e", SIGNER, &seed.to_string(), sums])
                .output()
                .unwrap();
            Ok(String::from_utf8(output.stdout).unwrap())
        };
        pack_signed(&packed.input(dir.path(), &packed.library()), key, &sign).unwrap()
    };
    let host = host();
    let install = |archive: &Path, signing: Signing, allowed: Allowed| {
        let installer = Installer::new(&scope, &host).signing(signing).allow(allowed);
        installer.archive(archive).map(|done| done.resolved.unwrap()).map_err(|error| error.code())
    };
    let signer = || Lock::read(&scope).unwrap().get("file:review-guard").unwrap().signer.clone();
    let tofu = Signing::default;
    let one = packed("1.0.0", 1, KEY_A);
    assert_eq!(install(&one, tofu(), Allowed::default()), Ok("1.0.0".to_owned()));
    assert_eq!(signer().as_deref(), Some(KEY_A));
    let two = packed("1.1.0", 2, KEY_B);
    assert_eq!(install(&two, tofu(), Allowed::default()), Err("E_SIGNER_CHANGED"));
    let unsigned = Mod { version: "1.2.0", ..Mod::default() }.pack(dir.path());
    assert_eq!(install(&unsigned, tofu(), Allowed::default()), Err("E_SIGNER_CHANGED"));
    assert_eq!(install(&unsigned, policy(SigningMode::Require, &[]), Allowed::default()), Err("E_UNSIGNED"));
    assert_eq!(signer().as_deref(), Some(KEY_A));
    let allowed = Allowed { other_signer: true, ..Allowed::default() };
    assert_eq!(install(&two, tofu(), allowed), Ok("1.1.0".to_owned()));
    assert_eq!(signer().as_deref(), Some(KEY_B));
}
