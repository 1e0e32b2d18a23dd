use serde_json::json;

use super::{Result, services};
use crate::abi::Frame;

/// The person at the keyboard, or nobody.
///
/// With nobody there (print mode) every question has its fixed answer: `confirm` is `false`, `select`
/// and `input` are `None`. Nothing is ever approved by default.
pub struct Ui<'a>(pub(crate) &'a Frame);

impl Ui<'_> {
    /// Shows a notice.
    pub fn notify(&self, message: &str) {
        // A host that cannot show it has lost its terminal: nothing that a mod could mend.
        let _lost = services::now(self.0, "ui.notify", &json!({ "message": message }));
    }

    /// Asks a yes-no question. Dialogs queue up, one at a time; the hook's clock stands meanwhile.
    ///
    /// # Errors
    /// The host is going away.
    pub fn confirm(&self, title: &str) -> impl Future<Output = Result<bool>> + Send + 'static + use<> {
        let asked = services::later(self.0, "ui.confirm", &json!({ "title": title }));
        async move { Ok(serde_json::from_value(asked.await?)?) }
    }

    /// Asks for one of `options`.
    ///
    /// # Errors
    /// The host is going away.
    pub fn select(
        &self,
        title: &str,
        options: &[&str],
    ) -> impl Future<Output = Result<Option<String>>> + Send + 'static + use<> {
        let asked = services::later(self.0, "ui.select", &json!({ "title": title, "options": options }));
        async move { Ok(serde_json::from_value(asked.await?)?) }
    }

    /// Asks for a line of text.
    ///
    /// # Errors
    /// The host is going away.
    pub fn input(
        &self,
        title: &str,
    ) -> impl Future<Output = Result<Option<String>>> + Send + 'static + use<> {
        let asked = services::later(self.0, "ui.input", &json!({ "title": title }));
        async move { Ok(serde_json::from_value(asked.await?)?) }
    }
}
