//! Names a mod that blocks: code that does not await cannot be cancelled, but it can be told.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    thread,
    time::{Duration, Instant},
};

use mod_interface::types::{Hook, NoticeLevel};

use super::{
    Core,
    journal::{Occupied, place},
};

const TICK: Duration = Duration::from_millis(100);
/// A mod that stays in one entry for longer is named.
const BLOCKED: Duration = Duration::from_secs(2);

/// Starts the watchdog's thread; it ends with the harness.
pub(crate) fn start(core: &Arc<Core>) {
    let core = Arc::downgrade(core);
    // Without a thread left there is no watchdog; the journal still knows.
    let _unwatched = thread::Builder::new().name("mod-watchdog".to_owned()).spawn(move || watch(&core));
}

fn watch(core: &Weak<Core>) {
    let start = Instant::now();
    let mut seen = Seen::default();
    loop {
        thread::sleep(TICK);
        let Some(core) = core.upgrade() else { return };
        let now = start.elapsed();
        core.journal.tick(u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
        for blocked in seen.look(now, &core.journal.occupied()) {
            let mod_id = core.journal.name_of(blocked.mod_index);
            let seconds = BLOCKED.as_secs();
            let text =
                format!("{mod_id} has been in {} for {seconds} s without awaiting", name(blocked.place));
            core.bus.main().notice(NoticeLevel::Warning, text);
        }
    }
}

/// The name of a place in a mod.
pub(crate) fn name(place: u16) -> &'static str {
    match place {
        place::FACTORY => "its factory",
        place::EVENT => "an observer",
        place::TOOL => "a tool",
        place::COMMAND => "a command",
        place::LOAD => "its constructor",
        hook => Hook::ALL.get(usize::from(hook)).map_or("an unknown place", |hook| hook.wire_name()),
    }
}

/// Since when each entry, by slot and generation, is seen, and whether it was named.
#[derive(Default)]
struct Seen(HashMap<(usize, u32), (Duration, bool)>);

impl Seen {
    /// The entries that are to be named now: once each.
    fn look(&mut self, now: Duration, occupied: &[Occupied]) -> Vec<Occupied> {
        let key = |at: &Occupied| (at.slot, at.generation);
        self.0.retain(|entry, _| occupied.iter().any(|at| key(at) == *entry));
        let mut named = Vec::new();
        for at in occupied {
            let (since, told) = self.0.entry(key(at)).or_insert((now, false));
            if now.saturating_sub(*since) >= BLOCKED && !*told {
                *told = true;
                named.push(*at);
            }
        }
        named
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Occupied, Seen};

    #[test]
    fn an_entry_is_named_once_when_it_lasts_two_seconds() {
        let at = |generation| Occupied { slot: 0, generation, mod_index: 1, place: 2, since: 0 };
        let mut seen = Seen::default();
        let mut look = |millis, generation| seen.look(Duration::from_millis(millis), &[at(generation)]);
        assert_eq!(look(0, 1), []);
        assert_eq!(look(1900, 1), []);
        assert_eq!(look(1950, 2), [], "another entry of the same hook");
        assert_eq!(look(3900, 2), []);
        assert_eq!(look(3950, 2), [at(2)]);
        assert_eq!(look(6000, 2), []);
    }
}
