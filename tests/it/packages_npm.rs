//! A package's way through a real npm registry into a session.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::{
    packages::{archive, mod_folder, write},
    run::{Ran, says},
    session::Folders,
    verdaccio::Verdaccio,
};

const PACKAGE: &str = "@team/review-mod";

/// A registry with a package, and a user. Nothing where there is no npm.
fn published(test: &str) -> Option<(Verdaccio, Folders)> {
    let (registry, folders) = (Verdaccio::start(test)?, Folders::new());
    registry.publish(&archive(folders.dir(), 1, "0.3.7", Some(PACKAGE)));
    Some((registry, folders))
}

/// What was loaded on trial beside the built-in mods: name, version, state.
fn loaded(folders: &Folders) -> Value {
    let ran = folders.cmd(&["mods", "list", "--json"]).run();
    let list: Value = serde_json::from_str(&ran.stdout).unwrap();
    list["mods"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|found| found["scope"] != "built_in")
        .map(|found| json!([found["name"], found["version"], found["state"]]))
        .collect()
}

fn session(folders: &Folders) -> Ran {
    folders.play(&says("hi"), &[]).run()
}

#[test]
fn a_package_is_added_loaded_and_updated() {
    let Some((registry, folders)) = published("a_package_is_added_loaded_and_updated") else { return };
    let cmd = |args: &[&str]| registry.cmd(&folders, &[&["mods"], args].concat()).run();
    // Threat 8: the project's npm settings do not count.
    fs::write(folders.work().join(".npmrc"), "registry=http://127.0.0.1:9/\n").unwrap();
    fs::write(folders.work().join("package.json"), "{}").unwrap();

    // Threat 9: what is about to be installed is shown, and nobody's yes is assumed.
    let ran = cmd(&["add", "-g", "npm:@team/review-mod"]);
    let shown = format!(
        "npm:@team/review-mod 0.3.7\n  registry   {}\n  signed by  nobody\n  mod        numbered-001 0.3.7 for {}\n\
         A mod is code that runs with all of your rights.\n\
         error: the package was not installed, and nothing was changed: nobody is here to be asked, run it again with \
         --yes if this is what you want [E_DECLINED]\n",
        registry.url(),
        mod_interface::abi::TARGET
    );
    assert_eq!(ran.told(), (1, "", &*shown));
    assert!(!folders.home().join("mods.lock").exists());

    let ran = cmd(&["add", "-g", "--yes", "npm:@team/review-mod"]);
    let told =
        "installed npm:@team/review-mod 0.3.7 for the user\n  numbered-001 0.3.7: commands: numbered-001\n";
    assert_eq!(ran.told(), (0, told, ""));
    let lock = fs::read_to_string(folders.home().join("mods.lock")).unwrap();
    assert!(lock.contains(&format!("registry = \"{}\"", registry.url())) && !lock.contains("any"), "{lock}");
    assert_eq!(loaded(&folders), json!([["numbered-001", "0.3.7", "loaded"]]));
    assert_eq!(session(&folders).told(), (0, "hi\n", ""));

    registry.publish(&archive(folders.dir(), 1, "0.3.8", Some(PACKAGE)));
    let line = |text: &str| format!("npm:@team/review-mod  user  {text}\n");
    assert_eq!(cmd(&["update"]).told(), (0, &*line("unchanged"), ""));
    assert_eq!(cmd(&["update", "--latest"]).told(), (0, &*line("0.3.7 -> 0.3.8"), ""));
    assert_eq!(loaded(&folders), json!([["numbered-001", "0.3.8", "loaded"]]));
    assert_eq!(session(&folders).told(), (0, "hi\n", ""));

    // A store that is lost comes back as it was locked, not as what is newest.
    registry.publish(&archive(folders.dir(), 1, "0.3.9", Some(PACKAGE)));
    remove_store(&folders.home());
    assert_eq!(session(&folders).code(), 1);
    assert_eq!(cmd(&["update"]).told(), (0, &*line("restored"), ""));
    assert_eq!(loaded(&folders), json!([["numbered-001", "0.3.8", "loaded"]]));

    // An archive that was changed in the registry is refused, and what is there stays.
    let stored = registry.stored(PACKAGE, "0.3.9");
    let mut bytes = fs::read(&stored).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&stored, bytes).unwrap();
    let ran = cmd(&["update", "--latest"]);
    assert!(ran.code() == 1 && ran.stdout.ends_with("[E_INTEGRITY]\n"), "{ran:?}");
    assert_eq!(session(&folders).told(), (0, "hi\n", ""));

    assert_eq!(
        cmd(&["remove", "-g", "@team/review-mod"]).told(),
        (0, "removed npm:@team/review-mod for the user\n", "")
    );
    assert_eq!(loaded(&folders), json!([]));
}

/// Removes what is unpacked, which is read-only.
fn remove_store(home: &Path) {
    let store = home.join("mods/.registry/store");
    let status = std::process::Command::new("chmod").args(["-R", "u+w"]).arg(&store).status().unwrap();
    assert!(status.success());
    fs::remove_dir_all(store).unwrap();
}

#[test]
fn threat_16_no_script_of_a_package_runs() {
    let test = "threat_16_no_script_of_a_package_runs";
    let Some(registry) = Verdaccio::start(test) else { return };
    let folders = Folders::new();
    let package = folders.dir().join("package");
    mod_folder(&package, 1);
    let mark = folders.dir().join("mark");
    let touch = format!("touch {}", mark.display());
    let scripts = ["preinstall", "install", "postinstall", "prepare", "prepack", "postpack"];
    let scripts: serde_json::Map<_, _> =
        scripts.iter().map(|name| ((*name).to_owned(), json!(touch))).collect();
    let json = json!({ "name": "scripted", "version": "1.0.0", "scripts": scripts, "commandcode": { "mods": ["."] } });
    write(&package.join("package.json"), json.to_string().as_bytes());
    registry.publish(&package);
    let ran = registry.cmd(&folders, &["mods", "add", "-g", "-y", "scripted"]).run();
    assert_eq!((ran.code(), loaded(&folders)), (0, json!([["numbered-001", "0.3.7", "loaded"]])), "{ran:?}");
    assert!(!mark.exists(), "a script ran");
    let settings: Value =
        serde_json::from_str(&fs::read_to_string(folders.home().join("settings.json")).unwrap()).unwrap();
    assert_eq!(settings, json!({ "mods": { "sources": ["npm:scripted"] } }));
}
