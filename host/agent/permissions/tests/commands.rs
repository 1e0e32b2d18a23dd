use mod_interface::types::PermissionMode;

use super::{decide, permissions};
use crate::{agent::permissions::shell, tools::Access};

fn command(allow: &[&str], deny: &[&str], command: &str) -> &'static str {
    decide(&permissions(allow, deny), PermissionMode::Default, Access::Other, command)
}

/// What becomes of a command where all of git is allowed.
fn git(text: &str) -> &'static str {
    command(&["tool(git *)"], &[], text)
}

#[test]
fn an_allow_rule_counts_only_if_every_part_is_allowed() {
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
        "git log $X \"$@\" *.rs",
        "time git status; ! time -p git log",
        "nice -n 5 timeout -k 1 5m nohup stdbuf -oL git log",
        "command git log; setsid -w git log; exec git log; builtin git",
    ] {
        assert_eq!(git(allowed), "allow", "{allowed}");
    }
}

#[test]
fn an_allow_rule_does_not_count_if_a_part_is_not_allowed() {
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
        "time",
        "nice",
        "nice rm x",
        "nice A=b git status",
        "./nice git status",
        "env git status",
        "find . -exec git status +",
        "sh -c 'git status'",
        "ls | xargs git log",
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
        "rm $X",
        "\"rm\" $X",
        "rm x $X",
    ] {
        assert_eq!(rm(denied), "deny", "{denied}");
    }
    for allowed in ["echo rm x", "echo 'a; rm x'", "rmdir x", "ls <<'E'\n$(rm x)\nE", "git rm x"] {
        assert_eq!(rm(allowed), "allow", "{allowed}");
    }
}

