//! What the mods have made of a call, a result or a prompt so far, and how one more answer changes it.
//!
//! An answer is checked whole before any of it counts.

use std::{
    ops::ControlFlow::{self, Break, Continue},
    sync::Arc,
};

use mod_interface::types::{AfterToolCall, BeforeToolCall, ContentBlock, TransformInput};
use serde_json::Value;

use super::{HookFault, check};

const BLOCKED: &str = "Blocked by a pre-tool hook.";

/// What became of a tool call before it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct BeforeVerdict {
    /// The input to run with.
    pub input: Arc<Value>,
    /// The mod that wrote that input, if any did.
    pub rewritten_by: Option<String>,
    /// Texts to append to the result.
    pub contexts: Vec<String>,
    /// Why the call does not run.
    pub blocked: Option<String>,
    /// Whether the run ends after this batch.
    pub terminate: bool,
}

impl BeforeVerdict {
    pub(super) fn new(input: Arc<Value>) -> Self {
        Self { input, rewritten_by: None, contexts: Vec::new(), blocked: None, terminate: false }
    }

    /// A block ends the chain, and outranks a rewrite in the same answer.
    pub(super) fn take(
        &mut self,
        mod_id: &str,
        answer: BeforeToolCall,
    ) -> Result<ControlFlow<()>, HookFault> {
        let BeforeToolCall { block, additional_context, input, terminate } = answer;
        additional_context.as_deref().map_or(Ok(()), check::text)?;
        if block {
            self.blocked = Some(additional_context.unwrap_or_else(|| BLOCKED.to_owned()));
            self.terminate |= terminate;
            return Ok(Break(()));
        }
        input.as_ref().map_or(Ok(()), check::input)?;
        if let Some(input) = input {
            self.input = Arc::new(input);
            self.rewritten_by = Some(mod_id.to_owned());
        }
        self.contexts.extend(additional_context);
        self.terminate |= terminate;
        Ok(Continue(()))
    }

    /// A guard that asked to fail closed could not judge the call.
    pub(super) fn could_not_be_evaluated(&mut self, mod_id: &str, fault: &HookFault) {
        self.blocked =
            Some(format!("This call could not be evaluated by {mod_id}, so it did not run: {fault}"));
    }
}

/// What became of a tool's result.
#[derive(Debug, Clone, PartialEq)]
pub struct AfterVerdict {
    /// The content so far, contexts not included.
    pub content: Arc<Vec<ContentBlock>>,
    /// Whether it counts as failed.
    pub is_error: bool,
    /// Texts to append to the result.
    pub contexts: Vec<String>,
    /// Whether the run ends after this batch.
    pub terminate: bool,
    /// New values of mods' slots, in the order in which they apply.
    pub mod_state: Vec<(String, Value)>,
}

impl AfterVerdict {
    pub(super) fn new(content: Vec<ContentBlock>, is_error: bool) -> Self {
        let content = Arc::new(content);
        Self { content, is_error, contexts: Vec::new(), terminate: false, mod_state: Vec::new() }
    }

    pub(super) fn take(&mut self, mod_id: &str, answer: AfterToolCall) -> Result<(), HookFault> {
        let AfterToolCall { content, is_error, additional_context, terminate, mod_state } = answer;
        content.as_deref().map_or(Ok(()), check::tool_content)?;
        additional_context.as_deref().map_or(Ok(()), check::text)?;
        mod_state.as_ref().map_or(Ok(()), check::mod_state)?;
        if let Some(content) = content {
            self.content = Arc::new(content);
        }
        self.is_error = is_error.unwrap_or(self.is_error);
        self.contexts.extend(additional_context);
        self.terminate |= terminate;
        self.mod_state.extend(mod_state.map(|value| (mod_id.to_owned(), value)));
        Ok(())
    }
}

/// What became of a typed prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputVerdict {
    /// The prompt, as the mods left it.
    pub prompt: Arc<str>,
    /// A mod consumed it: it is not sent.
    pub handled: Option<Handled>,
}

/// A prompt that a mod consumed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handled {
    /// A row to show in its place.
    pub message: Option<String>,
}

impl InputVerdict {
    pub(super) fn take(&mut self, answer: TransformInput) -> Result<ControlFlow<()>, HookFault> {
        match answer {
            TransformInput::Continue => Ok(Continue(())),
            TransformInput::Transform { text } => {
                check::text(&text)?;
                self.prompt = text.into();
                Ok(Continue(()))
            }
            TransformInput::Handled { message } => {
                message.as_deref().map_or(Ok(()), check::text)?;
                self.handled = Some(Handled { message });
                Ok(Break(()))
            }
        }
    }
}
