//! What mods say to each other: synchronous, in registration order, each listener for itself.

use std::sync::Arc;

use mod_interface::abi::Callable;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Core,
    frame::Question,
    identity::ModIdentity,
    listener::{Listener, begin},
};
use crate::events::Emitter;

const MAX_NAME: usize = 200;

/// A message between mods.
pub(crate) struct BusMessage {
    pub(crate) channel: Arc<str>,
    pub(crate) data: Value,
    /// The agent that the speaker was asked about.
    pub(crate) agent_id: Arc<str>,
}

/// What a mod says.
#[derive(Deserialize)]
pub(crate) struct Say {
    channel: String,
    data: Value,
}

/// A mod that listens to a channel.
pub(crate) struct Channel {
    name: Arc<str>,
    listener: Listener,
}

impl Channel {
    pub(crate) fn new(
        core: &Arc<Core>,
        owner: &Arc<ModIdentity>,
        name: &str,
        callable: Callable,
    ) -> Result<Self, String> {
        check(name)?;
        Ok(Self { name: name.into(), listener: Listener::new(core, owner, format!("bus:{name}"), callable) })
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }
}

/// Tells everybody who listens now; what they say in turn is told before this goes on.
pub(crate) fn emit(core: &Arc<Core>, emitter: &Emitter, say: Say) -> Result<(), String> {
    check(&say.channel)?;
    let channels = core.channels();
    let Some(listening) = channels.get(say.channel.as_str()) else { return Ok(()) };
    let agent_id = emitter.agent_id();
    let _telling = begin().map_err(|loops| {
        listening.iter().for_each(|it| it.listener.report(agent_id, &loops));
        loops.to_string()
    })?;
    let (channel, agent_id) = (say.channel.into(), Arc::clone(agent_id));
    let message = Arc::new(BusMessage { channel, data: say.data, agent_id });
    for channel in listening {
        channel.listener.tell(core, Question::Bus(Arc::clone(&message)), &message.agent_id);
    }
    Ok(())
}

fn check(channel: &str) -> Result<(), String> {
    if channel.is_empty() || channel.len() > MAX_NAME {
        return Err(format!("a channel's name has 1 to {MAX_NAME} bytes, got: {}", channel.len()));
    }
    Ok(())
}
