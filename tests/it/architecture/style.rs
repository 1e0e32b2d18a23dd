//! Where `unsafe` stands, how long files are, and what is left undone.

use super::{
    assert_none,
    source::{Source, sources},
};

/// All that is compiled.
const ALL: &[&str] =
    &["host", "mod-interface/src", "mod-interface/tests", "registry", "mods", "tests", "benches", "examples"];

/// Where `unsafe` may stand: a file, or all below a folder; and why.
const UNSAFE: &[(&str, &str)] = &[
    ("benches/wasm/guest/src/lib.rs", "attributes that export functions, and memory that the host wrote to"),
    ("host/mod_host/library.rs", "dlopen"),
    ("host/mod_host/abi_check.rs", "reads the header of a library"),
    ("host/mod_host/journal.rs", "maps a file into memory"),
    ("mod-interface/src/abi/", "the line between host and mod"),
    ("mod-interface/src/sdk/export.rs", "attributes that export a symbol and a section"),
    ("tests/support/foreign.rs", "reads the root module of a library"),
    ("tests/mods/garbage/src/lib.rs", "attributes that export a symbol and a section"),
    ("tests/mods/misbehaving/src/lib.rs", "an attribute that runs code inside dlopen"),
];

/// Files that may be longer than the limit, and why.
const LONG: &[(&str, &str)] = &[];
const LIMIT: usize = 400;

fn may_be_unsafe(path: &str) -> bool {
    UNSAFE.iter().any(|(place, _)| path == *place || (place.ends_with('/') && path.starts_with(place)))
}

/// Where `unsafe` stands, or is allowed, outside of the named files.
fn unsafe_elsewhere(source: &Source) -> Vec<String> {
    if may_be_unsafe(&source.path) {
        return Vec::new();
    }
    let allowed = ["allow", "expect", "warn"].map(|level| [level, "(", "unsafe_code"]);
    let allowed = allowed.iter().flat_map(|words| source.find(words));
    source.find(&["unsafe"]).chain(allowed).map(|token| source.at(token.line)).collect()
}

/// The unsafe blocks and impls that no comment right above them, or above their statement, explains.
fn unexplained(source: &Source) -> Vec<String> {
    let lines: Vec<_> = source.text.lines().map(str::trim_start).collect();
    let blocks = source.find(&["unsafe", "{"]).chain(source.find(&["unsafe", "impl"]));
    let bad = blocks.filter(|token| {
        let above = lines[..token.line - 1].iter().rev();
        // The statement may begin some lines before the block.
        let mut comment =
            above.skip_while(|line| !line.starts_with("//") && !line.ends_with([';', '}', '{']));
        !comment.by_ref().take_while(|line| line.starts_with("//")).any(|line| line.starts_with("// SAFETY:"))
    });
    bad.map(|token| source.at(token.line)).collect()
}

#[test]
fn unsafe_code_stands_in_the_named_files_alone_and_is_explained() {
    let all = sources(ALL);
    assert_none(
        &all.iter().flat_map(unsafe_elsewhere).collect::<Vec<_>>(),
        "unsafe outside of the named files",
    );
    assert_none(&all.iter().flat_map(unexplained).collect::<Vec<_>>(), "no `// SAFETY:` above it");
    let unused = UNSAFE.iter().filter(|(place, _)| {
        !all.iter().any(|source| source.path.starts_with(place) && source.find(&["unsafe"]).next().is_some())
    });
    assert_none(
        &unused.map(|(place, _)| (*place).to_owned()).collect::<Vec<_>>(),
        "no unsafe there any more",
    );
}

#[test]
fn unsafe_code_in_the_wrong_place_or_without_a_reason_is_found() {
    let text = "// unsafe\n#![allow(unsafe_code)]\nfn f() { let s = \"unsafe\"; unsafe { g(s) } }";
    let wrong = Source::new("host/agent/run.rs", text);
    assert_eq!(unsafe_elsewhere(&wrong), ["host/agent/run.rs:3", "host/agent/run.rs:2"]);
    assert_eq!(unexplained(&wrong), ["host/agent/run.rs:3"]);
    let explained = "// SAFETY: a reason,\n// on two lines.\nlet a =\n    unsafe { g() };\n// SAFETY: another.\nunsafe impl A for B {}";
    assert_eq!(unexplained(&Source::new("x.rs", explained)), [""; 0]);
    let stale = "// SAFETY: of the first.\nlet a = unsafe { g() };\nlet b = unsafe { h() };";
    assert_eq!(unexplained(&Source::new("x.rs", stale)), ["x.rs:3"]);
}

