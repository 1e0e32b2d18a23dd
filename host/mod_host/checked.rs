//! The steps of the load chain that run no code of a mod, and so can be taken for several mods at once.
//!
//! In order: copy and seal, hash, static checks, name and version.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::Path,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
};

use futures::{Stream, StreamExt, stream};
use registry::object;
use tokio::sync::oneshot;

use super::{
    Code, Expected, LoadError, Origin, Plan, Planned, library::Sealed, load::host_facts, steps::timed,
};

/// A library that passed all checks that need none of its code.
pub(super) struct Checked {
    pub(super) sealed: Sealed,
    pub(super) name: String,
    pub(super) version: String,
}

/// No more threads than these, however many cores there are: each comes with open files.
const THREADS: usize = 8;

/// An item, and who waits for what comes of it.
type Job<T, R> = (T, oneshot::Sender<thread::Result<R>>);

/// Does blocking work on as many threads as there are cores, up to eight, and gives the answers in the order of the
/// items, each as soon as it is there. It is never more than two items a thread ahead of who takes the answers, since
/// each may be an open file. What nobody waits for any more is not begun.
pub(crate) fn in_order<T, R>(
    items: Vec<T>,
    work: impl Fn(T) -> R + Clone + Send + 'static,
) -> impl Stream<Item = R>
where
    T: Send + 'static,
    R: Send + 'static,
{
    let cores = thread::available_parallelism().map_or(1, usize::from);
    in_order_on(cores.min(THREADS).min(items.len()), items, work)
}

fn in_order_on<T, R>(
    threads: usize,
    items: Vec<T>,
    work: impl Fn(T) -> R + Clone + Send + 'static,
) -> impl Stream<Item = R>
where
    T: Send + 'static,
    R: Send + 'static,
{
    let (queue, jobs) = mpsc::channel();
    let jobs = Arc::new(Mutex::new(jobs));
    for _ in 0..threads {
        let (jobs, work) = (Arc::clone(&jobs), work.clone());
        let next = move || jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        // One that cannot be started is one less.
        let _fewer = thread::Builder::new().name("check".to_owned()).spawn(move || {
            while let Ok(job) = next() {
                answer(job, &work);
            }
        });
    }
    drop(jobs);
    let begin = move |item| {
        let (send, receive) = oneshot::channel();
        // Where there is no thread, the work is done here.
        if let Err(mpsc::SendError(job)) = queue.send((item, send)) {
            answer(job, &work);
        }
        answered(receive)
    };
    stream::iter(items).map(begin).buffered((2 * threads).max(1))
}

fn answer<T, R>((item, answer): Job<T, R>, work: &impl Fn(T) -> R) {
    if !answer.is_closed() {
        let _nobody_waits = answer.send(catch_unwind(AssertUnwindSafe(|| work(item))));
    }
}

async fn answered<R>(answer: oneshot::Receiver<thread::Result<R>>) -> R {
    match answer.await {
        Ok(Ok(answer)) => answer,
        // A panic of the work is its caller's, as if it had done the work itself.
        Ok(Err(panic)) => resume_unwind(panic),
        // Nobody sees this: what is waited for is answered.
        Err(_) => std::future::pending().await,
    }
}

impl Plan {
    /// Reads and hashes every library and looks into it, as [`load`](super::ModHost::load) does before it runs any,
    /// and gives what is wrong with which.
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
    let mut sealed = Sealed::copy(path)?;
    if let Some(expected) = expected
        && expected.sha256 != sealed.sha256
    {
        let (path, expected, got) = (path.to_owned(), expected.sha256.clone(), sealed.sha256);
        return Err(LoadError::Hash { path, expected, got });
    }
    let look = || {
        let inspection = object::inspect(&sealed.bytes)?;
        object::check(&inspection, &host_facts())
    };
    let metadata = timed(&mut sealed.steps.checks, look)
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
    use std::{
        pin::pin,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering::SeqCst},
        },
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

    #[tokio::test]
    async fn no_more_is_begun_than_two_items_a_thread_ahead_of_who_takes_the_answers() {
        let begun = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&begun);
        let work = move |item: usize| {
            counted.fetch_add(1, SeqCst);
            item
        };
        let mut answers = pin!(in_order_on(2, (0..100).collect(), work));
        let (mut taken, mut most) = (0, 0);
        while answers.next().await.is_some() {
            // Time enough for the threads to do what they may.
            (0..1000).for_each(|_| thread::yield_now());
            most = most.max(begun.load(SeqCst) - taken);
            taken += 1;
        }
        assert_eq!(taken, 100);
        assert!(most <= 4, "{most} were begun and not taken");
    }

    #[tokio::test]
    async fn work_is_done_where_it_is_asked_for_when_there_is_no_thread_for_it() {
        let here = thread::current().id();
        let work = move |item: usize| (item, thread::current().id() == here);
        let done: Vec<_> = in_order_on(0, (0..3).collect(), work).collect().await;
        assert_eq!(done, [(0, true), (1, true), (2, true)]);
    }
}
