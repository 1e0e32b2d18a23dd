//! What the Cargo.toml files say.

use std::{collections::BTreeSet, fs};

use toml::{Table, Value};

use super::{
    assert_none, read, root,
    source::{Source, sources},
};

/// The folders of the members of the workspace, the root left out.
fn members() -> Vec<String> {
    let manifest: Table = read("Cargo.toml").parse().unwrap();
    let members = manifest["workspace"]["default-members"].as_array().unwrap();
    let members = members.iter().filter_map(Value::as_str).filter(|member| *member != ".");
    let mut folders = Vec::new();
    for member in members {
        match member.strip_suffix("/*") {
            None => folders.push(member.to_owned()),
            Some(parent) => folders.extend(
                fs::read_dir(root().join(parent))
                    .unwrap()
                    .map(|entry| format!("{parent}/{}", entry.unwrap().file_name().to_str().unwrap())),
            ),
        }
    }
    folders.sort();
    folders
}

/// The dependencies of a manifest, of every kind and every target.
fn dependencies(manifest: &Table) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (key, value) in manifest {
        let Some(table) = value.as_table() else { continue };
        if ["dependencies", "dev-dependencies", "build-dependencies"].contains(&key.as_str()) {
            found.extend(table.clone());
        } else if key == "target" {
            let targets = table.values().filter_map(Value::as_table);
            found.extend(targets.flat_map(dependencies));
        }
    }
    found
}

/// The dependencies of a manifest beside those that are allowed.
fn beside(manifest: &str, allowed: impl Fn(&str) -> bool) -> Vec<String> {
    let manifest: Table = manifest.parse().unwrap();
    let name = manifest["package"]["name"].as_str().unwrap();
    let bad = dependencies(&manifest).into_iter().filter(|(dependency, _)| !allowed(dependency));
    bad.map(|(dependency, _)| format!("{name} depends on {dependency}")).collect()
}

/// The names of the packages of this workspace.
fn packages() -> BTreeSet<String> {
    let manifests = members().into_iter().map(|folder| format!("{folder}/Cargo.toml"));
    let manifests =
        manifests.chain(["Cargo.toml".to_owned()]).map(|path| read(path).parse::<Table>().unwrap());
    manifests.map(|manifest| manifest["package"]["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn registry_and_interface_depend_on_no_crate_of_this_workspace() {
    let packages = packages();
    for folder in ["registry", "mod-interface"] {
        let broken = beside(&read(format!("{folder}/Cargo.toml")), |name| !packages.contains(name));
        assert_none(&broken, "it must be usable alone");
    }
    let bad = "[package]\nname = \"registry\"\n[dependencies]\nserde = \"1\"\n[target.'cfg(unix)'.dependencies]\nhost = \"1\"";
    assert_eq!(beside(bad, |name| !packages.contains(name)), ["registry depends on host"]);
}

#[test]
fn mods_depend_on_the_interface_alone() {
    for folder in members().iter().filter(|folder| folder.starts_with("mods/")) {
        assert_none(
            &beside(&read(format!("{folder}/Cargo.toml")), |name| name == "mod-interface"),
            "people copy them",
        );
    }
    let bad =
        "[package]\nname = \"m\"\n[dependencies]\nmod-interface = \"1\"\n[dev-dependencies]\nhost = \"1\"";
    assert_eq!(beside(bad, |name| name == "mod-interface"), ["m depends on host"]);
}

/// The dependencies whose version is not that of the workspace.
fn own_versions(manifest: &str) -> Vec<String> {
    let manifest: Table = manifest.parse().unwrap();
    let shared = |value: &Value| value.get("workspace").is_some() || value.get("path").is_some();
    dependencies(&manifest).into_iter().filter(|(_, value)| !shared(value)).map(|(name, _)| name).collect()
}

#[test]
fn versions_stand_in_the_workspace_alone() {
    for folder in members().iter().map(String::as_str).chain(["."]) {
        assert_none(&own_versions(&read(format!("{folder}/Cargo.toml"))), folder);
    }
    assert_eq!(own_versions("[dependencies]\nserde = \"1\"\ntoml.workspace = true\n"), ["serde"]);
}

/// The dependencies of a manifest that none of the sources names.
fn unused(manifest: &str, sources: &[Source]) -> Vec<String> {
    let manifest: Table = manifest.parse().unwrap();
    let used = |name: &str| {
        let name = name.replace('-', "_");
        sources.iter().any(|source| source.find(&[&name]).next().is_some())
    };
    dependencies(&manifest).into_iter().map(|(name, _)| name).filter(|name| !used(name)).collect()
}

#[test]
fn every_dependency_is_used() {
    let host = unused(&read("Cargo.toml"), &sources(&["host", "tests", "benches"]));
    // The mods are there so that cargo builds their libraries for the tests.
    let (mods, rest): (Vec<_>, Vec<_>) = host.into_iter().partition(|name| packages().contains(name));
    assert_none(&rest, "no source of the host names it");
    assert!(!mods.contains(&"registry".to_owned()) && !mods.contains(&"mod-interface".to_owned()));
    for folder in members() {
        assert_none(&unused(&read(format!("{folder}/Cargo.toml")), &sources(&[&folder])), &folder);
    }
    let manifest = "[dependencies]\na-b = \"1\"\nc = \"1\"";
    assert_eq!(unused(manifest, &[Source::new("x.rs", "use a_b::d; // c\nfn f() { \"c\"; }")]), ["c"]);
    let shared: Table = read("Cargo.toml").parse().unwrap();
    let all =
        members().into_iter().chain([".".to_owned()]).map(|folder| read(format!("{folder}/Cargo.toml")));
    let named: BTreeSet<_> =
        all.flat_map(|text| dependencies(&text.parse().unwrap())).map(|(name, _)| name).collect();
    let left =
        shared["workspace"]["dependencies"].as_table().unwrap().keys().filter(|name| !named.contains(*name));
    assert_none(&left.cloned().collect::<Vec<_>>(), "no package of the workspace has it");
}

/// The dependencies of a workspace without a line in the list of a document, and the lines without a
/// dependency.
fn without_a_line(manifest: &str, document: &str) -> Vec<String> {
    let manifest: Table = manifest.parse().unwrap();
    let dependencies = manifest["workspace"]["dependencies"].as_table().unwrap();
    let foreign = dependencies.iter().filter(|(_, value)| value.get("path").is_none());
    let foreign: BTreeSet<_> = foreign.map(|(name, _)| name.as_str()).collect();
    let section =
        document.split("\n## ").find(|section| section.starts_with("Dependencies")).unwrap_or_default();
    let lines = section.lines().filter_map(|line| line.strip_prefix("- `"));
    let listed: BTreeSet<_> = lines.filter_map(|line| line.split('`').next()).collect();
    let missing = foreign.difference(&listed).map(|name| format!("no line says why there is: {name}"));
    missing.chain(listed.difference(&foreign).map(|name| format!("no dependency any more: {name}"))).collect()
}

#[test]
fn every_dependency_has_a_line_that_says_why_it_is_there() {
    assert_none(
        &without_a_line(&read("Cargo.toml"), &read("ARCHITECTURE.md")),
        "ARCHITECTURE.md, Dependencies",
    );
    let manifest = "[workspace.dependencies]\nserde = \"1\"\ntoml = \"1\"\nhost = { path = \".\" }";
    let document = "# A\n- `toml`: elsewhere\n\n## Dependencies\n- `serde`: data\n- `syn`: gone\n\n## Z\n";
    assert_eq!(
        without_a_line(manifest, document),
        ["no line says why there is: toml", "no dependency any more: syn"]
    );
}
