//! An entry into a mod on a thread of its own.

use std::{sync::Arc, thread};

use mod_interface::abi::{Callable, Completed, OwnFrame, Reply};
use tokio::sync::oneshot;

use super::{Core, adapter::enter, frame::ModFrame, identity::ModIdentity};
use crate::hooks::HookFault;

/// The answer that is to come; one that nobody waits for any more is abandoned.
pub(super) type Answer = oneshot::Receiver<Result<Completed, HookFault>>;

/// Runs the mod's code on a thread of its own: code that never returns costs that thread, and not the run, which can
/// still be interrupted. Nobody waiting any more, the call is abandoned there too.
pub(super) fn begin(
    core: &Arc<Core>,
    owner: &Arc<ModIdentity>,
    (place, name): (u16, &str),
    callable: &Callable,
    frame: OwnFrame<ModFrame>,
) -> Result<Answer, HookFault> {
    let (mut sender, receiver) = oneshot::channel();
    let (core, owner, callable) = (Arc::clone(core), Arc::clone(owner), callable.clone());
    let work = move || {
        // A mod that is compiled in has no runtime but this one.
        let _entered = core.runtime.enter();
        let mut reply = Reply::default();
        let entry =
            enter(&core.journal, &owner, place, &mut reply, |reply| callable.call(frame.frame(), reply));
        let answer = match entry {
            None => Some(Ok(reply.completed)),
            Some(pending) => core.runtime.block_on(async {
                tokio::select! {
                    biased;
                    // First: when the runtime is ending, nothing may ask it for a timer.
                    () = sender.closed() => None,
                    answer = pending => Some(answer),
                }
            }),
        };
        if let Some(answer) = answer {
            // Who gave the call up in this moment hears of no answer.
            let _heard = sender.send(answer);
        }
    };
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(work);
    spawned.map_err(|error| HookFault::Error(format!("there is no thread to run it on: {error}")))?;
    Ok(receiver)
}

/// What is said where the thread ends and leaves no answer.
pub(super) fn no_answer() -> HookFault {
    HookFault::Error("it ended without an answer".to_owned())
}
