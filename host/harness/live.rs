use std::sync::Arc;

use mod_interface::types::{DeliverAs, Effort};

use super::store::Store;
use crate::{
    agent::{AgentConfig, Delivery, MessageQueue, Model, ModelChoice, Sender},
    mod_host::{Live, SessionRecord},
};

/// What mods can change of a session. It does not hold the mods: they hold it.
pub(super) struct LiveSession {
    model: Arc<dyn Model>,
    choice: Arc<ModelChoice>,
    queue: Arc<MessageQueue>,
    pub(super) store: Arc<Store>,
}

impl LiveSession {
    pub(super) fn of(config: &AgentConfig, store: Arc<Store>) -> Self {
        let AgentConfig { model, choice, queue, .. } = config;
        Self { model: Arc::clone(model), choice: Arc::clone(choice), queue: Arc::clone(queue), store }
    }
}

impl Live for LiveSession {
    fn queue_message(&self, content: String, deliver_as: DeliverAs) -> Result<(), String> {
        let delivery = match deliver_as {
            DeliverAs::Steer => Delivery::Steer,
            DeliverAs::FollowUp => Delivery::FollowUp,
        };
        let taken = self.queue.push(Sender::Mod, delivery, content);
        if taken {
            Ok(())
        } else {
            Err("too many messages of mods are waiting, this one is dropped".to_owned())
        }
    }

    fn set_model(&self, model: &str) -> Result<(), String> {
        self.model.check(model)?;
        self.choice.set_model(model);
        Ok(())
    }

    fn set_effort(&self, effort: Option<Effort>) {
        self.choice.set_effort(effort);
    }

    fn record(&self) -> &dyn SessionRecord {
        self
    }
}
