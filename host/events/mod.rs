//! What happens, told to everybody who listens.
//!
//! One bus per harness. Sinks are told inline, in the order in which they were added; an event is a
//! snapshot, so a sink can change nothing. A sink must not block: the run waits for it.
//!
//! Not all events are raised by the run: a mod has threads of its own, and the watchdog has one. So `turn`
//! sees to it that each sink is told one event at a time.

mod turn;

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use futures::future::join_all;
use mod_interface::types::{AgentEvent, EventPayload, MAIN_AGENT, NoticeLevel};

use turn::InTurn;

/// Somebody who listens.
pub trait EventSink: Send + Sync {
    /// Is told `event`. Must return quickly and must not panic. Never called by two threads at once; an
    /// event that a sink raises itself, it is told in the middle of this.
    fn emit(&self, event: &AgentEvent);

    /// The same, for a sink that keeps the event: there is no need to copy it.
    fn emit_shared(&self, event: &Arc<AgentEvent>) {
        self.emit(event);
    }
}

impl<F: Fn(&AgentEvent) + Send + Sync> EventSink for F {
    fn emit(&self, event: &AgentEvent) {
        self(event);
    }
}

type Sinks = Arc<[Arc<InTurn>]>;

/// Fans every event out to its sinks.
#[derive(Clone, Default)]
pub struct EventBus {
    sinks: Arc<RwLock<Sinks>>,
}

impl EventBus {
    /// A bus that nobody listens to yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a sink behind those already there.
    pub fn add(&self, sink: Arc<dyn EventSink>) {
        let mut sinks = self.sinks.write().unwrap_or_else(PoisonError::into_inner);
        *sinks = sinks.iter().cloned().chain([Arc::new(InTurn::new(sink))]).collect();
    }

    /// Tells every sink. No lock is held while they are told. One that another thread is telling something
    /// is told this by that thread, right behind.
    pub fn emit(&self, event: &Arc<AgentEvent>) {
        for sink in &*self.sinks() {
            sink.tell(event);
        }
    }

    /// Waits until every sink was told all that was raised, for as long as `limit`, and gives how many events
    /// were not told to a sink: it is still busy, or was for too long. For the end of a session.
    pub async fn settle(&self, limit: Duration) -> usize {
        let sinks = self.sinks();
        // What is late is counted.
        let _late = tokio::time::timeout(limit, join_all(sinks.iter().map(|sink| sink.settle()))).await;
        sinks.iter().map(|sink| sink.untold()).sum()
    }

    fn sinks(&self) -> Sinks {
        self.sinks.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// An emitter for the events of `agent_id`.
    pub fn emitter(&self, agent_id: impl Into<Arc<str>>) -> Emitter {
        Emitter { bus: self.clone(), agent_id: agent_id.into() }
    }

    /// An emitter for the main agent's events.
    pub fn main(&self) -> Emitter {
        self.emitter(MAIN_AGENT)
    }
}

/// Raises the events of one agent.
#[derive(Clone)]
pub struct Emitter {
    bus: EventBus,
    agent_id: Arc<str>,
}

impl Emitter {
    /// Raises an event.
    pub fn emit(&self, payload: EventPayload) {
        self.bus.emit(&Arc::new(AgentEvent { payload, agent_id: self.agent_id.clone() }));
    }

    /// Raises a notice.
    pub fn notice(&self, level: NoticeLevel, message: impl Into<String>) {
        self.emit(EventPayload::Notice { level, message: message.into() });
    }

    /// Raises a `mod_error`.
    pub fn mod_error(&self, mod_id: &str, hook: &str, error: impl Into<String>) {
        self.emit(EventPayload::ModError {
            mod_id: mod_id.to_owned(),
            hook: hook.to_owned(),
            error: error.into(),
        });
    }

    /// The agent whose events these are.
    pub fn agent_id(&self) -> &Arc<str> {
        &self.agent_id
    }

    /// The bus behind it.
    pub fn bus(&self) -> &EventBus {
        &self.bus
    }
}
