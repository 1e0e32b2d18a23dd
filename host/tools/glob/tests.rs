use std::{
    fs::File,
    os::unix::fs::symlink,
    time::{Duration, SystemTime},
};

use serde_json::json;

use crate::tools::testing::Workspace;

/// Files, the first of which changed last.
fn workspace(files: &[&str]) -> Workspace {
    let workspace = Workspace::new();
    for (age, path) in files.iter().enumerate() {
        workspace.write(path, "");
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - age as u64);
        File::open(workspace.path(path)).unwrap().set_modified(changed).unwrap();
    }
    workspace
}

#[tokio::test]
async fn the_file_that_changed_last_comes_first() {
    let workspace = workspace(&["src/b.rs", "a.rs", "src/deep/c.rs", "src/d.js", ".hidden/e.rs"]);
    let find = async |pattern: &str| workspace.ok("glob", json!({"pattern": pattern})).await;
    assert_eq!(find("**/*.rs").await, "src/b.rs\na.rs\nsrc/deep/c.rs\n.hidden/e.rs");
    assert_eq!(find("*.rs").await, "a.rs");
    assert_eq!(find("./src/*.{rs,js}").await, "src/b.rs\nsrc/d.js");
    assert_eq!(find("src").await, "no file matches src; * stays within a folder, ** does not");
}

#[tokio::test]
async fn files_of_one_time_are_in_the_order_of_their_paths() {
    let workspace = Workspace::new();
    for path in ["b", "a", "c/a"] {
        workspace.write(path, "");
        File::open(workspace.path(path)).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
    assert_eq!(workspace.ok("glob", json!({"pattern": "**"})).await, "a\nb\nc/a");
}

#[tokio::test]
async fn a_folder_can_be_given_and_names_stay_those_of_the_workspace() {
    let workspace = workspace(&["src/b.rs", "a.rs", "src/deep/c.rs"]);
    assert_eq!(workspace.ok("glob", json!({"pattern": "*.rs", "path": "src"})).await, "src/b.rs");
    symlink("src", workspace.path("link")).unwrap();
    let found = workspace.ok("glob", json!({"pattern": "**/*.rs", "path": "link"})).await;
    assert_eq!(found, "link/b.rs\nlink/deep/c.rs");
}

#[tokio::test]
async fn a_long_list_is_shown_in_parts() {
    let workspace = workspace(&["a", "b", "c", "d"]);
    let input = json!({"pattern": "*", "limit": 2, "offset": 1});
    let expected = "b\nc\n[files 2 to 3 of 4; for the next ones: offset 3]";
    assert_eq!(workspace.ok("glob", input).await, expected);
    let input = json!({"pattern": "*", "offset": 9});
    assert_eq!(workspace.ok("glob", input).await, "no files after offset 9: there are 4");
}

#[tokio::test]
async fn what_is_ignored_and_git_itself_are_left_out_and_links_not_followed() {
    let with_git = workspace(&["a", ".git/b"]);
    assert_eq!(with_git.ok("glob", json!({"pattern": "**"})).await, "a");
    let workspace = workspace(&["a", "target/b", ".gitignore"]);
    workspace.write(".gitignore", "target/\n");
    symlink(".", workspace.path("up")).unwrap();
    let mut found: Vec<String> =
        workspace.ok("glob", json!({"pattern": "**"})).await.lines().map(str::to_owned).collect();
    found.sort();
    assert_eq!(found, [".gitignore", "a", "up"]);
    assert_eq!(workspace.ok("glob", json!({"pattern": "*", "path": "target"})).await, "target/b");
}

#[tokio::test]
async fn a_bad_pattern_or_folder_is_told() {
    let workspace = Workspace::of(&[("file", "")]);
    let err = async |input| workspace.err("glob", input).await;
    assert_eq!(
        err(json!({"pattern": "../*"})).await,
        "bad input for glob: at pattern: a pattern is for what is below path, set path to the folder, got: ../*"
    );
    assert_eq!(
        err(json!({"pattern": "a{b"})).await,
        "bad input for glob: at pattern: error parsing glob 'a{b': unclosed alternate group; missing '}' (maybe \
         escape '{' with '[{]'?)"
    );
    assert_eq!(err(json!({"pattern": "*", "path": "no"})).await, "no such file or folder: no");
    let error = err(json!({"pattern": "*", "path": "file"})).await;
    assert_eq!(error, "file is a file: give the folder that it is in");
    workspace.cancel.cancel();
    assert_eq!(err(json!({"pattern": "*"})).await, "interrupted before it was done");
}
