//! A mod that is told something synchronously, and what keeps mods that answer each other from going on
//! for ever.

use std::{
    cell::Cell,
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use mod_interface::{
    abi::{Callable, OwnFrame, Reply, Spare},
    types::NoticeLevel,
};

use super::{
    Core,
    adapter::{enter as enter_mod, settle},
    coarse,
    frame::{ModFrame, Question},
    identity::ModIdentity,
    journal::{Journal, place},
};
use crate::{
    events::{Emitter, EventBus},
    hooks::{Faults, HookFault},
};

/// A listener that holds the run up for longer is named.
const SLOW: Duration = Duration::from_millis(50);

/// What a listener raises or says reaches listeners in turn, this deep; a deeper one is a loop.
const MAX_DEPTH: usize = 8;

/// What may be told in all before the first telling is over: loops that fan out are not deep, but long.
const MAX_TOLD: usize = 1024;

/// Something of a mod that is told, and cannot answer.
pub(crate) struct Listener {
    bus: EventBus,
    journal: Arc<Journal>,
    owner: Arc<ModIdentity>,
    /// Where it stands, for people: `on:<event>`, `bus:<channel>`.
    place: String,
    callable: Callable,
    named_slow: AtomicBool,
    /// The frame of the last telling, for the next.
    spare: Spare<OwnFrame<ModFrame>>,
    faults: Arc<ListenerFaults>,
}

impl Listener {
    pub(crate) fn new(core: &Arc<Core>, owner: &Arc<ModIdentity>, place: String, callable: Callable) -> Self {
        Self {
            bus: core.bus.clone(),
            journal: Arc::clone(&core.journal),
            owner: Arc::clone(owner),
            place,
            callable,
            named_slow: AtomicBool::new(false),
            spare: Spare::default(),
            faults: Arc::clone(&core.listener_faults),
        }
    }

    /// Tells it. A failure is told as one of `agent_id`.
    pub(crate) fn tell(&self, core: &Arc<Core>, question: Question, agent_id: &Arc<str>) {
        let mut spare = self.spare.look();
        let taken = spare.as_mut().and_then(|spare| spare.take());
        let mut frame = self.frame(core, taken, question);
        let start = coarse::now();
        let mut reply = Reply::default();
        let pending = enter_mod(&self.journal, &self.owner, place::EVENT, &mut reply, |reply| {
            self.callable.call(frame.frame(), reply)
        });
        let took = coarse::now().saturating_sub(start);
        let fault = match pending {
            None => settle(&reply.completed).err(),
            Some(_) => Some(HookFault::Invalid("an observer cannot wait".to_owned())),
        };
        // As for a hook: a frame that the mod keeps shows the question as it was.
        if let (Some(host), Some(spare)) = (frame.host_mut(), &mut spare) {
            host.give_back();
            **spare = Some(frame);
        }
        drop(spare);
        if took > SLOW && !self.named_slow.swap(true, Relaxed) {
            let (id, place) = (&self.owner.id, self.place.trim_start_matches("on:"));
            let notice = format!("{id} held the run up for {} ms on {place}", took.as_millis());
            self.bus.emitter(Arc::clone(agent_id)).notice(NoticeLevel::Warning, notice);
        }
        if let Some(fault) = fault {
            self.report(agent_id, &fault);
        }
    }

    /// A frame that asks `question`, in the memory of `spare` if nobody holds that.
    fn frame(
        &self,
        core: &Arc<Core>,
        spare: Option<Box<OwnFrame<ModFrame>>>,
        question: Question,
    ) -> Box<OwnFrame<ModFrame>> {
        if let Some(mut frame) = spare
            && let Some(host) = frame.host_mut()
        {
            host.ask(question);
            return frame;
        }
        Box::new(OwnFrame::new(ModFrame::new(core, &self.owner, question)))
    }

    /// Tells a fault. The same one is told once: a listener that fails on the event of its own failure would
    /// be told for ever.
    pub(crate) fn report(&self, agent_id: &Arc<str>, fault: &HookFault) {
        let emitter = self.bus.emitter(Arc::clone(agent_id));
        self.faults.tell(&emitter, &self.owner.id, &self.place, fault);
    }
}

/// The faults of all listeners, by the agent that they were told something of.
#[derive(Default)]
pub(crate) struct ListenerFaults(Mutex<BTreeMap<Arc<str>, Arc<Faults>>>);

impl ListenerFaults {
    fn of(&self, agent_id: &Arc<str>) -> Arc<Faults> {
        let mut agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(agents.entry(Arc::clone(agent_id)).or_default())
    }

    /// Tells a fault, unless it was told.
    pub(crate) fn tell(&self, emitter: &Emitter, mod_id: &str, place: &str, fault: &HookFault) {
        self.of(emitter.agent_id()).tell(emitter, mod_id, place, fault);
    }

    /// Tells what a mod is told too, as the error of its call.
    pub(crate) fn refuse(&self, emitter: &Emitter, mod_id: &str, place: &str, reason: &str) {
        self.of(emitter.agent_id()).refuse(emitter, mod_id, place, reason);
    }

    /// Says what happened again after it was told, and forgets it: the agent's run is over.
    pub(crate) fn report_repeats(&self, emitter: &Emitter) {
        let faults = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(emitter.agent_id());
        // Not under the lock: who listens to notices may fail too.
        faults.into_iter().for_each(|faults| faults.report_repeats(emitter));
    }
}

thread_local! {
    /// How deep this thread is in listeners that make listeners hear something.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// How often it has told something since it was in none.
    static TOLD: Cell<usize> = const { Cell::new(0) };
}

/// That listeners are being told.
pub(crate) struct Telling;

/// Begins to tell listeners; not when it has become a loop.
pub(crate) fn begin() -> Result<Telling, HookFault> {
    let depth = DEPTH.get();
    let told = if depth == 0 { 1 } else { TOLD.get() + 1 };
    TOLD.set(told);
    if depth >= MAX_DEPTH {
        return Err(HookFault::Invalid(format!("mods answer each other in a loop, {MAX_DEPTH} deep")));
    }
    if told > MAX_TOLD {
        return Err(HookFault::Invalid(format!("mods answer each other in a flood, {MAX_TOLD} times")));
    }
    DEPTH.set(depth + 1);
    Ok(Telling)
}

impl Drop for Telling {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_deep_or_on_and_on_is_refused_and_the_next_is_told_again() {
        let deep: Vec<_> = std::iter::from_fn(|| begin().ok()).take(2 * MAX_DEPTH).collect();
        assert_eq!(deep.len(), MAX_DEPTH);
        drop(deep);
        let outer = begin().unwrap();
        let told = std::iter::from_fn(|| begin().ok().map(drop)).take(2 * MAX_TOLD).count();
        assert_eq!(told, MAX_TOLD - 1);
        drop(outer);
        assert!(begin().is_ok());
    }
}
