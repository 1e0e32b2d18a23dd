use super::Frame;

macro_rules! views {
    ($($(#[$doc:meta])* $name:ident,)*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone)]
        pub struct $name(Frame);

        impl $name {
            #[inline]
            pub(crate) fn of(frame: &Frame) -> &Self {
                // SAFETY: `repr(transparent)` over `Frame`.
                unsafe { &*std::ptr::from_ref(frame).cast::<Self>() }
            }

            #[inline]
            pub(crate) fn frame(&self) -> &Frame {
                &self.0
            }
        }

        impl From<Frame> for $name {
            #[inline]
            fn from(frame: Frame) -> Self {
                Self(frame)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    )*};
}

views! {
    /// What every hook gets last: the run that asks, and the host's services.
    Ctx,
    /// The state that a hook looks at. Nothing of it is copied until it is asked for.
    State,
    /// What `transform_context` is asked about: the messages of one model call.
    Context,
    /// What `before_tool_call` is asked about.
    ToolCall,
    /// What `after_tool_call` is asked about.
    ToolResult,
    /// What the hooks of a round are asked about.
    Turn,
    /// What `on_turn_end` is asked about.
    TurnEnd,
    /// What `on_run_end` is asked about.
    RunEnd,
    /// What `on_stop` is asked about.
    Stop,
    /// What `transform_input` is asked about.
    Prompt,
    /// What `on_session_start` and `on_session_end` are asked about.
    SessionEvent,
    /// An event that was observed.
    Event,
    /// What a mod says on a channel.
    BusMessage,
    /// A call of a mod's own tool.
    Invocation,
    /// A call of a mod's own command.
    CommandCall,
}
