use std::future::ready;

use futures::future::BoxFuture;
use mod_interface::types::NoticeLevel;

use super::Ui;

type NoticeSink = dyn Fn(NoticeLevel, &str) + Send + Sync;

/// Nobody is there: notices go to a sink, every question has its fixed answer, and nothing is ever
/// approved.
pub struct Headless {
    notices: Box<NoticeSink>,
}

impl Headless {
    /// Hands each notice to `notices`.
    pub fn new(notices: impl Fn(NoticeLevel, &str) + Send + Sync + 'static) -> Self {
        Self { notices: Box::new(notices) }
    }
}

impl Ui for Headless {
    fn interactive(&self) -> bool {
        false
    }

    fn notify(&self, level: NoticeLevel, message: &str) {
        (self.notices)(level, message);
    }

    fn confirm(&self, _title: &str, _message: Option<&str>) -> BoxFuture<'static, bool> {
        Box::pin(ready(false))
    }

    fn select(&self, _title: &str, _options: &[String]) -> BoxFuture<'static, Option<String>> {
        Box::pin(ready(None))
    }

    fn input(&self, _title: &str, _placeholder: Option<&str>) -> BoxFuture<'static, Option<String>> {
        Box::pin(ready(None))
    }
}
