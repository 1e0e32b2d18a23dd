use std::{
    future::poll_fn,
    sync::Mutex,
    task::{Poll, Waker},
};

use super::core::lock;

/// Whether the run was interrupted, and who waits for that.
#[derive(Default)]
pub(super) struct Interruption(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    happened: bool,
    wakers: Vec<Waker>,
}

impl Interruption {
    pub(super) fn happened(&self) -> bool {
        lock(&self.0).happened
    }

    pub(super) fn happen(&self) {
        let mut waiting = lock(&self.0);
        waiting.happened = true;
        let wakers = std::mem::take(&mut waiting.wakers);
        drop(waiting);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Waits for it.
    pub(super) async fn wait(&self) {
        poll_fn(|cx| {
            let mut waiting = lock(&self.0);
            if waiting.happened {
                return Poll::Ready(());
            }
            waiting.wakers.push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}
