use std::{
    cell::Cell,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use super::journal::{SLOT_WORDS, SLOTS};

/// Where a thread's slot begins that has none: behind all.
const NOWHERE: usize = usize::MAX;

thread_local! {
    /// Where the slot of this thread begins; 0 before it was asked for. Beside the slot, as looking at what has a
    /// destructor costs more.
    static BEGIN: Cell<usize> = const { Cell::new(0) };
    static SLOT: Slot = Slot::take();
}

/// A thread's slot, in every journal of the process. No two threads have the same one, or one would
/// write back what the other has left.
struct Slot(Option<usize>);

static FREE: Mutex<Vec<usize>> = Mutex::new(Vec::new());
static UNUSED: AtomicUsize = AtomicUsize::new(0);

impl Slot {
    fn take() -> Self {
        let freed = FREE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Self(freed.or_else(|| Some(UNUSED.fetch_add(1, Relaxed)).filter(|slot| *slot < SLOTS)))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // A thread that ends has no slot any more, while code of a mod may still end with it.
        BEGIN.set(NOWHERE);
        FREE.lock().unwrap_or_else(PoisonError::into_inner).extend(self.0);
    }
}

/// The first word of this thread's slot; behind all words where it has none.
#[inline]
pub(super) fn begin() -> usize {
    match BEGIN.get() {
        0 => take(),
        begin => begin,
    }
}

#[cold]
fn take() -> usize {
    let slot = SLOT.try_with(|slot| slot.0).ok().flatten();
    let begin = slot.map_or(NOWHERE, |slot| 1 + slot * SLOT_WORDS);
    BEGIN.set(begin);
    begin
}
