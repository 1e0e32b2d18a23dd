use std::{
    future::poll_fn,
    task::{Context, Poll},
};

/// Is pending at its first poll: the answer comes later.
pub(crate) async fn later() {
    let mut polled = false;
    poll_fn(move |cx: &mut Context<'_>| {
        if std::mem::replace(&mut polled, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
