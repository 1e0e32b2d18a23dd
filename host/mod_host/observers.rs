use std::sync::{Arc, Weak};

use mod_interface::{
    abi::Callable,
    types::{AgentEvent, EventKind},
};

use super::{
    Core,
    frame::Question,
    identity::ModIdentity,
    listener::{Listener, begin},
};
use crate::events::EventSink;

/// An observer of a mod.
pub(crate) struct Observer {
    kind: EventKind,
    listener: Listener,
}

impl Observer {
    pub(crate) fn new(
        core: &Arc<Core>,
        owner: &Arc<ModIdentity>,
        kind: EventKind,
        callable: Callable,
    ) -> Self {
        Self { kind, listener: Listener::new(core, owner, format!("on:{}", kind.as_str()), callable) }
    }

    pub(crate) fn kind(&self) -> EventKind {
        self.kind
    }
}

/// Tells the mods' observers, in registration order.
pub(crate) struct ObserverSink(pub(crate) Weak<Core>);

impl EventSink for ObserverSink {
    fn emit(&self, event: &AgentEvent) {
        self.emit_shared(&Arc::new(event.clone()));
    }

    fn emit_shared(&self, event: &Arc<AgentEvent>) {
        let Some(core) = self.0.upgrade() else { return };
        let observers = core.observers();
        let Some(interested) = observers.get(&event.payload.kind()) else { return };
        let _telling = match begin() {
            Ok(telling) => telling,
            Err(loops) => {
                return interested.iter().for_each(|it| it.listener.report(&event.agent_id, &loops));
            }
        };
        for observer in interested {
            observer.listener.tell(&core, Question::Event(Arc::clone(event)), &event.agent_id);
        }
    }
}
