use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use try_lock::{Locked, TryLock};

/// The memory of a call that is over, for the next.
///
/// A call holds the place that its memory goes back to, and the place holds the memory. So the owner of the place
/// closes it, or both would live for ever.
pub struct Spare<T> {
    memory: TryLock<Option<Box<T>>>,
    closed: AtomicBool,
}

impl<T> Default for Spare<T> {
    fn default() -> Self {
        Self { memory: TryLock::new(None), closed: AtomicBool::new(false) }
    }
}

impl<T> Spare<T> {
    /// Looks at the memory, for as long as the guard lives. Who comes meanwhile (another thread, or a call in the
    /// middle of this one) gets nothing, and has memory of its own.
    #[inline]
    pub fn look(&self) -> Option<Locked<'_, Option<Box<T>>>> {
        self.memory.try_lock()
    }

    /// Gives the memory of a call that was pending back to the place that it holds, if it holds one. That counts
    /// nothing: to clone the pointer to the place for this would be a good part of the call.
    #[inline]
    pub fn give_back(memory: Box<T>, place: impl FnOnce(&T) -> Option<&Self>) {
        let Some(place) = place(&memory).map(std::ptr::from_ref) else { return };
        // SAFETY: `memory` holds the place, which so lives until `memory` is dropped. That happens below after the
        // last use of the place, or by who takes it out, for which the lock must be free again.
        let place = unsafe { &*place };
        if let Some(mut guard) = place.look() {
            // Looked at under the lock, which `close` waits for.
            if !place.closed.load(SeqCst) {
                *guard = Some(memory);
                return;
            }
            drop(guard);
        }
        drop(memory);
    }

    /// Drops the memory, and takes no more.
    pub fn close(&self) {
        self.closed.store(true, SeqCst);
        loop {
            // Held by who gives memory back, for a few instructions.
            if let Some(mut place) = self.look() {
                let memory = place.take();
                drop(place);
                return drop(memory);
            }
            std::thread::yield_now();
        }
    }
}