fn assert_unreadable(commands: &[&str]) {
    for unreadable in commands {
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
fn what_cannot_be_read_is_asked_and_in_bypass_mode_denied_where_a_rule_might_hold() {
    assert_unreadable(&[
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
    ]);
}

#[test]
fn a_program_that_comes_from_elsewhere_is_not_read() {
    assert_unreadable(&[
        "X=rm; $X x",
        "$(echo rm) x",
        "`echo rm` x",
        "/bin/r? x",
        "/bin/[r]m x",
        "r*",
        "{rm,x}",
        "rm${IFS}x",
        "$1 x",
        "set -- rm x; \"$@\"",
        "$\"rm\" x",
        "<(echo rm) x",
        "eval rm x",
        "alias g=rm",
        "trap 'rm x' EXIT",
        "source x",
        ". ./x",
        "hash -p /bin/rm git",
        "function g { rm x; }",
        "coproc g { rm x; }",
        "command eval rm x",
        "builtin . x",
    ]);
}

#[test]
fn a_wrapper_around_what_cannot_be_read_is_not_read() {
    assert_unreadable(&[
        "nice $X",
        "nice -n $X git x",
        "nice -x git x",
        "nice --adj=5 rm x",
        "timeout",
        "timeout 5 r?",
        "env -S 'rm x'",
        "env A=$X git x",
        "exec $X",
        "time { rm x; }",
        "time ! rm x",
        "ls | xargs -I{} {} x",
        "ls | xargs nice",
        "ls | xargs sh",
        "sudo -s rm x",
        "find . -exec {} x \\;",
        "find . -exec $X \\;",
        "echo rm x | sh",
        "sh <<'E'\nrm x\nE",
        "sh -s x",
        "bash +x -c 'rm x'",
        "sh -c \"$X\"",
        "sh -c 'rm x",
        "sh -c '$0 x' rm",
        "sh <(echo rm x)",
        "busybox sh",
        "zsh -c ls",
        "PS4='$(rm x)'; set -x",
        "export PS4='$(rm x)'",
        "env BASH_ENV=x bash y",
    ]);
}

#[test]
fn a_command_of_any_depth_is_read_without_overflow() {
    assert_eq!(shell::commands(&"(".repeat(100_000)), None);
    assert_eq!(shell::commands(&"$(".repeat(100_000)), None);
    assert_eq!(shell::commands(&"${x:-".repeat(100_000)), None);
    assert_eq!(shell::commands("git \0"), None);
    assert_eq!(shell::commands(&"nice ".repeat(100_000)), None);
    assert_eq!(shell::commands(&"find -exec ".repeat(10_000)), None);
    assert!(shell::commands(&"A=b ".repeat(100_000)).is_some());
}

#[test]
fn a_command_is_found_behind_what_only_leads_to_it() {
    let rm = |text: &str| command(&["tool"], &["tool(rm *)"], text);
    for denied in [
        "nice rm x",
        "nice -n5 rm x",
        "/usr/bin/nice -n 5 -- rm x",
        "timeout 5 rm x",
        "timeout --signal=KILL -k 1 5 rm x",
        "setsid -f rm x",
        "stdbuf -o0 rm x",
        "env -u X A=b rm x",
        "env -i -- A=b rm x",
        "nohup rm x",
        "time -p rm x",
        "command -p rm x",
        "builtin command rm x",
        "exec -a git rm x",
        "sudo -u root A=b /bin/rm x",
        "ls | xargs rm",
        "ls | xargs -0 -n1 rm -f",
        "busybox rm x",
        "A=b C+=d rm x",
        "find . -name x -exec rm {} \\; -print",
        "find . -ok git add {} + -execdir nice rm {} +",
        "sh -c 'rm x'",
        "sh -c \"echo \\'; rm x; echo \\'\"",
        "bash -euo pipefail -c \"ls; rm \\$x\" name",
        "nice env sh -c 'sudo sh -c \"rm x\"'",
        "> out rm x",
    ] {
        assert_eq!(rm(denied), "deny", "{denied}");
    }
    for allowed in
        ["nice ls", "find . -name rm -exec ls rm +", "sh -c 'ls rm'", "sh rm.sh", "ls | xargs", "env A=b"]
    {
        assert_eq!(rm(allowed), "allow", "{allowed}");
    }
    assert_eq!(
        command(&["tool"], &["tool(nice *)"], "timeout 5 nice ls"),
        "deny",
        "wrappers are commands too"
    );
}

#[test]
fn a_wrapper_that_changes_its_command_needs_a_rule_beside_that_of_the_command() {
    for (wrapper, text) in [
        ("env *", "env -u X git status"),
        ("A=b *", "A=b git status"),
        ("sudo *", "sudo -n git status"),
        ("xargs *", "xargs -0 git log"),
        ("busybox *", "busybox git"),
        ("find *", "find . -exec git add {} +"),
        ("sh *", "sh -c 'git status'"),
        ("/opt/nice *", "/opt/nice git status"),
    ] {
        let rule = format!("tool({wrapper})");
        assert_eq!(command(&[&rule, "tool(git *)"], &[], text), "allow", "{text}");
        assert_eq!(command(&[&rule], &[], text), "ask", "{text}");
        assert_eq!(command(&["tool(git *)"], &[], text), "ask", "{text}");
    }
    assert_eq!(command(&["tool(nice *)"], &[], "nice rm x"), "ask", "this one has no need of a rule");
}

#[test]
fn an_expansion_may_be_what_a_deny_rule_forbids() {
    let push = |text: &str| command(&["tool"], &["tool(git push *)"], text);
    for unsure in [
        "git $X",
        "git $X push",
        "git \"$X\" origin",
        "git pu$X",
        "git `echo push`",
        "git $(echo push) x",
        "git ${x} y",
        "git pus$1 y",
        "git {push,x}",
        "ls | xargs git",
        "/bin/git $@",
    ] {
        assert_eq!(push(unsure), "ask", "{unsure}");
    }
    for free in ["git log $X", "git commit -m \"$(cat m)\"", "git *", "git log {a,b}"] {
        assert_eq!(push(free), "allow", "{free}");
    }
    assert_eq!(command(&["tool"], &["tool(> /etc/*)"], "ls > $X"), "ask");
}

#[test]
fn a_write_to_where_cannot_be_told_is_asked() {
    let rules = ["tool(git *)", "tool(> out/*)"];
    for target in ["out/../etc/passwd", "out/$X", "out/*", "out/`ls`", "out/{a,b}"] {
        assert_eq!(command(&rules, &[], &format!("git log > {target}")), "ask", "{target}");
    }
    assert_eq!(command(&rules, &[], "git log > out/..x"), "allow");
}
