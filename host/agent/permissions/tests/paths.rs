use std::path::{Path, PathBuf};

use mod_interface::types::PermissionMode;

use super::{decide, permissions, permissions_in};
use crate::{
    agent::{permissions::Workspace, tests::fakes::FakeTool},
    tools::Access,
};

/// A workspace that is reached through a link, with a link to a vault in it.
fn linked() -> Workspace {
    fn follow(path: &Path) -> PathBuf {
        let links = [("/link/it/secrets", "/vault"), ("/ws/it/secrets", "/vault"), ("/link", "/ws")];
        let led = links.iter().find_map(|(link, to)| Some(Path::new(to).join(path.strip_prefix(link).ok()?)));
        // Joining with nothing leaves a slash at the end.
        led.map_or_else(|| path.to_owned(), |led| led.components().collect())
    }
    Workspace {
        cwd: Path::new("/link/it").into(),
        home: Some("/home/me".into()),
        guarded: vec!["/link/it/conf".into()],
        follow,
    }
}

#[test]
fn a_path_is_matched_where_it_really_leads() {
    let path = |rule: &str, path: &str| {
        decide(&permissions(&[rule], &[]), PermissionMode::Default, Access::Edit, path)
    };
    assert_eq!(path("tool(src/*)", "./src/../src/a"), "allow");
    assert_eq!(path("tool(src/*)", "/ws/it/src/a"), "allow");
    assert_eq!(path("tool(/ws/it/src/*)", "src/a"), "allow");
    assert_eq!(path("tool(src/*)", "src/../secret"), "ask");
    assert_eq!(path("tool(src/*)", "src/../../other/src/a"), "ask");
    let denied = permissions(&[], &["tool(.env)"]);
    for disguise in [".env", "./.env", "a/../.env", "/ws/it/.env", "//ws/it//.env"] {
        assert_eq!(decide(&denied, PermissionMode::Bypass, Access::Edit, disguise), "deny", "{disguise}");
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
fn a_path_through_a_link_needs_a_rule_for_both_of_its_names() {
    let through_link = |allow: &[&str], deny: &[&str]| {
        let permissions = permissions_in(linked(), allow, deny);
        decide(&permissions, PermissionMode::Default, Access::Edit, "a/../secrets/key")
    };
    assert_eq!(through_link(&["tool(secrets/*)"], &[]), "allow", "the rule follows the same link");
    assert_eq!(through_link(&["tool(sec*)"], &[]), "ask");
    assert_eq!(through_link(&["tool(sec*)", "tool(/vault/*)"], &[]), "allow");
    assert_eq!(through_link(&["tool"], &["tool(/vault/*)"]), "deny");
    assert_eq!(through_link(&["tool"], &["tool(sec*)"]), "deny");
}

#[test]
fn a_deny_rule_holds_for_a_path_under_all_of_its_names_and_for_what_is_in_it() {
    let denied = |rule: &str, path: &str| {
        let permissions = permissions_in(linked(), &[], &[rule]);
        let fate = decide(&permissions, PermissionMode::Bypass, Access::Read, path);
        assert!(["allow", "deny"].contains(&fate));
        fate == "deny"
    };
    let paths = [
        "secrets/key",
        "./secrets/key",
        "a/../secrets/key",
        "../it/secrets//key",
        "/link/it/secrets/key",
        "/ws/it/secrets/key",
        "/vault/key",
        "/vault/deep/key",
        "secrets",
        "secrets/",
        "./secrets/.",
        "secrets/a/..",
        "/vault",
    ];
    for rule in [
        "tool(secrets/**)",
        "tool(secrets/*)",
        "tool(./secrets/*)",
        "tool(a/../secrets/**)",
        "tool(secrets)",
        "tool(secrets/)",
        "tool(/link/it/secrets/*)",
        "tool(/ws/it/secrets/*)",
        "tool(/vault/**)",
    ] {
        for path in paths {
            assert!(denied(rule, path), "{rule} {path}");
        }
        for path in ["secret", "secrets2", "a/secrets", "/secrets/key", "~/secrets/key", "."] {
            assert!(!denied(rule, path), "{rule} {path}");
        }
    }
    for path in ["~/.ssh/id", "/home/me/.ssh/id", "../../home/me/x/../.ssh", "~//.ssh/id"] {
        assert!(denied("tool(~/.ssh/**)", path), "{path}");
    }
    assert!(denied("tool(~)", "/home/me/x") && !denied("tool(~)", "/home/mex"));
    assert!(denied("tool(**/.env)", "a/.env") && denied("tool(*.pem)", "/etc/x.pem"));
    assert!(denied("tool(/*)", "/etc/x") && denied("tool(.)", "a") && !denied("tool(.)", "/etc/x"));
}

#[test]
fn a_star_in_the_name_of_the_workspace_stands_for_itself() {
    let workspace = Workspace {
        cwd: Path::new("/ws/a*b").into(),
        home: None,
        guarded: vec![],
        follow: Path::to_path_buf,
    };
    let permissions = permissions_in(workspace, &["tool(src/*)"], &[]);
    let allowed = |path| decide(&permissions, PermissionMode::Default, Access::Edit, path);
    assert_eq!(allowed("src/x"), "allow");
    assert_eq!(allowed("/ws/a*b/src/x"), "allow");
    assert_eq!(allowed("/ws/axb/src/x"), "ask");
}

#[test]
fn what_must_not_be_read_must_not_be_found_or_edited() {
    let permissions =
        permissions_in(linked(), &["tool"], &["read_file(secrets/**)", "tool(/else/*)", "other(src)"]);
    for access in [Access::Read, Access::Edit] {
        let fate = |path| decide(&permissions, PermissionMode::Bypass, access, path);
        assert_eq!(["secrets", "/vault/key", "src", "."].map(fate), ["deny", "deny", "allow", "allow"]);
    }
    assert_eq!(decide(&permissions, PermissionMode::Bypass, Access::Other, "cat secrets/key"), "allow");
    for rule in ["write_file(src)", "edit_file(src)"] {
        let permissions = permissions_in(linked(), &["tool"], &[rule]);
        let fate = |access| decide(&permissions, PermissionMode::Bypass, access, "src/a");
        assert_eq!([Access::Edit, Access::Read].map(fate), ["deny", "allow"], "{rule}");
    }
    let hidden = |access| {
        let hidden = permissions.hidden(&FakeTool::new("tool").access(access));
        ["/link/it/secrets", "/link/it/secrets/key", "/vault/key", "/else/x", "/link/it/src"]
            .map(|path| hidden(Path::new(path)))
    };
    assert_eq!(hidden(Access::Read), [true, true, true, true, false]);
    assert_eq!(hidden(Access::Other), [false; 5]);
    let whole = permissions_in(linked(), &[], &["read_file"]);
    assert_eq!(
        decide(&whole, PermissionMode::Default, Access::Read, "a"),
        "allow",
        "it is about the tool alone"
    );
    assert!(!whole.hidden(&FakeTool::new("tool"))(Path::new("/link/it/a")));
}

#[test]
fn no_edit_is_accepted_unasked_that_reaches_beyond_the_project() {
    let permissions = permissions_in(linked(), &["other"], &[]);
    let fate = |path| decide(&permissions, PermissionMode::AcceptEdits, Access::Edit, path);
    for accepted in ["a", "a/../b", "/link/it/a", "/ws/it/a", ".gitignore", "x.git/a", "configuration"] {
        assert_eq!(fate(accepted), "allow", "{accepted}");
    }
    for asked in [
        "/etc/passwd",
        "../other",
        "/ws/its",
        "~/.bashrc",
        "secrets/key",
        ".git",
        ".git/hooks/pre-commit",
        "sub/.GIT/config",
        "a/../.commandcode/settings.json",
        ".registry/x",
        "conf/settings.json",
        "/ws/it/conf/x",
        "a\0/etc/passwd",
    ] {
        assert_eq!(fate(asked), "ask", "{asked}");
    }
    let rule = permissions_in(linked(), &["tool(.git/hooks/*)"], &[]);
    assert_eq!(decide(&rule, PermissionMode::AcceptEdits, Access::Edit, ".git/hooks/x"), "allow");
    assert_eq!(decide(&rule, PermissionMode::AcceptEdits, Access::Edit, ".git/config"), "ask");
}
