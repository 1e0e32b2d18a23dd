//! Who imports whom: the table of layers in ARCHITECTURE.md, and the code.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    assert_none, read,
    source::{Named, Source, paths, sources},
};

/// A row of the table.
struct Row {
    layer: u32,
    imports: BTreeSet<String>,
}

/// The table of layers: rows of a number, a module, and the modules that it may import.
fn table(document: &str) -> BTreeMap<String, Row> {
    let rows = document.lines().filter_map(|line| {
        let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
        let (layer, module, imports) = (cells.next()?.parse().ok()?, cells.next()?, cells.next()?);
        Some((quoted(module).into_iter().next()?, Row { layer, imports: quoted(imports) }))
    });
    rows.collect()
}

/// The words in backquotes.
fn quoted(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The module of `host/` that a source belongs to; none for the two roots.
fn module(path: &str) -> Option<&str> {
    let path = path.strip_prefix("host/")?;
    let module = path.split('/').next()?.trim_end_matches(".rs");
    (module != "lib" && module != "main").then_some(module)
}

/// What a source imports of the other modules, of `registry`, and of the ABI and the SDK.
fn imports(source: &Source) -> Vec<(usize, String)> {
    let own = module(&source.path);
    let named = paths(source, &["crate", "mod_interface", "registry", "super"]);
    let imported = named.iter().filter_map(|named| {
        let segments: Vec<_> = named.segments.iter().map(String::as_str).collect();
        let to = match segments[..] {
            ["crate", module, ..] => module,
            ["mod_interface", "types", ..] => return None,
            ["mod_interface", "abi", ..] => "abi",
            ["mod_interface", ..] => "sdk",
            ["registry", ..] => "registry",
            ["super", ..] => escape(source, named)?,
            _ => return None,
        };
        (Some(to) != own).then(|| (named.line, to.to_owned()))
    });
    imported.collect()
}

/// The first module behind as many `super` as lead out of the module of the source.
fn escape<'a>(source: &Source, named: &'a Named) -> Option<&'a str> {
    let ups = named.segments.iter().take_while(|segment| *segment == "super").count();
    let depth =
        source.path.trim_end_matches("/mod.rs").split('/').count() - 1 + inline_depth(source, named.line);
    (ups >= depth).then(|| named.segments.get(ups).map_or("*", String::as_str))
}

/// How many `mod name { … }` of the file a line lies in.
fn inline_depth(source: &Source, line: usize) -> usize {
    let (mut braces, mut modules) = (0, Vec::new());
    for (at, token) in source.tokens.iter().enumerate() {
        if token.line > line {
            break;
        }
        match token.text.as_str() {
            "{" => {
                braces += 1;
                if at >= 2 && source.tokens[at - 2].text == "mod" {
                    modules.push(braces);
                }
            }
            "}" => {
                modules.retain(|opened| *opened != braces);
                braces -= 1;
            }
            _ => {}
        }
    }
    modules.len()
}

/// The imports that the table does not have.
fn not_in_table(table: &BTreeMap<String, Row>, sources: &[Source]) -> Vec<String> {
    let mut broken = Vec::new();
    for source in sources {
        let Some(own) = module(&source.path) else { continue };
        let allowed = table.get(own).map(|row| &row.imports);
        for (line, to) in imports(source) {
            if !allowed.is_some_and(|allowed| allowed.contains(&to)) {
                broken.push(format!("{}: {own} imports {to}", source.at(line)));
            }
        }
    }
    broken
}

/// The rows that allow what no code does, and the rows that do not lead down.
fn rows_that_are_wrong(table: &BTreeMap<String, Row>, sources: &[Source]) -> Vec<String> {
    let mut used: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for source in sources {
        let Some(own) = module(&source.path) else { continue };
        used.entry(own).or_default().extend(imports(source).into_iter().map(|(_, to)| to));
    }
    let mut broken = Vec::new();
    for (name, row) in table {
        match used.get(name.as_str()) {
            None => broken.push(format!("there is no module host/{name}")),
            Some(used) => broken.extend(
                row.imports.difference(used).map(|to| format!("{name} does not import {to} any more")),
            ),
        }
        let not_below =
            row.imports.iter().filter(|to| table.get(*to).is_some_and(|to| to.layer >= row.layer));
        broken.extend(not_below.map(|to| format!("{to} is not in a layer below {name}")));
    }
    broken
}

#[test]
fn every_module_of_the_host_imports_what_the_table_of_layers_allows() {
    let (table, sources) = (table(&read("ARCHITECTURE.md")), sources(&["host"]));
    assert_none(
        &not_in_table(&table, &sources),
        "a new edge is a line in the table of ARCHITECTURE.md, and leads down",
    );
    assert_none(&rows_that_are_wrong(&table, &sources), "the table of layers in ARCHITECTURE.md");
}

