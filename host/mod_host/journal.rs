//! Which mod runs now, kept where a crash cannot take it away.
//!
//! Every thread that enters a mod has a slot in a shared file mapping: a few stores before and after.
//! The kernel keeps the file when the process is killed, so the next start can name the mod that the
//! last run ended in; the watchdog reads the same slots to name a mod that blocks.
#![allow(unsafe_code)]

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use super::slot;
use crate::files;

/// Threads beyond this many at a time enter mods unseen.
pub(super) const SLOTS: usize = 64;
/// What is inside now, since when, and how many entries there have been.
pub(super) const SLOT_WORDS: usize = 3;
const MODS: usize = 1024;
/// A length and 64 bytes of an id.
const NAME_WORDS: usize = 9;
/// The first word is the clock; the slots come next, then the names.
const NAMES: usize = 1 + SLOTS * SLOT_WORDS;
const WORDS: usize = NAMES + MODS * NAME_WORDS;
const BYTES: usize = WORDS * 8;

/// Where in a mod an entry goes: a hook's slot number, or one of these.
pub(crate) mod place {
    pub(crate) const FACTORY: u16 = 100;
    pub(crate) const EVENT: u16 = 101;
    pub(crate) const TOOL: u16 = 102;
    pub(crate) const COMMAND: u16 = 103;
    pub(crate) const LOAD: u16 = 104;
    pub(crate) const RENDERER: u16 = 105;
    pub(crate) const PROVIDER: u16 = 110;
}

/// What a slot says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Occupied {
    /// The slot.
    pub(crate) slot: usize,
    /// Counts the entries of the slot: the same number means the same entry.
    pub(crate) generation: u32,
    /// The mod's number.
    pub(crate) mod_index: u16,
    /// See [`place`].
    pub(crate) place: u16,
    /// The journal's clock when it was entered, in milliseconds.
    pub(crate) since: u64,
}

/// The journal of this process.
pub(crate) struct Journal {
    // Lives until the drop, and is lent with `self` alone.
    words: &'static [AtomicU64],
    // Held open and locked as long as the process lives, so that others know that it does.
    file: Option<(File, PathBuf)>,
    closed: AtomicBool,
}

impl Journal {
    /// A journal in `dir`, or in memory alone where the file cannot be made.
    pub(crate) fn create(dir: &Path) -> Self {
        Self::in_file(dir).unwrap_or_else(|_| Self::in_memory())
    }

    /// A journal that a crash takes away.
    pub(crate) fn in_memory() -> Self {
        let words = Box::leak((0..WORDS).map(|_| AtomicU64::new(0)).collect());
        Self { words, file: None, closed: AtomicBool::new(false) }
    }

    fn in_file(dir: &Path) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        let new = tempfile::Builder::new().prefix("run-").tempfile_in(dir)?;
        // Written out, not only made that long: a page that the disk has no room for would be a fault at
        // the first store.
        new.as_file().write_all(&vec![0; BYTES])?;
        // Locked before it has the name that a sweep looks for: nobody takes it for a dead run's.
        new.as_file().lock()?;
        let (words, path) = (map(new.as_file())?, new.path().with_extension("journal"));
        let file = new.persist_noclobber(&path).map_err(|error| error.error)?;
        Ok(Self { words, file: Some((file, path)), closed: AtomicBool::new(false) })
    }

    /// Notes the id of mod number `index`.
    pub(crate) fn name(&self, index: u16, id: &str) {
        let at = NAMES + usize::from(index) % MODS * NAME_WORDS;
        let bytes = &id.as_bytes()[..id.len().min((NAME_WORDS - 1) * 8)];
        for (word, chunk) in self.words[at + 1..at + NAME_WORDS].iter().zip(bytes.chunks(8)) {
            let mut padded = [0; 8];
            padded[..chunk.len()].copy_from_slice(chunk);
            word.store(u64::from_le_bytes(padded), Relaxed);
        }
        self.words[at].store(bytes.len() as u64, Relaxed);
    }

    /// The id of mod number `index`.
    pub(crate) fn name_of(&self, index: u16) -> String {
        name_of(self.words, index)
    }

    /// Notes that this thread enters a mod, until the guard is dropped.
    #[inline]
    pub(crate) fn enter(&self, mod_index: u16, place: u16) -> Entered<'_> {
        let Some([state, since, count]) = self.words.get(slot::begin()..).and_then(<[_]>::first_chunk) else {
            return Entered(None);
        };
        let left = Left { state, since, before: (state.load(Relaxed), since.load(Relaxed)) };
        let generation = count.load(Relaxed) + 1;
        count.store(generation, Relaxed);
        since.store(self.words[0].load(Relaxed), Relaxed);
        state.store(generation << 32 | u64::from(mod_index) << 16 | u64::from(place + 1), Relaxed);
        Entered(Some(left))
    }

    /// Sets the journal's clock.
    pub(crate) fn tick(&self, millis: u64) {
        self.words[0].store(millis, Relaxed);
    }

    /// Takes the file away: the run ended well, also where a thread stays inside a mod and keeps the mapping.
    pub(crate) fn close(&self) {
        if let Some((_, path)) = &self.file
            && !self.closed.swap(true, Relaxed)
        {
            // What cannot be removed is swept at a later start.
            let _swept_later = fs::remove_file(path);
        }
    }

    /// The slots that are occupied now.
    pub(crate) fn occupied(&self) -> Vec<Occupied> {
        occupied(self.words)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.close();
        match &self.file {
            Some(_) => unmap(self.words),
            // SAFETY: these words came from a box of `in_memory`, and nobody holds them any more.
            None => drop(unsafe { Box::from_raw(std::ptr::from_ref(self.words).cast_mut()) }),
        }
    }
}

