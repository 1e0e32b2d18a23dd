use std::os::unix::fs::symlink;

use serde_json::json;

use crate::tools::testing::Workspace;

#[tokio::test]
async fn entries_are_in_order_and_marked() {
    let workspace =
        Workspace::of(&[("b.txt", ""), ("a/x", ""), (".hidden", ""), (".gitignore", "b.txt"), ("B", "")]);
    symlink("a", workspace.path("to-folder")).unwrap();
    symlink("b.txt", workspace.path("to-file")).unwrap();
    symlink("gone", workspace.path("to-nothing")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, workspace.path("pipe"), rustix::fs::Mode::RUSR).unwrap();
    let expected = ".gitignore\n.hidden\nB\na/\nb.txt\npipe (a named pipe)\nto-file -> b.txt\nto-folder -> a/\n\
                    to-nothing -> gone (not there)";
    assert_eq!(workspace.ok("list_directory", json!({})).await, expected);
    assert_eq!(workspace.ok("list_directory", json!({"path": "to-folder"})).await, "x");
}

#[tokio::test]
async fn a_long_folder_is_shown_in_parts() {
    let workspace = Workspace::of(&[("a", ""), ("b", ""), ("c", "")]);
    let part = workspace.ok("list_directory", json!({"limit": 2})).await;
    assert_eq!(part, "a\nb\n[entries 1 to 2 of 3; for the next ones: offset 2]");
    assert_eq!(workspace.ok("list_directory", json!({"offset": 2})).await, "c");
}

#[tokio::test]
async fn what_is_no_folder_or_empty_is_told() {
    let workspace = Workspace::of(&[("a/file", "")]);
    std::fs::create_dir(workspace.path("empty")).unwrap();
    assert_eq!(workspace.ok("list_directory", json!({"path": "empty"})).await, "[empty is an empty folder]");
    let err = async |path: &str| workspace.err("list_directory", json!({"path": path})).await;
    assert_eq!(err("a/file").await, "a/file is a file: give the folder that it is in");
    assert_eq!(err("no").await, "no such file or folder: no");
    workspace.cancel.cancel();
    assert_eq!(err("a").await, "interrupted before it was done");
}
