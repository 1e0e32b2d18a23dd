use std::{path::Path, sync::Arc};

use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder};

use super::{Error, folder::Folder};

/// What is below a folder, in the order of the names: files with a dot too, but not what `.gitignore` and
/// `.ignore` leave out, nor what is in `.git`, nor what must not be found. Links are not followed.
pub(super) fn below(folder: &Arc<Folder>) -> impl Iterator<Item = Result<DirEntry, ignore::Error>> {
    let mut walk = WalkBuilder::new(folder.path());
    walk.hidden(false).require_git(false).git_global(false);
    let folder = Arc::clone(folder);
    walk.filter_entry(move |entry| {
        entry.depth() == 0 || entry.file_name() != ".git" && folder.shows(entry.path())
    });
    walk.sort_by_file_name(|a, b| a.cmp(b));
    walk.build()
}

/// Reads a pattern for paths below a folder: `*` stays within a name, `**` crosses folders.
pub(super) fn pattern(tool: &str, field: &str, pattern: &str) -> Result<GlobMatcher, Error> {
    let bad = |problem: String| Error::input(tool, field, &problem);
    if Path::new(pattern).is_absolute() || pattern.split('/').any(|part| part == "..") {
        return Err(bad(format!(
            "a pattern is for what is below path, set path to the folder, got: {pattern}"
        )));
    }
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| bad(error.to_string()))
}

/// A line about what could not be read, where there was such.
pub(super) fn unread(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!("\n[could not be read: {count}]"),
    }
}