/// Notes, when dropped, that the mod was left, for the mod that it was entered from or for nobody.
pub(crate) struct Entered<'a>(Option<Left<'a>>);

struct Left<'a> {
    state: &'a AtomicU64,
    since: &'a AtomicU64,
    before: (u64, u64),
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(Left { state, since, before }) = &self.0 {
            since.store(before.1, Relaxed);
            state.store(before.0, Relaxed);
        }
    }
}

#[inline]
fn words_of(words: &[AtomicU64], slot: usize) -> [&AtomicU64; SLOT_WORDS] {
    std::array::from_fn(|word| &words[1 + slot * SLOT_WORDS + word])
}

fn occupied(words: &[AtomicU64]) -> Vec<Occupied> {
    let read = (0..SLOTS).map(|slot| {
        let [state, since, _] = words_of(words, slot);
        (slot, state.load(Relaxed), since.load(Relaxed))
    });
    let busy = read.filter(|(_, state, _)| state & 0xffff != 0);
    busy.map(|(slot, state, since)| Occupied {
        slot,
        generation: (state >> 32) as u32,
        mod_index: (state >> 16) as u16,
        place: (state & 0xffff) as u16 - 1,
        since,
    })
    .collect()
}

fn name_of(words: &[AtomicU64], index: u16) -> String {
    let at = NAMES + usize::from(index) % MODS * NAME_WORDS;
    let length = (words[at].load(Relaxed) as usize).min((NAME_WORDS - 1) * 8);
    let bytes = words[at + 1..at + NAME_WORDS].iter().flat_map(|word| word.load(Relaxed).to_le_bytes());
    String::from_utf8_lossy(&bytes.take(length).collect::<Vec<_>>()).into_owned()
}

/// Where a run that is no more ended: the mod's id, and the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LastPlace {
    pub(crate) mod_id: String,
    pub(crate) place: u16,
}

/// Reads and removes what runs that are no more left in `dir`.
pub(crate) fn sweep(dir: &Path) -> Vec<LastPlace> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let journals = entries.filter(|path| path.extension().is_some_and(|extension| extension == "journal"));
    journals.flat_map(|path| read_dead(&path).unwrap_or_default()).collect()
}

/// What the journal at `path` says, if its process is gone; the file is removed.
fn read_dead(path: &Path) -> io::Result<Vec<LastPlace>> {
    let file = files::open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(Vec::new()),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let mut bytes = Vec::with_capacity(BYTES);
    (&file).take(BYTES as u64 + 1).read_to_end(&mut bytes)?;
    fs::remove_file(path)?;
    if bytes.len() != BYTES {
        return Ok(Vec::new());
    }
    let words: Vec<AtomicU64> = bytes.chunks_exact(8).map(|word| AtomicU64::new(word_of(word))).collect();
    let ended = occupied(&words);
    Ok(ended.iter().map(|at| LastPlace { mod_id: name_of(&words, at.mod_index), place: at.place }).collect())
}

