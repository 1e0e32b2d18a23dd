//! Whether files are touched.

use std::{
    fs,
    mem::MaybeUninit,
    path::{Path, PathBuf},
};

use rustix::fs::inotify;

/// How many times something at or below the folder `root` is opened or read while `work` is done.
pub(crate) fn opened(root: &Path, work: impl FnOnce()) -> usize {
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
    for folder in folders(root) {
        inotify::add_watch(&watch, folder, inotify::WatchFlags::OPEN | inotify::WatchFlags::ACCESS).unwrap();
    }
    work();
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut events = inotify::Reader::new(watch, &mut buffer);
    std::iter::from_fn(|| events.next().ok().map(drop)).count()
}

/// Every folder at and below `root`.
fn folders(root: &Path) -> Vec<PathBuf> {
    let below = fs::read_dir(root).unwrap().flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    let mut all: Vec<_> = below.flat_map(|path| folders(&path)).collect();
    all.push(root.to_owned());
    all
}
