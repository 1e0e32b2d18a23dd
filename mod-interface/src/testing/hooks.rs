//! Asking one hook of a mod, once.

use serde_json::Value;

use super::{
    Fault, TestMod,
    frame::{Call, Subject},
};
use crate::types::{
    AfterToolCall, BeforeToolCall, Hook, Message, NextTurn, RunResult, SessionChange, SessionEndReason,
    SessionStartSource, StatePatch, StopDecision, StopReason, ToolOutput, TransformInput, Usage,
};

/// What stands between the texts of several registrations of one hook.
const BETWEEN: &str = "\n\n";

/// Asking one hook, once. Where the mod has registered it several times, the answers are merged as the host
/// merges them.
///
/// A failure is an `Err` here. In `cmd`, and in [`Self::run`], it is a `mod_error` and no opinion, or a block
/// where the mod asked for [`fail_closed`](crate::sdk::Hooks::fail_closed). All of them also fail when the mod
/// does not have the hook.
impl TestMod {
    /// The messages that the model would see. The state keeps its own.
    ///
    /// # Errors
    /// The hook failed, or there is none.
    pub async fn transform_context(&self) -> Result<Vec<Message>, Fault> {
        let (round, state) = self.single(Hook::TransformContext)?;
        let messages = round.transform_context(&state).await?;
        Ok(messages.iter().map(|message| Message::clone(message)).collect())
    }

    /// What it adds to the system prompt.
    ///
    /// # Errors
    /// The hook failed, or there is none.
    pub async fn append_system_prompt(&self) -> Result<Option<String>, Fault> {
        let (round, state) = self.single(Hook::AppendSystemPrompt)?;
        round.append_system_prompt(&state).await
    }

    /// What it says to a call of `tool`; `None` is no opinion.
    ///
    /// # Errors
    /// The hook failed, or there is none.
    pub async fn before_tool_call(&self, tool: &str, input: Value) -> Result<Option<BeforeToolCall>, Fault> {
        let (round, state) = self.single(Hook::BeforeToolCall)?;
        let before = round.before_tool_call(&state, "call", tool, input).await?;
        let answer = BeforeToolCall {
            block: before.blocked.is_some(),
            additional_context: before.blocked.or_else(|| joined(&before.contexts)),
            input: before.rewritten.then_some(before.input),
            terminate: before.terminate,
        };
        Ok((answer != BeforeToolCall::default()).then_some(answer))
    }

    /// What it makes of the result of a call of `tool`; `None` is no opinion. A text is a result that went well.
    ///
    /// # Errors
    /// The hook failed, or there is none.
    pub async fn after_tool_call(
        &self,
        tool: &str,
        input: Value,
        output: impl Into<ToolOutput>,
    ) -> Result<Option<AfterToolCall>, Fault> {
        let (round, mut state) = self.single(Hook::AfterToolCall)?;
        let call = Call { id: "call".to_owned(), name: tool.to_owned(), input: input.to_string() };
        let output = output.into();
        let after = round.after_tool_call(&state, &call, output.clone()).await?;
        if let Some(value) = &after.mod_state {
            state.set_mod_state(&self.core.place.id, value.clone());
            self.keep(state);
        }
        let answer = AfterToolCall {
            is_error: (after.output.is_error != output.is_error).then_some(after.output.is_error),
            content: (after.output.content != output.content).then_some(after.output.content),
            additional_context: joined(&after.contexts),
            terminate: after.terminate,
            mod_state: after.mod_state,
        };
        Ok((answer != AfterToolCall::default()).then_some(answer))
    }

    /// What it changes of the state before a round. The state keeps it.
    ///
    /// # Errors
    /// The hook failed, or there is none.
    pub async fn on_turn_start(&self) -> Result<StatePatch, Fault> {
        self.patch(Hook::OnTurnStart, Subject::None).await
    }

    /// What it changes of the state after a round. The state keeps it.
    ///
    /// # Errors
    /// The hook failed, or there is none.
    pub async fn on_turn_end(&self, had_tool_calls: bool, usage: Usage) -> Result<StatePatch, Fault> {
        self.patch(Hook::OnTurnEnd, Subject::TurnEnd { had_tool_calls, usage }).await
    }

    /// Whether it ends the run.
    ///
    /// # Errors
    /// The hook failed, or there is none.
    pub async fn should_stop_after_turn(&self) -> Result<bool, Fault> {
        let (round, state) = self.single(Hook::ShouldStopAfterTurn)?;
        round.should_stop_after_turn(&state).await
    }

    /// What it swaps for the rest of the run; `None` is no opinion.
    ///
    /// # Errors
    /// The hook failed, or there is none.
    pub async fn prepare_next_turn(&self) -> Result<Option<NextTurn>, Fault> {
        let (round, state) = self.single(Hook::PrepareNextTurn)?;
        let next = round.prepare_next_turn(&state, NextTurn::default()).await?;
        Ok((next != NextTurn::default()).then_some(next))
    }

    /// Tells it that a run is over.
    ///
    /// # Errors
    /// The hook failed, or there is none.
    pub async fn on_run_end(&self, result: RunResult) -> Result<(), Fault> {
        let (round, state) = self.single(Hook::OnRunEnd)?;
        round.tell(Hook::OnRunEnd, &state, Subject::RunEnd(result)).await
    }

    /// Whether it keeps a run going whose last message says `text`.
    ///
    /// # Errors
    /// The hook failed, or there is none.
    pub async fn on_stop(&self, text: &str) -> Result<StopDecision, Fault> {
        let (round, state) = self.single(Hook::OnStop)?;
        let subject = Subject::Stop { reason: StopReason::EndTurn, text: text.to_owned() };
        round.on_stop(&state, subject).await
    }

    /// What it makes of a typed prompt.
    ///
    /// # Errors
    /// The hook failed, or there is none.
    pub async fn transform_input(&self, prompt: &str) -> Result<TransformInput, Fault> {
        let (round, state) = self.single(Hook::TransformInput)?;
        round.transform_input(&state, prompt).await
    }

    /// Tells it that a session is bound.
    ///
    /// # Errors
    /// The hook failed, or there is none.
    pub async fn on_session_start(&self, source: SessionStartSource) -> Result<(), Fault> {
        let (round, state) = self.single(Hook::OnSessionStart)?;
        round.tell(Hook::OnSessionStart, &state, Subject::Session(SessionChange::Start(source))).await
    }

    /// Tells it that a session is torn down.
    ///
    /// # Errors
    /// The hook failed, or there is none.
    pub async fn on_session_end(&self, reason: SessionEndReason) -> Result<(), Fault> {
        let (round, state) = self.single(Hook::OnSessionEnd)?;
        round.tell(Hook::OnSessionEnd, &state, Subject::Session(SessionChange::End(reason))).await
    }

    async fn patch(&self, hook: Hook, subject: Subject) -> Result<StatePatch, Fault> {
        let (round, mut state) = self.single(hook)?;
        let patch = round.patch(hook, &mut state, subject).await?;
        self.keep(state);
        Ok(patch)
    }
}

fn joined(texts: &[String]) -> Option<String> {
    (!texts.is_empty()).then(|| texts.join(BETWEEN))
}
