use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use crate::tools::testing::Workspace;

fn workspace() -> Workspace {
    Workspace::of(&[
        ("a.rs", "fn one() {}\nfn two() {}\n// done\n"),
        ("src/b.rs", "use a;\r\nfn three() {}\r\n"),
        ("src/c.js", "Fn four\n"),
        (".github/d.yml", "fn five"),
        (".git/config", "fn six"),
        ("target/e.rs", "fn seven"),
        (".gitignore", "target/\n"),
    ])
}

async fn grep(input: Value) -> String {
    workspace().ok("grep", input).await
}

#[tokio::test]
async fn lines_are_shown_with_path_and_number() {
    let expected =
        ".github/d.yml:1:fn five\na.rs:1:fn one() {}\na.rs:2:fn two() {}\nsrc/b.rs:2:fn three() {}";
    assert_eq!(grep(json!({"pattern": "^fn \\w+"})).await, expected);
    assert_eq!(grep(json!({"pattern": "\\{\\}$", "path": "src"})).await, "src/b.rs:2:fn three() {}");
    assert_eq!(
        grep(json!({"pattern": "FN F", "case_insensitive": true})).await,
        ".github/d.yml:1:fn five\nsrc/c.js:1:Fn four"
    );
    assert_eq!(grep(json!({"pattern": "nothing like it"})).await, "no match");
}

#[tokio::test]
async fn files_and_counts_can_be_asked_for() {
    let files = grep(json!({"pattern": "fn", "output_mode": "files"})).await;
    assert_eq!(files, ".github/d.yml\na.rs\nsrc/b.rs");
    let counts = grep(json!({"pattern": "fn", "output_mode": "count"})).await;
    assert_eq!(counts, ".github/d.yml:1\na.rs:2\nsrc/b.rs:1");
    let part = grep(json!({"pattern": "fn", "output_mode": "files", "limit": 1, "offset": 1})).await;
    assert_eq!(part, "a.rs\n[files 2 to 2; for the next ones: offset 2]");
}

#[tokio::test]
async fn files_can_be_chosen_by_name_or_path() {
    let found =
        async |glob: &str| grep(json!({"pattern": "(?i)fn", "output_mode": "files", "glob": glob})).await;
    assert_eq!(found("*.rs").await, "a.rs\nsrc/b.rs");
    assert_eq!(found("src/*.{rs,js}").await, "src/b.rs\nsrc/c.js");
    assert_eq!(found("*.py").await, "no match");
}

#[tokio::test]
async fn a_file_is_searched_even_if_it_is_ignored() {
    assert_eq!(grep(json!({"pattern": "fn", "path": "target/e.rs"})).await, "target/e.rs:1:fn seven");
    assert_eq!(grep(json!({"pattern": "fn", "path": "target"})).await, "target/e.rs:1:fn seven");
}

#[tokio::test]
async fn lines_around_a_match_are_shown_with_a_line_between_groups() {
    let workspace = Workspace::of(&[("a", "1\nx\n3\n4\n5\nx\n7\n"), ("b", "x\n2\n"), ("c", "y\n")]);
    let input = json!({"pattern": "x", "context": 1});
    let expected = "a-1-1\na:2:x\na-3-3\n--\na-5-5\na:6:x\na-7-7\n--\nb:1:x\nb-2-2";
    assert_eq!(workspace.ok("grep", input).await, expected);
}

#[tokio::test]
async fn many_lines_are_shown_in_parts() {
    let workspace = Workspace::of(&[("a", "x\n".repeat(300).as_str()), ("b", "x\n")]);
    let text = workspace.ok("grep", json!({"pattern": "x"})).await;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        (lines.len(), lines[199], lines[200]),
        (201, "a:200:x", "[lines 1 to 200; for the next ones: offset 200]")
    );
    let rest = workspace.ok("grep", json!({"pattern": "x", "offset": 299})).await;
    assert_eq!(rest, "a:300:x\nb:1:x");
    let none = workspace.ok("grep", json!({"pattern": "x", "offset": 400})).await;
    assert_eq!(none, "no lines after offset 400: there are 301");
}

#[tokio::test]
async fn of_a_long_line_the_part_around_the_match_is_shown() {
    let workspace = Workspace::new();
    workspace.write("a", format!("{}needle{}\n", "é".repeat(1000), "y".repeat(1000)));
    let expected = format!("a:1:…{}needle{}… [3006 bytes in all]", "é".repeat(50), "y".repeat(394));
    assert_eq!(workspace.ok("grep", json!({"pattern": "needle"})).await, expected);
}

#[tokio::test]
async fn what_is_not_text_is_left_out() {
    let workspace = Workspace::of(&[("text", "x")]);
    workspace.write("binary", b"x\0x\n");
    let pipe = workspace.path("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
    symlink("text", workspace.path("link")).unwrap();
    symlink("/dev/zero", workspace.path("zero")).unwrap();
    assert_eq!(workspace.ok("grep", json!({"pattern": "x"})).await, "text:1:x");
    assert_eq!(workspace.ok("grep", json!({"pattern": "x", "path": "link"})).await, "link:1:x");
    let searched = workspace.ok("grep", json!({"pattern": "x", "path": "binary"})).await;
    assert_eq!(searched, "no match\n[binary is searched up to where it is not text]");
    let error = workspace.err("grep", json!({"pattern": "x", "path": "zero"})).await;
    assert_eq!(error, "zero is a device: only regular files are read and written");
}

#[tokio::test]
async fn a_bad_pattern_or_path_is_told() {
    let workspace = workspace();
    let err = async |input| workspace.err("grep", input).await;
    assert_eq!(
        err(json!({"pattern": "a("})).await,
        "bad input for grep: at pattern: regex parse error:\n    (?:a()\n    ^\nerror: unclosed group"
    );
    assert_eq!(
        err(json!({"pattern": "a", "glob": "[z"})).await,
        "bad input for grep: at glob: error parsing glob '**/[z': unclosed character class; missing ']'"
    );
    assert_eq!(err(json!({"pattern": "a", "path": "no"})).await, "no such file or folder: no");
    workspace.cancel.cancel();
    assert_eq!(err(json!({"pattern": "a"})).await, "interrupted before it was done");
}

/// Root may read everything: then there is nothing to tell.
#[tokio::test]
async fn what_could_not_be_read_is_counted() {
    let workspace = Workspace::of(&[("a", "x"), ("b", "x")]);
    std::fs::set_permissions(workspace.path("b"), std::fs::Permissions::from_mode(0o000)).unwrap();
    let expected = if std::fs::read(workspace.path("b")).is_ok() {
        "a:1:x\nb:1:x"
    } else {
        "a:1:x\n[could not be read: 1]"
    };
    assert_eq!(workspace.ok("grep", json!({"pattern": "x"})).await, expected);
}
