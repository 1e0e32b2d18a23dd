//! What can be asked of the person at the keyboard. What is shown goes through the events.

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

    /// Asks for a line of text. `None` when nobody is there or nothing was entered.
    fn input(&self, title: &str, placeholder: Option<&str>) -> BoxFuture<'static, Option<String>>;
}
