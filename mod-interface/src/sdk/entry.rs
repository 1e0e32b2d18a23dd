//! From a closure of the author's to an [`Entry`].

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use abi_stable::std_types::RSome;

use super::{Error, Result, runtime::RuntimeHandle};
use crate::abi::{Completed, Encode, Entry, Frame, Pending, Reply, Rest, Spare, Status, guard, guard_again};

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
/// The first poll happens inside the call: a future that is ready at once costs no waker and no timer. One that is
/// not goes to the host, as a [`Pending`]. Either way its memory comes back, and the next call allocates nothing.
pub(crate) struct AsyncEntry<F, Fut> {
    make: F,
    spare: Arc<Spare<Call<Fut>>>,
    runtime: RuntimeHandle,
}

impl<F, Fut> AsyncEntry<F, Fut> {
    pub(crate) fn new(make: F, runtime: RuntimeHandle) -> Self {
        Self { make, spare: Arc::default(), runtime }
    }
}

impl<F, Fut> Drop for AsyncEntry<F, Fut> {
    fn drop(&mut self) {
        self.spare.close();
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
        // Held during the poll.
        let mut spare = self.spare.look();
        let spared = spare.as_mut().and_then(|spare| spare.take());
        let mut call = spared.unwrap_or_else(|| {
            Box::new(Call { home: Some(Arc::clone(&self.spare)), ..Call::of(None, self.runtime.clone()) })
        });
        let polled = guard_again(|| {
            call.future.set(Some((self.make)(frame)));
            go_on(&mut call.future, &mut Context::from_waker(Waker::noop()), &mut reply.completed)
        });
        match polled {
            Ok(Poll::Pending) => {
                reply.pending = RSome(Pending::new(call));
                return Status::Pending as u32;
            }
            Ok(Poll::Ready(())) => {}
            Err(panic) => {
                reply.completed = Completed::from(panic);
                empty(&mut call.future);
            }
        }
        if let Some(spare) = &mut spare {
            **spare = Some(call);
        }
        reply.completed.status
    }
}

/// The memory of a future; `None` between calls.
type FutureSlot<Fut> = Pin<Box<Option<Fut>>>;

/// One call, and its memory.
pub(crate) struct Call<Fut> {
    future: FutureSlot<Fut>,
    runtime: RuntimeHandle,
    /// Where the memory goes when a pending call is over, if somebody can use it.
    home: Option<Arc<Spare<Self>>>,
}

impl<Fut> Call<Fut> {
    /// A call of its own.
    pub(crate) fn of(future: Option<Fut>, runtime: RuntimeHandle) -> Self {
        Self { future: Box::pin(future), runtime, home: None }
    }
}

impl<Fut, T> Rest for Call<Fut>
where
    Fut: Future<Output = Result<T>> + Send + 'static,
    T: Encode,
{
    fn poll(&mut self, cx: &mut Context<'_>, completed: &mut Completed) -> Poll<()> {
        let _entered = self.runtime.enter();
        go_on(&mut self.future, cx, completed)
    }

    fn end(mut self: Box<Self>) {
        if self.future.is_some() {
            let _entered = self.runtime.enter();
            empty(&mut self.future);
        }
        Spare::give_back(self, |call| call.home.as_deref());
    }
}

/// Polls the future; when it is ready, drops it and settles its result.
fn go_on<Fut, T>(slot: &mut FutureSlot<Fut>, cx: &mut Context<'_>, completed: &mut Completed) -> Poll<()>
where
    Fut: Future<Output = Result<T>>,
    T: Encode,
{
    let Some(future) = slot.as_mut().as_pin_mut() else { return Poll::Ready(()) };
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

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
