use std::future::ready;

use futures::future::BoxFuture;

use super::Ui;

/// Nobody is there: every question has its fixed answer, and nothing is ever approved.
pub struct Headless;

impl Ui for Headless {
    fn interactive(&self) -> bool {
        false
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
