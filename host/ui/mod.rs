//! What can be asked of, and shown to, the person at the keyboard.

mod headless;

use futures::future::BoxFuture;
use mod_interface::types::NoticeLevel;

pub use headless::Headless;

/// The person at the keyboard, or nobody.
pub trait Ui: Send + Sync {
    /// Whether somebody is there to answer.
    fn interactive(&self) -> bool;

    /// Shows a notice.
    fn notify(&self, level: NoticeLevel, message: &str);

    /// Asks a yes-no question. `false` when nobody is there.
    fn confirm(&self, title: &str, message: Option<&str>) -> BoxFuture<'static, bool>;

    /// Asks for one of `options`. `None` when nobody is there or nothing was chosen.
    fn select(&self, title: &str, options: &[String]) -> BoxFuture<'static, Option<String>>;

    /// Asks for a line of text. `None` when nobody is there or nothing was entered.
    fn input(&self, title: &str, placeholder: Option<&str>) -> BoxFuture<'static, Option<String>>;
}
