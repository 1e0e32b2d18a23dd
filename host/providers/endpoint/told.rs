use std::collections::VecDeque;

use mod_interface::types::Usage;

use crate::providers::ModelEvent;

/// What the data of a response has come to and nobody has taken yet.
#[derive(Default)]
pub(in crate::providers) struct Told {
    events: VecDeque<ModelEvent>,
    done: bool,
}

impl Told {
    pub(in crate::providers) fn event(&mut self, event: ModelEvent) {
        self.events.push_back(event);
    }

    /// A piece of something longer; an empty one is none.
    pub(in crate::providers) fn piece(&mut self, event: impl Fn(String) -> ModelEvent, piece: String) {
        if !piece.is_empty() {
            self.events.push_back(event(piece));
        }
    }

    /// The response is complete.
    pub(in crate::providers) fn done(&mut self, stop_reason: String, usage: Usage) {
        self.events.push_back(ModelEvent::Done { stop_reason, usage });
        self.done = true;
    }

    pub(in crate::providers) fn is_done(&self) -> bool {
        self.done
    }

    pub(in crate::providers) fn next(&mut self) -> Option<ModelEvent> {
        self.events.pop_front()
    }
}
