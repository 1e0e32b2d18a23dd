use std::time::{Duration, Instant};

use mod_interface::types::ToolOutput;
use serde_json::json;

use crate::tools::{
    page::MAX_OUTPUT,
    testing::{Workspace, named},
};

async fn run(command: &str) -> ToolOutput {
    Workspace::new().call("shell_command", json!({"command": command})).await
}

#[tokio::test]
async fn the_output_is_told_as_it_was_written() {
    assert_eq!(run("echo a; echo b >&2; echo c").await, ToolOutput::text("a\nb\nc"));
    assert_eq!(run("true").await, ToolOutput::text("[no output]"));
    assert_eq!(run("printf 'caf\\303\\251 \\377'").await, ToolOutput::text("café \u{fffd}"));
}

#[tokio::test]
async fn it_runs_in_the_workspace_without_input() {
    let workspace = Workspace::of(&[("here", "")]);
    assert_eq!(workspace.ok("shell_command", json!({"command": "ls; cat"})).await, "here");
}

#[tokio::test]
async fn a_failure_tells_how_it_ended() {
    assert_eq!(run("echo a; exit 3").await, ToolOutput::error("a\n[exit code: 3]"));
    assert_eq!(run("exit 1").await, ToolOutput::error("[exit code: 1]"));
    assert_eq!(run("kill -9 $$").await, ToolOutput::error("[ended by signal 9]"));
}

#[tokio::test]
async fn long_output_is_cut_in_the_middle_and_how_to_see_the_rest_is_told() {
    let half = MAX_OUTPUT / 2;
    let expected = format!(
        "{}\n[… 70000 bytes cut …]\n{}\n[100000 bytes in all; to see the rest, send the output to a file and read \
         that with read_file]",
        "a".repeat(half),
        "b".repeat(half),
    );
    let command = "head -c 50000 /dev/zero | tr '\\0' a; head -c 50000 /dev/zero | tr '\\0' b";
    assert_eq!(run(command).await, ToolOutput::text(expected));
}

#[tokio::test]
async fn a_timeout_tells_how_long_and_gives_the_output_so_far() {
    let input = json!({"command": "echo begun; sleep 600", "timeout_ms": 1000});
    let started = Instant::now();
    let expected = "begun\n[timed out after 1000 ms, and was ended with all that it had started; timeout_ms can be \
                    up to 600000]";
    assert_eq!(Workspace::new().call("shell_command", input).await, ToolOutput::error(expected));
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn what_is_left_in_the_background_is_ended_and_told() {
    let expected = "up\n[processes left in the background were ended: 1]";
    assert_eq!(run("sleep 600 & echo up").await, ToolOutput::text(expected));
}

#[tokio::test]
async fn progress_gives_the_end_of_the_output_and_a_cancel_ends_it() {
    let workspace = Workspace::new();
    let mut ctx = workspace.ctx();
    let (cancel, progress) = (workspace.cancel.clone(), workspace.progress.clone());
    ctx.progress = std::sync::Arc::new(move |text| {
        progress.lock().unwrap().push(text.to_owned());
        cancel.cancel();
    });
    let input = json!({"command": "yes 123456789 | head -n 1000; sleep 600"});
    let output = named("shell_command").run(input, ctx).await;
    let expected =
        format!("{}[interrupted, and ended with all that it had started]", "123456789\n".repeat(1000));
    assert_eq!(output, ToolOutput::error(expected));
    let told = workspace.progress.lock().unwrap();
    assert_eq!(told.len(), 1);
    assert!(told[0].len() <= 4000 && told[0].lines().all(|line| "123456789".starts_with(line)), "{told:?}");
}

#[tokio::test]
async fn a_workspace_that_is_gone_is_told() {
    let workspace = Workspace::new();
    std::fs::remove_dir(workspace.root()).unwrap();
    let error = workspace.err("shell_command", json!({"command": "true"})).await;
    assert_eq!(error, format!("cannot run sh here, this is not a folder: {}", workspace.root().display()));
}
