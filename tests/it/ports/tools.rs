use std::sync::Arc;

use host::harness::{Earlier, HarnessBuilder, Recording};
use serde_json::json;

use crate::support::{
    behaving::Echo,
    scribe::Desk,
    session::{Folders, library},
};

/// The mod, and a model that expects some tools in each call, and others not.
fn calls(builder: HarnessBuilder, folders: &Folders, calls: &[(&[&str], &[&str])]) -> HarnessBuilder {
    let turn = |(on, off): &(&[&str], &[&str])| json!({ "text": "done", "expect": { "tools_include": on, "tools_exclude": off } });
    let turns: Vec<_> = calls.iter().map(turn).collect();
    let model = folders.scenario(&json!({ "turns": turns }));
    builder.model(Some(model)).mods([library("tools")])
}

#[tokio::test]
async fn a_choice_of_tools_follows_the_branch_survives_a_resume_and_skips_tools_that_have_vanished() {
    let folders = Folders::new();
    let desk = Desk::with(&folders, Recording::New, &[], |builder| {
        let model: [(&[&str], &[&str]); 4] = [
            (&["grep", "glob", "echo"], &[]),
            (&["read_file"], &["grep", "glob", "echo"]),
            (&["grep", "read_file"], &["glob", "echo"]),
            (&["grep", "glob", "echo"], &[]),
        ];
        calls(builder.tool(Arc::new(Echo::new())), &folders, &model)
    })
    .await;
    assert_eq!(desk.ask("/tools").await, "all tools are on");
    assert_eq!(desk.ask("go").await, "done (1)");
    let all_on = desk.ask("/leaf").await;
    assert_eq!(desk.ask("/tools grep glob echo").await, "off: echo, glob, grep");
    assert_eq!(desk.ask("go").await, "done (2)");
    let three_off = desk.ask("/leaf").await;
    assert_eq!(desk.ask("/tools grep").await, "off: echo, glob");
    assert_eq!(desk.ask("go").await, "done (3)");
    desk.ask(&format!("/go {all_on}")).await;
    assert_eq!(
        (desk.ask("/tools").await, desk.ask("go").await),
        ("all tools are on".into(), "done (2)".into())
    );
    desk.ask(&format!("/go {three_off}")).await;
    assert_eq!(desk.take(&["mod_error"]), [""; 0]);
    assert_eq!(desk.ask("/tools grep xyz").await, "failed");
    let refused = "mod_error mod:tools command:tools: there is no such tool: xyz";
    assert_eq!(desk.take(&["mod_error"]), [refused]);
    desk.close().await;

    // The tool `echo` is not there any more.
    let desk = Desk::with(&folders, Recording::Resume(Earlier::Latest), &[], |builder| {
        let model: [(&[&str], &[&str]); 1] = [(&["read_file"], &["grep", "glob", "echo"])];
        calls(builder, &folders, &model)
    })
    .await;
    assert_eq!(desk.ask("/tools").await, "off: glob, grep");
    assert_eq!(desk.ask("go").await, "done (3)");
    desk.close().await;
}
