//! Waits for a future, in a test.

/// Runs a test's future to its end.
///
/// With the feature `runtime` that is a tokio runtime of one thread whose clock is paused: a mod that sleeps
/// an hour is an hour further at once. What tokio's clock does not know cannot be paused:
/// [`std::time`], threads, and code that blocks. What waits for a socket waits as long as that takes, and a timer
/// beside it goes off first. Without `runtime` there is no clock at all, and a future
/// that nobody can wake ends the test instead of hanging it.
///
/// Everything in [`crate::testing`] is plain `async`, so `#[tokio::test]` does as well.
///
/// ```
/// # use mod_interface::testing::block_on;
/// assert_eq!(block_on(async { 1 + 1 }), 2);
/// ```
///
/// # Panics
/// The future waits for something that nobody will do.
pub fn block_on<F: Future>(future: F) -> F::Output {
    #[cfg(feature = "runtime")]
    return paused::block_on(future);
    #[cfg(not(feature = "runtime"))]
    return parked::block_on(future);
}

#[cfg(feature = "runtime")]
mod paused {
    #[expect(clippy::expect_used, reason = "a test cannot go on without it")]
    pub(super) fn block_on<F: Future>(future: F) -> F::Output {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.expect("a runtime for the test").block_on(future)
    }
}

#[cfg(any(test, not(feature = "runtime")))]
mod parked {
    use std::{
        pin::pin,
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering, fence},
        },
        task::{Context, Poll, Wake, Waker},
        thread::{self, Thread},
    };

    struct Unpark {
        thread: Thread,
        woken: AtomicBool,
    }

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.woken.store(true, Ordering::Release);
            self.thread.unpark();
        }
    }

    pub(super) fn block_on<F: Future>(future: F) -> F::Output {
        let mut future = pin!(future);
        let unpark = Arc::new(Unpark { thread: thread::current(), woken: AtomicBool::new(false) });
        let waker = Waker::from(Arc::clone(&unpark));
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return output;
            }
            while !unpark.woken.swap(false, Ordering::Acquire) {
                // Two are the ones of this function.
                let held = Arc::strong_count(&unpark) > 2;
                // Who let go of the last one may have used it.
                fence(Ordering::Acquire);
                assert!(
                    held || unpark.woken.load(Ordering::Acquire),
                    "the test waits for something that nobody will do"
                );
                thread::park();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, task::Poll};

    use super::parked::block_on;

    #[test]
    fn a_future_is_woken_from_another_thread() {
        let (sender, receiver) = mpsc::channel();
        let waking = std::thread::spawn(move || {
            let waker: std::task::Waker = receiver.recv().unwrap();
            waker.wake();
        });
        let mut polls = 0;
        let polled = block_on(std::future::poll_fn(|cx| {
            polls += 1;
            if polls == 2 {
                return Poll::Ready(polls);
            }
            sender.send(cx.waker().clone()).unwrap();
            Poll::Pending
        }));
        waking.join().unwrap();
        assert_eq!(polled, 2);
    }

    #[test]
    fn what_nobody_will_wake_ends_the_test() {
        let hangs = std::panic::catch_unwind(|| block_on(std::future::pending::<()>()));
        let said = hangs.unwrap_err().downcast_ref::<&str>().map(|text| (*text).to_owned());
        assert_eq!(said.as_deref(), Some("the test waits for something that nobody will do"));
    }

    #[test]
    #[cfg(feature = "runtime")]
    fn the_clock_is_paused() {
        let hour = std::time::Duration::from_secs(3600);
        let took = super::block_on(async {
            let start = tokio::time::Instant::now();
            tokio::time::sleep(hour).await;
            start.elapsed()
        });
        assert_eq!(took, hour);
    }
}
