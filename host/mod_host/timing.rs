//! What the hooks of mods take, for those who ask: handlers around the handlers, which are not there
//! otherwise.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use futures::FutureExt;
use mod_interface::types::{Hook, HookSet};
use serde::{Serialize, Serializer};

use super::identity::ModIdentity;
use crate::hooks::{HookAnswer, HookHandler, HookInput, HookResult, Later, LaterAnswer};

/// What one hook of a mod took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HookTiming {
    /// `mod:<name>`.
    pub mod_id: Arc<str>,
    /// Which hook.
    #[serde(serialize_with = "wire_name")]
    pub hook: Hook,
    /// How often it was called.
    pub calls: u64,
    /// How often its answer was not there at once.
    pub pending: u64,
    /// How often it failed: by an error, a panic, too much time or an answer that cannot be read.
    pub faults: u64,
    /// The time in the mod's code, calls and polls; while it waits for something, no time passes.
    #[serde(rename = "totalNs", serialize_with = "nanos")]
    pub total: Duration,
    /// That of the longest call.
    #[serde(rename = "maxNs", serialize_with = "nanos")]
    pub max: Duration,
}

fn wire_name<S: Serializer>(hook: &Hook, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(hook.wire_name())
}

fn nanos<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

/// The hooks by mod, in load order.
#[derive(Default)]
pub(crate) struct Timings(Mutex<BTreeMap<(u16, Hook), HookTiming>>);

/// One call that is over.
#[derive(Default)]
struct Call {
    own: Duration,
    pending: bool,
    failed: bool,
}

impl Timings {
    /// A handler that does what `handler` does, and notes what it took.
    pub(crate) fn watch(
        self: &Arc<Self>,
        owner: &ModIdentity,
        handler: Arc<dyn HookHandler>,
    ) -> Arc<dyn HookHandler> {
        let mut rows = self.lock();
        for hook in handler.hooks().iter() {
            rows.entry((owner.index, hook)).or_insert_with(|| HookTiming {
                mod_id: Arc::clone(&owner.id),
                hook,
                calls: 0,
                pending: 0,
                faults: 0,
                total: Duration::ZERO,
                max: Duration::ZERO,
            });
        }
        drop(rows);
        Arc::new(Watched { timings: Arc::clone(self), index: owner.index, handler })
    }

    /// What is known so far.
    pub(crate) fn rows(&self) -> Vec<HookTiming> {
        self.lock().values().cloned().collect()
    }

