//! What the model says in a run, and what came of it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::types::{ContentBlock, Effort, EventKind, EventPayload, Message, RunResult, ToolOutput, Usage};

/// A prompt, what the model answers round by round, and what the tools say that are not the mod's own.
#[derive(Debug, Clone)]
#[must_use = "a script does nothing until it is given to `TestMod::run`"]
pub struct Script {
    pub(super) prompt: String,
    pub(super) system: String,
    pub(super) model: String,
    pub(super) answers: Vec<ModelAnswer>,
    pub(super) tools: BTreeMap<String, ToolOutput>,
}

/// One answer of the model.
#[derive(Debug, Clone, Default)]
pub(super) struct ModelAnswer {
    pub(super) text: String,
    pub(super) calls: Vec<(String, Value)>,
    pub(super) usage: Usage,
}

/// What the model was sent in one call.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCall {
    /// The model, `provider/id`.
    pub model: String,
    /// The effort, where the mod set one.
    pub effort: Option<Effort>,
    /// The system prompt: that of the script, and what the mod added.
    pub system: String,
    /// The messages, as `transform_context` left them.
    pub messages: Vec<Message>,
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    /// What the model was sent, call by call.
    pub calls: Vec<ModelCall>,
    /// What happened, in order: what observers were told, and `mod_error` for each failure of the mod.
    pub events: Vec<EventPayload>,
    /// The conversation behind the run.
    pub messages: Vec<Message>,
    /// How it ended; `None` when the mod consumed the prompt, and there was no run.
    pub result: Option<RunResult>,
}

impl Script {
    /// The person types `prompt`.
    pub fn new(prompt: impl Into<String>) -> Self {
        let (system, model) = (String::new(), "test/model".to_owned());
        Self { prompt: prompt.into(), system, model, answers: Vec::new(), tools: BTreeMap::new() }
    }

    /// The system prompt that is there before the mod adds to it; empty otherwise.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system = text.into();
        self
    }

    /// In the next round the model says this, and calls nothing: the run would end.
    pub fn says(mut self, text: impl Into<String>) -> Self {
        self.answers.push(ModelAnswer { text: text.into(), ..ModelAnswer::default() });
        self
    }

    /// In the next round the model calls a tool: one of the mod's own, or one whose result [`Self::tool`]
    /// gives.
    pub fn calls(mut self, tool: impl Into<String>, input: Value) -> Self {
        let calls = vec![(tool.into(), input)];
        self.answers.push(ModelAnswer { calls, ..ModelAnswer::default() });
        self
    }

    /// In the same round it also calls this.
    pub fn and_calls(mut self, tool: impl Into<String>, input: Value) -> Self {
        match self.answers.last_mut() {
            Some(last) => last.calls.push((tool.into(), input)),
            None => return self.calls(tool, input),
        }
        self
    }

    /// The round before took so many tokens.
    pub fn using(mut self, usage: Usage) -> Self {
        if let Some(last) = self.answers.last_mut() {
            last.usage = usage;
        }
        self
    }

    /// What a tool answers that is not the mod's own. A text is a result that went well.
    pub fn tool(mut self, name: impl Into<String>, output: impl Into<ToolOutput>) -> Self {
        self.tools.insert(name.into(), output.into());
        self
    }
}

impl Ran {
    /// The text that the run ended with; empty when there was none.
    pub fn text(&self) -> &str {
        self.result.as_ref().map_or("", |result| &result.final_text)
    }

    /// The results of the tool calls, as the model saw them: the texts of each, joined with line ends.
    pub fn results(&self) -> Vec<String> {
        let blocks = self.messages.iter().flat_map(|message| &message.content);
        let results = blocks.filter_map(|block| match block {
            ContentBlock::ToolResult { content, .. } => {
                let texts: Vec<_> = content.iter().filter_map(ContentBlock::as_text).collect();
                Some(texts.join("\n"))
            }
            _ => None,
        });
        results.collect()
    }

    /// What the mod failed at: `<place>: <cause>` of each `mod_error`.
    pub fn faults(&self) -> Vec<String> {
        let faults = self.events.iter().filter_map(|event| match event {
            EventPayload::ModError { hook, error, .. } => Some(format!("{hook}: {error}")),
            _ => None,
        });
        faults.collect()
    }

    /// The kinds of what happened, in order.
    pub fn kinds(&self) -> Vec<EventKind> {
        self.events.iter().map(EventPayload::kind).collect()
    }
}
