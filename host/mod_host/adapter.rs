//! The one way into a mod.
//!
//! Whatever a mod registered, it is entered through [`enter`]: the journal knows of it, a failure is a
//! value, and a pending answer is bounded in the mod's own time. [`HookAdapter`] makes a mod's set of
//! hooks a [`HookHandler`] of the run.

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
};

use async_ffi::FfiFuture;
use futures::{FutureExt, future::BoxFuture};
use mod_interface::{
    abi::{Answer, Completed, HookObject, OwnFrame, Reply, Status, decode_outcome},
    types::{Hook, HookSet},
};

use try_lock::TryLock;

use super::{
    Core,
    frame::{ModFrame, Question},
    identity::ModIdentity,
    journal::Journal,
};
use crate::hooks::{HookAnswer, HookFault, HookHandler, HookInput, HookResult};

/// Enters a mod at `place`. The answer is in `reply` then, for [`settle`], unless it is pending.
///
/// The reply stays where it is: an answer that is moved while it is still in the processor's store
/// buffer costs more than the call.
#[inline]
pub(crate) fn enter(
    journal: &Arc<Journal>,
    owner: &ModIdentity,
    place: u16,
    reply: &mut Reply,
    call: impl FnOnce(&mut Reply) -> u32,
) -> Option<PendingEntry> {
    let status = {
        let _inside = journal.enter(owner.index, place);
        call(reply)
    };
    reply.completed.status = status;
    if status != Status::Pending as u32 {
        return None;
    }
    let future = reply.pending.take().into_option()?;
    Some(PendingEntry::new(future, Arc::clone(journal), owner.index, place))
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
pub(crate) struct PendingEntry {
    future: Option<FfiFuture<Completed>>,
    journal: Arc<Journal>,
    mod_index: u16,
    place: u16,
}

impl PendingEntry {
    pub(crate) fn new(
        future: FfiFuture<Completed>,
        journal: Arc<Journal>,
        mod_index: u16,
        place: u16,
    ) -> Self {
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

impl Future for PendingEntry {
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

impl Drop for PendingEntry {
    fn drop(&mut self) {
        if let Some(future) = self.future.take() {
            let _inside = self.journal.enter(self.mod_index, self.place);
            drop(future);
        }
    }
}

/// A set of hooks of a mod, as the run sees it.
pub(crate) struct HookAdapter {
    core: Arc<Core>,
    owner: Arc<ModIdentity>,
    object: HookObject,
    hooks: HookSet,
    fails_closed: bool,
    // The frame of the last call, for the next: nobody kept it.
    spare: TryLock<Option<OwnFrame<ModFrame>>>,
}

impl HookAdapter {
    pub(crate) fn new(
        core: Arc<Core>,
        owner: Arc<ModIdentity>,
        object: HookObject,
        fails_closed: bool,
    ) -> Self {
        let hooks = object.hooks();
        Self { core, owner, object, hooks, fails_closed, spare: TryLock::new(None) }
    }

    /// A frame that asks `question`, in the memory of `spare` if nobody holds that.
    fn frame(&self, spare: Option<OwnFrame<ModFrame>>, question: Question) -> OwnFrame<ModFrame> {
        if let Some(mut frame) = spare
            && let Some(host) = frame.host_mut()
        {
            host.ask(question);
            return frame;
        }
        OwnFrame::new(ModFrame::new(&self.core, &self.owner, question))
    }

    fn wait(
        &self,
        hook: Hook,
        pending: PendingEntry,
        frame: OwnFrame<ModFrame>,
    ) -> BoxFuture<'static, HookResult> {
        let limit = self.core.limit(hook);
        Box::pin(async move { read(hook, &pending.bounded(frame.host().over(limit)).await?) })
    }
}

impl HookHandler for HookAdapter {
    fn mod_id(&self) -> &str {
        &self.owner.id
    }

    fn hooks(&self) -> HookSet {
        self.hooks
    }

    fn fails_closed(&self) -> bool {
        self.fails_closed
    }

    fn call(&self, input: Arc<HookInput>) -> (HookAnswer, Option<Arc<HookInput>>) {
        let hook = input.hook;
        // Held during the call: who enters meanwhile finds it taken, and makes a frame of its own.
        let mut spare = self.spare.try_lock();
        let taken = spare.as_mut().and_then(|spare| spare.take());
        let mut frame = self.frame(taken, Question::Hook(input));
        let mut reply = Reply::default();
        let entry = enter(&self.core.journal, &self.owner, hook as u16, &mut reply, |reply| {
            self.object.call(hook, frame.frame(), reply)
        });
        if let Some(pending) = entry {
            return (HookAnswer::Pending(self.wait(hook, pending, frame)), None);
        }
        // The question is let go of at once: while it is held, the state cannot grow in place.
        // A frame that the mod keeps shows the question as it was.
        let mut input = None;
        if let Some(host) = frame.host_mut() {
            input = host.give_back();
            if let Some(spare) = &mut spare {
                **spare = Some(frame);
            }
        }
        if reply.completed.is_silent() {
            return (HookAnswer::Ready(Ok(None)), input);
        }
        (HookAnswer::Ready(read(hook, &reply.completed)), input)
    }
}

fn read(hook: Hook, completed: &Completed) -> HookResult {
    decode_outcome(hook, settle(completed)?).map_err(HookFault::Invalid)
}

#[cfg(test)]
mod tests {
    use abi_stable::std_types::RSome;

    use super::*;

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
        reply.pending = RSome(FfiFuture::new(std::future::ready(Completed::default())));
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

    /// A future that is ready with this.
    async fn pending(completed: Completed) -> Result<Answer, HookFault> {
        let future = FfiFuture::new(std::future::ready(completed));
        let entry = PendingEntry::new(future, Arc::new(Journal::in_memory()), 0, 0);
        settle(&entry.await?).cloned()
    }

    #[tokio::test]
    async fn a_future_that_ends_with_pending_is_a_fault() {
        let still_pending = Completed { status: Status::Pending as u32, ..Completed::default() };
        let invalid = HookFault::Invalid("a pending answer without a future".to_owned());
        assert_eq!(pending(still_pending).await, Err(invalid));
    }

    #[tokio::test]
    async fn a_future_of_a_library_without_guards_may_panic() {
        let panics = FfiFuture::new(async { std::panic::panic_any(5) });
        let entry = PendingEntry::new(panics, Arc::new(Journal::in_memory()), 0, 0);
        assert_eq!(entry.await, Err(HookFault::Panic("in a poll".to_owned())));
    }
}
