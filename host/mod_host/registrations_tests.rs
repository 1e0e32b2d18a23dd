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

#[test]
fn what_a_mod_has_one_of_is_replaced_and_the_one_before_cannot_undo_it() {
    let (registrations, first, second) = (Registrations::default(), owner(1), owner(2));
    let status = |text: &str| What::Status(text.into());
    registrations.replace(&second, status("2")).unwrap();
    let (before, removed) = registrations.replace(&first, status("1")).unwrap();
    assert_eq!((removed.len(), registrations.statuses()), (0, vec!["1".to_owned(), "2".to_owned()]));
    let (_, removed) = registrations.replace(&first, status("1 again")).unwrap();
    assert_eq!(removed.len(), 1);
    assert_eq!(registrations.dispose(&first, before).len(), 0);
    assert_eq!(registrations.statuses(), ["1 again", "2"]);
    registrations.close(&first);
    assert_eq!(registrations.statuses(), ["2"]);
}
