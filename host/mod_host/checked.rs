//! The steps of the load chain that run no code of a mod, and so can be taken for several mods at once.
//!
//! In order: copy and seal, hash, static checks, name and version.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use futures::{Stream, StreamExt, stream};
use registry::object;
use tokio::{sync::oneshot, task::spawn_blocking};

use super::{Code, Expected, LoadError, Origin, Plan, Planned, library::Sealed, load::host_facts};

/// A library that passed all checks that need none of its code.
pub(super) struct Checked {
    pub(super) sealed: Sealed,
    pub(super) name: String,
    pub(super) version: String,
}

/// Does blocking work on as many threads as there are cores, and gives the answers in the order of the items, each as
/// soon as it is there. What nobody waits for any more is not begun. Must be called on a tokio runtime.
pub(crate) fn in_order<T, R>(
    items: Vec<T>,
    work: impl Fn(T) -> R + Clone + Send + 'static,
) -> impl Stream<Item = R>
where
    T: Send + 'static,
    R: Send + 'static,
{
    let (queue, answers): (VecDeque<_>, Vec<_>) = items
        .into_iter()
        .map(|item| {
            let (send, receive) = oneshot::channel();
            ((item, send), receive)
        })
        .unzip();
    let cores = thread::available_parallelism().map_or(1, usize::from).min(queue.len());
    let queue = Arc::new(Mutex::new(queue));
    for _ in 0..cores {
        let (queue, work) = (Arc::clone(&queue), work.clone());
        let next = move || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        spawn_blocking(move || {
            while let Some((item, answer)) = next() {
                if !answer.is_closed() {
                    let _nobody_waits = answer.send(catch_unwind(AssertUnwindSafe(|| work(item))));
                }
            }
        });
    }
    stream::iter(answers).then(|answer| async {
        match answer.await {
            Ok(Ok(answer)) => answer,
            // A panic of the work is its caller's, as if it had done the work itself.
            Ok(Err(panic)) => resume_unwind(panic),
            // The runtime ends, and with it who asks.
            Err(_) => std::future::pending().await,
        }
    })
}

impl Plan {
    /// Reads and hashes every library and looks into it, as [`load`](super::ModHost::load) does before it runs any,
    /// and gives what is wrong with which. Must be polled on a tokio runtime.
    pub async fn check(self) -> Vec<(Origin, LoadError)> {
        let checked = in_order(self.mods, |planned: Planned| match planned.code {
            Code::BuiltIn { .. } => None,
            Code::Library { path, expected } => {
                Some((planned.origin, check(&path, expected.as_ref()).err()?))
            }
        });
        checked.filter_map(std::future::ready).collect().await
    }
}

pub(super) fn check(path: &Path, expected: Option<&Expected>) -> Result<Checked, LoadError> {
    let sealed = Sealed::copy(path)?;
    if let Some(expected) = expected
        && expected.sha256 != sealed.sha256
    {
        let (path, expected, got) = (path.to_owned(), expected.sha256.clone(), sealed.sha256);
        return Err(LoadError::Hash { path, expected, got });
    }
    let metadata = object::inspect(&sealed.bytes)
        .and_then(|inspection| object::check(&inspection, &host_facts()))
        .map_err(|refusal| registry::Error::Refused { file: path.to_owned(), refusal })?;
    let (name, version) = (metadata.name, metadata.version.to_string());
    if let Some(expected) = expected {
        let (got, expected) = (shown(&name, &version), shown(&expected.name, &expected.version));
        if got != expected {
            return Err(LoadError::Identity { got, expected });
        }
    }
    Ok(Checked { sealed, name, version })
}

/// A mod's identity, for people.
pub(super) fn shown(name: &str, version: &str) -> String {
    format!("{name} {version}")
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    };

    use super::*;

    #[tokio::test]
    async fn answers_come_in_the_order_of_the_items_and_no_more_work_is_done_than_there_are_cores() {
        let (now, most) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let seen = Arc::clone(&most);
        let work = move |item: usize| {
            most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
            // The first ones take the longest.
            (0..(100 - item) * 1000).for_each(|_| thread::yield_now());
            now.fetch_sub(1, SeqCst);
            item
        };
        let done: Vec<_> = in_order((0..100).collect(), work).collect().await;
        assert_eq!(done, (0..100).collect::<Vec<_>>());
        assert!(seen.load(SeqCst) <= thread::available_parallelism().map_or(1, usize::from));
    }
}
