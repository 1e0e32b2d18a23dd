use super::{Error, Result};
use crate::{
    abi::{Ctx, Event, JsonField, TextField},
    types::{AgentEvent, EventKind},
};

impl Event {
    /// The kind; `None` for one that this version of the interface does not know.
    pub fn kind(&self) -> Option<EventKind> {
        EventKind::from_wire(self.kind_name())
    }

    /// The kind's name on the wire.
    pub fn kind_name(&self) -> &str {
        self.frame().text(TextField::EventKind)
    }

    /// The agent that it happened to.
    pub fn agent_id(&self) -> &str {
        self.frame().text(TextField::AgentId)
    }

    /// The tool that the event is about; empty where it is about none.
    pub fn tool_name(&self) -> &str {
        self.frame().text(TextField::ToolName)
    }

    /// The piece of text of a `text_delta` or `thinking_delta`; empty otherwise.
    pub fn delta(&self) -> &str {
        self.frame().text(TextField::EventText)
    }

    /// The whole event, as JSON text.
    pub fn json(&self) -> String {
        self.frame().json(JsonField::Event, 0).unwrap_or_default()
    }

    /// The whole event, typed.
    ///
    /// # Errors
    /// An event of a kind that this version of the interface does not know.
    pub fn parse(&self) -> Result<AgentEvent> {
        let json =
            self.frame().json(JsonField::Event, 0).ok_or_else(|| Error::msg("the host has no event here"))?;
        Ok(serde_json::from_str(&json)?)
    }

    /// The run that it happened in, and the host's services.
    pub fn ctx(&self) -> &Ctx {
        Ctx::of(self.frame())
    }
}
