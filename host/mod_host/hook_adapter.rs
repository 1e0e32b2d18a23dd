use std::{
    sync::Arc,
    task::{Context, Poll},
};

use futures::{FutureExt, future::BoxFuture};
use mod_interface::{
    abi::{Completed, HookObject, OwnFrame, Pending, Reply, Spare, decode_outcome},
    types::{Hook, HookSet},
};

use super::{
    Core,
    adapter::{begin, settle},
    frame::{ModFrame, Question},
    identity::ModIdentity,
};
use crate::hooks::{HookAnswer, HookFault, HookHandler, HookInput, HookResult, Later, LaterAnswer};

/// A set of hooks of a mod, as the run sees it.
pub(crate) struct HookAdapter(Arc<Hooks>);

struct Hooks {
    core: Arc<Core>,
    owner: Arc<ModIdentity>,
    object: HookObject,
    hooks: HookSet,
    fails_closed: bool,
    spare: Spare<Call>,
}

/// One call, and its memory.
struct Call {
    of: Arc<Hooks>,
    frame: OwnFrame<ModFrame>,
    /// What is left of it, when it is pending.
    rest: Option<(Hook, Pending)>,
    /// Ends with the mod's own time. There once the answer is waited for.
    over: Option<BoxFuture<'static, HookFault>>,
}

impl HookAdapter {
    pub(crate) fn new(
        core: Arc<Core>,
        owner: Arc<ModIdentity>,
        object: HookObject,
        fails_closed: bool,
    ) -> Self {
        let hooks = object.hooks();
        Self(Arc::new(Hooks { core, owner, object, hooks, fails_closed, spare: Spare::default() }))
    }

    /// A call that asks `question`, in the memory of `spare` if nobody holds that.
    #[inline]
    fn ask(&self, spare: Option<Box<Call>>, question: Question) -> Box<Call> {
        if let Some(mut call) = spare
            && let Some(host) = call.frame.host_mut()
        {
            host.ask(question);
            return call;
        }
        self.new_call(question)
    }

    #[cold]
    fn new_call(&self, question: Question) -> Box<Call> {
        let frame = OwnFrame::new(ModFrame::new(&self.0.core, &self.0.owner, question));
        Box::new(Call { of: Arc::clone(&self.0), frame, rest: None, over: None })
    }
}

impl Drop for HookAdapter {
    fn drop(&mut self) {
        self.0.spare.close();
    }
}

impl HookHandler for HookAdapter {
    fn mod_id(&self) -> &str {
        &self.0.owner.id
    }

    fn hooks(&self) -> HookSet {
        self.0.hooks
    }

    fn fails_closed(&self) -> bool {
        self.0.fails_closed
    }

    fn call(&self, input: Arc<HookInput>) -> (HookAnswer, Option<Arc<HookInput>>) {
        let (hooks, hook) = (&*self.0, input.hook);
        // Held during the call.
        let mut spare = hooks.spare.look();
        let taken = spare.as_mut().and_then(|spare| spare.take());
        let mut call = self.ask(taken, Question::Hook(input));
        let mut reply = Reply::default();
        let pending = begin(&hooks.core.journal, &hooks.owner, hook as u16, &mut reply, |reply| {
            hooks.object.call(hook, call.frame.frame(), reply)
        });
        if let Some(rest) = pending {
            call.rest = Some((hook, rest));
            return (HookAnswer::Pending(LaterAnswer::new(call)), None);
        }
        // The question is let go of at once: while it is held, the state cannot grow in place.
        // A frame that the mod keeps shows the question as it was.
        let mut input = None;
        if let Some(host) = call.frame.host_mut() {
            input = host.give_back();
            if let Some(spare) = &mut spare {
                **spare = Some(call);
            }
        }
        if reply.completed.is_silent() {
            return (HookAnswer::Ready(Ok(None)), input);
        }
        (HookAnswer::Ready(read(hook, &reply.completed)), input)
    }
}

impl Later for Call {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<HookResult> {
        let Some((hook, rest)) = &mut self.rest else { return Poll::Pending };
        let mut completed = Completed::default();
        let polled = {
            let _inside = self.of.core.journal.enter(self.of.owner.index, *hook as u16);
            rest.poll_into(cx, &mut completed)
        };
        if polled.is_ready() {
            return Poll::Ready(read(*hook, &completed));
        }
        let limit = self.of.core.limit(*hook);
        let over = self.over.get_or_insert_with(|| self.frame.host().over(limit).boxed());
        over.poll_unpin(cx).map(Err)
    }

    fn end(mut self: Box<Self>) {
        self.over = None;
        if let Some((hook, rest)) = self.rest.take()
            && !rest.is_over()
        {
            let _inside = self.of.core.journal.enter(self.of.owner.index, hook as u16);
            drop(rest);
        }
        // As when the answer was there at once.
        if let Some(host) = self.frame.host_mut() {
            host.give_back();
            Spare::give_back(self, |call| Some(&call.of.spare));
        }
    }
}

