//! The one way into a mod.
//!
//! Whatever a mod registered, it is entered through [`enter`]: the journal knows of it, a failure is a
//! value, and a pending answer is bounded in the mod's own time.

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
};

use futures::FutureExt;
use mod_interface::abi::{Answer, Completed, Pending, Reply, Status};

use super::{identity::ModIdentity, journal::Journal};
use crate::hooks::HookFault;

/// Enters a mod at `place`. The answer is in `reply` then, for [`settle`], unless it is pending.
#[inline]
pub(crate) fn enter(
    journal: &Arc<Journal>,
    owner: &ModIdentity,
    place: u16,
    reply: &mut Reply,
    call: impl FnOnce(&mut Reply) -> u32,
) -> Option<PendingEntry> {
    let pending = begin(journal, owner, place, reply, call)?;
    Some(PendingEntry::new(pending, Arc::clone(journal), owner.index, place))
}

/// [`enter`], for who sees to it that what is pending is polled and dropped in the journal's sight.
///
/// The reply stays where it is: an answer that is moved while it is still in the processor's store
/// buffer costs more than the call.
#[inline]
pub(super) fn begin(
    journal: &Journal,
    owner: &ModIdentity,
    place: u16,
    reply: &mut Reply,
    call: impl FnOnce(&mut Reply) -> u32,
) -> Option<Pending> {
    let status = {
        let _inside = journal.enter(owner.index, place);
        call(reply)
    };
    reply.completed.status = status;
    if status != Status::Pending as u32 {
        return None;
    }
    reply.pending.take().into_option()
}

/// Reads what an entry came to.
pub(crate) fn settle(completed: &Completed) -> Result<&Answer, HookFault> {
    let fault = || completed.fault_text().to_owned();
    match Status::from_raw(completed.status) {
        Some(Status::Ready) => Ok(&completed.answer),
        Some(Status::Failed) => Err(HookFault::Error(fault())),
        Some(Status::Panicked) => Err(HookFault::Panic(fault())),
        Some(Status::Pending) => Err(HookFault::Invalid("a pending answer without a future".to_owned())),
        None => Err(HookFault::Invalid("an answer with a status that is none".to_owned())),
    }
}

/// A mod's future: every poll and the drop are entries too.
pub(crate) struct PendingEntry<F = Pending> {
    future: Option<F>,
    journal: Arc<Journal>,
    mod_index: u16,
    place: u16,
}

impl<F: Future<Output = Completed> + Unpin> PendingEntry<F> {
    pub(crate) fn new(future: F, journal: Arc<Journal>, mod_index: u16, place: u16) -> Self {
        Self { future: Some(future), journal, mod_index, place }
    }

    /// Waits for the answer, for [`settle`], until `over` ends: then the call is abandoned.
    pub(crate) async fn bounded(
        mut self,
        over: impl Future<Output = HookFault>,
    ) -> Result<Completed, HookFault> {
        let mut over = pin!(over);
        poll_fn(|cx| match self.poll_unpin(cx) {
            Poll::Pending => over.as_mut().poll(cx).map(Err),
            answered => answered,
        })
        .await
    }
}

impl<F: Future<Output = Completed> + Unpin> Future for PendingEntry<F> {
    type Output = Result<Completed, HookFault>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(future) = &mut this.future else { return Poll::Pending };
        let _inside = this.journal.enter(this.mod_index, this.place);
        // The SDK catches panics; this is for a library that was built without it.
        let polled = catch_unwind(AssertUnwindSafe(|| future.poll_unpin(cx)));
        let answer = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(completed)) => Ok(completed),
            Err(_) => Err(HookFault::Panic("in a poll".to_owned())),
        };
        this.future = None;
        Poll::Ready(answer)
    }
}

impl<F> Drop for PendingEntry<F> {
    fn drop(&mut self) {
        if let Some(future) = self.future.take() {
            let _inside = self.journal.enter(self.mod_index, self.place);
            drop(future);
        }
    }
}

#[cfg(test)]
mod tests {
    use abi_stable::std_types::RSome;
    use async_ffi::FfiFuture;
    use mod_interface::abi::Rest;

    use super::*;

    /// Is ready with this.
    struct Ready(Option<Completed>);

    impl Rest for Ready {
        fn poll(&mut self, _: &mut Context<'_>, completed: &mut Completed) -> Poll<()> {
            *completed = self.0.take().unwrap_or_default();
            Poll::Ready(())
        }

        fn end(self: Box<Self>) {}
    }

    /// What an entry comes to that leaves `reply` and returns `status`.
    fn entered(status: u32, leave: impl FnOnce(&mut Reply)) -> Option<Result<Answer, HookFault>> {
        let owner = ModIdentity::new(0, "a");
        let mut reply = Reply::default();
        let entry = enter(&Arc::new(Journal::in_memory()), &owner, 0, &mut reply, |reply| {
            leave(reply);
            status
        });
        entry.is_none().then(|| settle(&reply.completed).cloned())
    }

    fn future(reply: &mut Reply) {
        reply.pending = RSome(Pending::new(Box::new(Ready(None))));
    }

    #[test]
    fn an_entry_that_answers_nonsense_is_a_fault() {
        let invalid = |text: &str| Some(Err(HookFault::Invalid(text.to_owned())));
        assert_eq!(entered(77, |_| ()), invalid("an answer with a status that is none"));
        assert_eq!(entered(77, future), invalid("an answer with a status that is none"));
        assert_eq!(entered(Status::Pending as u32, |_| ()), invalid("a pending answer without a future"));
        assert_eq!(entered(Status::Pending as u32, future), None);
        assert_eq!(
            entered(Status::Ready as u32, future),
            Some(Ok(Answer::default())),
            "the future is dropped"
        );
    }

    #[test]
    fn a_fault_comes_with_its_text() {
        let left = |status| entered(status as u32, |reply| reply.completed = Completed::fault(status, "why"));
        assert_eq!(left(Status::Failed), Some(Err(HookFault::Error("why".to_owned()))));
        assert_eq!(left(Status::Panicked), Some(Err(HookFault::Panic("why".to_owned()))));
    }

    #[tokio::test]
    async fn a_future_that_ends_with_pending_is_a_fault() {
        let still_pending = Completed { status: Status::Pending as u32, ..Completed::default() };
        let future = std::future::ready(still_pending);
        let entry = PendingEntry::new(future, Arc::new(Journal::in_memory()), 0, 0);
        let invalid = HookFault::Invalid("a pending answer without a future".to_owned());
        assert_eq!(settle(&entry.await.unwrap()), Err(invalid));
    }

    #[tokio::test]
    async fn a_future_of_a_library_without_guards_may_panic() {
        let panics = FfiFuture::new(async { std::panic::panic_any(5) });
        let entry = PendingEntry::new(panics, Arc::new(Journal::in_memory()), 0, 0);
        assert_eq!(entry.await, Err(HookFault::Panic("in a poll".to_owned())));
    }
}
