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
