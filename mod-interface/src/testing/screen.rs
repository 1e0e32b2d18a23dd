//! What a mod shows: its status, entries and the lines that it draws.

use serde_json::Value;

use super::{Fault, TestMod, entry, frame::Question};
use crate::abi::{Callable, decode_lines};

impl TestMod {
    /// Its segment of the status line; `None` when it shows none.
    pub fn status(&self) -> Option<String> {
        let status = self.core.registrations.specs("status").pop()?;
        status["text"].as_str().map(str::to_owned)
    }

    /// The entries that it showed, in order: type and data.
    pub fn shown(&self) -> Vec<(String, Value)> {
        self.pairs("show_entry", "customType")
    }

    /// The messages that it queued and that no run has taken yet.
    pub fn queued(&self) -> Vec<String> {
        self.core.live().waiting()
    }

    /// The lines that its renderer of `custom_type` makes of `data`.
    ///
    /// # Errors
    /// It failed or panicked, or there is no such renderer.
    pub fn draw(&self, custom_type: &str, data: Value) -> Result<Vec<String>, Fault> {
        let renderer = self.core.registrations.callable("renderer", "customType", custom_type);
        let has = || self.core.registrations.names("renderer", "customType");
        let missing = || Fault::Missing { what: "renderer", name: custom_type.to_owned(), has: has() };
        self.lines(&format!("renderer:{custom_type}"), &renderer.ok_or_else(missing)?, data)
    }

    /// The lines of its widgets, in the order of their registration.
    ///
    /// # Errors
    /// The first failure of one.
    pub fn widgets(&self) -> Result<Vec<Vec<String>>, Fault> {
        let widgets = self.core.registrations.of_kind("widget");
        widgets.iter().map(|widget| self.lines("widget", widget, Value::Null)).collect()
    }

    fn lines(&self, place: &str, drawing: &Callable, data: Value) -> Result<Vec<String>, Fault> {
        let frame = self.core.frame(Question::Draw(data));
        let answer = entry::at_once(place, |reply| drawing.call(frame.frame(), reply))?;
        decode_lines(&answer).map_err(|reason| entry::invalid(place, reason))
    }
}
