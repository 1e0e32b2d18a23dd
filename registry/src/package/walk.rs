use super::library::{is_library, mod_name};
use crate::{manifest, portable::check_path};
use std::{fs, path::Path};

/// The name of the library that is a package's mod when nothing else is said.
pub(super) const INDEX: &str = "index";

pub(super) fn is_mod_dir(folder: &Path) -> bool {
    folder.join(manifest::FILE_NAME).is_file()
}

/// The library called `index` in a folder.
pub(super) fn index(root: &Path) -> Option<String> {
    names(root).into_iter().find(|name| mod_name(name).as_deref() == Some(INDEX) && root.join(name).is_file())
}

/// The mods one level below a folder: directories with a manifest, and libraries.
pub(super) fn children(root: &Path, folder: &str) -> Vec<String> {
    let mods = names(&root.join(folder)).into_iter().map(|name| format!("{folder}/{name}"));
    mods.filter(|path| is_mod(root, path)).collect()
}

/// All mods below a folder. What is inside a mod directory is its own.
pub(super) fn all(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for name in names(&root.join(&folder)) {
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            if check_path(&path).is_err() {
                continue;
            }
            if is_mod(root, &path) {
                found.push(path);
            } else if root.join(&path).symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
                folders.push(path);
            }
        }
    }
    found.sort();
    found
}

fn is_mod(root: &Path, path: &str) -> bool {
    let whole = root.join(path);
    is_mod_dir(&whole) || (is_library(path) && whole.is_file())
}

/// What is in a folder, sorted; dot entries and `node_modules` are never looked at.
fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.') && name != "node_modules")
        .collect();
    names.sort();
    names
}
