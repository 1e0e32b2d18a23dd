//! What the mod has registered.

use std::sync::Mutex;

use serde_json::Value;

use super::core::lock;
use crate::abi::{Callable, HookObject};

/// One thing that a mod registered, and has not disposed of.
#[derive(Debug, Clone, PartialEq)]
pub struct Registered {
    /// What it is: `hooks`, `tool`, `command`, `event`, `bus`, …
    pub kind: String,
    /// What the host was told of it.
    pub spec: Value,
}

/// One registration of hooks.
#[derive(Clone)]
pub(super) struct Handler {
    pub(super) hooks: HookObject,
    pub(super) fail_closed: bool,
}

#[derive(Clone)]
enum What {
    Hooks(Handler),
    Callable(Callable),
    /// What has no code.
    Named,
}

struct Row {
    id: u64,
    registered: Registered,
    what: What,
}

/// All of them, in the order of their registration.
#[derive(Default)]
pub(super) struct Registrations {
    rows: Mutex<(u64, Vec<Row>)>,
}

impl Registrations {
    pub(super) fn add_hooks(&self, spec: Value, hooks: HookObject) -> u64 {
        let fail_closed = spec["failClosed"] == true;
        self.add("hooks", spec, What::Hooks(Handler { hooks, fail_closed }))
    }

    /// Adds something with one entry; `None` where its name is taken.
    pub(super) fn add_callable(&self, kind: &str, spec: Value, callable: Callable) -> Option<u64> {
        let name = spec["name"].as_str();
        let taken = ["tool", "command"].contains(&kind)
            && name.is_some_and(|name| self.callable(kind, "name", name).is_some());
        (!taken).then(|| self.add(kind, spec, What::Callable(callable)))
    }

    /// Adds what has no code.
    pub(super) fn add_named(&self, kind: &str, spec: Value) -> u64 {
        self.add(kind, spec, What::Named)
    }

    fn add(&self, kind: &str, spec: Value, what: What) -> u64 {
        let mut rows = lock(&self.rows);
        rows.0 += 1;
        let id = rows.0;
        rows.1.push(Row { id, registered: Registered { kind: kind.to_owned(), spec }, what });
        id
    }

    /// Undoes one; its code is dropped without the lock.
    pub(super) fn dispose(&self, id: u64) {
        let gone: Vec<_> = lock(&self.rows).1.extract_if(.., |row| row.id == id).collect();
        drop(gone);
    }

    /// Undoes all of a kind.
    pub(super) fn dispose_kind(&self, kind: &str) {
        let gone: Vec<_> = lock(&self.rows).1.extract_if(.., |row| row.registered.kind == kind).collect();
        drop(gone);
    }

    pub(super) fn all(&self) -> Vec<Registered> {
        lock(&self.rows).1.iter().map(|row| row.registered.clone()).collect()
    }

    pub(super) fn specs(&self, kind: &str) -> Vec<Value> {
        self.all().into_iter().filter(|row| row.kind == kind).map(|row| row.spec).collect()
    }

    pub(super) fn handlers(&self) -> Vec<Handler> {
        let rows = lock(&self.rows);
        let handlers = rows.1.iter().filter_map(|row| match &row.what {
            What::Hooks(handler) => Some(handler.clone()),
            What::Callable(_) | What::Named => None,
        });
        handlers.collect()
    }

    /// Those of `kind` that listen to `name`.
    pub(super) fn listeners(&self, kind: &str, name: &str) -> Vec<Callable> {
        let key = if kind == "bus" { "channel" } else { "kind" };
        self.callables(kind, key, name)
    }

    /// The first of `kind` whose `key` is `name`.
    pub(super) fn callable(&self, kind: &str, key: &str, name: &str) -> Option<Callable> {
        self.callables(kind, key, name).into_iter().next()
    }

    /// All of a kind that have code.
    pub(super) fn of_kind(&self, kind: &str) -> Vec<Callable> {
        let rows = lock(&self.rows);
        let callables =
            rows.1.iter().filter(|row| row.registered.kind == kind).filter_map(|row| match &row.what {
                What::Callable(callable) => Some(callable.clone()),
                What::Hooks(_) | What::Named => None,
            });
        callables.collect()
    }

    fn callables(&self, kind: &str, key: &str, name: &str) -> Vec<Callable> {
        let rows = lock(&self.rows);
        let of_kind = rows.1.iter().filter(|row| row.registered.kind == kind);
        let named = of_kind.filter(|row| row.registered.spec[key] == name);
        let callables = named.filter_map(|row| match &row.what {
            What::Callable(callable) => Some(callable.clone()),
            What::Hooks(_) | What::Named => None,
        });
        callables.collect()
    }

    /// The names of what there is of `kind`.
    pub(super) fn names(&self, kind: &str, key: &str) -> Vec<String> {
        self.specs(kind).iter().filter_map(|spec| spec[key].as_str()).map(str::to_owned).collect()
    }
}
