use std::sync::Arc;

use futures::future::BoxFuture;
use mod_interface::types::{DeliverAs, Effort};
use tokio_util::sync::CancellationToken;

use super::store::Store;
use crate::{
    agent::{AgentConfig, Compaction, Delivery, MessageQueue, Model, ModelChoice, Sender},
    events::Emitter,
    mod_host::{Live, SessionRecord},
};

/// What mods can change of a session. It does not hold the mods: they hold it.
pub(super) struct LiveSession {
    pub(super) model: Arc<dyn Model>,
    pub(super) choice: Arc<ModelChoice>,
    queue: Arc<MessageQueue>,
    compaction: Arc<Compaction>,
    emitter: Emitter,
    pub(super) store: Arc<Store>,
}

impl LiveSession {
    pub(super) fn of(config: &AgentConfig, store: Arc<Store>) -> Self {
        let AgentConfig { model, choice, queue, compaction, emitter, .. } = config;
        Self {
            model: Arc::clone(model),
            choice: Arc::clone(choice),
            queue: Arc::clone(queue),
            compaction: Arc::clone(compaction),
            emitter: emitter.clone(),
            store,
        }
    }

    /// Compacts the conversation of the last commit. A run that goes on takes the summary at its next model call;
    /// where there is none, it is committed at once, and the next run takes it.
    pub(super) fn compact(&self, cancel: CancellationToken) -> BoxFuture<'static, Result<(), String>> {
        let Self { model, choice, compaction, emitter, store, .. } = self;
        let (model, (name, _), store) = (Arc::clone(model), choice.get(), Arc::clone(store));
        let (compaction, emitter) = (Arc::clone(compaction), emitter.clone());
        Box::pin(async move {
            let state = store.with(|session| session.state());
            let asked = compaction.ask(&state, &*model, name, &emitter, &cancel).await;
            asked.map_err(|error| error.to_string())?;
            store.amend(move |state| compaction.apply(state)).await
        })
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
