//! One run: its rounds, in the documented order, and its end.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use mod_interface::types::{
    AgentState, ContentBlock, EffortChange, EventPayload, Message, MessageSource, NextTurn, NoticeLevel,
    PermissionMode, RecoveryKind, Role, RunResult, StopDecision, StopReason, Usage,
};

use super::{
    AgentConfig, Error, ModelCall, ModelResponse, RunOutcome, Toolbox,
    compaction::{self, Watch},
    dispatch::{Batch, Dispatch},
    intake::{self, Received},
    prepare_for_send,
    queue::Delivered,
    recovery::{Recovery, is_at_limit},
};
use crate::hooks::{HookRunner, Round, ToolCallInput};

/// How often in a row `on_stop` hooks may keep a run going.
const MAX_FORCED: u32 = 8;
const KEEP_GOING: &str = "A stop hook asks you to keep working.";

pub(super) struct Run<'a> {
    config: &'a AgentConfig,
    hooks: &'a HookRunner,
    /// How often `on_stop` hooks kept the agent going since a person last said something.
    forced: &'a AtomicU32,
    state: AgentState,
    /// The round, counted from 1.
    turn_number: u32,
    committed: u32,
    usage: Usage,
    /// What `prepare_next_turn` hooks have changed so far; it holds for the rest of the run.
    swapped: NextTurn,
    recovery: Recovery,
    compacts: Watch,
    /// Whether the next answer continues the last one.
    continues: bool,
    last_text: Arc<str>,
}

/// Why a run stops.
enum Stop {
    As(StopReason),
    Failed(Error),
}

impl<'a> Run<'a> {
    pub(super) fn new(
        config: &'a AgentConfig,
        hooks: &'a HookRunner,
        forced: &'a AtomicU32,
        state: AgentState,
    ) -> Self {
        Self {
            config,
            hooks,
            forced,
            state,
            turn_number: 0,
            committed: 0,
            usage: Usage::default(),
            swapped: NextTurn::default(),
            recovery: Recovery::default(),
            compacts: Watch::new(&config.compaction),
            continues: false,
            last_text: Arc::default(),
        }
    }

    pub(super) async fn run_to_end(mut self) -> RunOutcome {
        self.emit(EventPayload::RunStart { session_id: Arc::clone(&self.state.session_id) });
        self.append(self.config.queue.take_steering());
        loop {
            if let Err(stop) = self.next_round().await {
                return self.end(stop).await;
            }
        }
    }

    async fn next_round(&mut self) -> Result<(), Stop> {
        self.unless_interrupted()?;
        self.turn_number += 1;
        let turn_number = self.turn_number;
        self.config.commit.unsaid(&self.state).into_iter().for_each(|message| self.state.push(message));
        let round = self.hooks.round(self.config.mods.handlers(), turn_number);
        round.on_turn_start(&mut self.state).await;
        self.emit(EventPayload::TurnStart { turn_number });

        let mode = self.config.permissions.mode().get();
        let toolbox = self.config.tools.snapshot();
        self.compact().await?;
        let call = self.model_call(&round, mode, &*toolbox).await?;
        let response = self.ask_model(call).await?;
        let usage = response.usage;
        let (calls, cut_off) = self.take_in(response);
        self.compacts.note(usage, &self.state);
        let had_tool_calls = !calls.is_empty();
        let mut pending_stop = None;
        if had_tool_calls {
            pending_stop = self.run_tools(&round, mode, &*toolbox, calls, cut_off).await;
        }

        round.on_turn_end(&mut self.state, had_tool_calls, usage).await;
        self.emit(EventPayload::TurnEnd { turn_number, had_tool_calls, usage });
        self.commit().await?;
        pending_stop.map_or(Ok(()), |reason| Err(Stop::As(reason)))?;
        self.stop_unless_wanted(&round, had_tool_calls).await?;
        let swapped = std::mem::take(&mut self.swapped);
        let check_model = |model: &str| self.config.model.check(model);
        self.swapped = round.prepare_next_turn(&self.state, swapped, check_model).await;
        Ok(())
    }

