//! Rust sources as tokens: comments and the insides of texts are no code.

use std::{fs, path::Path};

use proc_macro2::{TokenStream, TokenTree};

/// A source file.
pub(super) struct Source {
    /// Seen from the workspace, with `/`.
    pub(super) path: String,
    pub(super) text: String,
    pub(super) tokens: Vec<Token>,
}

/// A word, one sign, or a whole text in quotes.
pub(super) struct Token {
    pub(super) text: String,
    pub(super) line: usize,
}

impl Source {
    pub(super) fn new(path: &str, text: &str) -> Self {
        let mut tokens = Vec::new();
        let stream: TokenStream = text.parse().unwrap_or_else(|error| panic!("{path}: {error}"));
        flatten(stream, &mut tokens);
        Self { path: path.to_owned(), text: text.to_owned(), tokens }
    }

    /// Whether the tokens from `at` on begin with `words`.
    pub(super) fn reads(&self, at: usize, words: &[&str]) -> bool {
        let tokens = self.tokens.get(at..).unwrap_or_default();
        tokens.len() >= words.len() && tokens.iter().zip(words).all(|(token, word)| token.text == *word)
    }

    /// The places where `words` stand one after another.
    pub(super) fn find<'a>(&'a self, words: &'a [&str]) -> impl Iterator<Item = &'a Token> {
        (0..self.tokens.len()).filter(|at| self.reads(*at, words)).map(|at| &self.tokens[at])
    }

    /// A place in the file, for a message.
    pub(super) fn at(&self, line: usize) -> String {
        format!("{}:{line}", self.path)
    }
}

/// The sources below the folders, in order.
pub(super) fn sources(folders: &[&str]) -> Vec<Source> {
    let mut paths = Vec::new();
    for folder in folders {
        collect(folder, &mut paths);
    }
    paths.sort();
    paths.iter().map(|path| Source::new(path, &super::read(path))).collect()
}

fn collect(folder: &str, paths: &mut Vec<String>) {
    let full = super::root().join(folder);
    let entries = fs::read_dir(&full).unwrap_or_else(|error| panic!("{}: {error}", full.display()));
    for entry in entries.map(Result::unwrap) {
        let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            collect(&path, paths);
        } else if Path::new(&path).extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    for tree in stream {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    proc_macro2::Delimiter::Parenthesis => ("(", ")"),
                    proc_macro2::Delimiter::Brace => ("{", "}"),
                    proc_macro2::Delimiter::Bracket => ("[", "]"),
                    proc_macro2::Delimiter::None => ("", ""),
                };
                tokens.push(Token { text: open.to_owned(), line });
                flatten(group.stream(), tokens);
                tokens.push(Token { text: close.to_owned(), line: group.span_close().end().line });
            }
            other => tokens.push(Token { text: other.to_string(), line }),
        }
    }
}

/// A path that a source names: `a::b::c` is three segments.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) line: usize,
    pub(super) segments: Vec<String>,
}

/// The paths that begin with one of `roots`, braces taken apart.
pub(super) fn paths(source: &Source, roots: &[&str]) -> Vec<Named> {
    let mut named = Vec::new();
    for at in 0..source.tokens.len() {
        let inside = at >= 2 && source.reads(at - 2, &[":", ":"]);
        if roots.contains(&source.tokens[at].text.as_str()) && !inside && source.reads(at + 1, &[":", ":"]) {
            tree(source, at, &[], &mut named);
        }
    }
    named
}

/// Reads a path or a use tree at `at`; gives the place behind it.
fn tree(source: &Source, mut at: usize, before: &[String], named: &mut Vec<Named>) -> usize {
    let line = source.tokens[at].line;
    let mut segments = before.to_vec();
    loop {
        segments.push(source.tokens[at].text.clone());
        at += 1;
        if !source.reads(at, &[":", ":"]) {
            break;
        }
        at += 2;
        if source.reads(at, &["{"]) {
            return braces(source, at + 1, &segments, named);
        }
        if source.reads(at, &["<"]) {
            break;
        }
    }
    named.push(Named { line, segments });
    at
}

/// Reads the trees in braces, of which `at` is the first; gives the place behind the braces.
fn braces(source: &Source, mut at: usize, before: &[String], named: &mut Vec<Named>) -> usize {
    while !source.reads(at, &["}"]) {
        at = tree(source, at, before, named);
        // What stands between the trees: a comma, or `as name`.
        while !source.reads(at, &[","]) && !source.reads(at, &["}"]) {
            at += 1;
        }
        at += usize::from(source.reads(at, &[","]));
    }
    at + 1
}

#[test]
fn paths_are_read_out_of_use_lines_and_out_of_code() {
    let text = "use crate::{a::{self, b as c}, d::*};\n// crate::no\nfn f() -> crate::e::F { \"crate::no\"; g::crate::h() }\n";
    let found = paths(&Source::new("x.rs", text), &["crate"]);
    let found: Vec<_> = found.iter().map(|named| (named.line, named.segments.join("::"))).collect();
    let expected = [(1, "crate::a::self"), (1, "crate::a::b"), (1, "crate::d::*"), (3, "crate::e::F")];
    assert_eq!(found, expected.map(|(line, path)| (line, path.to_owned())));
}
