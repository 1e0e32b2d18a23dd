//! What can be asked of a frame, by number. New numbers come last; an unknown one has no value.

macro_rules! fields {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident = $number:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u32)]
        pub enum $name { $($(#[$field_doc])* $field = $number,)* }

        impl $name {
            pub(super) fn from_raw(raw: u32) -> Option<Self> {
                match raw { $($number => Some(Self::$field),)* _ => None }
            }
        }
    };
}

fields! {
    /// A text of a frame. One that the frame has not is empty.
    TextField {
        /// The mod's name.
        ModName = 0,
        /// The mod's id, `mod:<name>`.
        ModId = 1,
        /// The workspace root.
        Cwd = 2,
        /// The session's id.
        SessionId = 3,
        /// The agent that the question is about.
        AgentId = 4,
        /// The tool call's id.
        ToolCallId = 5,
        /// The tool's name.
        ToolName = 6,
        /// The tool's input, as JSON text.
        ToolInput = 7,
        /// The prompt; a command's arguments.
        Prompt = 8,
        /// The text of the last assistant message.
        LastAssistantText = 9,
        /// Why the run ends, why the session changes: a wire name. What a provider shall do: `prepare`, `stream`.
        Reason = 10,
        /// The kind of an event: a wire name; the channel of a message between mods.
        EventKind = 11,
        /// The piece of text of a delta event.
        EventText = 12,
    }
}

fields! {
    /// A number of a frame. One that the frame has not is 0.
    NumberField {
        /// The round, counted from 1.
        TurnNumber = 0,
        /// How many messages there are.
        MessageCount = 1,
        /// Whether the tool call counts as failed.
        IsError = 2,
        /// Whether the model called tools.
        HadToolCalls = 3,
        /// Whether the run was interrupted.
        Cancelled = 4,
        /// Input tokens.
        InputTokens = 5,
        /// Output tokens.
        OutputTokens = 6,
        /// Tokens read from the cache.
        CacheReadTokens = 7,
        /// Tokens written to the cache.
        CacheWriteTokens = 8,
        /// Turns of the run.
        TurnCount = 9,
    }
}

fields! {
    /// A part of a frame that is made into JSON when asked for.
    JsonField {
        /// A message, by index.
        Message = 0,
        /// The content of a tool's result.
        ToolContent = 1,
        /// The mod's own slot of `mod_state`; none when unset.
        ModState = 2,
        /// The event, whole.
        Event = 3,
        /// The run's result.
        RunResult = 4,
        /// What a renderer shall draw; what a message between mods says; what a provider is asked.
        Data = 5,
    }
}