    /// Puts the request of a round together. What hooks make of the messages is for this call only.
    async fn model_call(
        &self,
        round: &Round<'_>,
        mode: PermissionMode,
        toolbox: &dyn Toolbox,
    ) -> Result<ModelCall, Stop> {
        let mut system = (self.config.system_prompt)(&self.state, mode);
        if let Some(more) = round.append_system_prompt(&self.state).await {
            system = if system.is_empty() { more.into() } else { format!("{system}\n\n{more}").into() };
        }
        let context = compaction::context(&self.state);
        let messages = prepare_for_send(&round.transform_context(&self.state, context).await);
        self.unless_interrupted()?;
        if messages.is_empty() {
            return Err(Stop::Failed(Error::NothingToSend));
        }
        let (_, effort) = self.config.choice.get();
        Ok(ModelCall {
            model: self.model(),
            effort: match self.swapped.effort {
                None => effort,
                Some(EffortChange::Set(effort)) => Some(effort),
                Some(EffortChange::Reset) => None,
            },
            system,
            messages,
            tools: toolbox.specs(),
        })
    }

    /// Compacts what is sent, where that is due or was asked for.
    async fn compact(&mut self) -> Result<(), Stop> {
        self.take_compaction();
        let (config, model) = (self.config, self.model());
        let (emitter, cancel) = (&config.emitter, &self.hooks.scope().cancel);
        self.usage += self.compacts.compact(&mut self.state, &*config.model, model, emitter, cancel).await;
        self.unless_interrupted()
    }

    fn take_compaction(&mut self) {
        self.usage += self.compacts.take(&mut self.state);
    }

    /// The model of the next call.
    fn model(&self) -> Arc<str> {
        self.swapped.model.as_deref().map_or_else(|| self.config.choice.get().0, Arc::from)
    }

    async fn ask_model(&mut self, call: ModelCall) -> Result<ModelResponse, Stop> {
        let model = Arc::clone(&call.model);
        self.emit(EventPayload::MessageStart {});
        self.emit(EventPayload::ModelRequestStart { model: model.to_string() });
        let cancel = &self.hooks.scope().cancel;
        let answer = self.config.model.complete(call, &self.config.emitter, cancel.clone());
        let answer = cancel.run_until_cancelled(answer).await;
        let response = answer.ok_or(Stop::As(StopReason::Interrupted))?.or_else(|reason| {
            self.unless_interrupted()?;
            Err(Stop::Failed(Error::Model { model: Arc::clone(&model), reason }))
        })?;
        self.emit(EventPayload::ModelRequestEnd {
            model: model.to_string(),
            usage: response.usage,
            stop_reason: response.stop_reason.clone(),
        });
        self.emit(EventPayload::MessageEnd { content: response.content.clone() });
        self.usage += response.usage;
        Ok(response)
    }

    /// Appends what the model said; gives its tool calls, and whether the last may be incomplete.
    fn take_in(&mut self, response: ModelResponse) -> (Vec<ToolCallInput>, bool) {
        self.recovery.note(&response);
        let mut content = response.content;
        // What the provider has run itself is not for the conversation.
        content.retain(|block| {
            use ContentBlock::{Text, Thinking, ToolUse};
            matches!(block, Text { .. } | Thinking { .. } | ToolUse { .. })
        });
        let calls = content.iter().filter_map(|block| match block {
            ContentBlock::ToolUse { id, name, input } => Some(ToolCallInput {
                id: id.as_str().into(),
                name: name.as_str().into(),
                input: Arc::new(input.clone()),
            }),
            _ => None,
        });
        let calls = calls.collect();
        let calls_last = matches!(content.last(), Some(ContentBlock::ToolUse { .. }));
        let cut_off = calls_last && is_at_limit(&response.stop_reason);
        let message = Message::assistant(content);
        self.last_text = match std::mem::take(&mut self.continues) {
            true => format!("{}{}", self.last_text, message.text()).into(),
            false => message.text().into(),
        };
        if !message.content.is_empty() {
            self.state.push(message);
        }
        (calls, cut_off)
    }

    async fn run_tools(
        &mut self,
        round: &Round<'_>,
        mode: PermissionMode,
        toolbox: &dyn Toolbox,
        calls: Vec<ToolCallInput>,
        cut_off: bool,
    ) -> Option<StopReason> {
        let (config, hooks) = (self.config, self.hooks);
        let calls = intake::receive(&config.emitter, toolbox, calls, cut_off);
        self.keep_what_runs(&calls);
        let dispatch = Dispatch::new(config, hooks, round, toolbox, mode, &self.state);
        let Batch { results, mod_state, denied, terminate } = dispatch.run(calls).await;
        self.state.push(Message { role: Role::User, content: results, source: MessageSource::ToolResults });
        for (mod_id, value) in mod_state {
            self.state.set_mod_state(&mod_id, value);
        }
        if denied {
            return Some(StopReason::PermissionDenied);
        }
        if terminate {
            return Some(StopReason::Terminate);
        }
        if !hooks.interrupt().happened() {
            self.append(config.queue.take_steering());
        }
        None
    }

