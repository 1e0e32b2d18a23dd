use mod_interface::types::PermissionMode;

use super::{decide, permissions};
use crate::{agent::permissions::shell, tools::Access};

fn command(allow: &[&str], deny: &[&str], command: &str) -> &'static str {
    decide(&permissions(allow, deny), PermissionMode::Default, Access::Other, command)
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
