//! A run with a scripted model: the hooks in the order of the loop of `cmd`, with one mod.

use serde_json::Value;

use super::{
    Fault, ModelCall, Ran, Script, TestMod,
    frame::{Call, Subject},
    loaded::Conversation,
    round::Round,
    script::ModelAnswer,
};
use crate::types::{
    AgentState, ContentBlock, Effort, EffortChange, EventPayload, Hook, Message, MessageSource, NextTurn,
    Role, RunResult, StopDecision, StopReason, ToolOutput, TransformInput, Usage,
};

/// How often in a row `on_stop` may keep a run going.
const MAX_FORCED: u32 = 8;
const KEEP_GOING: &str = "A stop hook asks you to keep working.";

impl TestMod {
    /// Runs a prompt to its end, with the model that `script` plays.
    ///
    /// The hooks are asked, and events told to observers, in the order of `cmd`: `transform_input`; per round
    /// `on_turn_start`, `append_system_prompt`, `transform_context`, the model, per call `before_tool_call`,
    /// the tool, `after_tool_call`, then `on_turn_end`, `should_stop_after_turn`, `on_stop` where the run would
    /// end, `prepare_next_turn` where it goes on; and `on_run_end`. A failure of the mod is a `mod_error`, as
    /// there. The conversation stays: a second run goes on with it.
    ///
    /// Left out is what is not the mod's: permissions (everything is allowed), schemas, retries, the
    /// recovery of answers that are cut off, the limit of turns, and what the host notices of a mod (that it
    /// failed again, or forced a run on too often). Text arrives in one piece.
    ///
    /// ```
    /// use mod_interface::{prelude::*, testing::{Script, TestHost, block_on}};
    ///
    /// async fn tests_first(cmd: ModApi) -> Result<()> {
    ///     cmd.hooks(Hooks::new().on_stop(|stop, _| async move {
    ///         if stop.last_assistant_text().contains("tests pass") {
    ///             return Ok(StopDecision::Stop);
    ///         }
    ///         Ok(StopDecision::go_on("Run the tests."))
    ///     }))?;
    ///     Ok(())
    /// }
    ///
    /// block_on(async {
    ///     let tests_first = TestHost::new().load(tests_first).await?;
    ///     let ran = tests_first.run(Script::new("Fix it").says("Done.").says("The tests pass.")).await?;
    ///     assert_eq!(ran.text(), "The tests pass.");
    ///     assert_eq!(ran.calls.len(), 2);
    ///     assert_eq!(ran.calls[1].messages[2].text(), "Run the tests.");
    ///     Ok::<_, Error>(())
    /// })?;
    /// # Ok::<_, Error>(())
    /// ```
    ///
    /// # Errors
    /// What is wrong with the script: it is over before the run, or calls a tool that is neither the mod's nor
    /// given.
    pub async fn run(&self, script: Script) -> Result<Ran, Fault> {
        let before = self.core.events().len();
        let Conversation { state, .. } = self.conversation();
        let mut run = Run {
            tested: self,
            script: &script,
            state,
            turn_number: 0,
            forced: 0,
            usage: Usage::default(),
            last_text: String::new(),
            swapped: NextTurn::default(),
            calls: Vec::new(),
        };
        let result = run.whole().await;
        self.core.record().run(false);
        let result = result?;
        let Run { state, calls, .. } = run;
        let messages = state.messages.iter().map(|message| Message::clone(message)).collect();
        self.keep(state);
        Ok(Ran { calls, events: self.core.events().split_off(before), messages, result })
    }
}

struct Run<'a> {
    tested: &'a TestMod,
    script: &'a Script,
    state: AgentState,
    turn_number: u32,
    forced: u32,
    usage: Usage,
    last_text: String,
    swapped: NextTurn,
    calls: Vec<ModelCall>,
}

impl<'a> Run<'a> {
    async fn whole(&mut self) -> Result<Option<RunResult>, Fault> {
        let prompt = self.script.prompt.clone();
        let prompt = match self.round().transform_input(&self.state, &prompt).await? {
            TransformInput::Continue => prompt,
            TransformInput::Transform { text } => text,
            TransformInput::Handled { .. } => return Ok(None),
        };
        if let Some(state) = self.tested.core.record().take_moved() {
            self.state = state;
        }
        self.state.push(Message::user(prompt));
        self.tested.core.record().run(true);
        self.emit(EventPayload::RunStart { session_id: self.state.session_id.clone() });
        let steering = self.tested.core.live().take_steering();
        self.append(steering);
        let stop_reason = loop {
            if let Some(reason) = self.next_round().await? {
                break reason;
            }
        };
        let result = RunResult {
            final_text: self.last_text.clone(),
            stop_reason,
            turn_count: self.turn_number,
            usage: self.usage,
        };
        self.round().tell(Hook::OnRunEnd, &self.state, Subject::RunEnd(result.clone())).await?;
        self.emit(EventPayload::RunEnd { result: result.clone() });
        Ok(Some(result))
    }

