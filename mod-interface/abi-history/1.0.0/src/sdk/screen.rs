use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;

use super::{Error, ModApi, Registration, Result, entry::SyncEntry, services};
use crate::abi::{Callable, Ctx, Frame, JsonField};

/// Entries of a mod's own in the feed.
impl ModApi {
    /// Draws the entries of a type: from their data to the lines that are shown as they are. Style them with escape
    /// sequences of colors; anything that moves the cursor breaks the screen.
    ///
    /// The first renderer of a type wins, among all mods; a later one is told as a `mod_error`, and its registration
    /// [is not active](Registration::is_active). Where the data is not a `T`, and where it panics, that is told as a
    /// `mod_error`, and the entry is shown as JSON. It runs while somebody waits for the screen: it should be quick.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// # #[derive(serde::Deserialize)]
    /// struct Deploy {
    ///     url: String,
    /// }
    /// async fn deploys(cmd: ModApi) -> Result<()> {
    ///     cmd.add_renderer("deploy", |deploy: Deploy| vec![format!("deployed to {}", deploy.url)])?;
    ///     cmd.show_entry("deploy", &json!({ "url": "https://example.org" }))
    /// }
    /// ```
    ///
    /// # Errors
    /// The harness is gone, or the mod did not load.
    pub fn add_renderer<T, F>(&self, custom_type: &str, draw: F) -> Result<Registration>
    where
        T: DeserializeOwned + 'static,
        F: Fn(T) -> Vec<String> + Send + Sync + 'static,
    {
        let call = move |frame: &Frame| {
            let data = frame.json(JsonField::Data, 0).unwrap_or_default();
            let data = serde_json::from_str(&data);
            data.map(&draw).map_err(|error| Error::msg(format!("it draws other data: {error}")))
        };
        let callable = Callable::new(Box::new(SyncEntry::new(call, self.runtime().clone())));
        let spec = json!({ "customType": custom_type }).to_string();
        Registration::added(self.frame(), self.frame().add("renderer", &spec, callable))
    }

    /// Shows an entry in the feed, drawn by the renderer of its type, or as JSON where there is none. It is not
    /// recorded, and the model does not see it. In the factory it is kept until the session begins; with nobody
    /// at the screen it is dropped.
    ///
    /// # Errors
    /// The type has no name, `data` is not JSON, too much is shown before the session begins, or the harness is gone.
    pub fn show_entry(&self, custom_type: &str, data: &impl Serialize) -> Result<()> {
        show_entry(self.frame(), custom_type, data)
    }
}

impl Ctx {
    /// Shows an entry in the feed, as [`ModApi::show_entry`] does.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// let hooks = Hooks::new().on_stop_sync(|stop, ctx| {
    ///     ctx.show_entry("words", &stop.last_assistant_text().split_whitespace().count())?;
    ///     Ok(StopDecision::Stop)
    /// });
    /// # assert_eq!(hooks.set().iter().count(), 1);
    /// ```
    ///
    /// # Errors
    /// As there.
    pub fn show_entry(&self, custom_type: &str, data: &impl Serialize) -> Result<()> {
        show_entry(self.frame(), custom_type, data)
    }
}

fn show_entry(frame: &Frame, custom_type: &str, data: &impl Serialize) -> Result<()> {
    let entry = json!({ "customType": custom_type, "data": serde_json::to_value(data)? });
    services::now(frame, "show_entry", &entry).map(drop)
}
