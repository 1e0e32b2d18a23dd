//! What the mods registered, in order, and how to undo it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

use mod_interface::types::EventKind;

use super::{channels::Channel, commands::ModCommand, identity::ModIdentity, observers::Observer};
use crate::{
    hooks::{Handlers, HookHandler},
    providers::Provider,
    tools::Tool,
};

/// The observers by event, in registration order.
pub(crate) type Observers = BTreeMap<EventKind, Vec<Arc<Observer>>>;

/// Who listens to channels between mods, by channel, in registration order.
pub(crate) type Channels = BTreeMap<Arc<str>, Vec<Arc<Channel>>>;

/// One thing that a mod registered.
pub(crate) enum What {
    Hooks(Arc<dyn HookHandler>),
    Observer(Arc<Observer>),
    Channel(Arc<Channel>),
    Command(Arc<ModCommand>),
    Tool(Arc<dyn Tool>),
    Provider(Arc<dyn Provider>),
}

struct Row {
    id: u64,
    owner: Arc<ModIdentity>,
    what: What,
}

/// Why something is not registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("{}", super::HARNESS_GONE)]
    Gone,
    #[error("this mod did not load, it can register nothing any more")]
    Closed,
    #[error("a command of that name is there already; the first stays")]
    Taken,
}

/// All registrations. Registration order is load order, whenever a mod registers.
#[derive(Default)]
pub(crate) struct Registrations {
    table: Mutex<Table>,
    // Made anew at each change, so that a run reads them without waiting and without copying.
    handlers: RwLock<Arc<Handlers>>,
    observers: RwLock<Arc<Observers>>,
    channels: RwLock<Arc<Channels>>,
}

#[derive(Default)]
struct Table {
    last_id: u64,
    rows: Vec<Row>,
    // Mods that did not load, by number: code of theirs may still run.
    closed: BTreeSet<u16>,
    over: bool,
}

impl Table {
    fn refusal(&self, owner: &ModIdentity, what: &What) -> Option<Refusal> {
        if self.over {
            return Some(Refusal::Gone);
        }
        if self.closed.contains(&owner.index) {
            return Some(Refusal::Closed);
        }
        let What::Command(command) = what else { return None };
        let name = &command.spec().name;
        let taken = |row: &Row| matches!(&row.what, What::Command(first) if first.spec().name == *name);
        self.rows.iter().any(taken).then_some(Refusal::Taken)
    }
}

impl Registrations {
    /// Adds a registration, and gives its number.
    ///
    /// # Errors
    /// Why it was dropped.
    pub(crate) fn add(&self, owner: &Arc<ModIdentity>, what: What) -> Result<u64, Refusal> {
        let mut table = self.table();
        if let Some(refusal) = table.refusal(owner, &what) {
            // Not under the lock: what is dropped is code of the mod.
            drop(table);
            return Err(refusal);
        }
        table.last_id += 1;
        let id = table.last_id;
        let at = table.rows.partition_point(|row| (row.owner.index, row.id) < (owner.index, id));
        table.rows.insert(at, Row { id, owner: Arc::clone(owner), what });
        self.publish(&table);
        Ok(id)
    }

    /// Undoes one registration of `owner`; one that is not there is none to undo.
    pub(crate) fn dispose(&self, owner: &ModIdentity, id: u64) -> Vec<What> {
        self.remove(|row| row.id == id && row.owner.index == owner.index)
    }

    /// Undoes all registrations of `owner`, and takes no more of it.
    pub(crate) fn close(&self, owner: &ModIdentity) -> Vec<What> {
        self.table().closed.insert(owner.index);
        self.remove(|row| row.owner.index == owner.index)
    }

    /// Undoes all registrations, and takes no more.
    pub(crate) fn clear(&self) -> Vec<What> {
        self.table().over = true;
        self.remove(|_| true)
    }

