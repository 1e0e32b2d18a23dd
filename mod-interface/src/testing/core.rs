//! The recording host: what a mod registered, what it asked for, and what happened.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use serde_json::Value;

use super::{
    Asked, Fault,
    answers::Answers,
    entry,
    frame::{Question, TestFrame},
    interruption::Interruption,
    live::Live,
    record::Record,
    registrations::Registrations,
};
use crate::{
    abi::{Callable, OwnFrame},
    types::{AgentEvent, EventPayload, MAIN_AGENT},
};

/// What listeners raise is told to listeners in turn, this deep; a deeper one is a loop.
const MAX_DEPTH: usize = 8;

/// Who the mod is, and where.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) name: Arc<str>,
    pub(super) id: Arc<str>,
    pub(super) cwd: Arc<str>,
    pub(super) session: Arc<str>,
}

/// How much of its own time the mod's code may take. Counted where there is a clock: in tokio.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) hook: Duration,
    pub(super) tool: Duration,
}

pub(super) struct Core {
    me: Weak<Core>,
    pub(super) place: Place,
    pub(super) limits: Limits,
    pub(super) registrations: Registrations,
    pub(super) interruption: Arc<Interruption>,
    answers: Mutex<Answers>,
    live: Mutex<Live>,
    record: Mutex<Record>,
    asked: Mutex<Vec<Asked>>,
    events: Mutex<Vec<EventPayload>>,
    told_faults: Mutex<BTreeSet<(String, String)>>,
    depth: AtomicUsize,
}

impl Core {
    pub(super) fn new(place: Place, limits: Limits, answers: Answers, record: Record) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            place,
            limits,
            registrations: Registrations::default(),
            interruption: Arc::default(),
            answers: Mutex::new(answers),
            live: Mutex::default(),
            record: Mutex::new(record),
            asked: Mutex::default(),
            events: Mutex::default(),
            told_faults: Mutex::default(),
            depth: AtomicUsize::new(0),
        })
    }

    /// A frame that asks `question`. It does not keep this alive: as in the host, a mod that outlives its
    /// harness is told so.
    pub(super) fn frame(&self, question: Question) -> OwnFrame<TestFrame> {
        OwnFrame::new(TestFrame::new(Weak::clone(&self.me), self.place.clone(), question))
    }

    pub(super) fn answers(&self) -> MutexGuard<'_, Answers> {
        lock(&self.answers)
    }

    pub(super) fn live(&self) -> MutexGuard<'_, Live> {
        lock(&self.live)
    }

    pub(super) fn record(&self) -> MutexGuard<'_, Record> {
        lock(&self.record)
    }

    pub(super) fn note(&self, service: &str, args: Value) {
        lock(&self.asked).push(Asked { service: service.to_owned(), args });
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        lock(&self.asked).clone()
    }

    pub(super) fn events(&self) -> Vec<EventPayload> {
        lock(&self.events).clone()
    }

    /// Raises an event, and tells those who observe it. A failure of theirs is a `mod_error`.
    pub(super) fn emit(&self, payload: EventPayload) {
        if let Err(fault) = self.observed(payload) {
            self.tell_fault(&fault);
        }
    }

    /// The same; the first failure comes back.
    pub(super) fn observed(&self, payload: EventPayload) -> Result<(), Fault> {
        lock(&self.events).push(payload.clone());
        let kind = payload.kind().as_str();
        let event = AgentEvent { payload, agent_id: MAIN_AGENT.into() };
        let observers = self.registrations.listeners("event", kind);
        self.tell(&format!("on:{kind}"), &observers, || Question::Event(Box::new(event.clone())))
    }

    /// Says something on a channel.
    pub(super) fn say(&self, channel: &str, data: &Value) -> Result<(), Fault> {
        let listeners = self.registrations.listeners("bus", channel);
        let question = || Question::Bus { channel: channel.to_owned(), data: data.clone() };
        self.tell(&format!("bus:{channel}"), &listeners, question)
    }

    /// Raises `mod_error`: each cause once at each place, or a listener that fails on the event of its own
    /// failure would be told for ever.
    pub(super) fn tell_fault(&self, fault: &Fault) {
        let (hook, error) = (fault.place().to_owned(), fault.cause());
        if lock(&self.told_faults).insert((hook.clone(), error.clone())) {
            self.emit(EventPayload::ModError { mod_id: self.place.id.to_string(), hook, error });
        }
    }

    /// Tells each listener, and gives the first failure.
    fn tell(
        &self,
        place: &str,
        listeners: &[Callable],
        question: impl Fn() -> Question,
    ) -> Result<(), Fault> {
        if listeners.is_empty() {
            return Ok(());
        }
        if self.depth.fetch_add(1, Relaxed) >= MAX_DEPTH {
            self.depth.fetch_sub(1, Relaxed);
            let reason = format!("mods answer each other in a loop, {MAX_DEPTH} deep");
            return Err(Fault::Invalid { place: place.to_owned(), reason });
        }
        let told = listeners.iter().map(|listener| {
            let frame = self.frame(question());
            entry::at_once(place, |reply| listener.call(frame.frame(), reply)).map(drop)
        });
        // All are told, whatever comes of the first.
        let told = told.collect::<Vec<_>>().into_iter().collect();
        self.depth.fetch_sub(1, Relaxed);
        told
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
