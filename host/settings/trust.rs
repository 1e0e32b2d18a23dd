use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{Error, Places, Result, read::text, write};

const VERSION: u32 = 1;

/// A project's mod, as it was when it was trusted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ModHash {
    /// The mod's name.
    pub name: String,
    /// The sha256 of its library, in lower hex.
    pub sha256: String,
}

/// Which workspaces are trusted, with the mods that they had then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trust {
    path: PathBuf,
    workspaces: BTreeMap<String, BTreeSet<ModHash>>,
}

/// What the store says of a workspace and the mods that it has now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is trusted, with all of these mods as they are.
    Trusted,
    /// Nobody has been asked yet.
    Unknown,
    /// It was trusted, but these mods are new, or are not what they were.
    Changed(Vec<String>),
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    workspaces: BTreeMap<String, BTreeSet<ModHash>>,
}

impl Trust {
    /// Reads the store; a missing one trusts nothing.
    ///
    /// # Errors
    /// It cannot be read, or is not what this version writes.
    pub fn load(places: &Places) -> Result<Self> {
        let path = places.home.join("trust.json");
        let text = text(&path)?;
        if text.is_empty() {
            return Ok(Self { path, workspaces: BTreeMap::new() });
        }
        let stored: Stored = serde_json::from_str(&text)
            .map_err(|error| Error::TrustStore { path: path.clone(), reason: error.to_string() })?;
        if stored.version != VERSION {
            let reason = format!("expected version {VERSION}, got: {}", stored.version);
            return Err(Error::TrustStore { path, reason });
        }
        Ok(Self { path, workspaces: stored.workspaces })
    }

    /// Judges `workspace`, an absolute path without links, with the mods that it has now. A mod that is
    /// gone changes nothing.
    pub fn verdict(&self, workspace: &Path, mods: &BTreeSet<ModHash>) -> Verdict {
        let Some(trusted) = workspace.to_str().and_then(|path| self.workspaces.get(path)) else {
            return Verdict::Unknown;
        };
        let changed: Vec<_> = mods.difference(trusted).map(|found| found.name.clone()).collect();
        if changed.is_empty() { Verdict::Trusted } else { Verdict::Changed(changed) }
    }

    /// Whether `workspace` is trusted with all of `mods`, as they are.
    pub fn is_trusted(&self, workspace: &Path, mods: &BTreeSet<ModHash>) -> bool {
        self.verdict(workspace, mods) == Verdict::Trusted
    }

    /// Trusts `workspace` with `mods`, for good.
    ///
    /// # Errors
    /// The store cannot be written: it then says of nothing more than before that it is trusted.
    pub fn trust(places: &Places, workspace: &Path, mods: BTreeSet<ModHash>) -> Result<()> {
        let name = workspace.to_str().ok_or_else(|| Error::WorkspaceName(workspace.to_owned()))?.to_owned();
        Self::update(places, |workspaces| workspaces.insert(name, mods)).map(drop).map_err(|source| {
            Error::TrustNotRecorded { workspace: workspace.to_owned(), source: Box::new(source) }
        })
    }