    pub(crate) fn handlers(&self) -> Arc<Handlers> {
        Arc::clone(&self.handlers.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn observers(&self) -> Arc<Observers> {
        Arc::clone(&self.observers.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn channels(&self) -> Arc<Channels> {
        Arc::clone(&self.channels.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn commands(&self) -> Vec<Arc<ModCommand>> {
        let table = self.table();
        let commands = table.rows.iter().filter_map(|row| match &row.what {
            What::Command(command) => Some(Arc::clone(command)),
            _ => None,
        });
        commands.collect()
    }

    /// Looks at what `owner` registered, in order.
    pub(crate) fn of(&self, owner: &ModIdentity, mut look: impl FnMut(&What)) {
        let table = self.table();
        table.rows.iter().filter(|row| row.owner.index == owner.index).for_each(|row| look(&row.what));
    }

    /// Takes rows out. They are dropped by the caller, without a lock: their code may register or
    /// dispose something itself.
    fn remove(&self, which: impl Fn(&Row) -> bool) -> Vec<What> {
        let mut table = self.table();
        let removed: Vec<_> = table.rows.extract_if(.., |row| which(row)).map(|row| row.what).collect();
        if !removed.is_empty() {
            self.publish(&table);
        }
        removed
    }

    fn publish(&self, table: &Table) {
        let mut hooks = Vec::new();
        let (mut observers, mut channels) = (Observers::new(), Channels::new());
        for row in &table.rows {
            match &row.what {
                What::Hooks(handler) => hooks.push(Arc::clone(handler)),
                What::Observer(observer) => {
                    observers.entry(observer.kind()).or_default().push(Arc::clone(observer));
                }
                What::Channel(channel) => {
                    channels.entry(Arc::clone(channel.name())).or_default().push(Arc::clone(channel));
                }
                What::Command(_) | What::Tool(_) | What::Provider(_) => {}
            }
        }
        *self.handlers.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Handlers::new(hooks));
        *self.observers.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(observers);
        *self.channels.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(channels);
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use mod_interface::types::{Hook, HookSet};

    use super::*;
    use crate::hooks::{HookAnswer, HookInput};

    struct Handler(&'static str);

    impl HookHandler for Handler {
        fn mod_id(&self) -> &str {
            self.0
        }

        fn hooks(&self) -> HookSet {
            [Hook::OnStop].into_iter().collect()
        }

        fn fails_closed(&self) -> bool {
            false
        }

        fn call(&self, input: Arc<HookInput>) -> (HookAnswer, Option<Arc<HookInput>>) {
            (HookAnswer::Ready(Ok(None)), Some(input))
        }
    }

    fn owner(index: u16) -> Arc<ModIdentity> {
        Arc::new(ModIdentity::new(index, "a"))
    }

    fn hooks(name: &'static str) -> What {
        What::Hooks(Arc::new(Handler(name)))
    }

    fn names(registrations: &Registrations) -> Vec<String> {
        let handlers = registrations.handlers();
        handlers.of(Hook::OnStop).iter().map(|handler| handler.mod_id().to_owned()).collect()
    }

    #[test]
    fn registrations_stand_in_load_order_whenever_they_were_made() {
        let (registrations, first, second) = (Registrations::default(), owner(1), owner(2));
        for (owner, name) in [(&second, "2a"), (&first, "1a"), (&second, "2b"), (&first, "1b")] {
            registrations.add(owner, hooks(name)).unwrap();
        }
        assert_eq!(names(&registrations), ["1a", "1b", "2a", "2b"]);
    }

    #[test]
    fn one_registration_is_undone_once_and_by_its_owner_alone() {
        let (registrations, first, second) = (Registrations::default(), owner(1), owner(2));
        let id = registrations.add(&first, hooks("1a")).unwrap();
        registrations.add(&first, hooks("1b")).unwrap();
        assert_eq!(registrations.dispose(&second, id).len(), 0);
        let snapshot = registrations.handlers();
        assert_eq!(registrations.dispose(&first, id).len(), 1);
        assert_eq!(registrations.dispose(&first, id).len(), 0);
        assert_eq!(names(&registrations), ["1b"]);
        assert_eq!(snapshot.of(Hook::OnStop).len(), 2, "a snapshot stays as it was");
    }

    #[test]
    fn a_mod_that_was_closed_registers_nothing_more_and_the_others_go_on() {
        let (registrations, first, second) = (Registrations::default(), owner(1), owner(2));
        registrations.add(&first, hooks("1a")).unwrap();
        assert_eq!(registrations.close(&first).len(), 1);
        assert_eq!(registrations.add(&first, hooks("1b")), Err(Refusal::Closed));
        registrations.add(&second, hooks("2a")).unwrap();
        assert_eq!(names(&registrations), ["2a"]);
    }

    #[test]
    fn nothing_is_registered_when_all_is_over() {
        let (registrations, first) = (Registrations::default(), owner(1));
        registrations.add(&first, hooks("1a")).unwrap();
        assert_eq!(registrations.clear().len(), 1);
        assert_eq!(registrations.add(&first, hooks("1b")), Err(Refusal::Gone));
        assert_eq!(names(&registrations), [""; 0]);
    }

    /// Disposes another registration when it is dropped.
    struct Disposes(Arc<Registrations>, Arc<ModIdentity>, u64);

    impl HookHandler for Disposes {
        fn mod_id(&self) -> &str {
            "disposes"
        }

        fn hooks(&self) -> HookSet {
            HookSet::EMPTY
        }

        fn fails_closed(&self) -> bool {
            false
        }

        fn call(&self, input: Arc<HookInput>) -> (HookAnswer, Option<Arc<HookInput>>) {
            (HookAnswer::Ready(Ok(None)), Some(input))
        }
    }

    impl Drop for Disposes {
        fn drop(&mut self) {
            self.0.dispose(&self.1, self.2);
        }
    }

    #[test]
    fn what_is_dropped_may_dispose_something_itself() {
        let (registrations, first) = (Arc::new(Registrations::default()), owner(1));
        let id = registrations.add(&first, hooks("1a")).unwrap();
        let disposes = Disposes(Arc::clone(&registrations), Arc::clone(&first), id);
        let other = registrations.add(&first, What::Hooks(Arc::new(disposes))).unwrap();
        drop(registrations.dispose(&first, other));
        assert_eq!(names(&registrations), [""; 0]);
    }
}
