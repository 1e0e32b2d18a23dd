use super::*;

/// The rows of the mods that are compiled in.
fn built_in() -> String {
    let registers = [
        ("provider-openai   ", "providers: openai, openai-responses"),
        ("provider-anthropic", "providers: anthropic"),
        ("titling           ", "events: run_end"),
    ];
    let version = env!("CARGO_PKG_VERSION");
    let row =
        |(name, what)| format!("{name}  {version}    1.0        built-in  loaded    builtin\n    {what}\n");
    registers.map(row).concat()
}

#[test]
fn every_mod_is_listed_with_what_it_does_or_what_stands_in_its_way() {
    let machine = Machine::new();
    machine.package("1.0.0");
    machine.run("cmd mods pack a-mod").0.unwrap();
    machine.run("cmd mods add -g a-mod-1.0.0.tgz").0.unwrap();
    let loose = machine.path("home/mods/liba_mod.so");
    fs::copy(machine.path("work/a-mod/target/release/liba_mod.so"), loose).unwrap();
    fs::write(machine.path("home/mods/libbad.so"), "hello").unwrap();
    fs::write(machine.path("home/mods/old.ts"), "").unwrap();
    fs::create_dir(machine.path("work/.commandcode")).unwrap();
    let sha256 = built_hash(&machine);
    let bad = "not a shared library, expected the .so, .dylib or .dll of a crate with crate-type = [\"cdylib\"], got: a text file [E_NOT_A_LIBRARY]";
    let text = format!(
        "warning: 1 TypeScript mods in home/mods are not native and were left alone
warning: the workspace is not trusted: its own mods are not looked at, and do not load before cmd mods trust
NAME                VERSION  INTERFACE  SCOPE     STATE     SOURCE
{}a-mod               1.0.0    1.0        user      loaded    home/mods/liba_mod.so
    hooks: onStop; tools: x, y
    sha256: {sha256}
    warning: odd
-                   -        -          user      failed    home/mods/libbad.so
    {bad}
a-mod               1.0.0    1.0        user      shadowed  file:a-mod
    a mod of that name comes before it, from home/mods/liba_mod.so (user)
    sha256: {sha256}
",
        built_in()
    );
    assert_eq!(machine.run("cmd mods list"), (Ok(Exit::Failure), text));

    fs::write(
        machine.path("home/settings.json"),
        "{\"mods\": {\"disabled\": [\"a-mod\", \"provider-openai\"], \"sources\": [\"file:a-mod\"]}, \"x\": 1}",
    )
    .unwrap();
    machine.trial("exit 9");
    let (exit, json) = machine.run("cmd mods list --static --json");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let states: Vec<_> =
        json["mods"].as_array().unwrap().iter().map(|found| found["state"].clone()).collect();
    assert_eq!(
        (exit, states),
        (
            Ok(Exit::Failure),
            ["disabled", "found", "found", "disabled", "failed", "disabled"].map(Into::into).to_vec()
        )
    );
    assert_eq!(json["warnings"][0], "home/settings.json: unknown setting `x`");
    assert_eq!(
        json["mods"][5].to_string(),
        format!(
            r#"{{"hash":"ok","interface":"1.0","library":{},"name":"a-mod","registered":{{}},"scope":"user","sha256":"{sha256}","source":"file:a-mod","state":"disabled","version":"1.0.0","warnings":[]}}"#,
            json["mods"][5]["library"]
        )
    );
}

#[test]
fn a_projects_mods_are_listed_once_it_is_trusted_and_for_as_long_as_they_stay_what_they_were() {
    let machine = Machine::new();
    machine.package("1.0.0");
    machine.run("cmd mods pack a-mod").0.unwrap();
    machine.run("cmd mods add a-mod-1.0.0.tgz").0.unwrap();
    let states = || {
        let (_, json) = machine.run("cmd mods list --static --json");
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let own = json["mods"].as_array().unwrap().iter().filter(|found| found["scope"] != "built_in");
        own.map(|found| found["state"].to_string()).collect::<Vec<_>>()
    };
    let places = Places::new(machine.path("work"), Some(machine.path("home")), None).unwrap();
    let trust = |sha256: &str| {
        let hash = ModHash { name: "a-mod".into(), sha256: sha256.into() };
        Trust::trust(&places, &places.cwd, [hash].into()).unwrap();
    };
    assert_eq!(states(), [""; 0]);
    trust(&built_hash(&machine));
    assert_eq!(states(), ["\"found\""]);
    trust("what it was before");
    assert_eq!(states(), ["\"untrusted\""]);
}

#[test]
fn an_empty_list_says_how_to_fill_it() {
    let (exit, text) = Machine::new().run("cmd mods list");
    assert_eq!((exit, text.lines().last()), (Ok(Exit::Success), Some("Install others with cmd mods add.")));
}
