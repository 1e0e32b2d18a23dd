use std::sync::Arc;

use super::{Result, entry::AsyncEntry, entry::SyncEntry, runtime::RuntimeHandle};
use crate::{
    abi::{
        Context, Ctx, Entry, Frame, HookObject, Prompt, RunEnd, SessionEvent, Stop, ToolCall, ToolResult,
        Turn, TurnEnd,
    },
    types::{
        AfterToolCall, BeforeToolCall, Hook, HookSet, MessageEdit, NextTurn, StatePatch, StopDecision,
        TransformInput,
    },
};

type MakeEntry = Box<dyn FnOnce(RuntimeHandle) -> Box<dyn Entry> + Send>;

/// The hooks that a mod registers with [`super::ModApi::hooks`].
///
/// Each hook has two forms: an async closure that owns what it is given, and a `_sync` one that borrows
/// it. Neither allocates when it has nothing to say; the second is the cheapest there is.
///
/// ```
/// use mod_interface::prelude::*;
///
/// let hooks = Hooks::new()
///     .before_tool_call_sync(|call, _ctx| {
///         let secret = call.input_str("file_path").is_some_and(|path| path.ends_with(".env"));
///         Ok(secret.then(|| BeforeToolCall::block("Secrets stay where they are.")))
///     })
///     .on_turn_end(|turn, ctx| async move {
///         let turns: u32 = turn.state().mod_state()?.unwrap_or_default();
///         ctx.ui().notify(&format!("{} turns so far", turns + 1));
///         Ok(StatePatch::mod_state(json!(turns + 1)))
///     });
/// assert_eq!(hooks.set().iter().count(), 2);
/// ```
#[derive(Default)]
#[must_use = "hooks do nothing until they are given to `ModApi::hooks`"]
pub struct Hooks {
    entries: Vec<(Hook, MakeEntry)>,
    fail_closed: bool,
}

/// [`Hooks`] that share a value of the mod's own: each is given it ahead of all else. From [`Hooks::sharing`].
#[must_use = "hooks do nothing until they are given to `ModApi::hooks`"]
pub struct SharingHooks<S> {
    hooks: Hooks,
    shared: Arc<S>,
}

