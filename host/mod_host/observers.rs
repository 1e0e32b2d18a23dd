use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use mod_interface::{
    abi::{Callable, OwnFrame},
    types::{AgentEvent, EventKind, NoticeLevel},
};

use super::{
    Core,
    adapter::{Entry, enter},
    frame::{ModFrame, Question},
    identity::ModIdentity,
    journal::{Journal, place},
};
use crate::{
    events::{EventBus, EventSink},
    hooks::HookFault,
};

/// An observer that holds the run up for longer is named.
const SLOW: Duration = Duration::from_millis(50);

/// Events that an observer raises reach observers in turn, this deep; a deeper one is a loop.
const MAX_DEPTH: usize = 8;

/// An observer of a mod.
pub(crate) struct Observer {
    bus: EventBus,
    journal: Arc<Journal>,
    owner: Arc<ModIdentity>,
    kind: EventKind,
    callable: Callable,
    named_slow: AtomicBool,
    failures: AtomicU64,
}

impl Observer {
    pub(crate) fn new(
        core: &Arc<Core>,
        owner: &Arc<ModIdentity>,
        kind: EventKind,
        callable: Callable,
    ) -> Self {
        Self {
            bus: core.bus.clone(),
            journal: Arc::clone(&core.journal),
            owner: Arc::clone(owner),
            kind,
            callable,
            named_slow: AtomicBool::new(false),
            failures: AtomicU64::new(0),
        }
    }

    pub(crate) fn kind(&self) -> EventKind {
        self.kind
    }

    fn tell(&self, core: &Arc<Core>, event: &Arc<AgentEvent>) {
        let frame = OwnFrame::new(ModFrame::new(core, &self.owner, Question::Event(Arc::clone(event))));
        let start = Instant::now();
        let entry =
            enter(&self.journal, &self.owner, place::EVENT, |reply| self.callable.call(frame.frame(), reply));
        let took = start.elapsed();
        let fault = match entry {
            Entry::Ready(answer) => answer.err(),
            Entry::Pending(_) => Some(HookFault::Invalid("an observer cannot wait".to_owned())),
        };
        if took > SLOW && !self.named_slow.swap(true, Relaxed) {
            let notice = format!(
                "{} held the run up for {} ms on {}",
                self.owner.id,
                took.as_millis(),
                self.kind.as_str()
            );
            self.bus.emitter(Arc::clone(&event.agent_id)).notice(NoticeLevel::Warning, notice);
        }
        if let Some(fault) = fault {
            self.report(event, &fault);
        }
    }

    /// Told once: an observer that fails on the event of its own failure would be told for ever.
    fn report(&self, event: &AgentEvent, fault: &HookFault) {
        if self.failures.fetch_add(1, Relaxed) == 0 {
            let emitter = self.bus.emitter(Arc::clone(&event.agent_id));
            emitter.mod_error(&self.owner.id, &self.place(), fault.to_string());
        }
    }

    fn place(&self) -> String {
        format!("on:{}", self.kind.as_str())
    }
}

/// Tells the mods' observers, in registration order.
pub(crate) struct ObserverSink(pub(crate) Weak<Core>);

impl EventSink for ObserverSink {
    fn emit(&self, event: &AgentEvent) {
        let Some(core) = self.0.upgrade() else { return };
        let observers = core.observers();
        let Some(interested) = observers.get(&event.payload.kind()) else { return };
        let Some(_depth) = depth::enter(MAX_DEPTH) else {
            let fault = HookFault::Invalid(format!("observers raise events in a loop, {MAX_DEPTH} deep"));
            return interested.iter().for_each(|observer| observer.report(event, &fault));
        };
        let event = Arc::new(event.clone());
        for observer in interested {
            observer.tell(&core, &event);
        }
    }
}

/// How deep this thread is in observers that raise events that are observed.
mod depth {
    use std::cell::Cell;

    thread_local! {
        static DEPTH: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) struct Depth;

    pub(super) fn enter(most: usize) -> Option<Depth> {
        let depth = DEPTH.get();
        (depth < most).then(|| {
            DEPTH.set(depth + 1);
            Depth
        })
    }

    impl Drop for Depth {
        fn drop(&mut self) {
            DEPTH.set(DEPTH.get() - 1);
        }
    }
}