    /// One round; why the run ends, if it does.
    async fn next_round(&mut self) -> Result<Option<StopReason>, Fault> {
        self.turn_number += 1;
        let (turn_number, round) = (self.turn_number, self.round());
        let unsaid = self.tested.core.record().unsaid(&self.state);
        self.append(unsaid);
        round.patch(Hook::OnTurnStart, &mut self.state, Subject::None).await?;
        self.emit(EventPayload::TurnStart { turn_number });
        let answer = self.ask_model(&round).await?;
        let (usage, had_tool_calls) = (answer.usage, !answer.calls.is_empty());
        self.usage += usage;
        let terminate = self.take_in(&round, answer).await?;
        let ended = Subject::TurnEnd { had_tool_calls, usage };
        round.patch(Hook::OnTurnEnd, &mut self.state, ended).await?;
        self.emit(EventPayload::TurnEnd { turn_number, had_tool_calls, usage });
        self.tested.core.record().commit(&self.state);
        if terminate {
            return Ok(Some(StopReason::Terminate));
        }
        if round.should_stop_after_turn(&self.state).await? {
            return Ok(Some(StopReason::StopHook));
        }
        let follows_up = !had_tool_calls && {
            let waiting = self.tested.core.live().take_follow_up();
            self.append(waiting)
        };
        if !had_tool_calls && !follows_up && !self.is_forced_on(&round).await? {
            return Ok(Some(StopReason::EndTurn));
        }
        self.swapped = round.prepare_next_turn(&self.state, std::mem::take(&mut self.swapped)).await?;
        Ok(None)
    }

    async fn ask_model(&mut self, round: &Round<'_>) -> Result<ModelAnswer, Fault> {
        let mut system = self.script.system.clone();
        if let Some(more) = round.append_system_prompt(&self.state).await? {
            system = if system.is_empty() { more } else { format!("{system}\n\n{more}") };
        }
        let messages = round.transform_context(&self.state).await?;
        let messages = messages.iter().map(|message| Message::clone(message)).collect();
        let (model, effort) = self.choice();
        let given = self.script.answers.len();
        let answer = self.script.answers.get(self.calls.len()).cloned();
        let answer = answer.ok_or(Fault::ScriptIsOver { given })?;
        self.calls.push(ModelCall { model: model.clone(), effort, system, messages });
        self.emit(EventPayload::MessageStart {});
        self.emit(EventPayload::ModelRequestStart { model: model.clone() });
        if !answer.text.is_empty() {
            self.emit(EventPayload::TextDelta { delta: answer.text.clone() });
        }
        let stop_reason = if answer.calls.is_empty() { "stop" } else { "tool_calls" }.to_owned();
        self.emit(EventPayload::ModelRequestEnd { model, usage: answer.usage, stop_reason });
        Ok(answer)
    }

    /// Appends what the model said, and runs what it called; whether the run ends after that.
    async fn take_in(&mut self, round: &Round<'_>, answer: ModelAnswer) -> Result<bool, Fault> {
        let ModelAnswer { text, calls, .. } = answer;
        let turn = self.turn_number;
        let id = |index: usize| format!("call-{turn}-{}", index + 1);
        let mut content = Vec::new();
        if !text.is_empty() {
            content.push(ContentBlock::text(&text));
        }
        content.extend(calls.iter().enumerate().map(|(index, (name, input))| ContentBlock::ToolUse {
            id: id(index),
            name: name.clone(),
            input: input.clone(),
        }));
        self.emit(EventPayload::MessageEnd { content: content.clone() });
        self.last_text = text;
        if !content.is_empty() {
            self.state.push(Message::assistant(content));
        }
        for (index, (tool_name, input)) in calls.iter().cloned().enumerate() {
            self.emit(EventPayload::ToolQueued { tool_call_id: id(index), tool_name, input });
        }
        let (mut results, mut terminate, mut slot) = (Vec::new(), false, None);
        for (index, (name, input)) in calls.into_iter().enumerate() {
            let did = self.call(round, id(index), name, input).await?;
            terminate |= did.terminate;
            slot = did.mod_state.or(slot);
            results.push(did.result);
        }
        if !results.is_empty() {
            let source = MessageSource::ToolResults;
            self.state.push(Message { role: Role::User, content: results, source });
            if !terminate {
                let steering = self.tested.core.live().take_steering();
                self.append(steering);
            }
        }
        if let Some(value) = slot {
            self.state.set_mod_state(&self.tested.core.place.id, value);
        }
        Ok(terminate)
    }

