use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use futures::{FutureExt, future::BoxFuture};

use super::HookResult;

/// A call whose answer is to come.
pub trait Later: Send {
    /// Goes on. Not called again once the answer is there.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<HookResult>;

    /// Ends it, answered or given up. Its memory may be used for another.
    fn end(self: Box<Self>) {}
}

impl Later for BoxFuture<'static, HookResult> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<HookResult> {
        self.poll_unpin(cx)
    }
}

/// The future of a [`Later`]. Dropping it abandons the call.
///
/// A boxed future frees its memory itself; this leaves that to the call, so that a handler can use it again.
pub struct LaterAnswer(Option<Box<dyn Later>>);

impl LaterAnswer {
    /// The future of `call`.
    pub fn new(call: Box<dyn Later>) -> Self {
        Self(Some(call))
    }

    /// The same as `answer`.
    pub fn of(answer: impl Future<Output = HookResult> + Send + 'static) -> Self {
        Self::new(Box::new(answer.boxed()))
    }
}

impl Future for LaterAnswer {
    type Output = HookResult;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<HookResult> {
        let Some(call) = &mut self.0 else { return Poll::Pending };
        call.poll(cx)
    }
}

impl Drop for LaterAnswer {
    fn drop(&mut self) {
        if let Some(call) = self.0.take() {
            call.end();
        }
    }
}