fn word_of(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

#[cfg(unix)]
fn map(file: &File) -> io::Result<&'static [AtomicU64]> {
    use rustix::mm::{MapFlags, ProtFlags, mmap};

    // SAFETY: a new mapping at an address of the kernel's choice, of a file that was just given that
    // length. Nothing shortens it: it is this process's own, under a lock.
    let start = unsafe {
        mmap(std::ptr::null_mut(), BYTES, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, file, 0)?
    };
    // SAFETY: the mapping is page-aligned, `BYTES` long, zeroed by the kernel, and unmapped with the journal
    // alone. All access goes through atomics, so that another reader of the file is no data race.
    Ok(unsafe { std::slice::from_raw_parts(start.cast::<AtomicU64>(), WORDS) })
}

#[cfg(unix)]
fn unmap(words: &'static [AtomicU64]) {
    // SAFETY: the whole of a mapping that `map` made, and nobody holds it any more: whoever is inside of a
    // mod holds the journal.
    let unmapped = unsafe { rustix::mm::munmap(words.as_ptr().cast_mut().cast(), BYTES) };
    debug_assert_eq!(unmapped, Ok(()));
}

#[cfg(not(unix))]
fn unmap(_words: &'static [AtomicU64]) {}

/// Elsewhere the journal serves the watchdog alone.
#[cfg(not(unix))]
fn map(_file: &File) -> io::Result<&'static [AtomicU64]> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Journal, LastPlace, Occupied, SLOT_WORDS, SLOTS, place, slot, sweep};

    #[test]
    fn a_slot_is_occupied_from_entry_to_leaving_and_nests() {
        let journal = Journal::in_memory();
        let slot = (slot::begin() - 1) / SLOT_WORDS;
        journal.tick(700);
        {
            let _outer = journal.enter(3, place::TOOL);
            let outer = Occupied { slot, generation: 1, mod_index: 3, place: place::TOOL, since: 700 };
            journal.tick(800);
            for generation in 2..4 {
                let _inner = journal.enter(4, 2);
                let inner = Occupied { slot, generation, mod_index: 4, place: 2, since: 800 };
                assert_eq!(journal.occupied(), [inner]);
            }
            assert_eq!(journal.occupied(), [outer], "it goes on, and is no new entry");
        }
        assert_eq!(journal.occupied(), []);
    }

    #[test]
    fn a_thread_has_a_slot_of_its_own_until_it_ends() {
        let journal = Journal::in_memory();
        for _ in 0..2 * SLOTS {
            std::thread::scope(|scope| {
                let inside = scope.spawn(|| {
                    let _inside = journal.enter(7, 1);
                    journal.occupied().len()
                });
                assert_eq!(inside.join().unwrap(), 1);
            });
        }
        let _here = journal.enter(5, 1);
        std::thread::scope(|scope| {
            let there = scope.spawn(|| {
                let _there = journal.enter(6, 1);
                journal.occupied().iter().map(|at| at.mod_index).collect::<BTreeSet<_>>()
            });
            assert_eq!(there.join().unwrap(), BTreeSet::from([5, 6]));
        });
        assert_eq!(journal.occupied().len(), 1, "the other left, and wrote nothing of it back");
    }

    #[test]
    fn what_a_dead_run_left_is_told_once_and_a_live_one_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::create(dir.path());
        journal.name(5, "mod:a-name-of-some-length");
        std::mem::forget(journal.enter(5, 2));
        assert_eq!(sweep(dir.path()), [], "its process lives");

        let (file, _) = journal.file.as_ref().unwrap();
        file.unlock().unwrap();
        let last = LastPlace { mod_id: "mod:a-name-of-some-length".to_owned(), place: 2 };
        assert_eq!(sweep(dir.path()), [last]);
        assert_eq!(sweep(dir.path()), []);
    }

    #[test]
    fn a_journal_that_is_closed_accuses_nobody_who_stays_inside() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::create(dir.path());
        let _inside = journal.enter(5, 2);
        journal.close();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        let _deeper = journal.enter(6, 2);
        assert_eq!(journal.occupied().iter().map(|at| at.mod_index).collect::<Vec<_>>(), [6]);
    }

    /// Whether this process has mapped a file of that folder.
    #[cfg(target_os = "linux")]
    fn mapped(path: &std::path::Path) -> bool {
        std::fs::read_to_string("/proc/self/maps").unwrap().contains(path.to_str().unwrap())
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_journal_that_is_over_leaves_neither_file_nor_memory() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::create(dir.path());
        assert!(mapped(dir.path()));
        drop(journal);
        assert!(!mapped(dir.path()));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_no_journal_is_not_waited_for() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let dir = tempfile::tempdir().unwrap();
        mknodat(CWD, dir.path().join("a.journal"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        std::fs::write(dir.path().join("b.journal"), "short").unwrap();
        assert_eq!(sweep(dir.path()), []);
    }
}
