//! What the documents name is there, and what is there is named.

use std::{collections::BTreeSet, fs};

use super::{assert_none, read, root};

const DOCUMENTS: [&str; 3] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];

/// The words in backquotes that are paths of the workspace, and the targets of links.
fn named_paths(document: &str) -> BTreeSet<String> {
    let top = [
        "host/",
        "mod-interface/",
        "registry/",
        "mods/",
        "tests/",
        "benches/",
        "examples/",
        ".ci/",
        ".cargo/",
    ];
    let quoted = document.lines().filter(|line| !line.starts_with("    ")).flat_map(|line| {
        line.split('`').skip(1).step_by(2).filter(|word| top.iter().any(|top| word.starts_with(top)))
    });
    let links = document.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    let links = links.filter(|target| !target.is_empty() && !target.contains("://"));
    quoted.chain(links).filter(|path| !path.contains([' ', '*', '<', '{'])).map(str::to_owned).collect()
}

fn missing(document: &str) -> Vec<String> {
    named_paths(document).into_iter().filter(|path| !root().join(path).exists()).collect()
}

#[test]
fn what_the_documents_name_is_there() {
    for document in DOCUMENTS {
        assert_none(&missing(&read(document)), &format!("{document} names what is not there"));
    }
    let bad =
        "see `host/agent/run.rs`, `host/agent/gone.rs`, [there](ARCHITECTURE.md#x) and [there](GONE.md)";
    assert_eq!(missing(bad), ["GONE.md", "host/agent/gone.rs"]);
}

/// The modules right below a source folder: its folders, and its files beside `mod.rs` and the roots.
fn modules(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(root().join(folder)).unwrap().map(Result::unwrap);
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    let modules = names.filter(|name| name.ends_with(".rs") || root().join(folder).join(name).is_dir());
    let modules = modules.map(|name| name.trim_end_matches(".rs").to_owned());
    modules.filter(|name| !["lib", "main", "mod", "tests"].contains(&name.as_str())).collect()
}

/// The modules of `folder` that its part of the code map does not name.
fn unmapped(folder: &str, modules: &BTreeSet<String>, document: &str) -> Vec<String> {
    let heading = format!("\n### `{folder}/`");
    let part =
        document.split(&heading).nth(1).and_then(|rest| rest.split("\n### ").next()).unwrap_or_default();
    let part = part.split("\n## ").next().unwrap_or_default();
    let named: BTreeSet<_> =
        part.split('`').skip(1).step_by(2).map(|name| name.trim_end_matches('/')).collect();
    modules
        .iter()
        .filter(|name| !named.contains(name.as_str()))
        .map(|name| format!("{folder}/{name}"))
        .collect()
}

#[test]
fn the_code_map_names_every_module() {
    let document = read("ARCHITECTURE.md");
    let mapped = ["host", "mod-interface/src", "registry/src"];
    let broken = mapped.iter().flat_map(|folder| unmapped(folder, &modules(folder), &document));
    assert_none(&broken.collect::<Vec<_>>(), "ARCHITECTURE.md, code map");
    let map = "\n### `host/`\n`agent/` the loop, `ui`\n### `registry/src/`\n`tools`\n";
    let modules = ["agent", "tools", "ui"].map(str::to_owned).into();
    assert_eq!(unmapped("host", &modules, map), ["host/tools"]);
}

#[test]
fn the_code_map_names_every_folder_of_the_workspace() {
    let ignored = read(".gitignore");
    let entries = fs::read_dir(root()).unwrap().map(Result::unwrap);
    let folders = entries.filter(|entry| entry.file_type().unwrap().is_dir());
    let folders = folders.map(|entry| entry.file_name().into_string().unwrap());
    let folders =
        folders.filter(|name| name != ".git" && !ignored.lines().any(|line| line == format!("/{name}")));
    let document = read("ARCHITECTURE.md");
    let broken: Vec<_> = folders.filter(|name| !document.contains(&format!("`{name}/`"))).collect();
    assert_none(&broken, "ARCHITECTURE.md, code map");
}

#[test]
fn the_two_commands_of_the_readme_are_the_ones_that_ci_runs() {
    let (readme, ci) = (read("README.md"), read(".ci/run"));
    for command in ["cargo quickstart", "cargo test"] {
        assert!(readme.lines().any(|line| line.trim() == command), "README.md: {command}");
        assert!(ci.lines().any(|line| line.trim_end().ends_with(command)), ".ci/run: {command}");
    }
    assert!(read(".cargo/config.toml").contains("\nquickstart = "), "the alias is there");
}
