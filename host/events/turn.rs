use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{
            AtomicUsize,
            Ordering::{Acquire, Relaxed, SeqCst},
        },
    },
    thread,
    time::Duration,
};

use mod_interface::types::AgentEvent;

use super::EventSink;

/// Nobody: no thread has this number.
const NOBODY: usize = 0;

/// How often, and after how long each time, a thread looks whether it is its turn.
const LOOKS: u32 = 10;
const BETWEEN_LOOKS: Duration = Duration::from_micros(100);

/// How often it is looked whether all was told, at the end.
const LOOK_AT_THE_END: Duration = Duration::from_millis(5);

/// How many events may wait for a sink that is busy; the oldest beyond that are lost.
const WAITING: usize = 4096;

/// A sink that is told one event at a time, whichever threads raise them.
pub(super) struct InTurn {
    sink: Arc<dyn EventSink>,
    /// The thread that is telling it something.
    teller: AtomicUsize,
    /// What other threads raised meanwhile, for the teller to tell.
    waiting: Mutex<VecDeque<Arc<AgentEvent>>>,
    /// How much of that there is.
    left: AtomicUsize,
    /// How many events it was never told.
    lost: AtomicUsize,
}

impl InTurn {
    pub(super) fn new(sink: Arc<dyn EventSink>) -> Self {
        Self {
            sink,
            teller: AtomicUsize::new(NOBODY),
            waiting: Mutex::default(),
            left: AtomicUsize::new(0),
            lost: AtomicUsize::new(0),
        }
    }

    /// Tells `event`. Where another thread is telling something now, that is waited for, and if it takes
    /// long, `event` is left to that thread: a sink that blocks shall not block this one too.
    pub(super) fn tell(&self, event: &Arc<AgentEvent>) {
        let me = this_thread();
        // Raised by the sink itself, which is in the middle of another event.
        if self.teller.load(Relaxed) == me {
            return self.sink.emit_shared(event);
        }
        match self.begin_soon(me) {
            Some(turn) => {
                turn.tell_waiting();
                self.sink.emit_shared(event);
                turn.tell_waiting();
            }
            None => self.leave(Arc::clone(event)),
        }
        // Between the last look at what waits and the end of a turn something may have been left.
        while self.left.load(SeqCst) > 0 {
            let Some(turn) = self.begin(me) else { return };
            turn.tell_waiting();
        }
    }

    /// Leaves an event to the teller.
    fn leave(&self, event: Arc<AgentEvent>) {
        let mut waiting = self.waiting();
        waiting.push_back(event);
        if waiting.len() > WAITING {
            waiting.pop_front();
            self.lost.fetch_add(1, Relaxed);
        } else {
            self.left.fetch_add(1, SeqCst);
        }
    }

    /// Waits until it is told nothing any more, and nothing waits. What a sink that panicked has left behind is
    /// told here.
    pub(super) async fn settle(&self) {
        while !self.is_settled() {
            tokio::time::sleep(LOOK_AT_THE_END).await;
        }
    }

    fn is_settled(&self) -> bool {
        self.begin(this_thread()).is_some_and(|turn| {
            turn.tell_waiting();
            self.left.load(SeqCst) == 0
        })
    }

    /// How many events it was not told.
    pub(super) fn untold(&self) -> usize {
        self.left.load(SeqCst) + self.lost.load(Relaxed)
    }

    /// Waits a moment, so that who raises events without end cannot make another thread tell them all.
    fn begin_soon(&self, me: usize) -> Option<Turn<'_>> {
        (0..LOOKS).find_map(|look| {
            if look > 0 {
                thread::sleep(BETWEEN_LOOKS);
            }
            self.begin(me)
        })
    }

    fn begin(&self, me: usize) -> Option<Turn<'_>> {
        self.teller.compare_exchange(NOBODY, me, SeqCst, Relaxed).ok().map(|_| Turn(self))
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Arc<AgentEvent>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// That this thread is the teller.
struct Turn<'a>(&'a InTurn);

impl Turn<'_> {
    fn tell_waiting(&self) {
        let in_turn = self.0;
        while in_turn.left.load(Acquire) > 0 {
            let Some(event) = in_turn.waiting().pop_front() else { return };
            in_turn.left.fetch_sub(1, SeqCst);
            in_turn.sink.emit_shared(&event);
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.teller.store(NOBODY, SeqCst);
    }
}

