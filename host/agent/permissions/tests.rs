use std::{path::Path, sync::Arc};

use mod_interface::types::PermissionMode;
use serde_json::json;

use super::{Decision, LiveMode, NobodyToAsk, Permissions, Rule, shell};
use crate::{
    agent::tests::fakes::{FakeTool, Log},
    tools::Access,
};

fn permissions(allow: &[&str], deny: &[&str]) -> Permissions {
    let rules = |rules: &[&str]| rules.iter().map(|rule| rule.parse().unwrap()).collect();
    let mode = Arc::new(LiveMode::new(PermissionMode::Default, Log::default().bus().main()));
    Permissions::new(rules(allow), rules(deny), mode, Arc::new(NobodyToAsk), Path::new("/work/it").into())
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

fn command(allow: &[&str], deny: &[&str], command: &str) -> &'static str {
    decide(&permissions(allow, deny), PermissionMode::Default, Access::Other, command)
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
fn a_star_stands_for_any_text() {
    let holds = |pattern: &str, path: &str| {
        decide(&permissions(&[&format!("tool({pattern})")], &[]), PermissionMode::Default, Access::Edit, path)
            == "allow"
    };
    assert!(holds("src/*", "src/a.rs") && holds("src/*", "src/deep/b.rs") && holds("*.rs", "x/y.rs"));
    assert!(holds("a*b*c", "abc") && holds("a*b*c", "a1b2b3c") && holds("*", "x") && holds("x", "x"));
    assert!(!holds("src/*", "lib/src/a.rs") && !holds("*.rs", "a.rs.bak") && !holds("a*bc*c", "abc"));
    assert!(!holds("x", "xy") && !holds("x", "yx"));
}

#[test]
fn a_path_is_matched_where_it_really_leads() {
    let path = |rule: &str, path: &str| {
        decide(&permissions(&[rule], &[]), PermissionMode::Default, Access::Edit, path)
    };
    assert_eq!(path("tool(src/*)", "./src/../src/a"), "allow");
    assert_eq!(path("tool(src/*)", "/work/it/src/a"), "allow");
    assert_eq!(path("tool(/work/it/src/*)", "src/a"), "allow");
    assert_eq!(path("tool(src/*)", "src/../secret"), "ask");
    assert_eq!(path("tool(src/*)", "src/../../other/src/a"), "ask");
    let denied = permissions(&[], &["tool(.env)"]);
    for disguise in [".env", "./.env", "a/../.env", "/work/it/.env", "//work/it//.env"] {
        assert_eq!(decide(&denied, PermissionMode::Bypass, Access::Edit, disguise), "deny", "{disguise}");
    }
}

#[test]
fn a_path_through_a_link_needs_a_rule_for_both_of_its_names() {
    let through_link = |allow: &[&str], deny: &[&str]| {
        decide(&permissions(allow, deny), PermissionMode::Default, Access::Edit, "src/link\0/etc/real")
    };
    assert_eq!(through_link(&["tool(src/*)"], &[]), "ask");
    assert_eq!(through_link(&["tool(src/*)", "tool(/etc/*)"], &[]), "allow");
    assert_eq!(through_link(&["tool"], &["tool(/etc/*)"]), "deny");
    assert_eq!(through_link(&["tool"], &["tool(src/link)"]), "deny");
}

#[test]
fn an_allow_rule_counts_only_if_every_part_is_allowed() {
    let git = |text: &str| command(&["tool(git *)"], &[], text);
    for allowed in [
        "git",
        "git status",
        "git   log  -p",
        "git status && git log || git diff; git show & git branch\ngit tag | git mktag",
        "(git status; git log)",
        "{ git status; }",
        "if git status; then git log; fi",
        "git log $(git rev-parse HEAD) \"`git describe`\" ${x:-$(git tag)}",
        "git log > /dev/null 2>&1",
        "git apply < x.patch",
        "git log # rm -rf /",
        "git commit -m 'a; rm -rf /'",
        "git apply <<'E'\n$(rm -rf /)\nE\ngit status",
        "git apply <<-E\n$(git tag)\n\tE\n",
        "git \\\n status",
        "git log -$((2 * (n + 1)))",
    ] {
        assert_eq!(git(allowed), "allow", "{allowed}");
    }
    for asked in [
        "",
        "# nothing",
        "gitx status",
        "rm -rf /",
        "git status; rm x",
        "git status && rm x",
        "git status || rm x",
        "git status | rm x",
        "git status & rm x",
        "git status\nrm x",
        "git log $(rm x)",
        "git log `rm x`",
        "git log \"$(rm x)\"",
        "git log \"`rm x`\"",
        "git log ${x:-$(rm x)}",
        "git log <(rm x)",
        "git log >(rm x)",
        "git log > out",
        "git log >> out",
        "git log >| out",
        "git log 2> out",
        "git log &> out",
        "git log &> /dev/null rm x",
        "git log >& out",
        "git log >&2out",
        "git log <> out",
        "(git status; rm x)",
        "{ git status; rm x; }",
        "git() { rm x; }; git status",
        "PATH=evil git status",
        "GIT_PAGER=evil; git log",
        "sudo git status",
        "git apply <<E\n$(rm x)\nE",
        "git apply <<E\n`rm x`\nE",
        "git apply <<< $(rm x)",
        "! rm x",
        "while git status; do rm x; done",
    ] {
        assert_eq!(git(asked), "ask", "{asked}");
    }
}

#[test]
fn a_write_to_a_file_is_a_part_that_a_rule_can_allow() {
    let rules = ["tool(git *)", "tool(> out/*)"];
    assert_eq!(command(&rules, &[], "git log > out/log 2>>out/err"), "allow");
    assert_eq!(command(&rules, &[], "git log > etc/passwd"), "ask");
}

#[test]
fn a_deny_rule_counts_if_any_part_is_denied_in_whatever_disguise() {
    let rm = |text: &str| command(&["tool"], &["tool(rm *)"], text);
    for denied in [
        "rm x",
        "rm",
        "ls; rm x",
        "ls | rm x",
        "ls $(rm x)",
        "\"rm\" x",
        "r'm' x",
        "r\\m x",
        "r\\\nm x",
        "/bin/rm x",
        "../bin/rm x",
        "sudo -n rm x",
        "env A=b rm x",
        "A=b rm x",
        "if true; then rm x; fi",
        "{ rm x; }",
        "! rm x",
        "(rm x)",
        "ls <<E\n$(rm x)\nE",
        "echo \"$(rm x)\"",
        "cat <(rm x)",
    ] {
        assert_eq!(rm(denied), "deny", "{denied}");
    }
    for allowed in ["echo rm x", "echo 'a; rm x'", "rmdir x", "ls <<'E'\n$(rm x)\nE", "git rm x"] {
        assert_eq!(rm(allowed), "allow", "{allowed}");
    }
}

#[test]
fn what_cannot_be_read_is_asked_and_in_bypass_mode_denied_where_a_rule_might_hold() {
    for unreadable in [
        "git 'status",
        "git \"status",
        "git $(status",
        "git `status",
        "git status)",
        "git ${x:-'a'}",
        "git ${x:-<(rm x)}",
        "git $'\\x72m'",
        "git $[1<<2]",
        "git <<E",
        "git <<E\nno end",
        "git <<E\nE\\\nE\n",
        "git <<E $(git tag\nrm x\nE\n)",
        "git <<E 'a\n'\nE\n",
        "git $(git tag # )\n)",
        "git <<$x\n$x\n",
        "git $((1 <<'E'\n$(rm x)\nE\n))",
        "((1 <<'E'\n$(rm x)\nE\n))",
        "((rm x))",
        "git $((rm x) | (ls))",
        "case x in x) git;; esac",
        "git `echo '`' ; rm x ; '`'",
        "git `# a` ; rm x\n`",
        "git ${x:-'}'}; rm x \\'",
        "git >",
        "git > > x",
        "a[1<<2 ]=3\nrm x\n2",
    ] {
        assert_eq!(shell::commands(unreadable), None, "{unreadable}");
        assert_eq!(command(&["tool(git *)"], &[], unreadable), "ask", "{unreadable}");
        assert_eq!(command(&["tool"], &["tool(rm *)"], unreadable), "ask", "{unreadable}");
        let bypass = |deny: &[&str]| {
            decide(&permissions(&[], deny), PermissionMode::Bypass, Access::Other, unreadable)
        };
        assert_eq!((bypass(&["tool(rm *)"]), bypass(&["other(rm *)"])), ("deny", "allow"), "{unreadable}");
    }
}

#[test]
fn a_command_of_any_depth_is_read_without_overflow() {
    assert_eq!(shell::commands(&"(".repeat(100_000)), None);
    assert_eq!(shell::commands(&"$(".repeat(100_000)), None);
    assert_eq!(shell::commands(&"${x:-".repeat(100_000)), None);
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
