use std::path::{Component, Path, PathBuf};

use super::Error;

/// Links in a row that are followed; the usual bound of operating systems.
const MAX_LINKS: usize = 40;

/// The file that `given` names. `.` and `..` are resolved by name alone, so that what a rule sees is
/// what is opened.
pub(super) fn resolve(cwd: &Path, given: &str) -> Result<PathBuf, Error> {
    if given.is_empty() {
        return Err(Error::Failed("the path is empty; the workspace itself is: .".to_owned()));
    }
    if given == "~" || given.starts_with("~/") {
        return Err(Error::Failed(format!("~ is not resolved here, give the whole path: {given}")));
    }
    Ok(normal(&cwd.join(given)))
}

/// Takes `.` and `..` out, by name alone.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => (),
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// A path as it is told to people and models: relative to `cwd` when it is inside, with `/`.
pub(super) fn shown(cwd: &Path, path: &Path) -> String {
    let shown = match path.strip_prefix(normal(cwd)) {
        Ok(inside) if inside.as_os_str().is_empty() => Path::new("."),
        Ok(inside) => inside,
        Err(_) => path,
    };
    let shown = shown.to_string_lossy();
    if cfg!(windows) { shown.replace('\\', "/") } else { shown.into_owned() }
}

/// Follows all links, also those that lead to a file which is not there yet.
pub(crate) fn real(path: &Path) -> PathBuf {
    follow(path, MAX_LINKS)
}

fn follow(path: &Path, links_left: usize) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return path.to_owned() };
    let parent = follow(parent, links_left);
    let here = parent.join(name);
    match here.read_link() {
        Ok(link) if links_left > 0 => follow(&parent.join(link), links_left - 1),
        _ => here,
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_path_is_resolved_by_name() {
        let resolved =
            |given| resolve(Path::new("/project"), given).map(|path| shown(Path::new("/project"), &path));
        let paths = [
            "a/./b",
            "a/../b",
            "/project/a//b/",
            "../other",
            "..",
            "/",
            "../../../x",
            "a/../../project",
            "./",
        ];
        let expected = ["a/b", "b", "a/b", "/other", "/", "/", "/x", ".", "."];
        assert_eq!(paths.map(|given| resolved(given).unwrap()), expected);
        assert_eq!(resolved("").unwrap_err().to_string(), "the path is empty; the workspace itself is: .");
        assert_eq!(
            resolved("~/x").unwrap_err().to_string(),
            "~ is not resolved here, give the whole path: ~/x"
        );
    }

    #[test]
    fn links_are_followed_to_what_is_there_and_to_what_is_not_there_yet() {
        let dir = tempfile::tempdir().unwrap();
        let cwd = &dir.path().canonicalize().unwrap();
        fs::create_dir(cwd.join("secret")).unwrap();
        fs::write(cwd.join("secret/key"), "").unwrap();
        symlink("secret", cwd.join("open")).unwrap();
        symlink("secret/key", cwd.join("lock")).unwrap();
        symlink(cwd, cwd.join("secret/up")).unwrap();
        symlink("../nowhere", cwd.join("secret/dangling")).unwrap();
        symlink("loop", cwd.join("loop")).unwrap();
        let followed = |given: &str| shown(cwd, &real(&cwd.join(given)));
        assert_eq!(followed("secret/key"), "secret/key");
        assert_eq!(followed("open/key"), "secret/key");
        assert_eq!(followed("open/new/file"), "secret/new/file");
        assert_eq!(followed("lock"), "secret/key");
        assert_eq!(followed("secret/up/lock"), "secret/key");
        assert_eq!(followed("open/dangling"), "nowhere");
        assert_eq!(followed("loop"), "loop");
        assert_eq!(followed("new/file"), "new/file");
    }
}
