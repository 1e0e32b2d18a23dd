//! Entering the mod, as the host does: under the SDK's guard, and with its own encoding of answers.

use std::time::Duration;

use super::Fault;
use crate::abi::{Answer, Completed, Reply, Status};

/// Enters the mod and waits for its answer.
pub(super) async fn enter(
    place: &str,
    limit: Duration,
    call: impl FnOnce(&mut Reply) -> u32,
) -> Result<Answer, Fault> {
    let (status, completed, pending) = {
        let mut reply = Reply::default();
        let status = call(&mut reply);
        (status, reply.completed, reply.pending.into_option())
    };
    if status != Status::Pending as u32 {
        return settled(place, Completed { status, ..completed });
    }
    let Some(pending) = pending else {
        return Err(invalid(place, "a pending answer without a future"));
    };
    settled(place, within(place, limit, pending).await?)
}

/// Enters the mod where it cannot wait.
pub(super) fn at_once(place: &str, call: impl FnOnce(&mut Reply) -> u32) -> Result<Answer, Fault> {
    let mut reply = Reply::default();
    let status = call(&mut reply);
    if status == Status::Pending as u32 {
        return Err(invalid(place, "it is asked where it cannot wait"));
    }
    settled(place, Completed { status, ..reply.completed })
}

/// Waits for a factory.
pub(super) async fn load(limit: Duration, factory: impl Future<Output = Completed>) -> Result<(), Fault> {
    settled("load", within("load", limit, factory).await?).map(drop)
}

/// Waits, and looks at the clock afterwards: a timer would go off whenever a paused clock finds nothing to do but
/// to wait for a socket.
#[cfg(feature = "runtime")]
async fn within(
    place: &str,
    limit: Duration,
    pending: impl Future<Output = Completed>,
) -> Result<Completed, Fault> {
    let start = tokio::time::Instant::now();
    let completed = pending.await;
    if start.elapsed() <= limit {
        return Ok(completed);
    }
    let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    Err(Fault::TimedOut { place: place.to_owned(), limit_ms })
}

#[cfg(not(feature = "runtime"))]
async fn within(
    _place: &str,
    _limit: Duration,
    pending: impl Future<Output = Completed>,
) -> Result<Completed, Fault> {
    Ok(pending.await)
}

fn settled(place: &str, completed: Completed) -> Result<Answer, Fault> {
    let (place, reason) = (place.to_owned(), completed.fault_text().to_owned());
    match Status::from_raw(completed.status) {
        Some(Status::Ready) => Ok(completed.answer),
        Some(Status::Failed) => Err(Fault::Failed { place, reason }),
        Some(Status::Panicked) => Err(Fault::Panicked { place, reason }),
        Some(Status::Pending) | None => Err(invalid(&place, "a status that is none of an answer")),
    }
}

pub(super) fn invalid(place: &str, reason: impl Into<String>) -> Fault {
    Fault::Invalid { place: place.to_owned(), reason: reason.into() }
}

pub(super) fn failed(place: &str, reason: &str) -> Fault {
    Fault::Failed { place: place.to_owned(), reason: reason.to_owned() }
}
