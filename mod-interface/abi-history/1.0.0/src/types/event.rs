use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ContentBlock, Message, PermissionMode, RunResult, SessionEndReason, SessionStartSource, Usage};

/// Something that happened in a run. A snapshot: changing it changes nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentEvent {
    /// What happened.
    #[serde(flatten)]
    pub payload: EventPayload,
    /// The agent that it happened to: `main`, or a sub-agent's id.
    pub agent_id: Arc<str>,
}

/// The severity of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    /// For the user to know.
    Info,
    /// For the user to act on.
    Warning,
}

/// Why an answer was continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryKind {
    /// The provider paused a long turn.
    Pause,
    /// The answer was empty.
    Empty,
    /// The answer hit the output limit.
    Length,
    /// The answer announced an action and ended without it.
    Intent,
}

/// On which side of a tool call a user hook ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookPhase {
    /// Before the tool.
    Pre,
    /// After the tool.
    Post,
}

macro_rules! events {
    ($($(#[$doc:meta])* $variant:ident $wire:literal { $($(#[$field_doc:meta])* $field:ident: $ty:ty,)* })*) => {
        /// What happened, with what is to be known of it.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "type", rename_all_fields = "camelCase")]
        pub enum EventPayload {
            $($(#[$doc])* #[serde(rename = $wire)] $variant { $($(#[$field_doc])* $field: $ty,)* },)*
        }

        /// The kind of an event.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum EventKind {
            $($(#[$doc])* $variant,)*
        }

        impl EventKind {
            /// Every kind, in the order of the catalogue.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $wire,)* }
            }

            /// The kind of that name on the wire.
            pub fn from_wire(name: &str) -> Option<Self> {
                match name { $($wire => Some(Self::$variant),)* _ => None }
            }
        }

        impl EventPayload {
            /// The kind of this event.
            pub const fn kind(&self) -> EventKind {
                match self { $(Self::$variant { .. } => EventKind::$variant,)* }
            }
        }
    };
}

impl EventPayload {
    /// The tool that it is about.
    pub fn tool_name(&self) -> Option<&str> {
        match self {
            Self::ToolQueued { tool_name, .. }
            | Self::ToolDenied { tool_name, .. }
            | Self::ToolHookBlocked { tool_name, .. }
            | Self::ToolRunning { tool_name, .. }
            | Self::ToolUpdate { tool_name, .. }
            | Self::ToolCompleted { tool_name, .. }
            | Self::ToolErrored { tool_name, .. }
            | Self::SubagentProgress { tool_name, .. } => Some(tool_name),
            _ => None,
        }
    }
}

events! {
    /// A run begins.
    RunStart "run_start" {
        /// The session that it belongs to.
        session_id: Arc<str>,
    }
    /// A run is over, its `on_run_end` hooks included.
    RunEnd "run_end" {
        /// What came of it.
        result: RunResult,
    }
    /// A round begins, after `on_turn_start`.
    TurnStart "turn_start" {
        /// Counted from 1.
        turn_number: u32,
    }
    /// A round is over, after `on_turn_end`.
    TurnEnd "turn_end" {
        /// Counted from 1.
        turn_number: u32,
        /// Whether the model called tools.
        had_tool_calls: bool,
        /// The tokens of this turn.
        usage: Usage,
    }
    /// A model call is about to be made.
    MessageStart "message_start" {}
    /// A piece of text arrived.
    TextDelta "text_delta" {
        /// The piece.
        delta: String,
    }
    /// The model begins to reason.
    ThinkingStart "thinking_start" {}
    /// A piece of reasoning arrived.
    ThinkingDelta "thinking_delta" {
        /// The piece.
        delta: String,
    }
    /// The model has reasoned.
    ThinkingEnd "thinking_end" {
        /// The whole reasoning.
        text: String,
    }
    /// The message so far.
    MessageUpdate "message_update" {
        /// The partial message; a tool call's partial JSON is its input as a string.
        message: Message,
    }
    /// The response is complete.
    MessageEnd "message_end" {
        /// The whole content.
        content: Vec<ContentBlock>,
    }
    /// The request goes out.
    ModelRequestStart "model_request_start" {
        /// `provider/id`.
        model: String,
    }
    /// The response has come in.
    ModelRequestEnd "model_request_end" {
        /// `provider/id`.
        model: String,
        /// The tokens of the call.
        usage: Usage,
        /// Why the model stopped, in the provider's own word where it has one.
        stop_reason: String,
    }
    /// The model asks for a tool call.
    ToolQueued "tool_queued" {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// The input as the model sent it.
        input: Value,
    }
    /// A tool call was denied; its batch is aborted.
    ToolDenied "tool_denied" {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// Why.
        reason: String,
    }
    /// A mod blocked a tool call. Nothing follows for that call.
    ToolHookBlocked "tool_hook_blocked" {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// The text that the model sees as the result.
        hook_output: String,
    }
    /// A tool begins to run, after every `before_tool_call`.
    ToolRunning "tool_running" {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// What it is about to do, for people.
        #[serde(default)]
        description: Option<String>,
    }
    /// A running tool tells how far it is.
    ToolUpdate "tool_update" {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// The output so far.
        partial: String,
    }
    /// A tool is done, after every `after_tool_call`.
    ToolCompleted "tool_completed" {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// The result that the model sees.
        result: Vec<ContentBlock>,
    }
    /// A tool failed, after every `after_tool_call`.
    ToolErrored "tool_errored" {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// The text that the model sees.
        error: String,
    }
    /// A user's hook command ran.
    ToolHooks "tool_hooks" {
        /// The call.
        tool_call_id: String,
        /// The side of the call.
        phase: HookPhase,
        /// What it printed.
        lines: Vec<String>,
        /// What came of it.
        outcome: String,
    }
    /// A sub-agent begins.
    SubagentStart "subagent_start" {
        /// The call of the `agent` tool.
        tool_call_id: String,
        /// Which kind of sub-agent.
        subagent_type: String,
    }
    /// A sub-agent calls a tool.
    SubagentProgress "subagent_progress" {
        /// The call of the `agent` tool.
        tool_call_id: String,
        /// Which kind of sub-agent.
        subagent_type: String,
        /// The tool that it calls.
        tool_name: String,
        /// With which input.
        tool_input: Value,
        /// Tokens used so far.
        tokens_used: u64,
    }
    /// A sub-agent is done.
    SubagentStop "subagent_stop" {
        /// The call of the `agent` tool.
        tool_call_id: String,
        /// Which kind of sub-agent.
        subagent_type: String,
        /// Tokens used.
        tokens_used: u64,
    }
    /// A model request is tried again, from the fourth attempt on.
    ApiRetry "api_retry" {
        /// The attempt that comes next, counted from 1.
        attempt: u32,
        /// What went wrong.
        error: String,
        /// Milliseconds until then.
        delay_ms: u64,
    }
    /// The conversation is about to be compacted.
    CompactionStart "compaction_start" {}
    /// The conversation was compacted.
    CompactionDone "compaction_done" {
        /// Tokens saved; left out when none were.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens_saved: Option<u64>,
    }
    /// Something for the user to know.
    Notice "notice" {
        /// How much it matters.
        level: NoticeLevel,
        /// The text.
        message: String,
    }
    /// The user activated a skill.
    SkillLoaded "skill_loaded" {
        /// Its name.
        name: String,
    }
    /// The session got its title.
    SessionTitled "session_titled" {
        /// The title.
        title: String,
    }
    /// The permission mode changed.
    PermissionModeChanged "permission_mode_changed" {
        /// The mode now in force.
        mode: PermissionMode,
    }
    /// A setting was changed through the `config` tool.
    ConfigSettingChanged "config_setting_changed" {
        /// Its key.
        setting: String,
        /// Its value now.
        value: Value,
        /// Its value before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        previous_value: Option<Value>,
    }
    /// An answer was continued by the loop.
    ContinuationRecovery "continuation_recovery" {
        /// Why.
        kind: RecoveryKind,
        /// Which attempt this is, counted from 1.
        attempt: u32,
        /// How many there may be.
        max_attempts: u32,
    }
    /// A tool input that was no object was made one.
    ToolInputCoerced "tool_input_coerced" {
        /// What it was: `array`, `null`, `string` (text that is no JSON too), `number` or `boolean`.
        raw_type: String,
        /// Whether an object could be made of it.
        recovered: bool,
    }
    /// A tool input was repaired before the call.
    ToolInputRepaired "tool_input_repaired" {
        /// The rules that changed something.
        rules_fired: Vec<String>,
        /// How many hints for the model came of it, where it was not enough.
        hint_count: u32,
        /// The keys that the model sent.
        received_keys: Vec<String>,
        /// Whether the input is good now.
        repaired: bool,
    }
    /// A mod failed; the loop goes on as if it had said nothing.
    ModError "mod_error" {
        /// `mod:<name>`.
        mod_id: String,
        /// Where it failed: a hook's wire name, `on:<event>`, `tool:<name>`, `load`.
        hook: String,
        /// What, and where in the mod.
        error: String,
    }
    /// The run was interrupted.
    Interrupted "interrupted" {}
    /// The run failed.
    RunError "run_error" {
        /// The error.
        error: String,
    }
    /// A session was bound.
    SessionStart "session_start" {
        /// How.
        source: SessionStartSource,
    }
    /// A session is torn down.
    SessionShutdown "session_shutdown" {
        /// Why.
        reason: SessionEndReason,
    }
    /// An event of a mod's own.
    ModEvent "mod_event" {
        /// The mod that raised it.
        mod_id: String,
        /// `mod:<name>/<kind>`.
        name: String,
        /// Its data.
        data: Value,
    }
}