    /// Trusts these mods too, if `workspace` is trusted: the user installed them there.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn extend(places: &Places, workspace: &Path, mods: BTreeSet<ModHash>) -> Result<()> {
        let Some(name) = workspace.to_str() else { return Ok(()) };
        if mods.is_empty() || !Self::load(places)?.workspaces.contains_key(name) {
            return Ok(());
        }
        Self::update(places, |workspaces| workspaces.get_mut(name).map(|trusted| trusted.extend(mods)))
            .map(drop)
    }

    /// Takes the trust in `workspace` back, and says whether there was any.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn untrust(places: &Places, workspace: &Path) -> Result<bool> {
        let Some(name) = workspace.to_str() else { return Ok(false) };
        Ok(Self::update(places, |workspaces| workspaces.remove(name))?.is_some())
    }

    /// Reads the store anew, changes and writes it, while other processes wait.
    fn update<T>(
        places: &Places,
        change: impl FnOnce(&mut BTreeMap<String, BTreeSet<ModHash>>) -> T,
    ) -> Result<T> {
        let _lock = write::lock(&places.home.join("trust.json"))?;
        let Self { path, mut workspaces } = Self::load(places)?;
        let outcome = change(&mut workspaces);
        let json = serde_json::to_string_pretty(&Stored { version: VERSION, workspaces })
            .map_err(|error| Error::TrustStore { path: path.clone(), reason: error.to_string() })?;
        write::replace(&path, (json + "\n").as_bytes())?;
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(home: &Path) -> Places {
        Places::new("/project/a".into(), Some(home.to_owned()), None).unwrap()
    }

    fn mods(hashes: &[(&str, &str)]) -> BTreeSet<ModHash> {
        hashes
            .iter()
            .map(|(name, sha256)| ModHash { name: (*name).into(), sha256: (*sha256).into() })
            .collect()
    }

    #[test]
    fn a_workspace_stays_trusted_until_a_mod_is_added_or_changed() {
        let home = tempfile::tempdir().unwrap();
        let places = places(home.path());
        let workspace = Path::new("/project/a");
        let verdict = |now: &[(&str, &str)]| Trust::load(&places).unwrap().verdict(workspace, &mods(now));

        assert_eq!(verdict(&[]), Verdict::Unknown);
        Trust::trust(&places, workspace, mods(&[("one", "11"), ("two", "22")])).unwrap();
        assert_eq!(verdict(&[("one", "11"), ("two", "22")]), Verdict::Trusted);
        assert_eq!(verdict(&[("two", "22")]), Verdict::Trusted);
        assert_eq!(verdict(&[]), Verdict::Trusted);
        assert_eq!(
            verdict(&[("one", "11"), ("two", "33"), ("three", "33")]),
            Verdict::Changed(vec!["three".into(), "two".into()])
        );
        assert_eq!(
            Trust::load(&places).unwrap().verdict(Path::new("/project"), &mods(&[])),
            Verdict::Unknown
        );

        Trust::extend(&places, Path::new("/project"), mods(&[("four", "44")])).unwrap();
        assert_eq!(
            Trust::load(&places).unwrap().verdict(Path::new("/project"), &mods(&[])),
            Verdict::Unknown
        );
        Trust::extend(&places, workspace, mods(&[("two", "33")])).unwrap();
        assert_eq!(verdict(&[("one", "11"), ("two", "22")]), Verdict::Trusted);
        assert_eq!(verdict(&[("two", "33"), ("four", "44")]), Verdict::Changed(vec!["four".into()]));

        assert!(Trust::untrust(&places, workspace).unwrap());
        assert!(!Trust::untrust(&places, workspace).unwrap());
        assert_eq!(verdict(&[]), Verdict::Unknown);
    }

    #[test]
    fn the_store_is_readable_by_people() {
        let home = tempfile::tempdir().unwrap();
        let places = places(home.path());
        Trust::trust(&places, Path::new("/project/a"), mods(&[("one", "11")])).unwrap();
        assert_eq!(
            std::fs::read_to_string(home.path().join("trust.json")).unwrap(),
            r#"{
  "version": 1,
  "workspaces": {
    "/project/a": [
      {
        "name": "one",
        "sha256": "11"
      }
    ]
  }
}
"#
        );
    }

    #[test]
    fn a_store_that_is_damaged_or_newer_trusts_nothing_and_says_so() {
        let home = tempfile::tempdir().unwrap();
        let places = places(home.path());
        let path = home.path().join("trust.json");
        let error = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let error = Trust::load(&places).unwrap_err().to_string();
            error.replace(&path.display().to_string(), "trust.json")
        };
        assert_eq!(
            error(r#"{"version": 2, "workspaces": {}}"#),
            "trust.json is no trust store that this version reads; remove it to trust workspaces anew: expected version 1, got: 2"
        );
        assert_eq!(
            error("{"),
            "trust.json is no trust store that this version reads; remove it to trust workspaces anew: EOF while parsing an object at line 1 column 1"
        );
    }

    #[test]
    fn a_store_that_cannot_be_written_is_told_with_the_workspace() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        std::fs::write(&file, "").unwrap();
        let places = places(&file);
        let error = Trust::trust(&places, Path::new("/project/a"), mods(&[])).unwrap_err().to_string();
        assert_eq!(
            error.replace(&file.display().to_string(), "HOME"),
            "the trust in /project/a cannot be recorded, so its mods stay off: cannot write HOME/trust.json: File exists (os error 17)"
        );
    }
}
