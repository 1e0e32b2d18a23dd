//! The ways in which the answers of many mods become one decision.
//!
//! There is one loop, [`Panel::chain`]; every other merge is a chain that takes its answers in its own
//! way. Handlers are asked in registration order. A handler that faults is told of, and then treated as
//! if it had no opinion.

use std::{
    ops::ControlFlow::{self, Break, Continue},
    sync::Arc,
    time::Duration,
};

use mod_interface::types::{AgentState, Hook, HookOutcome, NoticeLevel};

use super::{
    HookAnswer, HookFault, HookHandler, HookInput, HookResult, Interrupt, Scope, Subject, interrupt::FAREWELL,
};

/// How long a hook that is waited for in any case may take in all.
const LAST_WAIT: Duration = Duration::from_secs(120);

/// The handlers that have one hook, about to be asked.
pub(super) struct Panel<'a> {
    pub(super) hook: Hook,
    pub(super) handlers: &'a [Arc<dyn HookHandler>],
    pub(super) scope: &'a Arc<Scope>,
    pub(super) turn_number: u32,
    /// Bounds pending answers after an interruption.
    pub(super) interrupt: &'a Interrupt,
    /// Whether they are waited for although it was interrupted, for a while.
    pub(super) last: bool,
}

impl Panel<'_> {
    /// What the handlers are shown.
    pub(super) fn input(&self, state: &AgentState, subject: Subject) -> HookInput {
        HookInput {
            hook: self.hook,
            scope: Arc::clone(self.scope),
            turn_number: self.turn_number,
            state: state.clone(),
            subject,
        }
    }

    /// Passes `value` from handler to handler: `see` says what the next one is shown, `take` lets its
    /// answer change the value or refuses it untouched, and either it or `failed` may end the chain.
    ///
    /// The input is gone by the time that `take` runs, so a value that the input shares with nobody
    /// else is changed in place.
    pub(super) async fn chain<V>(
        &self,
        mut value: V,
        see: impl Fn(&V) -> HookInput,
        mut take: impl FnMut(&mut V, &str, HookOutcome) -> Result<ControlFlow<()>, HookFault>,
        mut failed: impl FnMut(&mut V, &dyn HookHandler, &HookFault) -> ControlFlow<()>,
    ) -> V {
        let mut shown = None;
        for handler in self.handlers {
            let input = shown.take().unwrap_or_else(|| Arc::new(see(&value)));
            let (answer, input) = handler.call(input);
            shown = input;
            // What most say, most of the time: it is not worth a move.
            if matches!(answer, HookAnswer::Ready(Ok(None))) {
                continue;
            }
            let taken = match self.wait(&**handler, answer).await {
                Ok(None) => continue,
                Ok(Some(outcome)) => {
                    shown = None;
                    take(&mut value, handler.mod_id(), outcome)
                }
                Err(fault) => Err(fault),
            };
            let flow = taken.unwrap_or_else(|fault| {
                self.scope.faults.tell(&self.scope.emitter, handler.mod_id(), self.hook.wire_name(), &fault);
                failed(&mut value, &**handler, &fault)
            });
            if flow.is_break() {
                break;
            }
        }
        value
    }

    /// Threads `value` through every handler: each sees, and may change, what the ones before left.
    pub(super) async fn thread<V>(
        &self,
        value: V,
        see: impl Fn(&V) -> HookInput,
        mut take: impl FnMut(&mut V, &str, HookOutcome) -> Result<(), HookFault>,
    ) -> V {
        let take = |value: &mut V, mod_id: &str, outcome| take(value, mod_id, outcome).map(Continue);
        self.chain(value, see, take, skip).await
    }

    /// Asks every handler the same, and joins what they say, where it is not empty, with an empty line.
    pub(super) async fn join(
        &self,
        see: impl Fn() -> HookInput,
        read: impl FnMut(HookOutcome) -> Result<String, HookFault>,
    ) -> Option<String> {
        let mut texts = self.collect(see, read).await;
        texts.retain(|text| !text.is_empty());
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }

    /// Asks every handler the same, and lays each answer over `value`: `over(earlier, later)`.
    pub(super) async fn last_wins<V>(
        &self,
        value: V,
        see: impl Fn() -> HookInput,
        read: impl FnMut(HookOutcome) -> Result<V, HookFault>,
        over: impl Fn(V, V) -> V,
    ) -> V {
        self.collect(see, read).await.into_iter().fold(value, over)
    }

    async fn collect<T>(
        &self,
        see: impl Fn() -> HookInput,
        mut read: impl FnMut(HookOutcome) -> Result<T, HookFault>,
    ) -> Vec<T> {
        let take = |all: &mut Vec<T>, _: &str, outcome| {
            all.push(read(outcome)?);
            Ok(())
        };
        self.thread(Vec::new(), |_| see(), take).await
    }

    /// Asks the same of one after another, until an answer counts; the rest are not asked.
    pub(super) async fn first<T>(
        &self,
        see: impl Fn() -> HookInput,
        mut read: impl FnMut(HookOutcome) -> Result<Option<T>, HookFault>,
    ) -> Option<T> {
        let take = |found: &mut Option<T>, _: &str, outcome| {
            *found = read(outcome)?;
            Ok(if found.is_some() { Break(()) } else { Continue(()) })
        };
        self.chain(None, |_| see(), take, skip).await
    }

    /// Tells every handler, and waits until each is done.
    pub(super) async fn tell(&self, see: impl Fn() -> HookInput) {
        self.collect(see, |outcome| Err::<(), _>(misplaced(&outcome))).await;
    }

    async fn wait(&self, handler: &dyn HookHandler, answer: HookAnswer) -> HookResult {
        let answer = match answer {
            HookAnswer::Ready(result) => return result,
            HookAnswer::Pending(answer) => answer,
        };
        if !self.last {
            // An answer that an interruption cut short is nobody's fault.
            return self.interrupt.limit(answer).await.unwrap_or(Ok(None));
        }
        // Its own time is bounded by the handler; what it asks of the host may take longer, but not for
        // ever: the program is waiting to end.
        let timeout = HookFault::Timeout(u64::try_from(LAST_WAIT.as_millis()).unwrap_or(u64::MAX));
        let answer = tokio::time::timeout(LAST_WAIT, answer);
        let answer = self.interrupt.last(async { answer.await.unwrap_or(Err(timeout)) }).await;
        answer.unwrap_or_else(|| {
            let (id, hook, seconds) = (handler.mod_id(), self.hook, FAREWELL.as_secs());
            let text = format!(
                "{id} is given up: its {hook} is not done in the {seconds} s that all mods share for it after an interruption"
            );
            self.scope.emitter.notice(NoticeLevel::Warning, text);
            Ok(None)
        })
    }
}

/// Goes on after a fault.
pub(super) fn skip<V>(_: &mut V, _: &dyn HookHandler, _: &HookFault) -> ControlFlow<()> {
    Continue(())
}

/// The fault of an answer that belongs to another hook.
pub(super) fn misplaced(outcome: &HookOutcome) -> HookFault {
    let kind = match outcome {
        HookOutcome::TransformContext(_) => "message edits",
        HookOutcome::AppendSystemPrompt(_) => "a system prompt",
        HookOutcome::BeforeToolCall(_) => "a verdict on a tool call",
        HookOutcome::AfterToolCall(_) => "a change of a tool result",
        HookOutcome::State(_) => "a change of the state",
        HookOutcome::ShouldStop => "an early stop",
        HookOutcome::NextTurn(_) => "a change of the model",
        HookOutcome::Stop(_) => "a stop decision",
        HookOutcome::Input(_) => "a change of the prompt",
    };
    HookFault::Invalid(format!("the answer of another hook: {kind}"))
}
