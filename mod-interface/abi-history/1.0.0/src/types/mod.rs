//! The shared vocabulary: plain data that the host, the SDK and the wire agree on.
//!
//! Nothing here knows of an ABI, a file or a network. Every type is a serde type; on the wire the
//! names are the specification's (`snake_case` kinds, `camelCase` payload fields).

mod conversation;
mod event;
mod hook;
mod message;
mod model;
mod outcome;
mod permission;
mod placement;
mod session;
mod state;
mod tool;
mod usage;

pub use conversation::{Conversation, Seen};
pub use event::{AgentEvent, EventKind, EventPayload, HookPhase, NoticeLevel, RecoveryKind};
pub use hook::{Hook, HookSet};
pub use message::{ContentBlock, DeliverAs, ImageSource, Message, MessageError, MessageSource, Role};
pub use model::{ModelDone, ModelFailure, ModelInfo, ModelOutcome, ModelPiece, ModelQuestion, ProviderSpec};
pub use outcome::{
    AfterToolCall, BeforeToolCall, CommandOutcome, Effort, EffortChange, HookOutcome, MessageEdit, NextTurn,
    SessionChange, StatePatch, StopDecision, TransformInput,
};
pub use permission::PermissionMode;
pub use placement::Placement;
pub use session::{CustomMessage, Navigation, SessionInfo, TreeNode};
pub use state::AgentState;
pub use tool::{ToolOutput, ToolSpec};
pub use usage::{RunResult, SessionEndReason, SessionStartSource, StopReason, Usage};

/// The agent id of the run that the user started; sub-agents have ids of their own.
pub const MAIN_AGENT: &str = "main";