    fn note(&self, index: u16, hook: Hook, call: &Call) {
        if let Some(row) = self.lock().get_mut(&(index, hook)) {
            row.calls += 1;
            row.pending += u64::from(call.pending);
            row.faults += u64::from(call.failed);
            row.total += call.own;
            row.max = row.max.max(call.own);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(u16, Hook), HookTiming>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Watched {
    timings: Arc<Timings>,
    index: u16,
    handler: Arc<dyn HookHandler>,
}

impl HookHandler for Watched {
    fn mod_id(&self) -> &str {
        self.handler.mod_id()
    }

    fn hooks(&self) -> HookSet {
        self.handler.hooks()
    }

    fn fails_closed(&self) -> bool {
        self.handler.fails_closed()
    }

    fn call(&self, input: Arc<HookInput>) -> (HookAnswer, Option<Arc<HookInput>>) {
        let (hook, began) = (input.hook, Instant::now());
        let (answer, input) = self.handler.call(input);
        let own = began.elapsed();
        let answer = match answer {
            HookAnswer::Ready(result) => {
                self.timings.note(self.index, hook, &Call { own, pending: false, failed: result.is_err() });
                HookAnswer::Ready(result)
            }
            HookAnswer::Pending(answer) => HookAnswer::Pending(LaterAnswer::new(Box::new(WatchedAnswer {
                timings: Arc::clone(&self.timings),
                index: self.index,
                hook,
                call: Call { own, pending: true, failed: false },
                answer: Some(answer),
            }))),
        };
        (answer, input)
    }
}

/// An answer that is to come. It is noted when it is dropped: with its end, or given up before.
struct WatchedAnswer {
    timings: Arc<Timings>,
    index: u16,
    hook: Hook,
    call: Call,
    answer: Option<LaterAnswer>,
}

impl Later for WatchedAnswer {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<HookResult> {
        let Some(answer) = &mut self.answer else { return Poll::Pending };
        let began = Instant::now();
        let polled = answer.poll_unpin(cx);
        self.call.own += began.elapsed();
        self.call.failed = matches!(polled, Poll::Ready(Err(_)));
        polled
    }
}

impl Drop for WatchedAnswer {
    fn drop(&mut self) {
        let began = Instant::now();
        drop(self.answer.take());
        self.call.own += began.elapsed();
        self.timings.note(self.index, self.hook, &self.call);
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, poll_fn, ready};

    use mod_interface::types::AgentState;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{
        events::EventBus,
        hooks::{HookFault, Scope, Subject},
    };

    /// Answers what it is asked to, by round.
    struct Handler;

    impl HookHandler for Handler {
        fn mod_id(&self) -> &str {
            "mod:a"
        }

        fn hooks(&self) -> HookSet {
            [Hook::OnStop, Hook::OnTurnEnd].into_iter().collect()
        }

        fn fails_closed(&self) -> bool {
            true
        }

        fn call(&self, input: Arc<HookInput>) -> (HookAnswer, Option<Arc<HookInput>>) {
            let fault = || Err(HookFault::Error("no".to_owned()));
            let mut polls = 0;
            let answer = match input.turn_number {
                0 => HookAnswer::Ready(Ok(None)),
                1 => HookAnswer::Ready(fault()),
                2 => HookAnswer::Pending(LaterAnswer::of(ready(fault()))),
                3 => HookAnswer::Pending(LaterAnswer::of(poll_fn(move |_| {
                    polls += 1;
                    if polls == 1 { Poll::Pending } else { Poll::Ready(Ok(None)) }
                }))),
                _ => HookAnswer::Pending(LaterAnswer::of(pending())),
            };
            (answer, Some(input))
        }
    }

    fn input(turn_number: u32) -> Arc<HookInput> {
        let (emitter, cancel) = (EventBus::new().main(), CancellationToken::new());
        Arc::new(HookInput {
            hook: Hook::OnStop,
            scope: Arc::new(Scope::new(emitter, cancel, std::path::Path::new("/"))),
            turn_number,
            state: AgentState::new("s"),
            subject: Subject::None,
        })
    }

    #[test]
    fn every_call_is_counted_however_it_ends() {
        let timings = Arc::new(Timings::default());
        let watched = timings.watch(&ModIdentity::new(3, "a"), Arc::new(Handler));
        assert_eq!((watched.mod_id(), watched.fails_closed()), ("mod:a", true));
        assert_eq!(watched.hooks(), Handler.hooks());
        for turn in 0..5 {
            let (answer, input) = watched.call(input(turn));
            assert!(input.is_some_and(|input| input.turn_number == turn));
            if let HookAnswer::Pending(mut answer) = answer {
                let mut cx = Context::from_waker(std::task::Waker::noop());
                let _ = answer.poll_unpin(&mut cx).is_ready() || answer.poll_unpin(&mut cx).is_ready();
            }
        }
        let rows = timings.rows();
        let counts = rows.iter().map(|row| (&*row.mod_id, row.hook, row.calls, row.pending, row.faults));
        assert_eq!(
            counts.collect::<Vec<_>>(),
            [("mod:a", Hook::OnTurnEnd, 0, 0, 0), ("mod:a", Hook::OnStop, 5, 3, 2)]
        );
        assert!(rows[1].max <= rows[1].total && rows[1].total <= 5 * rows[1].max, "{rows:?}");
        assert_eq!(rows[0].total, Duration::ZERO);
    }

    #[test]
    fn time_passes_in_the_mods_code_alone() {
        struct Slow(Duration);
        impl HookHandler for Slow {
            fn mod_id(&self) -> &str {
                "mod:a"
            }
            fn hooks(&self) -> HookSet {
                [Hook::OnStop].into_iter().collect()
            }
            fn fails_closed(&self) -> bool {
                false
            }
            fn call(&self, _: Arc<HookInput>) -> (HookAnswer, Option<Arc<HookInput>>) {
                spin(self.0);
                let (mut polls, each) = (0, self.0);
                let answer = poll_fn(move |_| {
                    spin(each);
                    polls += 1;
                    if polls == 1 { Poll::Pending } else { Poll::Ready(Ok(None)) }
                });
                (HookAnswer::Pending(LaterAnswer::of(answer)), None)
            }
        }
        fn spin(time: Duration) {
            let began = Instant::now();
            while began.elapsed() < time {}
        }
        let timings = Arc::new(Timings::default());
        let each = Duration::from_millis(2);
        let watched = timings.watch(&ModIdentity::new(0, "a"), Arc::new(Slow(each)));
        let HookAnswer::Pending(mut answer) = watched.call(input(0)).0 else { return };
        let mut cx = Context::from_waker(std::task::Waker::noop());
        assert!(answer.poll_unpin(&mut cx).is_pending());
        // The mod waits for something.
        spin(each);
        assert!(answer.poll_unpin(&mut cx).is_ready());
        drop(answer);
        let row = &timings.rows()[0];
        assert!(row.total >= 3 * each, "{row:?}");
        assert_eq!((row.calls, row.total), (1, row.max));
    }
}
