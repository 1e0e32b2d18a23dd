use super::*;

const HASH: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn text(extra: &str, artifacts: &[&str]) -> String {
    let mut text =
        format!("schema = 1\nname = \"review-guard\"\nversion = \"1.2.0\"\ninterface = \"1.0\"\n{extra}\n");
    for artifact in artifacts {
        text += &format!("\n[[artifact]]\nsha256 = \"{HASH}\"\nsize = 3\n{artifact}\n");
    }
    text
}

fn parse(text: &str) -> Result<Parsed, (&'static str, String)> {
    Manifest::parse(text, Path::new("mod.toml")).map_err(|error| (error.code(), error.to_string()))
}

fn reason(text: &str) -> String {
    let (code, message) = parse(text).unwrap_err();
    assert_eq!(code, "E_MANIFEST");
    message
        .strip_prefix("the manifest mod.toml cannot be used, correct it or get the package anew: ")
        .unwrap()
        .to_owned()
}

fn host(target: &str, glibc: Option<MajorMinor>) -> HostFacts {
    HostFacts { interface: (1, 0), target: target.to_owned(), glibc }
}

const GNU: &str = "target = \"x86_64-unknown-linux-gnu\"\nfile = \"bin/gnu/liba.so\"\nglibc = \"2.28\"";
const MAC: &str = "target = \"aarch64-apple-darwin\"\nfile = \"bin/mac/liba.dylib\"";

#[test]
fn a_manifest_is_read_whole() {
    let parsed = parse(&text("description = \"d\"\nlicense = \"MIT\"\nsigner = \"RWQ\"", &[GNU])).unwrap();
    let expected = Manifest {
        name: "review-guard".to_owned(),
        version: semver::Version::new(1, 2, 0),
        interface: (1, 0),
        description: Some("d".to_owned()),
        license: Some("MIT".to_owned()),
        signer: Some("RWQ".to_owned()),
        artifacts: vec![Artifact {
            target: "x86_64-unknown-linux-gnu".to_owned(),
            file: "bin/gnu/liba.so".to_owned(),
            sha256: HASH.to_owned(),
            size: 3,
            glibc: Some((2, 28)),
        }],
    };
    assert_eq!(parsed, Parsed { manifest: expected, warnings: vec![] });
}

#[test]
fn unknown_keys_are_warnings() {
    let parsed = parse(&text("abi = 1", &[&format!("{GNU}\nkind = \"x\"")])).unwrap();
    assert_eq!(
        parsed.warnings,
        [
            "mod.toml has a key that this cmd does not know, it is ignored: abi",
            "mod.toml has a key that this cmd does not know, it is ignored: artifact.kind",
        ]
    );
}

#[test]
fn what_is_written_is_read_back_and_sorted_by_target() {
    let manifest = parse(&text("description = \"say \\\"hi\\\"\"", &[GNU, MAC])).unwrap().manifest;
    let written = manifest.to_toml().unwrap();
    let again = parse(&written).unwrap().manifest;
    let targets: Vec<_> = again.artifacts.iter().map(|artifact| artifact.target.as_str()).collect();
    assert_eq!(targets, ["aarch64-apple-darwin", "x86_64-unknown-linux-gnu"]);
    assert_eq!(again.to_toml().unwrap(), written);
}

#[test]
fn a_newer_schema_asks_for_a_newer_cmd() {
    let newer = text("", &[]).replace("schema = 1", "schema = 2\nsomething = {}");
    assert_eq!(
        parse(&newer).unwrap_err(),
        (
            "E_MOD_SCHEMA",
            "the manifest mod.toml needs a newer cmd, update cmd, expected schema 1, got: 2".to_owned()
        )
    );
}

