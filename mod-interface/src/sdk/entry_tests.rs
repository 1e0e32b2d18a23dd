use std::{
    future::{pending, poll_fn, ready},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
};

use super::*;
use crate::abi::{Answer, fixture::Recording};

/// What came of one entry.
#[derive(Debug, PartialEq)]
enum Came {
    Ready(String),
    Failed(String),
    Panicked(String),
    Pending,
}

fn came(completed: Completed) -> Came {
    let fault = completed.fault_text().to_owned();
    match Status::from_raw(completed.status) {
        Some(Status::Ready) => Came::Ready(
            completed.answer.texts.into_option().map(|texts| texts.text.to_string()).unwrap_or_default(),
        ),
        Some(Status::Failed) => Came::Failed(fault),
        Some(Status::Panicked) => Came::Panicked(fault.split(" at ").next().unwrap_or_default().to_owned()),
        Some(Status::Pending) | None => Came::Pending,
    }
}

/// Enters once: what came of it, and the future if it is pending.
fn enter(entry: &dyn Entry) -> (Came, Option<Pending>) {
    let frame = Arc::<Recording>::default().frame();
    let mut reply = Reply::default();
    let status = entry.call(&frame, &mut reply);
    if status == Status::Pending as u32 {
        return (Came::Pending, reply.pending.into_option());
    }
    assert_eq!(status, reply.completed.status);
    assert!(reply.pending.is_none());
    (came(reply.completed), None)
}

fn poll(future: &mut Pending) -> Came {
    match Pin::new(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(completed) => came(completed),
        Poll::Pending => Came::Pending,
    }
}

fn entry<F, Fut>(make: F) -> AsyncEntry<impl Fn(&Frame) -> Fut + Send + Sync, Fut>
where
    F: Fn() -> Fut + Send + Sync,
{
    crate::abi::silence_panics();
    AsyncEntry::new(move |_: &Frame| make(), RuntimeHandle::none())
}

/// Is pending so many times, then ready.
async fn after(polls: usize) {
    let mut left = polls;
    poll_fn(move |_| match left.checked_sub(1) {
        Some(fewer) => {
            left = fewer;
            Poll::Pending
        }
        None => Poll::Ready(()),
    })
    .await;
}

fn said(text: &str) -> Came {
    Came::Ready(text.to_owned())
}

#[test]
fn a_future_that_is_ready_at_once_answers_in_the_call() {
    let calls = AtomicUsize::new(0);
    let entry = entry(|| {
        let call = calls.fetch_add(1, Relaxed);
        async move { Ok(format!("call {call}")) }
    });
    assert_eq!(enter(&entry).0, said("call 0"));
    assert_eq!(enter(&entry).0, said("call 1"));
}

#[test]
fn the_memory_of_a_call_is_used_again_also_when_it_was_pending() {
    let places = Arc::new(std::sync::Mutex::new(Vec::new()));
    let calls = Arc::new(AtomicUsize::new(0));
    let entry = entry(|| {
        let (places, calls) = (Arc::clone(&places), Arc::clone(&calls));
        async move {
            let here = 0_u8;
            places.lock().unwrap().push(std::ptr::from_ref(&here).addr());
            match calls.fetch_add(1, Relaxed) {
                1 => after(1).await,
                2 => pending().await,
                _ => ready(()).await,
            }
            Ok(here.to_string())
        }
    });
    assert_eq!(enter(&entry).0, said("0"));
    assert_eq!(poll(&mut enter(&entry).1.unwrap()), said("0"));
    drop(enter(&entry).1.unwrap());
    assert_eq!(enter(&entry).0, said("0"));
    let places = places.lock().unwrap();
    assert_eq!(places.len(), 4);
    assert!(places.iter().all(|place| *place == places[0]), "{places:?}");
}

#[test]
fn a_future_that_is_not_ready_answers_later_and_only_once() {
    let entry = entry(|| async {
        after(2).await;
        Ok("later".to_owned())
    });
    let (came, future) = enter(&entry);
    let mut future = future.unwrap();
    assert_eq!(came, Came::Pending);
    assert_eq!(poll(&mut future), Came::Pending);
    assert_eq!(poll(&mut future), said("later"));
    assert_eq!(poll(&mut future), Came::Failed("polled again after it was done".to_owned()));
    assert_eq!(enter(&entry).0, Came::Pending, "the next call is its own");
}

