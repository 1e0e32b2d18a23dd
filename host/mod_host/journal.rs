//! Which mod runs now, kept where a crash cannot take it away.
//!
//! Every thread that enters a mod has a slot in a shared file mapping: two stores before, one after.
//! The kernel keeps the file when the process is killed, so the next start can name the mod that the
//! last run ended in; the watchdog reads the same slots to name a mod that blocks.
#![allow(unsafe_code)]

use std::{
    cell::Cell,
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

/// Threads beyond this many share slots: the journal then names one of the mods that ran.
const SLOTS: usize = 64;
const MODS: usize = 1024;
const NAME_WORDS: usize = 9;
/// One word of clock, two words a slot, nine words a mod: a length and 64 bytes of its id.
const WORDS: usize = 1 + SLOTS * 2 + MODS * NAME_WORDS;
const BYTES: usize = WORDS * 8;

/// Where in a mod an entry goes: a hook's slot number, or one of these.
pub(crate) mod place {
    pub(crate) const FACTORY: u16 = 100;
    pub(crate) const EVENT: u16 = 101;
    pub(crate) const TOOL: u16 = 102;
    pub(crate) const COMMAND: u16 = 103;
    pub(crate) const LOAD: u16 = 104;
}

/// What a slot says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Occupied {
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
    words: &'static [AtomicU64],
    // Held open and locked as long as the process lives, so that others know that it does.
    file: Option<(File, PathBuf)>,
}

thread_local! {
    static SLOT: Cell<Option<usize>> = const { Cell::new(None) };
}

static NEXT_SLOT: AtomicUsize = AtomicUsize::new(0);

fn slot() -> usize {
    SLOT.get().unwrap_or_else(|| {
        let slot = NEXT_SLOT.fetch_add(1, Relaxed) % SLOTS;
        SLOT.set(Some(slot));
        slot
    })
}

impl Journal {
    /// A journal in `dir`, or in memory alone where the file cannot be made.
    pub(crate) fn create(dir: &Path) -> Self {
        Self::in_file(dir).unwrap_or_else(|_| Self::in_memory())
    }

    /// A journal that a crash takes away.
    pub(crate) fn in_memory() -> Self {
        Self { words: Vec::from_iter((0..WORDS).map(|_| AtomicU64::new(0))).leak(), file: None }
    }

    fn in_file(dir: &Path) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        let file = tempfile::Builder::new().prefix("run-").suffix(".journal").tempfile_in(dir)?;
        let (file, path) = file.keep().map_err(|error| error.error)?;
        file.set_len(BYTES as u64)?;
        file.lock()?;
        Ok(Self { words: map(&file)?, file: Some((file, path)) })
    }

    /// Notes the id of mod number `index`.
    pub(crate) fn name(&self, index: u16, id: &str) {
        let at = 1 + SLOTS * 2 + usize::from(index) % MODS * NAME_WORDS;
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
    pub(crate) fn enter(&self, mod_index: u16, place: u16) -> Entered<'_> {
        let at = 1 + slot() * 2;
        let (state, since) = (&self.words[at], &self.words[at + 1]);
        let before = state.load(Relaxed);
        let generation = (before >> 32) + 1;
        since.store(self.words[0].load(Relaxed), Relaxed);
        state.store(generation << 32 | u64::from(mod_index) << 16 | u64::from(place + 1), Relaxed);
        Entered { state, before: before & 0xffff_ffff }
    }

    /// Sets the journal's clock.
    pub(crate) fn tick(&self, millis: u64) {
        self.words[0].store(millis, Relaxed);
    }

    /// The slots that are occupied now.
    pub(crate) fn occupied(&self) -> Vec<Occupied> {
        occupied(self.words)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if let Some((_, path)) = &self.file {
            // What stays behind is found empty and swept at a later start.
            let _swept_later = fs::remove_file(path);
        }
    }
}

/// Notes, when dropped, that the mod was left.
pub(crate) struct Entered<'a> {
    state: &'a AtomicU64,
    before: u64,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let generation = self.state.load(Relaxed) >> 32;
        self.state.store(generation << 32 | self.before, Relaxed);
    }
}

fn occupied(words: &[AtomicU64]) -> Vec<Occupied> {
    let slots = words[1..1 + SLOTS * 2].chunks_exact(2);
    let read = slots.map(|slot| (slot[0].load(Relaxed), slot[1].load(Relaxed)));
    let busy = read.filter(|(state, _)| state & 0xffff != 0);
    busy.map(|(state, since)| Occupied {
        generation: (state >> 32) as u32,
        mod_index: (state >> 16) as u16,
        place: (state & 0xffff) as u16 - 1,
        since,
    })
    .collect()
}

fn name_of(words: &[AtomicU64], index: u16) -> String {
    let at = 1 + SLOTS * 2 + usize::from(index) % MODS * NAME_WORDS;
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
    let file = File::open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(Vec::new()),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let bytes = fs::read(path)?;
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
    // SAFETY: the mapping is page-aligned, `BYTES` long, zeroed by the kernel, and never unmapped. All
    // access goes through atomics, so that another reader of the file is no data race.
    Ok(unsafe { std::slice::from_raw_parts(start.cast::<AtomicU64>(), WORDS) })
}

/// Elsewhere the journal serves the watchdog alone.
#[cfg(not(unix))]
fn map(_file: &File) -> io::Result<&'static [AtomicU64]> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::{Journal, LastPlace, Occupied, place, sweep};

    #[test]
    fn a_slot_is_occupied_from_entry_to_leaving_and_nests() {
        let journal = Journal::in_memory();
        journal.tick(700);
        {
            let _outer = journal.enter(3, place::TOOL);
            {
                let _inner = journal.enter(4, 2);
                let inner = Occupied { generation: 2, mod_index: 4, place: 2, since: 700 };
                assert_eq!(journal.occupied(), [inner]);
            }
            let outer = Occupied { generation: 2, mod_index: 3, place: place::TOOL, since: 700 };
            assert_eq!(journal.occupied(), [outer]);
        }
        assert_eq!(journal.occupied(), []);
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
}