#[test]
fn what_is_wrong_is_said() {
    assert_eq!(reason("name = \"a\""), "expected schema = 1, got none");
    assert_eq!(reason("schema = 1\nname = \"a\""), "missing field `version`");
    assert_eq!(
        reason(&text("", &[&GNU.replace("bin/gnu/liba.so", "../../x.so")])),
        "the package has a path that cannot be used, it has a part that is . or .., get the package anew from its author: \"../../x.so\""
    );
    assert_eq!(
        reason(&text("", &[GNU, GNU])),
        "expected one artifact for a target, got two for: x86_64-unknown-linux-gnu"
    );
    assert_eq!(
        reason(&text("", &["target = \"x\"\nfile = \"a\""])),
        "expected a Rust target triple, got: \"x\""
    );
    assert_eq!(
        reason(&text("", &[GNU]).replace(HASH, "abc")),
        "expected a sha256 of 64 lower-case hex digits, got: \"abc\""
    );
    assert_eq!(
        reason(&text("", &[]).replace("review-guard", "Review")),
        "the mod name is not usable, expected lower-case letters, digits and dashes, at most 64, and no device name, got: \"Review\""
    );
    let many: Vec<String> = (0..33).map(|n| format!("target = \"t-{n}\"\nfile = \"a\"")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(reason(&text("", &many)), "expected at most 32 artifacts, got: 33");
}

#[test]
fn threat_15_deep_and_large_manifests_are_errors() {
    let deep = format!("schema = 1\nx = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(parse(&deep).unwrap_err().0, "E_MANIFEST");
    let large = text(&format!("description = \"{}\"", "x".repeat(300_000)), &[]);
    assert_eq!(parse(&large).unwrap_err().0, "E_MANIFEST");
    assert_eq!(parse("schema = 1\nschema = 1").unwrap_err().0, "E_MANIFEST");
}

#[test]
fn the_artifact_for_this_machine_is_chosen() {
    let manifest = parse(&text("", &[GNU, MAC])).unwrap().manifest;
    let choose = |host: HostFacts| {
        manifest
            .choose(&host)
            .map(|artifact| artifact.file.as_str())
            .map_err(|error| (error.code(), error.to_string()))
    };
    assert_eq!(choose(host("x86_64-unknown-linux-gnu", Some((2, 28)))), Ok("bin/gnu/liba.so"));
    assert_eq!(choose(host("aarch64-apple-darwin", None)), Ok("bin/mac/liba.dylib"));
    assert_eq!(
        choose(host("x86_64-unknown-linux-gnu", Some((2, 17)))),
        Err(("E_GLIBC", "bin/gnu/liba.so: needs a newer glibc, build it on an older system or update this one, expected at most 2.17, got: 2.28".to_owned()))
    );
    assert_eq!(
        choose(host("riscv64gc-unknown-linux-gnu", Some((2, 40)))),
        Err(("E_NO_ARTIFACT", "the mod review-guard has no artifact for riscv64gc-unknown-linux-gnu, ask its author for one, has artifacts for: x86_64-unknown-linux-gnu, aarch64-apple-darwin".to_owned()))
    );
}

#[test]
fn the_interface_is_compared_before_anything_is_loaded() {
    let manifest = |interface: &str| {
        parse(&text("", &[MAC]).replace("\"1.0\"", &format!("\"{interface}\""))).unwrap().manifest
    };
    let mac = host("aarch64-apple-darwin", None);
    assert_eq!(manifest("2.0").choose(&mac).unwrap_err().code(), "E_INTERFACE_MAJOR");
    assert_eq!(manifest("1.1").choose(&mac).unwrap_err().code(), "E_INTERFACE_MINOR");
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in r#"(schema = 1\n|name = "[a-z./]{0,4}"\n|\[\[artifact\]\]\n|size = -?[0-9]{1,20}\n|[a-z]+ = [\[{"0-9]{0,5}\n|.{0,20}\n){0,12}"#) {
        if let Ok(parsed) = Manifest::parse(&text, Path::new("mod.toml")) {
            let written = parsed.manifest.to_toml().unwrap();
            assert_eq!(Manifest::parse(&written, Path::new("mod.toml")).unwrap().manifest.to_toml().unwrap(), written);
        }
    }

    #[test]
    fn what_is_written_is_read_back_whatever_the_words(
        description in proptest::option::of(".{0,40}"),
        targets in proptest::collection::btree_set("[a-z0-9_]{1,8}-[a-z]{1,8}", 0..5),
    ) {
        let artifacts = targets.into_iter().map(|target| Artifact {
            file: format!("bin/x-{target}"),
            target,
            sha256: HASH.to_owned(),
            size: 3,
            glibc: None,
        });
        let manifest = Manifest {
            name: "a".to_owned(),
            version: semver::Version::new(1, 0, 0),
            interface: (1, 0),
            description,
            license: None,
            signer: None,
            artifacts: artifacts.collect(),
        };
        let parsed = Manifest::parse(&manifest.to_toml().unwrap(), Path::new("mod.toml")).unwrap();
        assert_eq!(parsed, Parsed { manifest, warnings: vec![] });
    }
}
