mod commands;
mod paths;

use std::{path::Path, sync::Arc};

use mod_interface::types::PermissionMode;
use serde_json::json;

use super::{Decision, LiveMode, NobodyToAsk, Permissions, Rule, Workspace};
use crate::{
    agent::tests::fakes::{FakeTool, Log},
    tools::Access,
};

fn permissions(allow: &[&str], deny: &[&str]) -> Permissions {
    let workspace =
        Workspace { cwd: Path::new("/ws/it").into(), home: None, guarded: vec![], follow: Path::to_path_buf };
    permissions_in(workspace, allow, deny)
}

fn permissions_in(workspace: Workspace, allow: &[&str], deny: &[&str]) -> Permissions {
    let rules = |rules: &[&str]| rules.iter().map(|rule| rule.parse().unwrap()).collect();
    let mode = Arc::new(LiveMode::new(PermissionMode::Default, Log::default().bus().main()));
    Permissions::new(rules(allow), rules(deny), mode, Arc::new(NobodyToAsk), workspace)
}

/// `allow`, `ask`, or `deny`.
fn decide(permissions: &Permissions, mode: PermissionMode, access: Access, about: &str) -> &'static str {
    let tool = FakeTool::new("tool").access(access);
    match permissions.decide(mode, &tool, &json!({"about": about})) {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny(_) => "deny",
    }
}

#[test]
fn the_modes_decide_what_no_rule_decides() {
    use PermissionMode::{AcceptEdits, Bypass, Default, Plan};
    let none = permissions(&[], &[]);
    let row =
        |mode| [Access::Read, Access::Edit, Access::Other].map(|access| decide(&none, mode, access, "x"));
    assert_eq!(row(Default), ["allow", "ask", "ask"]);
    assert_eq!(row(AcceptEdits), ["allow", "allow", "ask"]);
    assert_eq!(row(Plan), ["allow", "deny", "deny"]);
    assert_eq!(row(Bypass), ["allow", "allow", "allow"]);
}

#[test]
fn deny_beats_allow_beats_mode() {
    use PermissionMode::{AcceptEdits, Bypass, Default, Plan};
    let both = permissions(&["tool"], &["tool(x)"]);
    for mode in [Default, AcceptEdits, Plan, Bypass] {
        for access in [Access::Read, Access::Edit, Access::Other] {
            assert_eq!(decide(&both, mode, access, "x"), "deny", "{mode:?} {access:?}");
        }
    }
    assert_eq!(decide(&both, Default, Access::Other, "y"), "allow");
    assert_eq!(decide(&both, Plan, Access::Other, "y"), "deny", "a plan changes nothing");
}

#[test]
fn a_rule_is_a_name_or_a_name_and_a_pattern() {
    for good in ["read_file", "shell_command(git *)", "mcp_*", "write_file(src/(a)/*)", "*"] {
        assert_eq!(good.parse::<Rule>().unwrap().to_string(), good);
    }
    assert_eq!(" shell_command( git * ) ".parse::<Rule>().unwrap().to_string(), "shell_command(git *)");
    for bad in ["", "tool(", "tool()", "tool(x", "(x)", "to ol(x)", "tool(x) y"] {
        assert_eq!(
            bad.parse::<Rule>().unwrap_err().to_string(),
            format!(
                "a permission rule is a tool's name, or a name and a pattern as in shell_command(git *), got: {bad}"
            )
        );
    }
}

#[test]
fn a_mode_is_told_when_it_changes_and_only_then() {
    let log = Log::default();
    let mode = LiveMode::new(PermissionMode::Default, log.bus().main());
    mode.set(PermissionMode::Default);
    mode.set(PermissionMode::Plan);
    mode.set(PermissionMode::Plan);
    assert_eq!(mode.get(), PermissionMode::Plan);
    assert_eq!(log.lines(), ["permission_mode_changed plan"]);
}
