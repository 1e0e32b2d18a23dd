//! What can be asked of the person at the keyboard, and what mods put on the screen.
//!
//! What a session does goes through the events. An entry of a mod is none: its lines are made for a screen, so they
//! go to whoever has one, and neither to the observers of other mods nor into the stream of print mode. Both are
//! told inline, so who draws events and entries can keep them in order.

mod headless;

use futures::future::BoxFuture;

pub use headless::Headless;

/// The person at the keyboard, or nobody.
pub trait Ui: Send + Sync {
    /// Whether somebody is there to answer.
    fn interactive(&self) -> bool;

    /// Asks a yes-no question. `false` when nobody is there.
    fn confirm(&self, title: &str, message: Option<&str>) -> BoxFuture<'static, bool>;

    /// Asks for one of `options`. `None` when nobody is there or nothing was chosen.
    fn select(&self, title: &str, options: &[String]) -> BoxFuture<'static, Option<String>>;

    /// Shows an entry of a mod in the feed: lines to be shown as they are. Dropped where there is no screen. Must not
    /// wait: the mod is still in its call.
    fn show_entry(&self, _custom_type: &str, _lines: &[String]) {}

    /// What mods keep on the screen has changed: status texts, widgets. Must only note it: the mod that changed it is
    /// still in its call.
    fn repaint(&self) {}

    /// Asks for a line of text. `None` when nobody is there or nothing was entered.
    fn input(&self, title: &str, placeholder: Option<&str>) -> BoxFuture<'static, Option<String>>;
}
