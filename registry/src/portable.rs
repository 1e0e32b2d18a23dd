//! Names and paths that mean the same thing on every system.

use crate::Error;

/// The longest path component that common file systems take.
const MAX_COMPONENT: usize = 255;
/// The deepest nesting that a package may have.
const MAX_DEPTH: usize = 32;
/// The longest name of a package, npm's own limit.
const MAX_PACKAGE_NAME: usize = 214;

/// Checks the name of a mod: `^[a-z0-9][a-z0-9-]{0,63}$`, and no device name of Windows.
///
/// # Errors
/// `E_NAME`.
pub fn check_mod_name(name: &str) -> Result<(), Error> {
    let shape = name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if shape && !is_device_name(name) {
        return Ok(());
    }
    Err(Error::Name {
        what: "mod",
        expected: "lower-case letters, digits and dashes, at most 64, and no device name",
        name: name.to_owned(),
    })
}

/// Checks the name of a package, with or without a scope: `review-mod`, `@team/review-mod`.
///
/// # Errors
/// `E_NAME`.
pub fn check_package_name(name: &str) -> Result<(), Error> {
    let (scope, bare) = match name.strip_prefix('@') {
        Some(rest) => rest.split_once('/').map_or((Some(rest), ""), |(scope, bare)| (Some(scope), bare)),
        None => (None, name),
    };
    let good = name.len() <= MAX_PACKAGE_NAME
        && scope.is_none_or(is_package_word)
        && is_package_word(bare)
        && check_path(name).is_ok();
    if good {
        return Ok(());
    }
    Err(Error::Name {
        what: "package",
        expected: "a name like review-mod or @team/review-mod",
        name: name.to_owned(),
    })
}

fn is_package_word(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    word.starts_with(|c| plain(c) || c == '~')
        && word.chars().all(|c| plain(c) || matches!(c, '~' | '.' | '_' | '-'))
}

/// Checks a path inside a package: relative, `/` between its parts, printable ASCII, and no part that some system reads
/// as something else.
///
/// # Errors
/// `E_ENTRY_PATH`.
pub fn check_path(path: &str) -> Result<(), Error> {
    let refuse = |reason| Err(Error::EntryPath { path: path.to_owned(), reason });
    if path.is_empty() {
        return refuse("it is empty");
    }
    if path.split('/').count() > MAX_DEPTH {
        return refuse("it is nested more than 32 deep");
    }
    for part in path.split('/') {
        if let Some(reason) = bad_component(part) {
            return refuse(reason);
        }
    }
    Ok(())
}

/// Why a part of a path is not portable.
fn bad_component(part: &str) -> Option<&'static str> {
    match part {
        "" => return Some("it is absolute or has an empty part"),
        "." | ".." => return Some("it has a part that is . or .."),
        _ => {}
    }
    if part.len() > MAX_COMPONENT {
        return Some("a part of it is longer than 255 bytes");
    }
    if !part.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Some("it has a character that is not printable ASCII");
    }
    if part.contains(['\\', ':', '<', '>', '"', '|', '?', '*']) {
        return Some("it has one of the characters \\ : < > \" | ? *");
    }
    if part.ends_with(['.', ' ']) {
        return Some("a part of it ends with a dot or a space");
    }
    is_device_name(part).then_some("a part of it is a device name on Windows")
}

/// `con`, `nul.txt` and their like open a device on Windows, whatever the folder.
fn is_device_name(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or(part).trim_end().to_ascii_lowercase();
    match stem.as_str() {
        "con" | "prn" | "aux" | "nul" | "conin$" | "conout$" => true,
        other => other
            .strip_prefix("com")
            .or_else(|| other.strip_prefix("lpt"))
            .is_some_and(|digit| digit.len() == 1 && digit.bytes().all(|byte| byte.is_ascii_digit())),
    }
}

#[cfg(test)]
mod tests {
    use super::{check_mod_name, check_package_name, check_path};

    #[test]
    fn a_mod_name_is_lower_case_ascii_with_dashes() {
        for name in ["review-guard", "a", "0day", &"a".repeat(64)] {
            assert!(check_mod_name(name).is_ok(), "{name}");
        }
        for name in ["", "-a", "A", "a_b", "a.b", "é", "con", "nul", "com1", "a/b", &"a".repeat(65)] {
            assert!(check_mod_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_package_name_may_have_a_scope() {
        for name in ["review-mod", "@team/review-mod", "a.b_c", "~a"] {
            assert!(check_package_name(name).is_ok(), "{name}");
        }
        for name in
            ["", "@team", "@team/", "@/a", "A", "a/b", "../a", "-a", ".a", "a:b", "@a/b/c", "aux", "a."]
        {
            assert!(check_package_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_path_that_some_system_reads_otherwise_is_refused() {
        for path in
            ["mod.toml", "bin/x86_64-unknown-linux-gnu/liba.so", ".npmrc", "a b/c", "common/x", "com10"]
        {
            assert!(check_path(path).is_ok(), "{path}");
        }
        let deep = "a/".repeat(32) + "a";
        let long = "a".repeat(256);
        for path in [
            "",
            "/etc/passwd",
            "..",
            "a/../b",
            "./a",
            "a//b",
            "a/",
            "a\\b",
            "C:/x",
            "//server/share",
            "a\0b",
            "é",
            "a\n",
            "a.",
            "a ",
            "CON",
            "aux.txt",
            "x/Nul",
            "lpt1.so",
            "a?",
            &deep,
            &long,
        ] {
            assert!(check_path(path).is_err(), "{path:?}");
        }
    }

    #[test]
    fn the_refusal_says_which_path_and_why() {
        let error = check_path("../x.so").unwrap_err();
        assert_eq!(
            (error.code(), error.to_string().as_str()),
            (
                "E_ENTRY_PATH",
                "the package has a path that cannot be used, it has a part that is . or .., get the package anew from its author: \"../x.so\""
            )
        );
    }
}
