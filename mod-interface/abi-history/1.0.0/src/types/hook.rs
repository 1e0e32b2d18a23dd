use serde::{Deserialize, Serialize};

/// A point of the lifecycle at which mods may change what happens.
///
/// The discriminant is the hook's slot number in the ABI: it never changes, new hooks come last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u32)]
pub enum Hook {
    /// Rewrites the messages of one model call.
    TransformContext = 0,
    /// Adds to the system prompt.
    AppendSystemPrompt = 1,
    /// Blocks a tool call, or rewrites its input.
    BeforeToolCall = 2,
    /// Replaces a tool's result.
    AfterToolCall = 3,
    /// Changes the state before a round.
    OnTurnStart = 4,
    /// Changes the state after a round.
    OnTurnEnd = 5,
    /// Ends the run early.
    ShouldStopAfterTurn = 6,
    /// Swaps the model or the effort of the rest of the run.
    PrepareNextTurn = 7,
    /// Must-complete work after the loop, before `run_end`.
    OnRunEnd = 8,
    /// Keeps a run going that would end naturally.
    OnStop = 9,
    /// Rewrites or consumes a typed prompt.
    TransformInput = 10,
    /// Runs once when a session is bound.
    OnSessionStart = 11,
    /// Runs once when a session is torn down.
    OnSessionEnd = 12,
}

impl Hook {
    /// Every hook, by slot number.
    pub const ALL: [Self; 13] = [
        Self::TransformContext,
        Self::AppendSystemPrompt,
        Self::BeforeToolCall,
        Self::AfterToolCall,
        Self::OnTurnStart,
        Self::OnTurnEnd,
        Self::ShouldStopAfterTurn,
        Self::PrepareNextTurn,
        Self::OnRunEnd,
        Self::OnStop,
        Self::TransformInput,
        Self::OnSessionStart,
        Self::OnSessionEnd,
    ];

    /// The hook's name on the wire, as `mod_error` carries it: `beforeToolCall`.
    pub const fn wire_name(self) -> &'static str {
        match self {
            Self::TransformContext => "transformContext",
            Self::AppendSystemPrompt => "appendSystemPrompt",
            Self::BeforeToolCall => "beforeToolCall",
            Self::AfterToolCall => "afterToolCall",
            Self::OnTurnStart => "onTurnStart",
            Self::OnTurnEnd => "onTurnEnd",
            Self::ShouldStopAfterTurn => "shouldStopAfterTurn",
            Self::PrepareNextTurn => "prepareNextTurn",
            Self::OnRunEnd => "onRunEnd",
            Self::OnStop => "onStop",
            Self::TransformInput => "transformInput",
            Self::OnSessionStart => "onSessionStart",
            Self::OnSessionEnd => "onSessionEnd",
        }
    }
}

impl std::fmt::Display for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.wire_name())
    }
}

/// A set of hooks, one bit a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct HookSet(u32);

impl HookSet {
    /// No hook.
    pub const EMPTY: Self = Self(0);

    /// Whether `hook` is in the set.
    pub const fn contains(self, hook: Hook) -> bool {
        self.0 & (1 << hook as u32) != 0
    }

    /// Adds `hook`.
    pub const fn insert(&mut self, hook: Hook) {
        self.0 |= 1 << hook as u32;
    }

    /// Both sets together.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether no hook is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The hooks of the set, by slot number.
    pub fn iter(self) -> impl Iterator<Item = Hook> {
        Hook::ALL.into_iter().filter(move |hook| self.contains(*hook))
    }
}

impl FromIterator<Hook> for HookSet {
    fn from_iter<I: IntoIterator<Item = Hook>>(hooks: I) -> Self {
        let mut set = Self::EMPTY;
        for hook in hooks {
            set.insert(hook);
        }
        set
    }
}