macro_rules! hooks {
    ($($(#[$doc:meta])* $hook:ident: $name:ident, $sync:ident($view:ident) -> $answer:ty;)*) => {
        impl Hooks {$(
            $(#[$doc])*
            pub fn $name<F, Fut>(self, hook: F) -> Self
            where
                F: Fn($view, Ctx) -> Fut + Send + Sync + 'static,
                Fut: Future<Output = Result<$answer>> + Send + 'static,
            {
                self.with(Hook::$hook, |runtime| {
                    let make = move |frame: &Frame| {
                        let (view, ctx) = frame.twice();
                        hook(view.into(), ctx.into())
                    };
                    Box::new(AsyncEntry::new(make, runtime))
                })
            }

            #[doc = concat!("As [`Self::", stringify!($name), "`], for code that never waits.")]
            pub fn $sync<F>(self, hook: F) -> Self
            where
                F: Fn(&$view, &Ctx) -> Result<$answer> + Send + Sync + 'static,
            {
                self.with(Hook::$hook, |runtime| {
                    let call = move |frame: &Frame| hook($view::of(frame), Ctx::of(frame));
                    Box::new(SyncEntry::new(call, runtime))
                })
            }
        )*}

        impl<S: Send + Sync + 'static> SharingHooks<S> {$(
            #[doc = concat!("As [`Hooks::", stringify!($name), "`], with what is shared.")]
            pub fn $name<F, Fut>(mut self, hook: F) -> Self
            where
                F: Fn(Arc<S>, $view, Ctx) -> Fut + Send + Sync + 'static,
                Fut: Future<Output = Result<$answer>> + Send + 'static,
            {
                let shared = Arc::clone(&self.shared);
                self.hooks = self.hooks.$name(move |view, ctx| hook(Arc::clone(&shared), view, ctx));
                self
            }

            #[doc = concat!("As [`Hooks::", stringify!($sync), "`], with what is shared.")]
            pub fn $sync<F>(mut self, hook: F) -> Self
            where
                F: Fn(&S, &$view, &Ctx) -> Result<$answer> + Send + Sync + 'static,
            {
                let shared = Arc::clone(&self.shared);
                self.hooks = self.hooks.$sync(move |view, ctx| hook(&shared, view, ctx));
                self
            }
        )*}
    };
}

hooks! {
    /// Changes the messages of one model call; nothing of it is kept.
    ///
    /// Once a round, after `append_system_prompt`. Each mod sees the edits of the mods before it. On
    /// failure the messages stay as they are.
    TransformContext: transform_context, transform_context_sync(Context) -> Vec<MessageEdit>;

    /// Adds a part to the system prompt, behind the base prompt and the parts of the mods before.
    ///
    /// Once a round. Return the same bytes for the same state, or the provider's prompt cache is lost
    /// every round. On failure nothing is added.
    AppendSystemPrompt: append_system_prompt, append_system_prompt_sync(Turn) -> Option<String>;

    /// Blocks a tool call, rewrites its input, adds context to its result, or ends the run after it.
    ///
    /// Per call, after it was permitted, before `tool_running`. Each mod sees the input as the mods
    /// before it left it; a rewrite stands for the whole input. The first block ends the chain. On
    /// failure the call goes on, unless [`Hooks::fail_closed`] was asked for.
    BeforeToolCall: before_tool_call, before_tool_call_sync(ToolCall) -> Option<BeforeToolCall>;

    /// Replaces a tool's result, adds context, says whether it counts as failed, keeps state.
    ///
    /// Per call that ran, failed ones too, before `tool_completed` or `tool_errored`. Each mod sees the
    /// result as the mods before it left it. On failure it stays as it is.
    AfterToolCall: after_tool_call, after_tool_call_sync(ToolResult) -> Option<AfterToolCall>;

    /// Changes the state before a round, ahead of `turn_start`. On failure it stays as it is.
    OnTurnStart: on_turn_start, on_turn_start_sync(Turn) -> StatePatch;

    /// Changes the state after a round, ahead of `turn_end` and the commit. On failure it stays as it
    /// is.
    OnTurnEnd: on_turn_end, on_turn_end_sync(TurnEnd) -> StatePatch;

    /// Ends the run early. After the commit; the first `true` wins. On failure: `false`.
    ShouldStopAfterTurn: should_stop_after_turn, should_stop_after_turn_sync(Turn) -> bool;

    /// Swaps the model or the effort for the rest of the run. Only when the run goes on; later mods win,
    /// field by field. On failure nothing is swapped.
    PrepareNextTurn: prepare_next_turn, prepare_next_turn_sync(Turn) -> Option<NextTurn>;

    /// Does what must be done when a run is over. Awaited before `run_end`; cannot change the result.
    OnRunEnd: on_run_end, on_run_end_sync(RunEnd) -> ();

    /// Keeps a run going that would end by itself. The first that wants to wins; at most 8 times in a
    /// row. On failure the run ends.
    OnStop: on_stop, on_stop_sync(Stop) -> StopDecision;

    /// Rewrites or consumes a typed prompt. Each mod sees the prompt as the mods before it left it. On
    /// failure it goes on as it is.
    TransformInput: transform_input, transform_input_sync(Prompt) -> TransformInput;

    /// Runs once when a session is bound, before its first round.
    OnSessionStart: on_session_start, on_session_start_sync(SessionEvent) -> ();

    /// Runs once when a session is torn down; awaited, with a bound.
    OnSessionEnd: on_session_end, on_session_end_sync(SessionEvent) -> ();
}

impl Hooks {
    /// No hooks yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// No hooks yet, each of which will be given `shared`: no closure needs a clone of its own.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// use std::sync::{Arc, atomic::{AtomicU32, Ordering::Relaxed}};
    ///
    /// #[derive(Default)]
    /// struct Calls(AtomicU32);
    ///
    /// let calls = Arc::new(Calls::default());
    /// let hooks = Hooks::sharing(&calls)
    ///     .before_tool_call_sync(|calls, _call, _ctx| {
    ///         calls.0.fetch_add(1, Relaxed);
    ///         Ok(None)
    ///     })
    ///     .on_run_end(|calls, _run, ctx| async move {
    ///         ctx.ui().notify(&format!("{} calls", calls.0.load(Relaxed)));
    ///         Ok(())
    ///     });
    /// assert_eq!(Hooks::from(hooks).set().iter().count(), 2);
    /// ```
    pub fn sharing<S>(shared: &Arc<S>) -> SharingHooks<S> {
        SharingHooks { hooks: Self::new(), shared: Arc::clone(shared) }
    }

    /// Makes `before_tool_call` a guard: a call that it fails to judge, by error, panic or timeout, is
    /// blocked with a text that says so.
    pub fn fail_closed(mut self) -> Self {
        self.fail_closed = true;
        self
    }

    /// The hooks that were given.
    pub fn set(&self) -> HookSet {
        self.entries.iter().map(|(hook, _)| *hook).collect()
    }

    fn with(
        mut self,
        hook: Hook,
        make: impl FnOnce(RuntimeHandle) -> Box<dyn Entry> + Send + 'static,
    ) -> Self {
        self.entries.push((hook, Box::new(make)));
        self
    }

    /// The first hook that was given twice.
    pub(crate) fn repeated(&self) -> Option<Hook> {
        let mut seen = HookSet::EMPTY;
        self.entries.iter().map(|(hook, _)| *hook).find(|hook| {
            let again = seen.contains(*hook);
            seen.insert(*hook);
            again
        })
    }

    pub(crate) fn spec(&self) -> String {
        serde_json::json!({ "failClosed": self.fail_closed }).to_string()
    }

    pub(crate) fn into_object(self, runtime: &RuntimeHandle) -> HookObject {
        HookObject::new(self.entries.into_iter().map(|(hook, make)| (hook, make(runtime.clone()))))
    }
}

impl<S> SharingHooks<S> {
    /// As [`Hooks::fail_closed`].
    pub fn fail_closed(mut self) -> Self {
        self.hooks = self.hooks.fail_closed();
        self
    }
}

impl<S> From<SharingHooks<S>> for Hooks {
    fn from(sharing: SharingHooks<S>) -> Self {
        sharing.hooks
    }
}
