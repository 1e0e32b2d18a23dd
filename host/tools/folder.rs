use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use super::{Hidden, path};

/// A folder in which something is looked for, some of which must not be found.
pub(super) struct Folder {
    path: PathBuf,
    /// Where links lead.
    real: PathBuf,
    hidden: Arc<Hidden>,
    left_out: AtomicUsize,
}

impl Folder {
    pub(super) fn new(path: &Path, hidden: &Arc<Hidden>) -> Arc<Self> {
        let (path, real) = (path.to_owned(), path::real(path));
        Arc::new(Self { path, real, hidden: Arc::clone(hidden), left_out: AtomicUsize::new(0) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a path in it may be found; what may not is counted.
    pub(super) fn shows(&self, path: &Path) -> bool {
        let real = path.strip_prefix(&self.path).map(|below| self.real.join(below));
        let hidden = (self.hidden)(path) || real.is_ok_and(|real| (self.hidden)(&real));
        self.left_out.fetch_add(usize::from(hidden), Relaxed);
        !hidden
    }

    /// A line about what was left out, where there was such.
    pub(super) fn note(&self) -> String {
        match self.left_out.load(Relaxed) {
            0 => String::new(),
            count => format!("\n[left out, because a deny rule says so: {count}]"),
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use serde_json::json;

    use super::*;
    use crate::tools::testing::Workspace;

    fn workspace() -> Workspace {
        let mut workspace = Workspace::of(&[
            ("a", "needle"),
            ("secrets/key", "needle"),
            ("secrets/deep/key", "needle"),
            ("src/.env", "needle"),
            ("src/b", "needle"),
        ]);
        symlink("src", workspace.path("way")).unwrap();
        let root = path::real(workspace.root());
        workspace.hidden =
            Arc::new(move |path| [root.join("secrets"), root.join("src/.env")].contains(&path.to_owned()));
        workspace
    }

    #[tokio::test]
    async fn what_must_not_be_read_is_not_found() {
        let workspace = workspace();
        let grep = async |input| workspace.ok("grep", input).await;
        let left_out = |count| format!("\n[left out, because a deny rule says so: {count}]");
        assert_eq!(
            grep(json!({ "pattern": "needle" })).await,
            format!("a:1:needle\nsrc/b:1:needle{}", left_out(2))
        );
        assert_eq!(
            grep(json!({ "pattern": "needle", "output_mode": "files", "path": "way" })).await,
            format!("way/b{}", left_out(1))
        );
        assert_eq!(
            workspace.ok("glob", json!({ "pattern": "**/{key,.env,b}" })).await,
            format!("src/b{}", left_out(2))
        );
        let list = async |input| workspace.ok("list_directory", input).await;
        assert_eq!(list(json!({})).await, format!("a\nsrc/\nway -> src/{}", left_out(1)));
        assert_eq!(list(json!({ "path": "way" })).await, format!("b{}", left_out(1)));
    }
}
