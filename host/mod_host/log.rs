use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::PathBuf,
    sync::{Mutex, OnceLock, PoisonError},
    time::SystemTime,
};

use crate::files;

/// A file this large is begun anew, the old one kept beside it.
const MAX_BYTES: u64 = 8 << 20;

/// The file of what mods log, opened at the first line. One line is one write.
pub(crate) struct Log {
    path: Option<PathBuf>,
    file: OnceLock<Option<Mutex<File>>>,
}

impl Log {
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        Self { path, file: OnceLock::new() }
    }

    /// Writes a line. A log that cannot be written is no reason to stop.
    pub(crate) fn line(&self, mod_id: &str, level: &str, message: &str) {
        let Some(file) = self.file.get_or_init(|| self.open().map(Mutex::new)) else { return };
        let time = humantime::format_rfc3339_millis(SystemTime::now());
        let line = format!("{time} {level} {mod_id} {}\n", message.replace('\n', "\\n"));
        let _not_kept = file.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes());
    }

    fn open(&self) -> Option<File> {
        let path = self.path.as_ref()?;
        if path.metadata().is_ok_and(|file| file.len() > MAX_BYTES) {
            std::fs::rename(path, path.with_extension("log.old")).ok()?;
        }
        std::fs::create_dir_all(path.parent()?).ok()?;
        files::open_with(OpenOptions::new().create(true).append(true), path).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::Log;

    #[test]
    fn what_a_mod_logs_is_one_line_in_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/mods.log");
        let log = Log::new(Some(path.clone()));
        log.line("mod:a", "info", "two\nlines");
        log.line("mod:b", "warn", "one");
        let text = std::fs::read_to_string(path).unwrap();
        let without_time: Vec<_> = text.lines().map(|line| line.split_once(' ').unwrap().1).collect();
        assert_eq!(without_time, ["info mod:a two\\nlines", "warn mod:b one"]);
    }
}
