use mod_interface::types::ToolOutput;
use serde_json::json;

use crate::tools::testing::Workspace;

#[tokio::test]
async fn lines_are_numbered() {
    let workspace = Workspace::of(&[("a.txt", "one\n\ntwo"), ("dos.txt", "\u{feff}one\r\ntwo\r\n")]);
    let read = async |path: &str| workspace.ok("read_file", json!({"file_path": path})).await;
    assert_eq!(read("a.txt").await, "     1\tone\n     2\t\n     3\ttwo");
    assert_eq!(read("dos.txt").await, "     1\tone\n     2\ttwo");
    assert_eq!(read(workspace.path("x/../a.txt").to_str().unwrap()).await, read("a.txt").await);
}

#[tokio::test]
async fn a_part_is_read_and_the_rest_told() {
    let workspace = Workspace::of(&[("a.txt", "1\n2\n3\n4\n5\n")]);
    let read = async |offset: u64, limit: u64| {
        workspace.call("read_file", json!({"file_path": "a.txt", "offset": offset, "limit": limit})).await
    };
    let part = "     2\t2\n     3\t3\n[there is more; for the next lines: offset 4]";
    assert_eq!(read(2, 2).await, ToolOutput::text(part));
    assert_eq!(read(4, 9).await, ToolOutput::text("     4\t4\n     5\t5"));
    assert_eq!(read(5, 1).await, ToolOutput::text("     5\t5"));
    let beyond = "a.txt ends at line 5, there is none at offset";
    assert_eq!(read(6, 1).await, ToolOutput::error(format!("{beyond} 6")));
    assert_eq!(read(60, 1).await, ToolOutput::error(format!("{beyond} 60")));
}

#[tokio::test]
async fn without_a_limit_2000_lines_are_read() {
    let workspace = Workspace::new();
    workspace.write("a.txt", "x\n".repeat(2001));
    let text = workspace.ok("read_file", json!({"file_path": "a.txt"})).await;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2001);
    assert_eq!(lines[1999..], ["  2000\tx", "[there is more; for the next lines: offset 2001]"]);
}

#[tokio::test]
async fn a_long_line_is_cut_at_a_character() {
    let workspace = Workspace::new();
    workspace.write("a.txt", format!("x{}\nnext\n", "é".repeat(100_000)));
    let text = workspace.ok("read_file", json!({"file_path": "a.txt"})).await;
    let expected = format!(
        "     1\tx{}… [198002 bytes more]\n     2\tnext\n[long lines are cut; shell_command can show the rest, with cut -c]",
        "é".repeat(999)
    );
    assert_eq!(text, expected);
}

#[tokio::test]
async fn the_whole_answer_is_bounded() {
    let workspace = Workspace::new();
    workspace.write("a.txt", format!("{}\n", "x".repeat(1000)).repeat(500));
    let text = workspace.ok("read_file", json!({"file_path": "a.txt"})).await;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        (lines.len(), lines[lines.len() - 1]),
        (101, "[there is more; for the next lines: offset 101]")
    );
}

#[tokio::test]
async fn what_is_no_text_file_is_refused_with_what_it_is() {
    let workspace = Workspace::of(&[("empty", ""), ("folder/x", "")]);
    workspace.write("a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    workspace.write("a.bin", b"ab\0cd");
    workspace.write("utf16", b"\xff\xfea\0b\0");
    workspace.write("latin1", b"caf\xe9");
    let read = async |path: &str| {
        let output = workspace.call("read_file", json!({"file_path": path})).await;
        (output.is_error, output.content[0].as_text().unwrap().to_owned())
    };
    let hint = "only text is read; shell_command can look into it";
    assert_eq!(read("empty").await, (false, "[empty is empty]".to_owned()));
    assert_eq!(read("a.png").await, (true, format!("a.png is not text but image/png: {hint}")));
    assert_eq!(read("a.bin").await, (true, format!("a.bin is not text: {hint}")));
    assert_eq!(read("utf16").await, (true, format!("utf16 is text in UTF-16: {hint}")));
    assert_eq!(read("latin1").await, (false, "     1\tcaf\u{fffd}".to_owned()));
    assert_eq!(read("nothing").await, (true, "no such file or folder: nothing".to_owned()));
    let folder = "folder is a folder: give a file; list_directory shows what is in it";
    assert_eq!(read("folder").await, (true, folder.to_owned()));
}

#[cfg(unix)]
#[tokio::test]
async fn what_might_never_end_is_not_opened() {
    let workspace = Workspace::new();
    let pipe = workspace.path("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(workspace.path("socket")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", workspace.path("zero")).unwrap();
    for (path, kind) in [("pipe", "a named pipe"), ("socket", "a socket"), ("zero", "a device")] {
        let error = workspace.err("read_file", json!({"file_path": path})).await;
        assert_eq!(error, format!("{path} is {kind}: only regular files are read and written"));
        let error = workspace.err("write_file", json!({"file_path": path, "content": ""})).await;
        assert_eq!(error, format!("{path} is {kind}: only regular files are read and written"));
    }
}

#[tokio::test]
async fn a_cancelled_read_ends() {
    let workspace = Workspace::of(&[("a.txt", "a")]);
    workspace.cancel.cancel();
    let error = workspace.err("read_file", json!({"file_path": "a.txt"})).await;
    assert_eq!(error, "interrupted before it was done");
}