    async fn call(&self, round: &Round<'_>, id: String, name: String, input: Value) -> Result<Did, Fault> {
        let before = round.before_tool_call(&self.state, &id, &name, input).await?;
        let (tool_call_id, tool_name) = (id.clone(), name.clone());
        if let Some(hook_output) = before.blocked {
            let content = vec![ContentBlock::text(&hook_output)];
            self.emit(EventPayload::ToolHookBlocked { tool_call_id, tool_name, hook_output });
            let result = ContentBlock::ToolResult { tool_use_id: id, content, is_error: true };
            return Ok(Did { result, terminate: before.terminate, mod_state: None });
        }
        self.emit(EventPayload::ToolRunning { tool_call_id, tool_name, description: None });
        let output = self.output(&id, &name, before.input.clone()).await?;
        let call = Call { id: id.clone(), name: name.clone(), input: before.input.to_string() };
        let after = round.after_tool_call(&self.state, &call, output).await?;
        let ToolOutput { mut content, is_error } = after.output;
        content.extend(before.contexts.into_iter().chain(after.contexts).map(ContentBlock::text));
        let (tool_call_id, tool_name) = (id.clone(), name);
        self.emit(if is_error {
            let texts: Vec<_> = content.iter().filter_map(ContentBlock::as_text).collect();
            EventPayload::ToolErrored { tool_call_id, tool_name, error: texts.join("\n") }
        } else {
            EventPayload::ToolCompleted { tool_call_id, tool_name, result: content.clone() }
        });
        let result = ContentBlock::ToolResult { tool_use_id: id, content, is_error };
        Ok(Did { result, terminate: before.terminate || after.terminate, mod_state: after.mod_state })
    }

    /// What a tool says. A failure of the mod's own is told, and an error for the model.
    async fn output(&self, id: &str, name: &str, input: Value) -> Result<ToolOutput, Fault> {
        if let Some(output) = self.script.tools.get(name) {
            return Ok(output.clone());
        }
        if !self.tested.has_tool(name) {
            let own = self.tested.tools().into_iter().map(|tool| tool.name);
            let has =
                own.chain(self.script.tools.keys().map(|name| format!("{name} (of the script)"))).collect();
            return Err(Fault::Missing { what: "tool", name: name.to_owned(), has });
        }
        let ran = self.tested.call_tool_as(id, name, input).await;
        Ok(ran.unwrap_or_else(|fault| {
            self.tested.core.tell_fault(&fault);
            ToolOutput::error(format!("The tool failed: {}", fault.cause()))
        }))
    }

    /// Model and effort: what `prepare_next_turn` chose for the run stands above what the mod set.
    fn choice(&self) -> (String, Option<Effort>) {
        let live = self.tested.core.live();
        let set = live.model.as_ref().unwrap_or(&self.script.model);
        let effort = match self.swapped.effort {
            Some(EffortChange::Set(effort)) => Some(effort),
            Some(EffortChange::Reset) => None,
            None => live.effort,
        };
        (self.swapped.model.as_ref().unwrap_or(set).clone(), effort)
    }

    /// Appends what was queued; whether there was any.
    fn append(&mut self, messages: Vec<Message>) -> bool {
        let some = !messages.is_empty();
        messages.into_iter().for_each(|message| self.state.push(message));
        some
    }

    async fn is_forced_on(&mut self, round: &Round<'_>) -> Result<bool, Fault> {
        let stop = Subject::Stop { reason: StopReason::EndTurn, text: self.last_text.clone() };
        let StopDecision::Continue { reason } = round.on_stop(&self.state, stop).await? else {
            return Ok(false);
        };
        if self.forced == MAX_FORCED {
            return Ok(false);
        }
        self.forced += 1;
        let reason = reason.unwrap_or_else(|| KEEP_GOING.to_owned());
        self.state.push(Message::user_from(MessageSource::StopHook, reason));
        Ok(true)
    }

    /// The hooks as they stand now. A failure is told, and no opinion.
    fn round(&self) -> Round<'a> {
        let core = &*self.tested.core;
        Round { core, handlers: core.registrations.handlers(), turn_number: self.turn_number, strict: false }
    }

    fn emit(&self, event: EventPayload) {
        self.tested.core.emit(event);
    }
}

/// What came of one call.
struct Did {
    result: ContentBlock,
    terminate: bool,
    mod_state: Option<Value>,
}