    /// Puts mended inputs into the message that calls: the model shall see the calls that run.
    fn keep_what_runs(&mut self, calls: &[Received]) {
        if calls.iter().all(|received| !received.mended) {
            return;
        }
        let Some(message) = self.state.messages.edit().last_mut() else { return };
        let inputs = Arc::make_mut(message).content.iter_mut().filter_map(|block| match block {
            ContentBlock::ToolUse { input, .. } => Some(input),
            _ => None,
        });
        for (input, received) in inputs.zip(calls) {
            if received.mended {
                *input = (*received.call.input).clone();
            }
        }
    }

    async fn commit(&mut self) -> Result<(), Stop> {
        let turn_number = self.turn_number;
        self.take_compaction();
        let committed = self.config.commit.commit(&self.state).await;
        committed.map_err(|reason| Stop::Failed(Error::Commit { turn_number, reason }))?;
        self.committed += 1;
        Ok(())
    }

    /// Stops the run after a committed turn, unless something keeps it going.
    async fn stop_unless_wanted(&mut self, round: &Round<'_>, had_tool_calls: bool) -> Result<(), Stop> {
        self.unless_interrupted()?;
        if round.should_stop_after_turn(&self.state).await {
            return Err(Stop::As(StopReason::StopHook));
        }
        if self.config.max_turns.is_some_and(|max| self.turn_number >= max.get()) {
            return Err(Stop::As(StopReason::MaxTurns));
        }
        self.unless_interrupted()?;
        let goes_on = had_tool_calls
            || (self.recovery.is_paused() && self.recovers())
            || self.append(self.config.queue.take_follow_up())
            || self.recovers()
            || self.is_forced_on(round).await;
        self.unless_interrupted()?;
        if goes_on { Ok(()) } else { Err(Stop::As(StopReason::EndTurn)) }
    }

    /// Continues an answer that is no end.
    fn recovers(&mut self) -> bool {
        let Some((kind, message)) = self.recovery.take(&self.config.emitter) else { return false };
        self.continues = kind != RecoveryKind::Empty;
        if let Some(message) = message {
            self.state.push(message);
        }
        true
    }

    /// Asks the `on_stop` hooks, and appends the reason of the one that wants to go on.
    async fn is_forced_on(&mut self, round: &Round<'_>) -> bool {
        let last_text = Arc::clone(&self.last_text);
        let decision = round.on_stop(&self.state, StopReason::EndTurn, last_text).await;
        let StopDecision::Continue { reason } = decision else { return false };
        if self.forced.load(Relaxed) == MAX_FORCED {
            self.config.emitter.notice(
                NoticeLevel::Warning,
                format!("the run ends although a stop hook wants to go on, which it may in a row: {MAX_FORCED} times"),
            );
            return false;
        }
        self.forced.fetch_add(1, Relaxed);
        let reason = reason.unwrap_or_else(|| KEEP_GOING.to_owned());
        self.state.push(Message::user_from(MessageSource::StopHook, reason));
        true
    }

    async fn end(self, stop: Stop) -> RunOutcome {
        let (stop_reason, error) = match stop {
            Stop::As(reason) => (reason, None),
            Stop::Failed(error) => (StopReason::Error, Some(error)),
        };
        if stop_reason == StopReason::Interrupted {
            self.emit(EventPayload::Interrupted {});
        }
        if let Some(error) = &error {
            self.emit(EventPayload::RunError { error: error.to_string() });
        }
        let result = Arc::new(RunResult {
            final_text: self.last_text.to_string(),
            stop_reason,
            turn_count: self.committed,
            usage: self.usage,
        });
        let round = self.hooks.round(self.config.mods.handlers(), self.turn_number);
        round.on_run_end(&self.state, Arc::clone(&result)).await;
        self.hooks.report_repeated_faults();
        self.config.mods.report_repeated_faults(&self.config.emitter);
        let result = Arc::unwrap_or_clone(result);
        self.emit(EventPayload::RunEnd { result: result.clone() });
        RunOutcome { state: self.state, result, error }
    }

    /// Appends what was queued; whether there was any.
    fn append(&mut self, delivered: Delivered) -> bool {
        if delivered.by_person {
            self.forced.store(0, Relaxed);
        }
        let some = !delivered.messages.is_empty();
        for message in delivered.messages {
            self.state.push(message);
        }
        some
    }

    fn unless_interrupted(&self) -> Result<(), Stop> {
        if self.hooks.interrupt().happened() { Err(Stop::As(StopReason::Interrupted)) } else { Ok(()) }
    }

    fn emit(&self, event: EventPayload) {
        self.config.emitter.emit(event);
    }
}
