//! One function per hook: what the mods are shown, and how their answers combine.

use std::{ops::ControlFlow, sync::Arc};

use mod_interface::types::{
    AgentState, ContentBlock, Conversation, Hook, HookOutcome, NextTurn, RunResult, SessionChange,
    StopDecision, StopReason, Usage,
};

use super::{
    AfterVerdict, BeforeVerdict, Handlers, HookFault, HookHandler, InputVerdict, Interrupt, Scope, Subject,
    ToolCallInput, check,
    merge::{Panel, misplaced, skip},
    patch::{edit_messages, patch_state},
};

/// Asks the mods on behalf of one run.
pub struct HookRunner {
    scope: Arc<Scope>,
    /// The scope of hooks that are waited for although the run is interrupted.
    patient: Arc<Scope>,
    interrupt: Interrupt,
}

impl HookRunner {
    /// A runner for the run, or for the moment outside of one, that `scope` describes.
    pub fn new(scope: Arc<Scope>) -> Self {
        let interrupt = Interrupt::new(scope.cancel.clone());
        let patient = Arc::new(scope.patient());
        Self { scope, patient, interrupt }
    }

    /// The hooks of one round: those of `handlers`, as they stood when it began. Outside of a run
    /// `turn_number` is 0.
    pub fn round(&self, handlers: Arc<Handlers>, turn_number: u32) -> Round<'_> {
        Round { runner: self, handlers, turn_number }
    }

    /// What stays the same for all hooks of the run.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Bounds what is pending when the run is interrupted.
    pub fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// Tells how often each fault happened again after it was told. For the end of a run.
    pub fn report_repeated_faults(&self) {
        self.scope.faults.report_repeats(&self.scope.emitter);
    }
}

/// The hooks of one round.
pub struct Round<'a> {
    runner: &'a HookRunner,
    handlers: Arc<Handlers>,
    turn_number: u32,
}

