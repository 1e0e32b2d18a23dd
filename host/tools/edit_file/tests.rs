use std::sync::Arc;

use serde_json::json;

use crate::tools::testing::{Workspace, named};

fn input(old: &str, new: &str) -> serde_json::Value {
    json!({"file_path": "a.txt", "old_string": old, "new_string": new})
}

#[tokio::test]
async fn the_one_place_is_replaced() {
    let workspace = Workspace::of(&[("a.txt", "one\ntwo\nthree\n")]);
    assert_eq!(workspace.ok("edit_file", input("two\nth", "2\nTH")).await, "edited a.txt: line 2");
    assert_eq!(workspace.read("a.txt"), "one\n2\nTHree\n");
    assert_eq!(workspace.ok("edit_file", input("one\n", "")).await, "edited a.txt: line 1");
    assert_eq!(workspace.read("a.txt"), "2\nTHree\n");
    assert_eq!(workspace.names("."), ["a.txt"]);
}

#[tokio::test]
async fn several_places_are_replaced_only_when_told_to() {
    let workspace = Workspace::of(&[("a.txt", "x = 1\ny\nx = 2\nx = x\n")]);
    assert_eq!(
        workspace.err("edit_file", input("x", "z")).await,
        "old_string is 4 times in a.txt, at lines 1, 3, 4, 4; take in more lines around it, or set replace_all"
    );
    assert_eq!(workspace.read("a.txt"), "x = 1\ny\nx = 2\nx = x\n");
    let mut all = input("x", "zx");
    all["replace_all"] = true.into();
    assert_eq!(workspace.ok("edit_file", all).await, "edited a.txt: lines 1, 3, 4, 4");
    assert_eq!(workspace.read("a.txt"), "zx = 1\ny\nzx = 2\nzx = zx\n");
}

#[tokio::test]
async fn line_ends_stay_what_they_are() {
    let workspace = Workspace::of(&[("a.txt", "one\r\ntwo\r\nthree\r\n")]);
    workspace.ok("edit_file", input("two", "2\n2")).await;
    assert_eq!(workspace.read("a.txt"), "one\r\n2\r\n2\r\nthree\r\n");
    workspace.ok("edit_file", input("one\n2\n", "1\r\n")).await;
    assert_eq!(workspace.read("a.txt"), "1\r\n2\r\nthree\r\n");
    workspace.write("a.txt", "one\ntwo\r\nthree\r\nfour\nfive\n");
    workspace.ok("edit_file", input("two\nthree", "2\n3")).await;
    workspace.ok("edit_file", input("four\nfive", "4\n5")).await;
    assert_eq!(workspace.read("a.txt"), "one\n2\r\n3\r\n4\n5\n");
}

#[tokio::test]
async fn bytes_that_are_no_utf8_stay() {
    let workspace = Workspace::new();
    workspace.write("a.txt", b"caf\xe9 one\n");
    workspace.ok("edit_file", input("one", "two")).await;
    assert_eq!(std::fs::read(workspace.path("a.txt")).unwrap(), b"caf\xe9 two\n");
}

#[tokio::test]
async fn what_is_not_found_is_answered_with_the_nearest() {
    let code = "fn main() {\n    let total = add(1, 2);\n    print(total);\n}\n";
    let workspace = Workspace::of(&[("a.txt", code)]);
    let err = async |old: &str| workspace.err("edit_file", input(old, "")).await;
    assert_eq!(
        err("\n  let  total = add(1, 2);\n  print(total);\n").await,
        "old_string is not in a.txt. Only the spaces differ; the file has:\n     2\t    let total = add(1, 2);\n     \
         3\t    print(total);"
    );
    assert_eq!(
        err("let totals = add(1, 3);").await,
        "old_string is not in a.txt. The nearest that it has:\n     2\t    let total = add(1, 2);"
    );
    assert_eq!(
        err("something else altogether").await,
        "old_string is not in a.txt, nor anything like it; read the file again"
    );
    assert_eq!(err("\n\n\n").await, "old_string is not in a.txt, nor anything like it; read the file again");
}

#[tokio::test]
async fn an_edit_that_makes_no_sense_is_refused() {
    let workspace = Workspace::of(&[("a.txt", "a")]);
    let err = async |old: &str, new: &str| workspace.err("edit_file", input(old, new)).await;
    assert_eq!(err("", "b").await, "old_string is empty; write_file makes a file or replaces it whole");
    assert_eq!(err("a", "a").await, "old_string and new_string are the same: nothing to do");
    let missing = json!({"file_path": "b.txt", "old_string": "a", "new_string": "b"});
    assert_eq!(workspace.err("edit_file", missing).await, "no such file or folder: b.txt");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_edits_made_at_once_none_is_lost() {
    let lines: Vec<String> = (10..60).map(|number| format!("line {number}")).collect();
    let workspace = Arc::new(Workspace::of(&[("a.txt", &lines.join("\n"))]));
    let tool = named("edit_file");
    let edits = lines.iter().map(|line| tool.run(input(line, &line.to_uppercase()), workspace.ctx()));
    let outputs = futures::future::join_all(edits).await;
    assert!(outputs.iter().all(|output| !output.is_error), "{outputs:?}");
    assert_eq!(workspace.read("a.txt"), lines.join("\n").to_uppercase());
}