#[test]
fn many_calls_of_one_hook_may_be_pending_at_once() {
    let calls = AtomicUsize::new(0);
    let entry = entry(|| {
        let call = calls.fetch_add(1, Relaxed);
        async move {
            after(1 + call % 2).await;
            Ok(format!("call {call}"))
        }
    });
    let mut futures: Vec<_> = (0..8).map(|_| enter(&entry).1.unwrap()).collect();
    for (call, future) in futures.iter_mut().enumerate().rev() {
        if call % 2 == 1 {
            assert_eq!(poll(future), Came::Pending);
        }
        assert_eq!(poll(future), said(&format!("call {call}")));
    }
}

/// An entry that can be entered from within itself.
type Own = Arc<OnceLock<Box<dyn Entry>>>;

#[test]
fn a_hook_may_be_entered_again_from_within_itself() {
    let own = Own::default();
    let (inner, depth) = (Arc::clone(&own), Arc::new(AtomicUsize::new(0)));
    let recursive = entry(move || {
        let (inner, depth) = (Arc::clone(&inner), Arc::clone(&depth));
        async move {
            let level = depth.fetch_add(1, Relaxed);
            let below = if level < 3 {
                match enter(&**inner.get().unwrap()).0 {
                    Came::Ready(text) => text,
                    other => panic!("{other:?}"),
                }
            } else {
                String::new()
            };
            Ok(format!("{level}{below}"))
        }
    });
    assert!(own.set(Box::new(recursive)).is_ok());
    assert_eq!(enter(&**own.get().unwrap()).0, said("0123"));
}

#[test]
fn a_hook_may_be_entered_from_several_threads_at_once() {
    let entry = entry(|| async { Ok(format!("{:?}", std::thread::current().id())) });
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let own = format!("{:?}", std::thread::current().id());
                for _ in 0..500 {
                    assert_eq!(enter(&entry).0, said(&own));
                }
            });
        }
    });
}

/// Panics when it is dropped, with a payload that does the same.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            std::panic::panic_any(Self);
        }
    }
}

#[test]
fn an_entry_goes_on_after_every_kind_of_failure() {
    let how = AtomicUsize::new(0);
    let entry = entry(|| {
        let how = how.load(Relaxed);
        assert!(how != 0, "created");
        async move {
            match how {
                1 => panic!("polled"),
                2 => Err(Error::msg("went wrong")),
                3 => {
                    let _bomb = Bomb;
                    Ok(String::new())
                }
                4 => {
                    let _bomb = Bomb;
                    panic!("polled with a bomb")
                }
                _ => Ok("fine".to_owned()),
            }
        }
    });
    let panicked = |text: &str| Came::Panicked(text.to_owned());
    let expected = [
        panicked("created"),
        panicked("polled"),
        Came::Failed("went wrong".to_owned()),
        panicked("a panic without a text"),
        panicked("polled with a bomb"),
        said("fine"),
    ];
    for (index, expected) in expected.into_iter().enumerate() {
        how.store(index, Relaxed);
        assert_eq!(enter(&entry).0, expected);
        how.store(5, Relaxed);
        assert_eq!(enter(&entry).0, said("fine"), "after failure {index}");
    }
}

#[test]
fn a_failure_after_the_first_poll_is_told_too() {
    let entry = entry(|| async {
        after(1).await;
        if true {
            panic!("polled again");
        }
        Ok(String::new())
    });
    let mut future = enter(&entry).1.unwrap();
    assert_eq!(poll(&mut future), Came::Panicked("polled again".to_owned()));
}

#[test]
fn a_call_that_is_given_up_drops_what_it_holds_even_when_that_panics() {
    struct Tells(Arc<AtomicBool>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.store(true, Relaxed);
        }
    }
    let dropped = Arc::new(AtomicBool::new(false));
    let held = Arc::clone(&dropped);
    let entry = entry(move || {
        let held = Tells(Arc::clone(&held));
        async move {
            let (_held, _bomb) = (held, Bomb);
            pending::<()>().await;
            Ok(String::new())
        }
    });
    let (came, future) = enter(&entry);
    assert_eq!((came, dropped.load(Relaxed)), (Came::Pending, false));
    drop(future);
    assert!(dropped.load(Relaxed));
}

#[test]
fn code_that_never_waits_answers_or_fails() {
    let calls = AtomicUsize::new(0);
    let call = |_: &Frame| match calls.fetch_add(1, Relaxed) {
        0 => Ok(Some("said".to_owned())),
        1 => Err(Error::msg("went wrong")),
        _ => Ok(None),
    };
    let entry = SyncEntry::new(call, RuntimeHandle::none());
    assert_eq!(enter(&entry).0, said("said"));
    assert_eq!(enter(&entry).0, Came::Failed("went wrong".to_owned()));
    let frame = Arc::<Recording>::default().frame();
    let mut reply = Reply::default();
    entry.call(&frame, &mut reply);
    assert_eq!(reply.completed.answer, Answer::default());
}
