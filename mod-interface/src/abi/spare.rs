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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Spare;

    struct Call(Arc<Spare<Self>>);

    #[test]
    fn memory_comes_back_until_the_place_is_closed() {
        let spare = Arc::<Spare<Call>>::default();
        let call = || Box::new(Call(Arc::clone(&spare)));
        Spare::give_back(call(), |call| Some(&call.0));
        assert!(spare.look().is_some_and(|mut place| place.take().is_some()));
        Spare::give_back(call(), |call| Some(&call.0));
        let late = call();
        assert_eq!(Arc::strong_count(&late.0), 3);
        spare.close();
        Spare::give_back(late, |call| Some(&call.0));
        assert_eq!(Arc::strong_count(&spare), 1, "nothing keeps itself");
    }

    #[test]
    fn memory_that_comes_back_while_somebody_looks_is_dropped() {
        let spare = Arc::<Spare<Call>>::default();
        let place = spare.look();
        Spare::give_back(Box::new(Call(Arc::clone(&spare))), |call| Some(&call.0));
        drop(place);
        assert_eq!(Arc::strong_count(&spare), 1);
    }

    /// Whoever comes first, the memory is freed: with valgrind or a sanitizer this also sees it used after that.
    #[test]
    fn memory_that_comes_back_from_many_threads_while_the_place_is_closed_is_freed() {
        for _ in 0..200 {
            let spare = Arc::<Spare<Call>>::default();
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    let call = Box::new(Call(Arc::clone(&spare)));
                    scope.spawn(move || Spare::give_back(call, |call| Some(&call.0)));
                }
                scope.spawn(|| spare.close());
            });
            assert_eq!(Arc::strong_count(&spare), 1, "nothing keeps itself");
        }
    }
}