#[test]
fn an_edge_that_is_not_in_the_table_is_found_however_it_is_written() {
    let table = table("| 1 | `events` | |\n| 2 | `tools` | `events` |\n");
    let bad = [
        "use crate::{events::EventBus, agent::Agent};",
        "fn f() { crate::agent::run() }",
        "use super::super::agent::Agent;",
        "mod tests { use super::super::super::agent::Agent; }",
    ];
    for text in bad {
        let sources = [Source::new("host/tools/grep.rs", text)];
        assert_eq!(not_in_table(&table, &sources), ["host/tools/grep.rs:1: tools imports agent"], "{text}");
    }
    let good =
        "use crate::tools::Tool; use super::{Error, super::tools}; mod tests { use super::super::set; }";
    assert_eq!(not_in_table(&table, &[Source::new("host/tools/grep/found.rs", good)]), [""; 0]);
    let abi = [Source::new(
        "host/tools/mod.rs",
        "use mod_interface::{abi::Frame, types::Hook}; use registry::pack;",
    )];
    assert_eq!(
        not_in_table(&table, &abi),
        ["host/tools/mod.rs:1: tools imports abi", "host/tools/mod.rs:1: tools imports registry"]
    );
}

#[test]
fn a_row_that_leads_up_or_across_or_is_out_of_date_is_found() {
    let table =
        table("| 1 | `events` | `ui` |\n| 1 | `ui` | `hooks` |\n| 2 | `hooks` | |\n| 3 | `gone` | |\n");
    let sources = [
        Source::new("host/events/mod.rs", "use crate::ui::Ui;"),
        Source::new("host/ui/mod.rs", ""),
        Source::new("host/hooks/mod.rs", ""),
    ];
    assert_eq!(
        rows_that_are_wrong(&table, &sources),
        [
            "ui is not in a layer below events",
            "there is no module host/gone",
            "ui does not import hooks any more",
            "hooks is not in a layer below ui"
        ]
    );
}

/// What the three layers of mod-interface may name of one another.
fn interface_breaks(source: &Source) -> Vec<String> {
    let forbidden: &[&str] = match source.path.split('/').nth(2) {
        Some("types") => &["abi", "sdk"],
        Some("abi") => &["sdk"],
        _ => &[],
    };
    let named = paths(source, &["crate"]);
    let bad = named.iter().filter(|named| forbidden.contains(&named.segments[1].as_str()));
    bad.map(|named| format!("{}: {}", source.at(named.line), named.segments.join("::"))).collect()
}

#[test]
fn the_layers_of_the_interface_know_only_those_below_them() {
    let broken: Vec<_> = sources(&["mod-interface/src"]).iter().flat_map(interface_breaks).collect();
    assert_none(&broken, "types know nothing, abi knows types, sdk knows both");
    let up = Source::new("mod-interface/src/abi/x.rs", "use crate::{types::Hook, sdk::Error};");
    assert_eq!(interface_breaks(&up), ["mod-interface/src/abi/x.rs:1: crate::sdk::Error"]);
}

/// Where the ABI is named by those who must not know it.
fn names_abi(source: &Source) -> Vec<String> {
    let named = paths(source, &["mod_interface", "abi_stable", "async_ffi"]);
    let bad = named.iter().filter(|named| named.segments[0] != "mod_interface" || named.segments[1] == "abi");
    bad.map(|named| format!("{}: {}", source.at(named.line), named.segments.join("::"))).collect()
}

#[test]
fn no_mod_and_no_module_beside_mod_host_names_the_abi() {
    let knows = |source: &Source| {
        // The garbage is what no SDK lets a mod answer.
        ["host/mod_host/", "host/builtin/", "tests/mods/garbage/"]
            .iter()
            .any(|folder| source.path.starts_with(folder))
    };
    let all = sources(&["host", "registry", "mods", "tests/mods"]);
    let broken: Vec<_> = all.iter().filter(|source| !knows(source)).flat_map(names_abi).collect();
    assert_none(&broken, "the ABI is for host/mod_host, host/builtin and the SDK");
    let bad = Source::new(
        "mods/a/src/lib.rs",
        "use mod_interface::{abi::Frame, prelude::*}; use abi_stable::RString;",
    );
    assert_eq!(
        names_abi(&bad),
        ["mods/a/src/lib.rs:1: mod_interface::abi::Frame", "mods/a/src/lib.rs:1: abi_stable::RString"]
    );
}
