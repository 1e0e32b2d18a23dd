//! What mods ask of the session that goes on: kept until there is one, and done then, in the order in which
//! it was asked.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use mod_interface::types::{DeliverAs, Effort, EventPayload};
use serde::Deserialize;

use super::{Core, HARNESS_GONE, identity::ModIdentity, record::SessionRecord, screen::Entry};

/// How much is kept for a session that is not there yet: calls, and bytes of their texts.
const MAX_KEPT: usize = 1024;
const MAX_KEPT_BYTES: usize = 4 << 20;

/// A session that is bound, as far as mods can change it. Its functions return at once.
pub trait Live: Send + Sync {
    /// Queues a message of a mod for the conversation. It begins no run.
    ///
    /// # Errors
    /// Too much is waiting; it is dropped.
    fn queue_message(&self, content: String, deliver_as: DeliverAs) -> Result<(), String>;

    /// Takes another model, written `provider/id`.
    ///
    /// # Errors
    /// It cannot be called; nothing changes.
    fn set_model(&self, model: &str) -> Result<(), String>;

    /// Takes another effort, or goes back to the model's own default.
    fn set_effort(&self, effort: Option<Effort>);

    /// Its record.
    fn record(&self) -> &dyn SessionRecord;
}

/// One thing that a mod asks.
pub(crate) enum Order {
    Message(String, DeliverAs),
    Model(String),
    Effort(Option<Effort>),
    Name(String),
    Entry(Entry),
}

impl Order {
    fn size(&self) -> usize {
        match self {
            Self::Message(text, _) | Self::Model(text) | Self::Name(text) => text.len(),
            Self::Effort(_) => 0,
            Self::Entry(entry) => entry.size(),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Message {
    content: String,
    deliver_as: DeliverAs,
}

impl Message {
    pub(crate) fn order(self) -> Result<Order, String> {
        if self.content.trim().is_empty() {
            return Err("a message that is queued needs a text, got none".to_owned());
        }
        Ok(Order::Message(self.content, self.deliver_as))
    }
}

/// What was asked before there was a session, and the session.
#[derive(Default)]
pub(crate) struct Orders(Mutex<Given>);

#[derive(Default)]
struct Given {
    session: Option<Arc<dyn Live>>,
    kept: VecDeque<(Arc<ModIdentity>, Order)>,
    /// Of what was kept so far.
    bytes: usize,
}

/// What can be done now.
struct AtOnce {
    session: Arc<dyn Live>,
    order: Order,
}

impl Orders {
    /// The session to do something in at once, or else it is kept.
    fn take(&self, owner: &Arc<ModIdentity>, order: Order) -> Result<Option<AtOnce>, String> {
        let mut given = self.given();
        if let Some(session) = &given.session {
            return Ok(Some(AtOnce { session: Arc::clone(session), order }));
        }
        given.bytes += order.size();
        if given.kept.len() == MAX_KEPT || given.bytes > MAX_KEPT_BYTES {
            return Err(format!(
                "too much is asked before the session begins, at most {MAX_KEPT} calls and {MAX_KEPT_BYTES} bytes are kept"
            ));
        }
        given.kept.push_back((Arc::clone(owner), order));
        Ok(None)
    }

    /// The next that was kept. When there is nothing left, and where this must come to an end, the session is bound.
    fn next(&self, session: &Arc<dyn Live>, to_an_end: bool) -> Option<(Arc<ModIdentity>, Order)> {
        let mut given = self.given();
        let next = given.kept.pop_front();
        if next.is_none() || to_an_end {
            given.session = Some(Arc::clone(session));
        }
        next
    }

    pub(super) fn session(&self) -> Option<Arc<dyn Live>> {
        self.given().session.clone()
    }

    /// Lets go of the session, which may lead back to the mods.
    pub(super) fn unbind(&self) {
        let left = std::mem::take(&mut *self.given());
        drop(left);
    }

    fn given(&self) -> MutexGuard<'_, Given> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Core {
    /// Does what a mod asks, now or when the session is bound. What cannot be done is told.
    pub(crate) fn order(self: &Arc<Self>, owner: &Arc<ModIdentity>, order: Order) -> Result<(), String> {
        if self.shutdown.is_cancelled() {
            return Err(HARNESS_GONE.to_owned());
        }
        self.registrations().check_open(owner).map_err(|refusal| refusal.to_string())?;
        if let Some(AtOnce { session, order }) = self.orders.take(owner, order)? {
            self.carry_out(&*session, owner, order);
        }
        Ok(())
    }

    /// Does what was kept, and from then on everything at once.
    pub(super) fn bind(self: &Arc<Self>, session: &Arc<dyn Live>) {
        let mut done = 0;
        // What is asked meanwhile is kept too, for its turn; but a renderer that shows entries would ask without end.
        while let Some((owner, order)) = self.orders.next(session, done >= MAX_KEPT) {
            done += 1;
            // A mod that did not load asks for nothing.
            if self.registrations().check_open(&owner).is_ok() {
                self.carry_out(&**session, &owner, order);
            }
        }
    }

    fn tell_refused(&self, owner: &ModIdentity, place: &str, done: Result<(), String>) {
        if let Err(refused) = done {
            self.bus.main().mod_error(&owner.id, place, refused);
        }
    }

    fn carry_out(self: &Arc<Self>, session: &dyn Live, owner: &ModIdentity, order: Order) {
        match order {
            Order::Message(content, deliver_as) => {
                self.tell_refused(owner, "queue_message", session.queue_message(content, deliver_as));
            }
            Order::Entry(entry) => self.show_entry(entry),
            Order::Effort(effort) => session.set_effort(effort),
            Order::Model(model) => self.tell_refused(owner, "set_model", session.set_model(&model)),
            Order::Name(name) => {
                let named = session.record().set_name(&name).map(|title| {
                    if let Some(title) = title {
                        self.bus.main().emit(EventPayload::SessionTitled { title });
                    }
                });
                self.tell_refused(owner, "set_session_name", named);
            }
        }
    }
}
