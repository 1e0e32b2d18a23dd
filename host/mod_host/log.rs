use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use crate::files;

/// A file this large is begun anew, the old one kept beside it.
const MAX_BYTES: u64 = 8 << 20;

/// The file of what mods log, opened at the first line. One line is one write.
pub(crate) struct Log {
    path: Option<PathBuf>,
    max_bytes: u64,
    open: Mutex<Option<Open>>,
}

struct Open {
    /// None where it cannot be written: it is not tried again.
    file: Option<File>,
    len: u64,
}

impl Log {
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        Self { path, max_bytes: MAX_BYTES, open: Mutex::new(None) }
    }

    /// Writes a line. A log that cannot be written is no reason to stop.
    pub(crate) fn line(&self, mod_id: &str, level: &str, message: &str) {
        let Some(path) = &self.path else { return };
        let time = humantime::format_rfc3339_millis(SystemTime::now());
        let line = format!("{time} {level} {mod_id} {}\n", message.replace('\n', "\\n"));
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.as_ref().is_none_or(|open| open.len > self.max_bytes) {
            *open = Some(self.begin(path));
        }
        if let Some(Open { file: Some(file), len }) = &mut *open {
            *len += line.len() as u64;
            let _not_kept = file.write_all(line.as_bytes());
        }
    }

    /// Opens the file, or a new one in the place of one that is too large.
    fn begin(&self, path: &Path) -> Open {
        let open = || {
            std::fs::create_dir_all(path.parent()?).ok()?;
            files::open_with(OpenOptions::new().create(true).append(true), path).ok()
        };
        let len = path.metadata().map_or(0, |file| file.len());
        if len <= self.max_bytes {
            return Open { file: open(), len };
        }
        let moved = std::fs::rename(path, path.with_extension("log.old")).ok();
        Open { file: moved.and_then(|()| open()), len: 0 }
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

    #[test]
    fn a_file_that_gets_too_large_while_it_is_written_is_begun_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mods.log");
        let log = Log { max_bytes: 1000, ..Log::new(Some(path.clone())) };
        for number in 0..100 {
            log.line("mod:a", "info", &format!("{number:050}"));
        }
        let size = |path| std::fs::metadata(path).unwrap().len();
        let line = size(&path) / std::fs::read_to_string(&path).unwrap().lines().count() as u64;
        assert!(size(&path) <= 1000 + line);
        assert!((1001..=1000 + line).contains(&size(&path.with_extension("log.old"))));
        assert!(std::fs::read_to_string(&path).unwrap().ends_with("99\n"));
    }
}
