//! From a closure of the author's to an [`Entry`].

use std::{
    pin::Pin,
    task::{Context, Poll, Waker},
};

use abi_stable::std_types::RSome;
use async_ffi::FfiFuture;
use try_lock::TryLock;

use super::{Error, Result, runtime::RuntimeHandle};
use crate::abi::{Completed, Encode, Entry, Frame, Reply, Status, guard, guard_again};

/// An entry whose code does not wait.
pub(crate) struct SyncEntry<F> {
    call: F,
    runtime: RuntimeHandle,
}

impl<F> SyncEntry<F> {
    pub(crate) fn new(call: F, runtime: RuntimeHandle) -> Self {
        Self { call, runtime }
    }
}

impl<F, T> Entry for SyncEntry<F>
where
    F: Fn(&Frame) -> Result<T> + Send + Sync,
    T: Encode,
{
    fn call(&self, frame: &Frame, reply: &mut Reply) -> u32 {
        let _entered = self.runtime.enter();
        settle((self.call)(frame), &mut reply.completed)
    }
}

/// An entry whose code is a future.
///
/// The first poll happens inside the call: a future that is ready at once costs no waker, no timer and,
/// as its memory is kept for the next call, no allocation. One that is not goes to the host.
pub(crate) struct AsyncEntry<F, Fut> {
    make: F,
    spare: TryLock<Option<FutureSlot<Fut>>>,
    runtime: RuntimeHandle,
}

/// The memory of a future; `None` between calls.
type FutureSlot<Fut> = Pin<Box<Option<Fut>>>;

impl<F, Fut> AsyncEntry<F, Fut> {
    pub(crate) fn new(make: F, runtime: RuntimeHandle) -> Self {
        Self { make, spare: TryLock::new(None), runtime }
    }
}

impl<F, Fut, T> Entry for AsyncEntry<F, Fut>
where
    F: Fn(&Frame) -> Fut + Send + Sync,
    Fut: Future<Output = Result<T>> + Send + 'static,
    T: Encode + 'static,
{
    fn call(&self, frame: &Frame, reply: &mut Reply) -> u32 {
        let _entered = self.runtime.enter();
        // Held during the poll: who enters meanwhile (another thread, or this code again) finds it
        // taken, and uses memory of its own.
        let mut spare = self.spare.try_lock();
        let mut slot = spare.as_mut().and_then(|spare| spare.take()).unwrap_or_else(|| Box::pin(None));
        let polled = guard_again(|| {
            slot.set(Some((self.make)(frame)));
            poll_slot(&mut slot, &mut Context::from_waker(Waker::noop()), &mut reply.completed)
        });
        match polled {
            Ok(Poll::Pending) => {
                reply.pending = RSome(FfiFuture::new(PendingEntry { slot, runtime: self.runtime.clone() }));
                return Status::Pending as u32;
            }
            Ok(Poll::Ready(())) => {}
            Err(panic) => {
                reply.completed = Completed::from(panic);
                empty(&mut slot);
            }
        }
        if let Some(spare) = &mut spare {
            **spare = Some(slot);
        }
        reply.completed.status
    }
}

/// The rest of a future that was not ready at once.
pub(crate) struct PendingEntry<Fut> {
    slot: FutureSlot<Fut>,
    runtime: RuntimeHandle,
}

impl<Fut> PendingEntry<Fut> {
    pub(crate) fn new(future: Fut, runtime: RuntimeHandle) -> Self {
        Self { slot: Box::pin(Some(future)), runtime }
    }
}

impl<Fut, T> Future for PendingEntry<Fut>
where
    Fut: Future<Output = Result<T>>,
    T: Encode,
{
    type Output = Completed;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Completed> {
        let this = self.get_mut();
        let _entered = this.runtime.enter();
        let mut completed = Completed::default();
        match guard(|| poll_slot(&mut this.slot, cx, &mut completed)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(())) => {}
            Err(panic) => {
                completed = Completed::from(panic);
                empty(&mut this.slot);
            }
        }
        Poll::Ready(completed)
    }
}

impl<Fut> Drop for PendingEntry<Fut> {
    fn drop(&mut self) {
        let _entered = self.runtime.enter();
        empty(&mut self.slot);
    }
}

/// Polls the future; when it is ready, drops it and settles its result.
fn poll_slot<Fut, T>(slot: &mut FutureSlot<Fut>, cx: &mut Context<'_>, completed: &mut Completed) -> Poll<()>
where
    Fut: Future<Output = Result<T>>,
    T: Encode,
{
    let Some(future) = slot.as_mut().as_pin_mut() else {
        *completed = Completed::fault(Status::Failed, "polled again after it was done");
        return Poll::Ready(());
    };
    let Poll::Ready(result) = future.poll(cx) else { return Poll::Pending };
    slot.set(None);
    settle(result, completed);
    Poll::Ready(())
}

/// Drops what is left of a future. It already failed, or was given up: a panic now is not news.
fn empty<Fut>(slot: &mut FutureSlot<Fut>) {
    if guard(|| slot.set(None)).is_err() {
        let _still_failing = guard(|| slot.set(None));
    }
}

fn settle<T: Encode>(result: Result<T>, completed: &mut Completed) -> u32 {
    match result {
        Ok(value) => completed.answer = value.encode(),
        Err(error) => *completed = failed(&error),
    }
    completed.status
}

fn failed(error: &Error) -> Completed {
    Completed::fault(Status::Failed, &error.one_line())
}
