use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;

use super::{Heard, ModApi, Registration, Result, services};
use crate::abi::{BusMessage, JsonField, TextField};

/// The bus between mods, from [`ModApi::events`].
///
/// What is said on a channel is told at once to every mod that listens then, in load order, the speaker
/// included; [`Self::emit`] returns when all have heard it. Nothing is kept for who comes later. A listener
/// that panics is told as a `mod_error`, and the others still hear.
#[derive(Clone, Copy)]
pub struct Bus<'a>(pub(super) &'a ModApi);

impl Bus<'_> {
    /// Says `data` on `channel`.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// async fn tests_are_green(cmd: ModApi) -> Result<()> {
    ///     cmd.events().emit("tests", &json!({ "green": true }))
    /// }
    /// ```
    ///
    /// # Errors
    /// The channel has no name, `data` is not JSON, the harness is gone, or listeners speak to each other
    /// without end.
    pub fn emit(&self, channel: &str, data: &impl Serialize) -> Result<()> {
        let message = json!({ "channel": channel, "data": serde_json::to_value(data)? });
        services::now(self.0.frame(), "bus.emit", &message).map(drop)
    }

    /// Listens to `channel`: inline, like [`ModApi::on`]. The speaker waits, so it should be quick, and hears nothing
    /// of an error.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// async fn note_tests(cmd: ModApi) -> Result<()> {
    ///     let log = cmd.clone();
    ///     cmd.events().on("tests", move |message| log.log(LogLevel::Info, &message.json()))?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// The channel has no name, or the harness is gone.
    pub fn on<F, T>(&self, channel: &str, hear: F) -> Result<Registration>
    where
        F: Fn(&BusMessage) -> T + Send + Sync + 'static,
        T: Heard,
    {
        let spec = json!({ "channel": channel });
        self.0.listen("bus", &spec, move |frame| hear(BusMessage::of(frame)))
    }
}

impl BusMessage {
    /// The channel.
    pub fn channel(&self) -> &str {
        self.frame().text(TextField::EventKind)
    }

    /// The data, as JSON text.
    pub fn json(&self) -> String {
        self.frame().json(JsonField::Data, 0).unwrap_or_default()
    }

    /// The data, typed.
    ///
    /// # Errors
    /// The data is not a `T`.
    pub fn data<T: DeserializeOwned>(&self) -> Result<T> {
        Ok(serde_json::from_str(&self.json())?)
    }
}
