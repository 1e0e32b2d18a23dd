//! How the answers of a mod's registrations become one: as the host merges those of many mods.

use std::sync::Arc;

use serde_json::Value;

use super::{
    Fault,
    core::Core,
    entry,
    frame::{Call, Question, Subject},
    registrations::Handler,
};
use crate::{
    abi::decode_outcome,
    types::{
        AfterToolCall, AgentState, BeforeToolCall, ContentBlock, Hook, HookOutcome, Message, MessageEdit,
        NextTurn, StatePatch, StopDecision, ToolOutput, TransformInput,
    },
};

const BLOCKED: &str = "Blocked by a pre-tool hook.";

/// The hooks of one round, as they stood when it began.
pub(super) struct Round<'a> {
    pub(super) core: &'a Core,
    pub(super) handlers: Vec<Handler>,
    pub(super) turn_number: u32,
    /// Whether the first failure ends the asking; else it is a `mod_error`, and no opinion.
    pub(super) strict: bool,
}

/// What became of a tool call before it runs.
pub(super) struct Before {
    pub(super) input: Value,
    pub(super) rewritten: bool,
    pub(super) contexts: Vec<String>,
    pub(super) blocked: Option<String>,
    pub(super) terminate: bool,
}

/// What became of a tool's result.
pub(super) struct After {
    pub(super) output: ToolOutput,
    pub(super) contexts: Vec<String>,
    pub(super) terminate: bool,
    pub(super) mod_state: Option<Value>,
}

type Asked<T> = Result<T, Fault>;