fn read(hook: Hook, completed: &Completed) -> HookResult {
    if completed.is_silent() {
        return Ok(None);
    }
    decode_outcome(hook, settle(completed)?).map_err(HookFault::Invalid)
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Mutex, task::Waker};

    use abi_stable::std_types::RSome;
    use mod_interface::{
        abi::{Entry, Frame, Rest, Status},
        types::AgentState,
    };
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{
        events::EventBus,
        hooks::{Scope, Subject},
        mod_host::fixture::World,
    };

    /// Notes where the frame of each call is; in round 0 it answers at once, else it is pending as often as the
    /// number of the round says.
    struct Notes(Arc<Mutex<Vec<usize>>>);

    impl Entry for Notes {
        fn call(&self, frame: &Frame, reply: &mut Reply) -> u32 {
            self.0.lock().unwrap().push(std::ptr::from_ref(frame).addr());
            let polls = frame.number(mod_interface::abi::NumberField::TurnNumber);
            if polls > 0 {
                reply.pending = RSome(Pending::new(Box::new(After(polls - 1))));
                return Status::Pending as u32;
            }
            Status::Ready as u32
        }
    }

    struct After(u64);

    impl Rest for After {
        fn poll(&mut self, _: &mut Context<'_>, _: &mut Completed) -> Poll<()> {
            let over = self.0 == 0;
            self.0 = self.0.saturating_sub(1);
            if over { Poll::Ready(()) } else { Poll::Pending }
        }

        fn end(self: Box<Self>) {}
    }

    fn input(turn_number: u32) -> Arc<HookInput> {
        let (emitter, cancel) = (EventBus::new().main(), CancellationToken::new());
        Arc::new(HookInput {
            hook: Hook::OnStop,
            scope: Arc::new(Scope::new(emitter, cancel, Path::new("/"))),
            turn_number,
            state: AgentState::new("s"),
            subject: Subject::None,
        })
    }

    fn adapter(world: &World) -> (HookAdapter, Arc<Mutex<Vec<usize>>>) {
        let places = Arc::default();
        let object = HookObject::new([(Hook::OnStop, Box::new(Notes(Arc::clone(&places))) as _)]);
        (HookAdapter::new(Arc::clone(&world.core), Arc::clone(&world.owner), object, false), places)
    }

    fn pending(adapter: &HookAdapter, polls: u32) -> LaterAnswer {
        match adapter.call(input(polls)).0 {
            HookAnswer::Pending(answer) => answer,
            HookAnswer::Ready(_) => panic!("ready"),
        }
    }

    fn poll(answer: &mut LaterAnswer) -> Poll<HookResult> {
        answer.poll_unpin(&mut Context::from_waker(Waker::noop()))
    }

    #[tokio::test]
    async fn the_memory_of_a_call_is_used_again_also_when_it_was_pending_or_given_up() {
        let world = World::new();
        let (adapter, places) = adapter(&world);
        assert!(matches!(adapter.call(input(0)).0, HookAnswer::Ready(Ok(None))));
        let mut answer = pending(&adapter, 2);
        assert!(poll(&mut answer).is_pending());
        assert_eq!(poll(&mut answer), Poll::Ready(Ok(None)));
        drop(answer);
        drop(pending(&adapter, 1));
        assert!(matches!(adapter.call(input(0)).0, HookAnswer::Ready(Ok(None))));
        let places = places.lock().unwrap();
        assert_eq!(*places, [places[0]; 4]);
    }

    #[tokio::test]
    async fn calls_that_are_pending_at_once_have_memory_of_their_own() {
        let world = World::new();
        let (adapter, places) = adapter(&world);
        let mut answers = [1, 1, 1].map(|polls| pending(&adapter, polls));
        answers.iter_mut().for_each(|answer| assert_eq!(poll(answer), Poll::Ready(Ok(None))));
        let places = places.lock().unwrap();
        assert!(places[0] != places[1] && places[1] != places[2] && places[0] != places[2], "{places:?}");
    }

    #[tokio::test]
    async fn nothing_is_left_of_an_adapter_that_is_gone_before_its_last_answer() {
        let world = World::new();
        let before = Arc::strong_count(&world.core);
        let (adapter, _) = adapter(&world);
        assert!(matches!(adapter.call(input(0)).0, HookAnswer::Ready(Ok(None))));
        let mut answer = pending(&adapter, 1);
        drop(adapter);
        assert_eq!(poll(&mut answer), Poll::Ready(Ok(None)));
        drop(answer);
        assert_eq!(Arc::strong_count(&world.core), before);
    }
}
