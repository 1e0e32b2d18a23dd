use crate::{Error, portable::check_path};
use std::collections::BTreeMap;

/// The most entries that a package may have.
const MAX_ENTRIES: usize = 20_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Folder,
}

/// The paths of a package, each one portable, and no two of them the same on a system that ignores case.
#[derive(Default)]
pub(crate) struct PathSet {
    seen: BTreeMap<String, (String, Kind)>,
    entries: usize,
}

impl PathSet {
    pub(crate) fn add_file(&mut self, path: &str) -> Result<(), Error> {
        self.add(path, Kind::File)
    }

    pub(crate) fn add_folder(&mut self, path: &str) -> Result<(), Error> {
        self.add(path, Kind::Folder)
    }

    fn add(&mut self, path: &str, kind: Kind) -> Result<(), Error> {
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            return Err(Error::TooBig {
                what: "entries",
                limit: MAX_ENTRIES as u64,
                found: self.entries as u64,
            });
        }
        check_path(path)?;
        for (end, _) in path.match_indices('/') {
            self.insert(&path[..end], Kind::Folder)?;
        }
        self.insert(path, kind)
    }

    /// A folder may come again, spelled the same; a file may not.
    fn insert(&mut self, path: &str, kind: Kind) -> Result<(), Error> {
        let new = (path.to_owned(), kind);
        match self.seen.get(&path.to_ascii_lowercase()) {
            None => {
                self.seen.insert(path.to_ascii_lowercase(), new);
                Ok(())
            }
            Some(old) if *old == new && kind == Kind::Folder => Ok(()),
            Some((first, _)) => Err(Error::EntryDuplicate { first: first.clone(), second: path.to_owned() }),
        }
    }
}
