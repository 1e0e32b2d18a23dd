use std::{fs, path::Path};

use super::{TEMPLATE, check, fill, interface::Interface, write};

#[test]
fn a_name_that_cannot_be_is_refused_with_the_one_that_was_meant() {
    let refused = |name: &str| check(name).unwrap_err().to_string();
    let expected = "a mod's name is made of lower-case letters, digits and dashes, a letter first";
    assert!(["a", "review-guard", "x2"].iter().all(|name| check(name).is_ok()));
    for (name, meant) in [
        ("Review_Guard", "review-guard"),
        ("mods/guard/", "guard"),
        ("2fast", "fast"),
        ("-x", "x"),
        ("a b", "a-b"),
        ("@team/notes", "notes"),
    ] {
        assert_eq!(refused(name), format!("{expected}; did you mean {meant}?: {name}"));
    }
    assert_eq!(refused("…"), format!("{expected}: …"));
    let built_in = "a mod of this name is built in, and comes first; take another: provider-openai";
    assert_eq!(refused("provider-openai"), built_in);
    for name in ["mod", "async", "test", "mod-interface"] {
        assert_eq!(refused(name), format!("{expected}, but this means something to cargo or rustc: {name}"));
    }
}

fn checkout() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["cmd/mod-interface", "cmd/target/debug", "cmd/mods", "elsewhere"] {
        fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    let manifest = "[package]\nname = \"mod-interface\"\nversion = \"1.0.0\"\n";
    fs::write(dir.path().join("cmd/mod-interface/Cargo.toml"), manifest).unwrap();
    dir
}

#[test]
fn the_interface_is_that_of_the_checkout_of_the_folder_or_of_the_program_and_no_other_is_guessed() {
    let dir = checkout();
    let path = |path: &str| dir.path().join(path);
    let interface = Interface::Path(path("cmd/mod-interface").canonicalize().unwrap());
    let found = |folder: &str, exe: &str| Interface::found([&*path(folder), &*path(exe)]);
    assert_eq!(found("cmd/mods/a", "elsewhere/cmd").unwrap(), interface);
    assert_eq!(found("elsewhere/a", "cmd/target/debug/cmd").unwrap(), interface);
    let refused = found("elsewhere/a", "elsewhere/cmd").unwrap_err().to_string();
    let told = "no checkout of cmd is found from here, so say where mod-interface comes from with --interface: a checkout, a git URL, or a version";
    assert_eq!(refused, told);
}

#[test]
fn the_interface_is_the_one_that_was_typed() {
    let dir = checkout();
    let typed = |typed: &str| Interface::typed(typed, dir.path()).map_err(|error| error.to_string());
    let interface = Interface::Path(dir.path().join("cmd/mod-interface").canonicalize().unwrap());
    assert_eq!([typed("cmd"), typed("cmd/mod-interface")], [Ok(interface.clone()), Ok(interface)]);
    assert_eq!(typed("~1.0"), Ok(Interface::Version("~1.0".to_owned())));
    let url = "https://example.com/cmd.git";
    let git = Interface::Git(url.to_owned());
    assert_eq!(typed(url), Ok(git.clone()));
    assert_eq!(git.dependency("1.0"), format!(" git = \"{url}\", version = \"~1.0\""));
    let missing = "there is no mod-interface here, expected a checkout of cmd, a git URL or a version such as 1.0: elsewhere";
    assert_eq!(typed("elsewhere"), Err(missing.to_owned()));
}

#[test]
fn a_path_with_quotes_is_a_path_and_nothing_is_left_to_fill_in() {
    let interface = Interface::Path("/a \"b\"\\c".into());
    for (file, template) in TEMPLATE {
        let text = fill(template, "guard", &interface, "1.0");
        assert!(!text.contains("{{") && !text.contains("}}"), "{file}: {text}");
    }
    let manifest: toml::Table = fill(TEMPLATE[0].1, "guard", &interface, "1.0").parse().unwrap();
    let path = &manifest["dev-dependencies"]["mod-interface"]["path"];
    assert_eq!(
        (path.as_str(), manifest["dependencies"]["mod-interface"]["path"].as_str()),
        (Some("/a \"b\"\\c"), path.as_str())
    );
}

#[test]
fn a_folder_that_cannot_be_made_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("there/already")).unwrap();
    assert!(write(&dir.path().join("there"), |_| String::new()).is_err());
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["there"]);
    assert!(Path::new(&dir.path().join("there/already")).exists());
}