impl Round<'_> {
    pub(super) async fn transform_context(&self, state: &AgentState) -> Asked<Arc<Vec<Arc<Message>>>> {
        let mut messages = Arc::clone(&state.messages);
        for handler in self.of(Hook::TransformContext) {
            let subject = Subject::Context(Arc::clone(&messages));
            let asked = self.ask(handler, Hook::TransformContext, state, subject).await;
            if let Some(HookOutcome::TransformContext(edits)) = self.opinion(asked)? {
                self.opinion(edit(Hook::TransformContext, &mut messages, edits).map(Some))?;
            }
        }
        Ok(messages)
    }

    pub(super) async fn append_system_prompt(&self, state: &AgentState) -> Asked<Option<String>> {
        let mut parts = Vec::new();
        for handler in self.of(Hook::AppendSystemPrompt) {
            let asked = self.ask(handler, Hook::AppendSystemPrompt, state, Subject::None).await;
            if let Some(HookOutcome::AppendSystemPrompt(text)) = self.opinion(asked)? {
                parts.push(text);
            }
        }
        parts.retain(|part| !part.is_empty());
        Ok((!parts.is_empty()).then(|| parts.join("\n\n")))
    }

    pub(super) async fn before_tool_call(
        &self,
        state: &AgentState,
        id: &str,
        name: &str,
        input: Value,
    ) -> Asked<Before> {
        let mut so_far =
            Before { input, rewritten: false, contexts: Vec::new(), blocked: None, terminate: false };
        for handler in self.of(Hook::BeforeToolCall) {
            let call = Call { id: id.to_owned(), name: name.to_owned(), input: so_far.input.to_string() };
            let asked = self.ask(handler, Hook::BeforeToolCall, state, Subject::Call(call)).await;
            let unjudged = asked.as_ref().err().filter(|_| handler.fail_closed).map(Fault::cause);
            if let Some(HookOutcome::BeforeToolCall(answer)) = self.opinion(asked)? {
                so_far.take(answer);
            }
            if let Some(cause) = unjudged {
                let id = &self.core.place.id;
                so_far.blocked =
                    Some(format!("This call could not be evaluated by {id}, so it did not run: {cause}"));
            }
            if so_far.blocked.is_some() {
                break;
            }
        }
        Ok(so_far)
    }

    pub(super) async fn after_tool_call(
        &self,
        state: &AgentState,
        call: &Call,
        output: ToolOutput,
    ) -> Asked<After> {
        let mut so_far = After { output, contexts: Vec::new(), terminate: false, mod_state: None };
        for handler in self.of(Hook::AfterToolCall) {
            let ToolOutput { content, is_error } = so_far.output.clone();
            let subject = Subject::Result { call: call.clone(), content, is_error };
            let asked = self.ask(handler, Hook::AfterToolCall, state, subject).await;
            if let Some(HookOutcome::AfterToolCall(answer)) = self.opinion(asked)? {
                self.opinion(so_far.take(answer).map(Some))?;
            }
        }
        Ok(so_far)
    }

    /// `on_turn_start` and `on_turn_end`: the state is changed, and the changes come back.
    pub(super) async fn patch(
        &self,
        hook: Hook,
        state: &mut AgentState,
        subject: Subject,
    ) -> Asked<StatePatch> {
        let mut whole = StatePatch::default();
        for handler in self.of(hook) {
            let asked = self.ask(handler, hook, state, subject.clone()).await;
            let Some(HookOutcome::State(patch)) = self.opinion(asked)? else { continue };
            let mut messages = Arc::clone(&state.messages);
            let edited = edit(hook, &mut messages, patch.messages.clone());
            if self.opinion(edited.map(Some))?.is_none() {
                continue;
            }
            state.messages = messages.into();
            if let Some(value) = &patch.mod_state {
                state.set_mod_state(&self.core.place.id, value.clone());
            }
            whole.messages.extend(patch.messages);
            whole.mod_state = patch.mod_state.or(whole.mod_state);
        }
        Ok(whole)
    }

    pub(super) async fn should_stop_after_turn(&self, state: &AgentState) -> Asked<bool> {
        for handler in self.of(Hook::ShouldStopAfterTurn) {
            let asked = self.ask(handler, Hook::ShouldStopAfterTurn, state, Subject::None).await;
            if self.opinion(asked)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) async fn prepare_next_turn(&self, state: &AgentState, so_far: NextTurn) -> Asked<NextTurn> {
        let mut next = so_far;
        for handler in self.of(Hook::PrepareNextTurn) {
            let asked = self.ask(handler, Hook::PrepareNextTurn, state, Subject::None).await;
            if let Some(HookOutcome::NextTurn(change)) = self.opinion(asked)? {
                next = NextTurn { model: change.model.or(next.model), effort: change.effort.or(next.effort) };
            }
        }
        Ok(next)
    }

    pub(super) async fn on_stop(&self, state: &AgentState, subject: Subject) -> Asked<StopDecision> {
        for handler in self.of(Hook::OnStop) {
            let asked = self.ask(handler, Hook::OnStop, state, subject.clone()).await;
            if let Some(HookOutcome::Stop(decision @ StopDecision::Continue { .. })) = self.opinion(asked)? {
                return Ok(decision);
            }
        }
        Ok(StopDecision::Stop)
    }

    pub(super) async fn transform_input(&self, state: &AgentState, text: &str) -> Asked<TransformInput> {
        let mut so_far = text.to_owned();
        for handler in self.of(Hook::TransformInput) {
            let asked = self.ask(handler, Hook::TransformInput, state, Subject::Prompt(so_far.clone())).await;
            match self.opinion(asked)? {
                Some(HookOutcome::Input(TransformInput::Transform { text })) => so_far = text,
                Some(HookOutcome::Input(handled @ TransformInput::Handled { .. })) => return Ok(handled),
                _ => {}
            }
        }
        let same = so_far == text;
        Ok(if same { TransformInput::Continue } else { TransformInput::Transform { text: so_far } })
    }

    /// Hooks that are told something, and answer nothing.
    pub(super) async fn tell(&self, hook: Hook, state: &AgentState, subject: Subject) -> Asked<()> {
        for handler in self.of(hook) {
            let asked = self.ask(handler, hook, state, subject.clone()).await;
            self.opinion(asked)?;
        }
        Ok(())
    }

    fn of(&self, hook: Hook) -> impl Iterator<Item = &Handler> {
        self.handlers.iter().filter(move |handler| handler.hooks.hooks().contains(hook))
    }

    async fn ask(
        &self,
        handler: &Handler,
        hook: Hook,
        state: &AgentState,
        subject: Subject,
    ) -> Asked<Option<HookOutcome>> {
        let (state, turn_number, place) = (state.clone(), self.turn_number, hook.wire_name());
        let frame = self.core.frame(Question::Hook { hook, state, turn_number, subject });
        let call = |reply: &mut _| handler.hooks.call(hook, frame.frame(), reply);
        let answer = entry::enter(place, self.core.limits.hook, call).await?;
        decode_outcome(hook, &answer).map_err(|reason| entry::invalid(place, reason))
    }

    /// What is left of an answer when a failure is no opinion.
    fn opinion<T>(&self, asked: Asked<Option<T>>) -> Asked<Option<T>> {
        match asked {
            Err(fault) if !self.strict => {
                self.core.tell_fault(&fault);
                Ok(None)
            }
            asked => asked,
        }
    }
}

