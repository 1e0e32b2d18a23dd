use std::fs;

use serde_json::json;

use super::*;
use crate::settings::{Layer, read};

/// Edits a file of that text and gives the text after.
fn edited(before: &str, change: impl FnOnce(&Document) -> Result<()>) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    fs::write(&path, before).unwrap();
    edit(&path, change).unwrap();
    fs::read_to_string(&path).unwrap()
}

fn error(before: &str, change: impl FnOnce(&Document) -> Result<()>) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    fs::write(&path, before).unwrap();
    let error = edit(&path, change).unwrap_err().to_string();
    assert_eq!(fs::read_to_string(&path).unwrap(), before, "the file is left alone");
    error.replace(&path.display().to_string(), "settings.json")
}

const HAND_WRITTEN: &str = r#"{
    // mine, all mine
    "zzz": {"odd":   [1,2 , 3]},
    "mods": {
        "sources": [
            "npm:first", // the first
            /* filtered */
            {"source": "owner/pack@v1", "mods": ["a/*", "!a/slow"]},
        ],
        "disabled": []
    },
    "model": "a/b"
}
"#;

#[test]
fn what_a_crash_left_of_an_edit_is_swept_by_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    for name in [".edit-a1b2c3", "settings.json", "other"] {
        fs::write(folder.path().join(name), "{}").unwrap();
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink("other", folder.path().join(".edit-link")).unwrap();
    fs::create_dir(folder.path().join(".edit-folder")).unwrap();
    edit(&folder.path().join("settings.json"), |document| document.set(&["model"], &json!("a/b"))).unwrap();
    let mut names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    let links: &[&str] = if cfg!(unix) { &[".edit-link"] } else { &[] };
    assert_eq!(names, [&[".edit-folder"], links, &["other", "settings.json"]].concat());
}

#[test]
fn an_appended_element_leaves_everything_else_as_it_was_written() {
    let after = edited(HAND_WRITTEN, |document| document.append(&["mods", "sources"], &json!("npm:last")));
    let (head, tail) = HAND_WRITTEN.split_once("        ],\n").unwrap();
    assert_eq!(after, format!("{head}            \"npm:last\",\n        ],\n{tail}"));
}

#[test]
fn a_removed_element_takes_its_line_and_nothing_else() {
    let after = edited(HAND_WRITTEN, |document| {
        let count = document.remove(&["mods", "sources"], |entry| entry == "npm:first")?;
        assert_eq!(count, 1);
        assert_eq!(document.remove(&["mods", "sources"], |entry| entry == "npm:first")?, 0);
        assert_eq!(document.remove(&["mods", "nothing"], |_| true)?, 0);
        Ok(())
    });
    assert_eq!(after, HAND_WRITTEN.replace("            \"npm:first\", // the first\n", ""));
}

#[test]
fn a_value_inside_an_object_entry_is_set_without_flattening_the_entry() {
    let after = edited(HAND_WRITTEN, |document| {
        document.set(&["mods", "sources", "1", "source"], &json!("owner/pack@v2"))?;
        document.set(&["mods", "sources", "0"], &json!("npm:other"))?;
        document.set(&["model"], &json!("c/d"))
    });
    let expected =
        HAND_WRITTEN.replace("pack@v1", "pack@v2").replace("npm:first", "npm:other").replace("a/b", "c/d");
    assert_eq!(after, expected);
}

#[test]
fn the_line_ends_the_indent_and_the_mark_of_the_file_are_kept() {
    let before = "\u{feff}{\r\n\t\"mods\": {\r\n\t\t\"disabled\": [\r\n\t\t\t\"a\"\r\n\t\t]\r\n\t}\r\n}\r\n";
    let after = edited(before, |document| document.append(&["mods", "disabled"], &json!("b")));
    assert_eq!(after, before.replace("\"a\"\r\n", "\"a\",\r\n\t\t\t\"b\"\r\n"));
}

#[test]
fn a_file_that_is_missing_is_made_with_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/settings.json");
    edit(&path, |document| {
        document.append(&["mods", "sources"], &json!("npm:a"))?;
        document.append(&["mods", "sources"], &json!({"source": "b", "mods": ["c"]}))?;
        document.set(&["mods", "hookTimeoutMs"], &json!(5))
    })
    .unwrap();
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        r#"{
  "mods": {
    "sources": [
      "npm:a",
      {
        "mods": ["c"],
        "source": "b"
      }
    ],
    "hookTimeoutMs": 5
  }
}
"#
    );
    let (layer, warnings): (Layer, _) = read(&path).unwrap();
    assert_eq!((layer.mods.sources.len(), layer.mods.hook_timeout_ms, warnings), (2, Some(5), Vec::new()));
}

#[test]
fn a_value_of_another_kind_is_told_and_not_overwritten() {
    let append = |document: &Document| document.append(&["mods", "sources"], &json!("x"));
    assert_eq!(error("[1]", append), "settings.json: `.` must be an object, got: [1]");
    assert_eq!(error(r#"{"mods": 5}"#, append), "settings.json: `mods` must be an object, got: 5");
    assert_eq!(
        error(r#"{"mods": {"sources": "a"}}"#, append),
        "settings.json: `mods.sources` must be an array, got: \"a\""
    );
    assert_eq!(
        error(r#"{"mods": {"sources": "a"}}"#, |document| document
            .remove(&["mods", "sources"], |_| true)
            .map(drop)),
        "settings.json: `mods.sources` must be an array, got: \"a\""
    );
    assert_eq!(
        error(r#"{"mods": {"sources": ["a"]}}"#, |document| document
            .set(&["mods", "sources", "1"], &json!("b"))),
        "settings.json: `mods.sources.1` must be an element of the array, got: nothing"
    );
    assert_eq!(error("{", append), "settings.json is not valid JSON: unterminated object on line 1 column 1");
}

#[test]
fn an_edit_that_changes_nothing_does_not_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    edit(&path, |document| document.remove(&["mods", "sources"], |_| true)).unwrap();
    assert!(!path.exists());
}

#[test]
#[cfg(unix)]
fn a_linked_file_stays_a_link_and_keeps_its_permissions() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real.json"), folder.path().join("settings.json"));
    fs::write(&real, "{}").unwrap();
    fs::set_permissions(&real, PermissionsExt::from_mode(0o640)).unwrap();
    symlink(&real, &link).unwrap();
    edit(&link, |document| document.set(&["model"], &json!("a/b"))).unwrap();
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "{\n  \"model\": \"a/b\"\n}");
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn eight_that_edit_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    std::thread::scope(|scope| {
        for n in 0..8 {
            let path = &path;
            scope.spawn(move || {
                edit(path, |document| document.append(&["mods", "disabled"], &json!(format!("m{n}"))))
                    .unwrap();
            });
        }
    });
    let (layer, _) = read(&path).unwrap();
    let mut disabled = layer.mods.disabled;
    disabled.sort();
    assert_eq!(disabled, ["m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7"]);
}
