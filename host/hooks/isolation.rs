use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use mod_interface::types::{Hook, NoticeLevel};

use super::HookFault;
use crate::events::Emitter;

/// Different causes that are told of one hook of one mod; a mod that words each failure anew is only
/// counted from there on.
const TOLD_CAUSES: usize = 16;
/// A cause is cut at this many bytes.
const CAUSE_BYTES: usize = 2048;

/// The faults of one run: each is told when it is new, and counted when it is not.
#[derive(Default)]
pub(super) struct Faults {
    seen: Mutex<BTreeMap<(String, Hook), Vec<Seen>>>,
}

struct Seen {
    cause: String,
    repeats: u64,
}

impl Faults {
    /// Emits `mod_error`, unless the same mod failed at the same hook in the same way before.
    pub(super) fn tell(&self, emitter: &Emitter, mod_id: &str, hook: Hook, fault: &HookFault) {
        let cause = shortened(fault.to_string());
        if self.is_new(mod_id, hook, &cause) {
            emitter.mod_error(mod_id, hook.wire_name(), cause);
        }
    }

    fn is_new(&self, mod_id: &str, hook: Hook, cause: &str) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let causes = seen.entry((mod_id.to_owned(), hook)).or_default();
        let known = causes.iter().position(|seen| seen.cause == cause);
        let full = (causes.len() == TOLD_CAUSES).then_some(TOLD_CAUSES - 1);
        if let Some(index) = known.or(full) {
            causes[index].repeats += 1;
            return false;
        }
        causes.push(Seen { cause: cause.to_owned(), repeats: 0 });
        true
    }

    /// Says in a notice what happened again after it was told, and forgets it.
    pub(super) fn report_repeats(&self, emitter: &Emitter) {
        let seen = std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner));
        for ((mod_id, hook), causes) in seen {
            let repeats: u64 = causes.iter().map(|seen| seen.repeats).sum();
            if repeats == 0 {
                continue;
            }
            let times = if repeats == 1 { "once" } else { &format!("{repeats} times") };
            emitter.notice(NoticeLevel::Warning, format!("{mod_id} failed {times} more at {hook}"));
        }
    }
}

fn shortened(mut cause: String) -> String {
    if cause.len() > CAUSE_BYTES {
        cause.truncate(cause.floor_char_boundary(CAUSE_BYTES));
        cause.push('…');
    }
    cause
}
