//! Names a mod that blocks: code that does not await cannot be cancelled, but it can be told.

use std::{
    collections::HashMap,
    sync::{
        Arc, Weak,
        mpsc::{self, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use mod_interface::types::{Hook, NoticeLevel};

use super::{
    Core,
    journal::{Occupied, place},
};
use crate::events::Emitter;

const TICK: Duration = Duration::from_millis(100);
/// A mod that stays in one entry for longer is named.
const BLOCKED: Duration = Duration::from_secs(2);

/// Starts the watchdog's thread; it ends with the harness.
pub(crate) fn start(core: &Arc<Core>) {
    let (tellers, core) = (Tellers::new(core.bus.main()), Arc::downgrade(core));
    // Without a thread left there is no watchdog; the journal still knows.
    let _unwatched =
        thread::Builder::new().name("mod-watchdog".to_owned()).spawn(move || watch(&core, tellers));
}

fn watch(core: &Weak<Core>, mut tellers: Tellers) {
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
            tellers.tell(text);
        }
    }
}

/// Raises notices, each on a thread of its own: an observer of notices may wait for what the mod holds that is
/// told of. The next thread is there in advance, or else a mod that hangs in its constructor could keep it from
/// beginning.
struct Tellers {
    emitter: Emitter,
    next: Option<Sender<String>>,
}

impl Tellers {
    fn new(emitter: Emitter) -> Self {
        let next = teller(emitter.clone());
        Self { emitter, next }
    }

    fn tell(&mut self, text: String) {
        // Without a thread left nobody is told.
        let next = teller(self.emitter.clone());
        if let Some(teller) = std::mem::replace(&mut self.next, next) {
            let _ended = teller.send(text);
        }
    }
}

/// A thread that raises one notice.
fn teller(emitter: Emitter) -> Option<Sender<String>> {
    let (teller, told) = mpsc::channel::<String>();
    let tell = move || {
        if let Ok(text) = told.recv() {
            emitter.notice(NoticeLevel::Warning, text);
        }
    };
    thread::Builder::new().name("mod-watchdog-tells".to_owned()).spawn(tell).ok().map(|_| teller)
}

/// The name of a place in a mod.
pub(crate) fn name(place: u16) -> &'static str {
    match place {
        place::FACTORY => "its factory",
        place::EVENT => "an observer",
        place::TOOL => "a tool",
        place::COMMAND => "a command",
        place::LOAD => "its constructor",
        place::RENDERER => "a renderer",
        place::PROVIDER => "a provider",
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
    use std::{
        sync::{Arc, Mutex, mpsc},
        time::Duration,
    };

    use mod_interface::types::{AgentEvent, EventPayload};

    use super::{Occupied, Seen, Tellers};
    use crate::events::EventBus;

    #[test]
    fn a_listener_that_waits_holds_the_watchdog_up_in_nothing() {
        let (bus, (heard, hears), (go, go_on)) = (EventBus::new(), mpsc::channel(), mpsc::channel::<()>());
        bus.add(Arc::new(move |event: &AgentEvent| {
            let EventPayload::Notice { message, .. } = &event.payload else { return };
            heard.send(message.clone()).unwrap();
        }));
        let (go_on, (done, is_done)) = (Mutex::new(go_on), mpsc::channel());
        bus.add(Arc::new(move |_: &AgentEvent| {
            // For a while, so that the test fails and does not hang where its own thread is the one that waits.
            let gone = go_on.lock().unwrap().recv_timeout(Duration::from_secs(10));
            done.send(gone.is_ok()).unwrap();
        }));
        let mut tellers = Tellers::new(bus.main());
        for text in ["first", "second"] {
            tellers.tell(text.to_owned());
            assert_eq!(hears.recv().unwrap(), text);
        }
        assert_eq!(is_done.try_recv(), Err(mpsc::TryRecvError::Empty), "it still waits");
        (0..2).for_each(|_| go.send(()).unwrap());
        assert_eq!([is_done.recv(), is_done.recv()], [Ok(true), Ok(true)]);
    }

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
