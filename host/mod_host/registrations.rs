//! What the mods registered, in order, and how to undo it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

use mod_interface::types::{EventKind, Placement};

use super::{
    channels::Channel, commands::ModCommand, flags::FlagSpec, identity::ModIdentity, observers::Observer,
    screen::Drawing,
};
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
    Flag(Arc<FlagSpec>),
    ActiveTools(Arc<BTreeSet<String>>),
    Renderer(Arc<str>, Arc<Drawing>),
    Widget(Placement, Arc<Drawing>),
    Status(Arc<str>),
}

impl What {
    /// Whether runs read it, from what [`Registrations::publish`] makes.
    fn is_published(&self) -> bool {
        matches!(self, Self::Hooks(_) | Self::Observer(_) | Self::Channel(_))
    }

    /// Whether only one of the two can be there, and what they are.
    fn is_taken_by(&self, first: &Row, owner: &ModIdentity) -> Option<&'static str> {
        match (self, &first.what) {
            (Self::Command(new), Self::Command(old)) if new.spec().name == old.spec().name => {
                Some("a command")
            }
            // Each mod has flags of its own.
            (Self::Flag(new), Self::Flag(old))
                if new.name == old.name && first.owner.index == owner.index =>
            {
                Some("a flag")
            }
            (Self::Renderer(new, _), Self::Renderer(old, _)) if new == old => Some("a renderer"),
            _ => None,
        }
    }
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
    #[error("{0} of that name is there already; the first stays")]
    Taken(&'static str),
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
    /// Puts a row in its place, and gives its number.
    fn insert(&mut self, owner: &Arc<ModIdentity>, what: What) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let at = self.rows.partition_point(|row| (row.owner.index, row.id) < (owner.index, id));
        self.rows.insert(at, Row { id, owner: Arc::clone(owner), what });
        id
    }

    fn check_open(&self, owner: &ModIdentity) -> Result<(), Refusal> {
        match self.closed.contains(&owner.index) {
            _ if self.over => Err(Refusal::Gone),
            true => Err(Refusal::Closed),
            false => Ok(()),
        }
    }

    fn refusal(&self, owner: &ModIdentity, what: &What) -> Option<Refusal> {
        if let Err(refusal) = self.check_open(owner) {
            return Some(refusal);
        }
        self.rows.iter().find_map(|row| what.is_taken_by(row, owner)).map(Refusal::Taken)
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
        let is_published = what.is_published();
        let id = table.insert(owner, what);
        if is_published {
            self.publish(&table);
        }
        Ok(id)
    }

    /// Whether `owner` may ask for something.
    pub(crate) fn check_open(&self, owner: &ModIdentity) -> Result<(), Refusal> {
        self.table().check_open(owner)
    }

    /// Adds a registration of a kind that a mod has one of and that no run reads, in place of the one before; nobody
    /// sees both. Gives its number, and what was there.
    pub(crate) fn replace(&self, owner: &Arc<ModIdentity>, what: What) -> Result<(u64, Vec<What>), Refusal> {
        let kind = std::mem::discriminant(&what);
        let mut table = self.table();
        table.check_open(owner)?;
        let is_before =
            |row: &mut Row| row.owner.index == owner.index && std::mem::discriminant(&row.what) == kind;
        let before = table.rows.extract_if(.., is_before).map(|row| row.what).collect();
        Ok((table.insert(owner, what), before))
    }

    /// The renderer of a type.
    pub(crate) fn renderer(&self, custom_type: &str) -> Option<Arc<Drawing>> {
        self.table().rows.iter().find_map(|row| match &row.what {
            What::Renderer(of, drawing) if **of == *custom_type => Some(Arc::clone(drawing)),
            _ => None,
        })
    }

    /// The widgets that stand there, in registration order.
    pub(crate) fn widgets(&self, placement: Placement) -> Vec<Arc<Drawing>> {
        let table = self.table();
        let widgets = table.rows.iter().filter_map(|row| match &row.what {
            What::Widget(at, drawing) if *at == placement => Some(Arc::clone(drawing)),
            _ => None,
        });
        widgets.collect()
    }

    /// The status texts, in load order.
    pub(crate) fn statuses(&self) -> Vec<String> {
        let table = self.table();
        let texts = table.rows.iter().filter_map(|row| match &row.what {
            What::Status(text) => Some(text.to_string()),
            _ => None,
        });
        texts.collect()
    }

    /// What each mod allows of the tools, where it said something.
    pub(crate) fn active_tools(&self) -> Vec<Arc<BTreeSet<String>>> {
        let table = self.table();
        let sets = table.rows.iter().filter_map(|row| match &row.what {
            What::ActiveTools(allowed) => Some(Arc::clone(allowed)),
            _ => None,
        });
        sets.collect()
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

    /// The flag of that name of `owner`, and the first mod that declared one of that name.
    pub(crate) fn flag(&self, owner: &ModIdentity, name: &str) -> Option<(Arc<FlagSpec>, Arc<ModIdentity>)> {
        let table = self.table();
        let flags = table.rows.iter().filter_map(|row| match &row.what {
            What::Flag(flag) if flag.name == name => Some((row, flag)),
            _ => None,
        });
        let flags: Vec<_> = flags.collect();
        let (_, own) = flags.iter().find(|(row, _)| row.owner.index == owner.index)?;
        let (first, _) = flags.iter().min_by_key(|(row, _)| row.id)?;
        Some((Arc::clone(own), Arc::clone(&first.owner)))
    }

    /// Looks at what `owner` registered, in order.
    pub(crate) fn of(&self, owner: &ModIdentity, mut look: impl FnMut(&What)) {
        let table = self.table();
        table.rows.iter().filter(|row| row.owner.index == owner.index).for_each(|row| look(&row.what));
    }

    /// Undoes what `owner` has of a kind that it has one of, as [`Self::replace`] puts it there.
    pub(crate) fn withdraw(&self, owner: &ModIdentity, which: impl Fn(&What) -> bool) -> Vec<What> {
        self.remove(|row| row.owner.index == owner.index && which(&row.what))
    }

    /// Takes rows out. They are dropped by the caller, without a lock: their code may register or
    /// dispose something itself.
    fn remove(&self, which: impl Fn(&Row) -> bool) -> Vec<What> {
        let mut table = self.table();
        let removed: Vec<_> = table.rows.extract_if(.., |row| which(row)).map(|row| row.what).collect();
        if removed.iter().any(What::is_published) {
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
                _ => {}
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
#[path = "registrations_tests.rs"]
mod tests;