impl Round<'_> {
    /// Threads the messages of one model call through every mod. The state keeps its own.
    pub async fn transform_context(&self, state: &AgentState, messages: Conversation) -> Conversation {
        let panel = self.panel(Hook::TransformContext);
        let see = |messages: &Conversation| panel.input(state, Subject::Context(Arc::clone(messages)));
        let take = |messages: &mut _, _: &str, outcome| match outcome {
            HookOutcome::TransformContext(edits) => edit_messages(messages, edits),
            other => Err(misplaced(&other)),
        };
        panel.thread(messages, see, take).await
    }

    /// Joins every mod's non-empty text with an empty line, in registration order.
    pub async fn append_system_prompt(&self, state: &AgentState) -> Option<String> {
        let panel = self.panel(Hook::AppendSystemPrompt);
        let read = |outcome| match outcome {
            HookOutcome::AppendSystemPrompt(text) => check::text(&text).map(|()| text),
            other => Err(misplaced(&other)),
        };
        panel.join(|| panel.input(state, Subject::None), read).await
    }

    /// Chains the input of a call through every mod, until one blocks the call. A fault is no opinion,
    /// but blocks where the handler asked to fail closed.
    pub async fn before_tool_call(&self, state: &AgentState, call: &ToolCallInput) -> BeforeVerdict {
        let panel = self.panel(Hook::BeforeToolCall);
        let see = |so_far: &BeforeVerdict| {
            let call = ToolCallInput { input: Arc::clone(&so_far.input), ..call.clone() };
            panel.input(state, Subject::ToolCall(call))
        };
        let take = |so_far: &mut BeforeVerdict, mod_id: &str, outcome| match outcome {
            HookOutcome::BeforeToolCall(answer) => so_far.take(mod_id, answer),
            other => Err(misplaced(&other)),
        };
        let failed = |so_far: &mut BeforeVerdict, handler: &dyn HookHandler, fault: &HookFault| {
            if !handler.fails_closed() {
                return ControlFlow::Continue(());
            }
            so_far.could_not_be_evaluated(handler.mod_id(), fault);
            ControlFlow::Break(())
        };
        panel.chain(BeforeVerdict::new(Arc::clone(&call.input)), see, take, failed).await
    }

    /// Threads content and `is_error` of a result through every mod, and collects the rest.
    pub async fn after_tool_call(
        &self,
        state: &AgentState,
        call: &ToolCallInput,
        content: Vec<ContentBlock>,
        is_error: bool,
    ) -> AfterVerdict {
        let panel = self.panel(Hook::AfterToolCall);
        let see = |so_far: &AfterVerdict| {
            let (call, content) = (call.clone(), Arc::clone(&so_far.content));
            panel.input(state, Subject::ToolResult { call, content, is_error: so_far.is_error })
        };
        let take = |so_far: &mut AfterVerdict, mod_id: &str, outcome| match outcome {
            HookOutcome::AfterToolCall(answer) => so_far.take(mod_id, answer),
            other => Err(misplaced(&other)),
        };
        panel.thread(AfterVerdict::new(content, is_error), see, take).await
    }

    /// Threads the state through every mod, before the round.
    pub async fn on_turn_start(&self, state: &mut AgentState) {
        let panel = self.panel(Hook::OnTurnStart);
        let see = |state: &&mut AgentState| panel.input(state, Subject::None);
        panel.thread(state, see, |state, mod_id, outcome| patch_state(state, mod_id, outcome)).await;
    }

    /// Threads the state through every mod, after the round.
    pub async fn on_turn_end(&self, state: &mut AgentState, had_tool_calls: bool, usage: Usage) {
        let panel = self.panel(Hook::OnTurnEnd);
        let subject = Subject::TurnEnd { had_tool_calls, usage };
        let see = |state: &&mut AgentState| panel.input(state, subject.clone());
        panel.thread(state, see, |state, mod_id, outcome| patch_state(state, mod_id, outcome)).await;
    }

    /// Whether any mod wants the run to stop; the first that does ends the asking.
    pub async fn should_stop_after_turn(&self, state: &AgentState) -> bool {
        let panel = self.panel(Hook::ShouldStopAfterTurn);
        let read = |outcome| match outcome {
            HookOutcome::ShouldStop => Ok(Some(())),
            other => Err(misplaced(&other)),
        };
        panel.first(|| panel.input(state, Subject::None), read).await.is_some()
    }

    /// Lays the mods' changes of model and effort over `so_far`: later mods win, field by field.
    /// `check_model` refuses a model that cannot be called.
    pub async fn prepare_next_turn(
        &self,
        state: &AgentState,
        so_far: NextTurn,
        check_model: impl Fn(&str) -> Result<(), String>,
    ) -> NextTurn {
        let panel = self.panel(Hook::PrepareNextTurn);
        let read = |outcome| match outcome {
            HookOutcome::NextTurn(change) => {
                change.model.as_deref().map_or(Ok(()), &check_model).map_err(HookFault::Invalid)?;
                Ok(change)
            }
            other => Err(misplaced(&other)),
        };
        let over = |earlier: NextTurn, later: NextTurn| NextTurn {
            model: later.model.or(earlier.model),
            effort: later.effort.or(earlier.effort),
        };
        panel.last_wins(so_far, || panel.input(state, Subject::None), read, over).await
    }

    /// Tells every mod how the run ended, and waits for each; after an interruption too, for a short while.
    pub async fn on_run_end(&self, state: &AgentState, result: Arc<RunResult>) {
        let panel = self.patient_panel(Hook::OnRunEnd);
        panel.tell(|| panel.input(state, Subject::RunEnd(Arc::clone(&result)))).await;
    }

    /// Asks one mod after another whether a finished run shall go on; the first that wants it wins.
    pub async fn on_stop(
        &self,
        state: &AgentState,
        stop_reason: StopReason,
        last_assistant_text: Arc<str>,
    ) -> StopDecision {
        let panel = self.panel(Hook::OnStop);
        let read = |outcome| match outcome {
            HookOutcome::Stop(StopDecision::Stop) => Ok(None),
            HookOutcome::Stop(StopDecision::Continue { reason }) => {
                reason.as_deref().map_or(Ok(()), check::text)?;
                Ok(Some(StopDecision::Continue { reason }))
            }
            other => Err(misplaced(&other)),
        };
        let subject = Subject::Stop { stop_reason, last_assistant_text };
        let answer = panel.first(|| panel.input(state, subject.clone()), read).await;
        answer.unwrap_or(StopDecision::Stop)
    }

    /// Chains a typed prompt through every mod, until one consumes it.
    pub async fn transform_input(&self, state: &AgentState, prompt: impl Into<Arc<str>>) -> InputVerdict {
        let panel = self.panel(Hook::TransformInput);
        let see = |so_far: &InputVerdict| panel.input(state, Subject::Prompt(Arc::clone(&so_far.prompt)));
        let take = |so_far: &mut InputVerdict, _: &str, outcome| match outcome {
            HookOutcome::Input(answer) => so_far.take(answer),
            other => Err(misplaced(&other)),
        };
        let start = InputVerdict { prompt: prompt.into(), handled: None };
        panel.chain(start, see, take, skip).await
    }

    /// Tells every mod that a session begins or ends, and waits for each; for its end after an interruption too,
    /// for a short while.
    pub async fn on_session(&self, state: &AgentState, change: SessionChange) {
        let panel = match change {
            SessionChange::Start(_) => self.panel(Hook::OnSessionStart),
            SessionChange::End(_) => self.patient_panel(Hook::OnSessionEnd),
        };
        panel.tell(|| panel.input(state, Subject::Session(change))).await;
    }

    fn panel(&self, hook: Hook) -> Panel<'_> {
        Panel { scope: &self.runner.scope, last: false, ..self.patient_panel(hook) }
    }

    fn patient_panel(&self, hook: Hook) -> Panel<'_> {
        Panel {
            hook,
            handlers: self.handlers.of(hook),
            scope: &self.runner.patient,
            turn_number: self.turn_number,
            interrupt: &self.runner.interrupt,
            last: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Mutex};

    use mod_interface::types::{HookSet, SessionEndReason, SessionStartSource};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{
        events::EventBus,
        hooks::{HookAnswer, HookInput},
    };

    /// Notes of each hook whether its scope says that it is interrupted.
    #[derive(Default)]
    struct Notes(Mutex<Vec<(Hook, bool)>>);

    impl HookHandler for Notes {
        fn mod_id(&self) -> &str {
            "mod:notes"
        }

        fn hooks(&self) -> HookSet {
            Hook::ALL.into_iter().collect()
        }

        fn fails_closed(&self) -> bool {
            false
        }

        fn call(&self, input: Arc<HookInput>) -> (HookAnswer, Option<Arc<HookInput>>) {
            self.0.lock().unwrap().push((input.hook, input.scope.cancel.is_cancelled()));
            (HookAnswer::Ready(Ok(None)), Some(input))
        }
    }

    #[tokio::test]
    async fn hooks_that_are_waited_for_are_not_interrupted() {
        let (emitter, cancel) = (EventBus::new().main(), CancellationToken::new());
        cancel.cancel();
        let runner = HookRunner::new(Arc::new(Scope::new(emitter, cancel, Path::new("/"))));
        let notes = Arc::new(Notes::default());
        let round = runner.round(Arc::new(Handlers::new([Arc::clone(&notes) as _])), 1);
        let mut state = AgentState::new("s");
        let result = RunResult {
            final_text: String::new(),
            stop_reason: StopReason::Interrupted,
            turn_count: 0,
            usage: Usage::default(),
        };
        round.on_session(&state, SessionChange::Start(SessionStartSource::Startup)).await;
        round.on_turn_end(&mut state, false, Usage::default()).await;
        round.on_run_end(&state, Arc::new(result)).await;
        round.on_session(&state, SessionChange::End(SessionEndReason::Shutdown)).await;
        assert_eq!(
            *notes.0.lock().unwrap(),
            [
                (Hook::OnSessionStart, true),
                (Hook::OnTurnEnd, true),
                (Hook::OnRunEnd, false),
                (Hook::OnSessionEnd, false),
            ]
        );
    }
}