/// A number that no other thread has while this one lives.
fn this_thread() -> usize {
    thread_local!(static PLACE: u8 = const { 0 });
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}

#[cfg(test)]
mod tests {
    use std::{
        pin::pin,
        sync::{
            Barrier, OnceLock,
            atomic::AtomicBool,
            mpsc::{Receiver, Sender, channel},
        },
        task::Poll,
    };

    use mod_interface::types::{EventPayload, NoticeLevel};

    use super::super::EventBus;
    use super::*;

    /// A sink that keeps texts, and notes when it is told something in the middle of something else.
    #[derive(Default)]
    struct Keeps {
        inside: AtomicBool,
        texts: Mutex<Vec<String>>,
    }

    impl EventSink for Keeps {
        fn emit(&self, event: &AgentEvent) {
            assert!(!self.inside.swap(true, SeqCst), "two at once");
            self.texts.lock().unwrap().push(text(event));
            thread::yield_now();
            self.inside.store(false, SeqCst);
        }
    }

    fn text(event: &AgentEvent) -> String {
        let EventPayload::Notice { message, .. } = &event.payload else { return String::new() };
        message.clone()
    }

    fn say(bus: &EventBus, text: impl Into<String>) {
        bus.main().notice(NoticeLevel::Info, text);
    }

    #[test]
    fn a_sink_is_told_one_event_at_a_time_and_those_of_one_thread_in_order() {
        const EVENTS: usize = 2000;
        let (bus, sinks) = (EventBus::new(), [Arc::<Keeps>::default(), Arc::default()]);
        sinks.iter().for_each(|sink| bus.add(Arc::clone(sink) as _));
        let start = Barrier::new(4);
        thread::scope(|scope| {
            for name in ["a", "b", "c", "d"] {
                let (bus, start) = (&bus, &start);
                scope.spawn(move || {
                    start.wait();
                    (0..EVENTS).for_each(|number| say(bus, format!("{name} {number}")));
                });
            }
        });
        for sink in sinks {
            let texts = sink.texts.lock().unwrap();
            for name in ["a", "b", "c", "d"] {
                let of: Vec<_> = texts.iter().filter(|text| text.starts_with(name)).collect();
                assert_eq!(
                    of,
                    (0..EVENTS)
                        .map(|number| format!("{name} {number}"))
                        .collect::<Vec<_>>()
                        .iter()
                        .collect::<Vec<_>>()
                );
            }
        }
    }