impl Before {
    /// A block outranks a rewrite in the same answer.
    fn take(&mut self, answer: BeforeToolCall) {
        let BeforeToolCall { block, additional_context, input, terminate } = answer;
        self.terminate |= terminate;
        if block {
            self.blocked = Some(additional_context.unwrap_or_else(|| BLOCKED.to_owned()));
            return;
        }
        if let Some(input) = input {
            self.input = input;
            self.rewritten = true;
        }
        self.contexts.extend(additional_context);
    }
}

impl After {
    fn take(&mut self, answer: AfterToolCall) -> Result<(), Fault> {
        let AfterToolCall { content, is_error, additional_context, terminate, mod_state } = answer;
        if let Some(content) = content {
            check_content(Hook::AfterToolCall.wire_name(), &content)?;
            self.output.content = content;
        }
        self.output.is_error = is_error.unwrap_or(self.output.is_error);
        self.contexts.extend(additional_context);
        self.terminate |= terminate;
        self.mod_state = mod_state.or(self.mod_state.take());
        Ok(())
    }
}

/// Refuses what cannot stand in a tool's result.
pub(super) fn check_content(place: &str, content: &[ContentBlock]) -> Result<(), Fault> {
    let misplaced =
        content.iter().find(|block| !matches!(block, ContentBlock::Text { .. } | ContentBlock::Image { .. }));
    misplaced.map_or(Ok(()), |block| {
        let kind = block.kind();
        Err(entry::invalid(place, format!("a tool result holds text and image blocks, got: {kind}")))
    })
}

/// Applies `edits`, one after another, or none of them.
fn edit(hook: Hook, messages: &mut Arc<Vec<Arc<Message>>>, edits: Vec<MessageEdit>) -> Result<(), Fault> {
    let mut edited = Vec::clone(messages);
    for edit in edits {
        let len = edited.len();
        let (start, end, message) = match edit {
            MessageEdit::Append { message } => (len, len, Some(message)),
            MessageEdit::Insert { index, message } => (index, index, Some(message)),
            MessageEdit::Replace { index, message } => (index, index.saturating_add(1), Some(message)),
            MessageEdit::Remove { start, end } => (start, end, None),
        };
        if start > end || end > len {
            let reason = format!("an edit of messages {start}..{end}, where there are: {len}");
            return Err(entry::invalid(hook.wire_name(), reason));
        }
        let checked = message.as_ref().map_or(Ok(()), Message::check);
        checked.map_err(|error| entry::invalid(hook.wire_name(), error.to_string()))?;
        edited.splice(start..end, message.map(Arc::new));
    }
    *messages = Arc::new(edited);
    Ok(())
}
