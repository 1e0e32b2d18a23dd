//! What a mod's answer changes of the state, once it has been checked.

use std::sync::Arc;

use mod_interface::types::{AgentState, Conversation, HookOutcome, MessageEdit, StatePatch};

use super::{HookFault, check, merge::misplaced};

/// Applies the answer of `mod_id` to the state, whole or not at all.
pub(super) fn patch_state(
    state: &mut AgentState,
    mod_id: &str,
    outcome: HookOutcome,
) -> Result<(), HookFault> {
    let HookOutcome::State(StatePatch { messages, mod_state }) = outcome else {
        return Err(misplaced(&outcome));
    };
    mod_state.as_ref().map_or(Ok(()), check::mod_state)?;
    edit_messages(&mut state.messages, messages)?;
    if let Some(value) = mod_state {
        state.set_mod_state(mod_id, value);
    }
    Ok(())
}

/// Applies `edits`, one after another, or none of them.
pub(super) fn edit_messages(messages: &mut Conversation, edits: Vec<MessageEdit>) -> Result<(), HookFault> {
    check::edits(&edits, messages.len())?;
    for edit in edits {
        match edit {
            MessageEdit::Append { message } => messages.push(message),
            MessageEdit::Insert { index, message } => messages.edit().insert(index, Arc::new(message)),
            MessageEdit::Replace { index, message } => messages.edit()[index] = Arc::new(message),
            MessageEdit::Remove { start, end } => drop(messages.edit().drain(start..end)),
        }
    }
    Ok(())
}
