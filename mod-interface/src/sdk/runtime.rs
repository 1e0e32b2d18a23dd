//! A tokio runtime of the mod's own, for mods that say `export_mod!(factory, runtime)`.
//!
//! The host's runtime cannot be used from a mod: each library has a tokio of its own. So a mod that
//! wants timers, tasks or sockets gets one worker thread, started at the first entry, and every piece
//! of its code (creation, each poll, each drop) runs with that runtime entered.

#[cfg(feature = "runtime")]
use std::sync::{Arc, OnceLock};

/// The runtime that a mod's code runs in, if it asked for one.
#[derive(Clone, Default)]
pub struct RuntimeHandle {
    #[cfg(feature = "runtime")]
    lazy: Option<Arc<Lazy>>,
}

/// A runtime that is started when it is needed; `None` where it cannot be.
#[cfg(feature = "runtime")]
#[derive(Default)]
struct Lazy(OnceLock<Option<tokio::runtime::Runtime>>);

#[cfg(feature = "runtime")]
impl Drop for Lazy {
    fn drop(&mut self) {
        // Nobody waits for its tasks: the last handle may be dropped by one of them, or by a host that
        // ends while one of them never does.
        if let Some(Some(runtime)) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Leaves the runtime when dropped.
pub(crate) struct Entered<'a> {
    #[cfg(feature = "runtime")]
    _guard: Option<tokio::runtime::EnterGuard<'a>>,
    _lifetime: std::marker::PhantomData<&'a ()>,
}

impl RuntimeHandle {
    /// No runtime.
    pub fn none() -> Self {
        Self::default()
    }

    /// A runtime that starts when it is first entered.
    #[cfg(feature = "runtime")]
    pub fn lazy() -> Self {
        Self { lazy: Some(Arc::default()) }
    }

    /// Enters the runtime. Where it cannot be started (no threads left), the mod's code runs without
    /// one, and says so itself as soon as it needs it.
    #[inline]
    pub(crate) fn enter(&self) -> Entered<'_> {
        Entered {
            #[cfg(feature = "runtime")]
            _guard: self
                .lazy
                .as_ref()
                .and_then(|lazy| lazy.0.get_or_init(start).as_ref())
                .map(tokio::runtime::Runtime::enter),
            _lifetime: std::marker::PhantomData,
        }
    }
}

#[cfg(feature = "runtime")]
fn start() -> Option<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).thread_name("mod").enable_all();
    // Where there is no thread left it does not fail, it panics.
    crate::abi::guard(|| builder.build().ok()).ok().flatten()
}

#[cfg(test)]
#[cfg(feature = "runtime")]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering::Relaxed},
            mpsc,
        },
        time::Duration,
    };

    use super::RuntimeHandle;

    #[test]
    fn tasks_and_timers_work_while_it_is_entered() {
        let handle = RuntimeHandle::lazy();
        let (sender, receiver) = mpsc::channel();
        {
            let _entered = handle.enter();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                sender.send("slept")
            });
        }
        assert_eq!(receiver.recv(), Ok("slept"));
    }

    #[test]
    fn it_starts_once_and_only_when_it_is_entered() {
        let handle = RuntimeHandle::lazy();
        let clone = handle.clone();
        assert!(handle.lazy.as_ref().unwrap().0.get().is_none());
        let ids = [&handle, &clone].map(|handle| {
            let _entered = handle.enter();
            tokio::runtime::Handle::current().id()
        });
        assert_eq!(ids[0], ids[1]);
    }

    #[test]
    fn without_one_nothing_is_entered() {
        let _entered = RuntimeHandle::none().enter();
        assert!(tokio::runtime::Handle::try_current().is_err());
    }

    /// Tells when it is dropped, and whether that panicked on the way.
    struct Tells(mpsc::Sender<bool>);

    impl Drop for Tells {
        fn drop(&mut self) {
            let _nobody_listens = self.0.send(std::thread::panicking());
        }
    }

    #[test]
    fn a_task_may_drop_the_last_handle() {
        let handle = RuntimeHandle::lazy();
        let (sender, receiver) = mpsc::channel();
        let start = Arc::new(AtomicBool::new(false));
        let started = Arc::clone(&start);
        let in_task = handle.clone();
        let joined = {
            let _entered = handle.enter();
            tokio::spawn(async move {
                let _tells = Tells(sender);
                while !started.load(Relaxed) {
                    tokio::task::yield_now().await;
                }
                drop(in_task);
            })
        };
        drop(handle);
        start.store(true, Relaxed);
        assert_eq!(receiver.recv(), Ok(false), "it panics where it must not block");
        drop(joined);
    }

    #[test]
    fn a_task_that_never_ends_holds_nobody_up() {
        let handle = RuntimeHandle::lazy();
        let (sender, receiver) = mpsc::channel();
        {
            let _entered = handle.enter();
            let (keep, forever) = mpsc::channel::<()>();
            tokio::task::spawn_blocking(move || {
                sender.send(()).unwrap();
                std::mem::forget(keep);
                forever.recv()
            });
        }
        receiver.recv().unwrap();
        drop(handle);
    }
}
