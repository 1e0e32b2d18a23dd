use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use crate::abi::{Ctx, Frame, TextField, ToolCall, ToolResult};

use super::ModApi;

/// More links than this lead nowhere.
const MAX_LINKS: u32 = 40;

impl ModApi {
    /// The place that `path` names: whole, from the workspace root on, without `.` and `..`, and with links followed as
    /// far as there are any. It need not be there. Compare places, never paths as they were written.
    ///
    /// It says what is on the disk now: who may change links may do so after you looked.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// async fn only_docs(cmd: ModApi) -> Result<()> {
    ///     let docs = cmd.place("docs");
    ///     cmd.hooks(Hooks::new().fail_closed().before_tool_call_sync(move |call, _| {
    ///         let writes = ["write_file", "edit_file"].contains(&call.tool_name());
    ///         let inside = call.input_place("file_path").is_some_and(|file| file.starts_with(&docs));
    ///         Ok((writes && !inside).then(|| BeforeToolCall::block("Only the documents, please.")))
    ///     }))?;
    ///     Ok(())
    /// }
    /// ```
    pub fn place(&self, path: impl AsRef<Path>) -> PathBuf {
        place(self.frame(), path.as_ref())
    }
}

impl Ctx {
    /// As [`ModApi::place`].
    pub fn place(&self, path: impl AsRef<Path>) -> PathBuf {
        place(self.frame(), path.as_ref())
    }
}

impl ToolCall {
    /// The [place](ModApi::place) that a field of the input names, if it is there and a string.
    pub fn input_place(&self, field: &str) -> Option<PathBuf> {
        Some(place(self.frame(), self.input_str(field)?.as_ref()))
    }
}

impl ToolResult {
    /// The [place](ModApi::place) that a field of the input names, if it is there and a string.
    pub fn input_place(&self, field: &str) -> Option<PathBuf> {
        Some(place(self.frame(), self.input_str(field)?.as_ref()))
    }
}

fn place(frame: &Frame, path: &Path) -> PathBuf {
    let (mut place, mut links) = (PathBuf::new(), MAX_LINKS);
    go(&mut place, Path::new(frame.text(TextField::Cwd)), &mut links);
    go(&mut place, path, &mut links);
    place
}

/// Goes on from `place`, which has no links, as `path` says.
fn go(place: &mut PathBuf, path: &Path, links: &mut u32) {
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(place.pop()),
            Component::Prefix(_) | Component::RootDir => place.push(part),
            // Also a link to what is not there: who writes to it makes that.
            Component::Normal(name) => match fs::read_link(place.join(name)) {
                Ok(target) if *links > 0 => {
                    *links -= 1;
                    go(place, &target, links);
                }
                _ => place.push(name),
            },
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        os::unix::fs::symlink,
        path::{Path, PathBuf},
    };

    use super::{MAX_LINKS, go};

    /// A folder of a test's own.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> std::io::Result<Self> {
            let folder = std::env::temp_dir().join(format!("places-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&folder)?;
            Ok(Self(folder.canonicalize()?))
        }

        fn place(&self, path: &str) -> PathBuf {
            let (mut place, mut links) = (self.0.clone(), MAX_LINKS);
            go(&mut place, Path::new(path), &mut links);
            place.strip_prefix(&self.0).map(Path::to_owned).unwrap_or(place)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn dots_are_taken_out_and_what_is_absolute_stands_for_itself() {
        let folder = Folder::new("dots").unwrap();
        for (path, place) in [
            ("a/./b", "a/b"),
            ("a/../b", "b"),
            ("./a//b/", "a/b"),
            ("/etc/../x", "/x"),
            ("/../..", "/"),
            ("", ""),
        ] {
            assert_eq!(folder.place(path), Path::new(place), "{path}");
        }
    }

    #[test]
    fn links_are_followed_also_to_what_is_not_there() {
        let folder = Folder::new("links").unwrap();
        std::fs::create_dir_all(folder.0.join("deep/below")).unwrap();
        symlink("deep/below", folder.0.join("short")).unwrap();
        symlink("short/../.env", folder.0.join("harmless")).unwrap();
        symlink(folder.0.join("gone"), folder.0.join("whole")).unwrap();
        symlink("round", folder.0.join("round")).unwrap();
        for (path, place) in [
            ("short/new", "deep/below/new"),
            // What is above a link is above its target.
            ("short/../x", "deep/x"),
            ("harmless", "deep/.env"),
            ("whole/x", "gone/x"),
            ("round", "round"),
        ] {
            assert_eq!(folder.place(path), Path::new(place), "{path}");
        }
    }
}
