use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};

use super::{Error, Places, Result, read::text, write};

/// The hashes that loose mods had when they were loaded last, in `known-mods.json` of the user's folder. They
/// hold nothing up: they are there to tell that a file changed.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct KnownMods {
    mods: BTreeMap<String, String>,
}

impl KnownMods {
    /// Reads them. A file that cannot be read as such knows nothing.
    pub fn load(places: &Places) -> Result<Self> {
        let text = text(&places.home.join("known-mods.json"))?;
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }

    /// Whether the library at `path` had another hash when it was loaded last.
    pub fn changed(&self, path: &Path, sha256: &str) -> bool {
        self.mods.get(&*path.to_string_lossy()).is_some_and(|known| known != sha256)
    }

    /// Remembers libraries and their hashes, and gives those that had another one before.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn remember<'a>(
        places: &Places,
        loaded: impl IntoIterator<Item = (&'a Path, &'a str)>,
    ) -> Result<Vec<&'a Path>> {
        let known = Self::load(places)?;
        let same = |(path, sha256): &(&Path, &str)| {
            known.mods.get(&*path.to_string_lossy()).is_some_and(|known| known == sha256)
        };
        let news: Vec<_> = loaded.into_iter().filter(|found| !same(found)).collect();
        if news.is_empty() {
            return Ok(Vec::new());
        }
        let path = places.home.join("known-mods.json");
        let _lock = write::lock(&path)?;
        // Another process may have written meanwhile.
        let mut now = Self::load(places)?;
        now.mods.extend(
            news.iter().map(|(path, sha256)| (path.to_string_lossy().into_owned(), (*sha256).to_owned())),
        );
        let json = serde_json::to_string_pretty(&now)
            .map_err(|error| Error::Write { path: path.clone(), source: error.into() })?;
        write::replace(&path, (json + "\n").as_bytes())?;
        let changed = news.into_iter().filter(|(path, sha256)| known.changed(path, sha256));
        Ok(changed.map(|(path, _)| path).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mod_that_is_not_what_it_was_is_told_once() {
        let home = tempfile::tempdir().unwrap();
        let places = Places::new("/w".into(), Some(home.path().to_owned()), None).unwrap();
        let (a, b) = (Path::new("/m/a.so"), Path::new("/m/b.so"));
        let remember = |found: &[(&'static Path, &'static str)]| {
            KnownMods::remember(&places, found.iter().copied()).unwrap()
        };
        assert_eq!(remember(&[]), [] as [&Path; 0]);
        assert!(!home.path().join("known-mods.json").exists(), "there was nothing to remember");
        assert_eq!(remember(&[(a, "11"), (b, "22")]), [] as [&Path; 0]);
        assert_eq!(remember(&[(a, "11"), (b, "33")]), [b]);
        assert_eq!(remember(&[(a, "11"), (b, "33")]), [] as [&Path; 0]);
        std::fs::write(home.path().join("known-mods.json"), "{").unwrap();
        assert_eq!(remember(&[(a, "44")]), [] as [&Path; 0], "a damaged file knows nothing");
    }
}