    #[test]
    fn a_thread_that_raises_events_without_end_holds_no_other_up() {
        let (bus, sink, done) = (EventBus::new(), Arc::<Keeps>::default(), AtomicBool::new(false));
        bus.add(Arc::clone(&sink) as _);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(SeqCst) {
                    say(&bus, "flood");
                }
            });
            (0..100).for_each(|number| say(&bus, number.to_string()));
            done.store(true, SeqCst);
        });
        let texts = sink.texts.lock().unwrap();
        let said = texts.iter().filter(|text| *text != "flood").cloned().collect::<Vec<_>>();
        assert_eq!(said, (0..100).map(|number| number.to_string()).collect::<Vec<_>>());
    }

    /// Waits in the middle of the event `wait`, and raises `nested` in the middle of `outer`.
    struct Waits {
        bus: EventBus,
        begun: Sender<()>,
        go_on: Mutex<Receiver<()>>,
        texts: Mutex<Vec<String>>,
    }

    impl EventSink for Waits {
        fn emit(&self, event: &AgentEvent) {
            let text = text(event);
            match text.as_str() {
                "wait" => {
                    self.begun.send(()).unwrap();
                    let _gone = self.go_on.lock().unwrap().recv();
                }
                "outer" => say(&self.bus, "nested"),
                _ => {}
            }
            self.texts.lock().unwrap().push(text);
        }
    }

    #[test]
    fn what_is_raised_while_a_sink_is_busy_holds_nobody_up_and_comes_behind() {
        let (bus, before) = (EventBus::new(), Arc::<Keeps>::default());
        bus.add(Arc::clone(&before) as _);
        let ((begun, begins), (go, go_on)) = (channel(), channel());
        let busy = Arc::new(Waits { bus: bus.clone(), begun, go_on: go_on.into(), texts: Mutex::default() });
        bus.add(Arc::clone(&busy) as _);
        thread::scope(|scope| {
            // Dropped where an assertion fails, so that nobody waits for it.
            let go = go;
            scope.spawn(|| say(&bus, "wait"));
            begins.recv().unwrap();
            say(&bus, "outer");
            assert_eq!(
                *before.texts.lock().unwrap(),
                ["wait", "outer"],
                "a sink that is not busy is told at once"
            );
            assert_eq!(busy.texts.lock().unwrap().len(), 0);
            go.send(()).unwrap();
        });
        assert_eq!(*busy.texts.lock().unwrap(), ["wait", "nested", "outer"]);
        assert_eq!(*before.texts.lock().unwrap(), ["wait", "outer", "nested"]);
    }

    #[tokio::test]
    async fn the_end_waits_for_a_sink_that_is_busy() {
        let bus = EventBus::new();
        let ((begun, begins), (go, go_on)) = (channel(), channel());
        let busy = Arc::new(Waits { bus: bus.clone(), begun, go_on: go_on.into(), texts: Mutex::default() });
        bus.add(Arc::clone(&busy) as _);
        let other = thread::spawn({
            let bus = bus.clone();
            move || say(&bus, "wait")
        });
        begins.recv().unwrap();
        say(&bus, "last");
        let mut settled = pin!(bus.settle(Duration::from_secs(60)));
        assert_eq!(futures::poll!(&mut settled), Poll::Pending);
        go.send(()).unwrap();
        assert_eq!(settled.await, 0);
        assert_eq!(*busy.texts.lock().unwrap(), ["wait", "last"]);
        other.join().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_does_not_wait_for_ever_and_counts_what_was_not_told() {
        let bus = EventBus::new();
        let ((begun, begins), (go, go_on)) = (channel(), channel());
        let busy = Arc::new(Waits { bus: bus.clone(), begun, go_on: go_on.into(), texts: Mutex::default() });
        bus.add(Arc::clone(&busy) as _);
        let other = thread::spawn({
            let bus = bus.clone();
            move || say(&bus, "wait")
        });
        begins.recv().unwrap();
        (0..3).for_each(|number| say(&bus, number.to_string()));
        let start = tokio::time::Instant::now();
        assert_eq!(bus.settle(Duration::from_secs(2)).await, 3);
        assert_eq!(start.elapsed(), Duration::from_secs(2));
        drop(go);
        other.join().unwrap();
        assert_eq!(bus.settle(Duration::from_secs(2)).await, 0);
    }

    #[test]
    fn what_waits_is_bounded_and_the_newest_are_kept() {
        let sink = Arc::<Keeps>::default();
        let in_turn = InTurn::new(Arc::clone(&sink) as _);
        let event = |number: usize| AgentEvent {
            payload: EventPayload::Notice { level: NoticeLevel::Info, message: number.to_string() },
            agent_id: "main".into(),
        };
        (0..WAITING + 5).for_each(|number| in_turn.leave(Arc::new(event(number))));
        assert_eq!(in_turn.untold(), WAITING + 5);
        assert!(in_turn.is_settled());
        assert_eq!(in_turn.untold(), 5);
        let kept = (5..WAITING + 5).map(|number| number.to_string()).collect::<Vec<_>>();
        assert_eq!(*sink.texts.lock().unwrap(), kept);
    }

    /// Panics at the first event.
    struct PanicsOnce(OnceLock<()>, Mutex<Vec<String>>);

    impl EventSink for PanicsOnce {
        fn emit(&self, event: &AgentEvent) {
            self.0.set(()).map_or_else(|()| self.1.lock().unwrap().push(text(event)), |()| panic!("once"));
        }
    }

    #[test]
    fn a_sink_that_panics_is_told_the_next_event() {
        let sink = Arc::new(PanicsOnce(OnceLock::new(), Mutex::default()));
        let bus = EventBus::new();
        bus.add(Arc::clone(&sink) as _);
        thread::scope(|scope| assert!(scope.spawn(|| say(&bus, "first")).join().is_err()));
        say(&bus, "second");
        assert_eq!(*sink.1.lock().unwrap(), ["second"]);
    }
}
