use std::{fs, io, path::PathBuf};

use mod_interface::prelude::*;

/// The first line of a file that is this mod's.
const MANAGED: &str = "<!-- kept by memory-bank; take this line out to keep it yourself -->";

/// The notes of all sessions.
#[derive(Clone)]
pub(crate) struct File {
    path: PathBuf,
}

impl File {
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Its notes, a line each; `None` where the file is somebody else's.
    pub(crate) fn notes(&self) -> Result<Option<Vec<String>>> {
        let text = match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(Vec::new())),
            text => text?,
        };
        let mut lines = text.lines();
        Ok((lines.next() == Some(MANAGED)).then(|| lines.map(str::to_owned).collect()))
    }

    /// Adds a note; `false` where the file is somebody else's.
    pub(crate) fn add(&self, note: &str) -> Result<bool> {
        let Some(mut notes) = self.notes()? else { return Ok(false) };
        notes.push(format!("- {note}"));
        fs::write(&self.path, format!("{MANAGED}\n{}\n", notes.join("\n")))?;
        Ok(true)
    }
}