/// The files that are too long.
fn too_long(source: &Source) -> Option<String> {
    let (path, lines) = (&source.path, lines(source));
    let excepted = LONG.iter().any(|(long, _)| path == long);
    (lines > LIMIT && !excepted).then(|| format!("{path}: {lines} lines"))
}

fn lines(source: &Source) -> usize {
    source.text.lines().count()
}

#[test]
fn no_file_is_longer_than_the_limit() {
    let all = sources(ALL);
    assert_none(&all.iter().filter_map(too_long).collect::<Vec<_>>(), "split it, or give a reason");
    let long_still = |path: &str| all.iter().any(|source| source.path == path && lines(source) > LIMIT);
    let past = LONG.iter().filter(|(path, _)| !long_still(path)).map(|(path, _)| (*path).to_owned());
    assert_none(&past.collect::<Vec<_>>(), "not longer than the limit any more");
    let long = "\n".repeat(LIMIT + 1);
    assert_eq!(too_long(&Source::new("x.rs", &long)), Some("x.rs: 401 lines".to_owned()));
    assert_eq!(too_long(&Source::new("x.rs", &long[1..])), None);
    assert!(LONG.iter().all(|(path, _)| too_long(&Source::new(path, &long)).is_none()));
}

const LONGEST_FUNCTION: usize = 60;

/// The functions that are too long, from their first line to their last.
fn long_functions(source: &Source) -> Vec<String> {
    let functions = (0..source.tokens.len()).filter(|at| source.reads(*at, &["fn"]));
    let long = functions.filter_map(|at| {
        let (name, lines) = (&source.tokens[at + 1].text, function_lines(source, at)?);
        (lines > LONGEST_FUNCTION)
            .then(|| format!("{} {name}: {lines} lines", source.at(source.tokens[at].line)))
    });
    long.collect()
}

/// How many lines the function at `at` has; `None` for a type and for what has no body.
fn function_lines(source: &Source, at: usize) -> Option<usize> {
    let (mut depth, mut in_body) = (0, false);
    for token in &source.tokens[at + 2..] {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            ";" if depth == 0 => return None,
            _ => {}
        }
        in_body |= depth == 1 && token.text == "{";
        if depth < 0 {
            return None;
        }
        if in_body && depth == 0 {
            return Some(token.line - source.tokens[at].line + 1);
        }
    }
    None
}

#[test]
fn no_function_is_longer_than_the_limit() {
    assert_none(&sources(ALL).iter().flat_map(long_functions).collect::<Vec<_>>(), "split it");
    let of = |lines: usize| {
        format!(
            "struct A(fn(u8) -> u8);\ntrait B {{\n    fn b(self);\n}}\n\nfn long<T, U>(\n    a: [u8; 2],\n) -> u8 {{{}}}",
            "\n".repeat(lines - 3)
        )
    };
    assert_eq!(long_functions(&Source::new("x.rs", &of(61))), ["x.rs:6 long: 61 lines"]);
    assert_eq!(long_functions(&Source::new("x.rs", &of(60))), [""; 0]);
}

/// What is left undone, and the tests that do not run.
fn undone(source: &Source) -> Vec<String> {
    let marks: [&[&str]; 4] =
        [&["todo", "!"], &["unimplemented", "!"], &["#", "[", "ignore"], &["#", "[", "should_panic"]];
    marks.iter().flat_map(|words| source.find(words)).map(|token| source.at(token.line)).collect()
}

#[test]
fn nothing_is_left_undone_and_every_test_runs() {
    assert_none(&sources(ALL).iter().flat_map(undone).collect::<Vec<_>>(), "do it, or leave it out");
    let text =
        "// todo!()\nfn f() { todo!() }\n#[test]\n#[ignore = \"slow\"]\nfn g() { unimplemented!(\"later\") }";
    assert_eq!(undone(&Source::new("x.rs", text)), ["x.rs:2", "x.rs:5", "x.rs:4"]);
}

/// Folders and files with names that say nothing.
fn says_nothing(source: &Source) -> Option<String> {
    let empty = ["utils", "util", "helpers", "helper", "manager", "common", "misc"];
    let names = source.path.trim_end_matches(".rs").split('/');
    names.into_iter().any(|name| empty.contains(&name)).then(|| source.path.clone())
}

#[test]
fn names_are_of_the_field() {
    assert_none(&sources(ALL).iter().filter_map(says_nothing).collect::<Vec<_>>(), "name it for what it is");
    assert!(says_nothing(&Source::new("host/utils/text.rs", "")).is_some());
    assert!(says_nothing(&Source::new("host/session/common.rs", "")).is_some());
}
