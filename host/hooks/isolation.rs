use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use mod_interface::types::NoticeLevel;

use super::HookFault;
use crate::events::Emitter;

/// Different causes that are told of one place in one mod; a mod that words each failure anew is only
/// counted from there on.
const TOLD_CAUSES: usize = 16;
/// A cause is cut at this many bytes.
const CAUSE_BYTES: usize = 2048;

/// The faults of one run: each is told when it is new, and counted when it is not.
#[derive(Default)]
pub(crate) struct Faults {
    /// By mod and place: a hook's wire name, `on:<event>`, `bus:<channel>`.
    seen: Mutex<BTreeMap<(String, String), Vec<Seen>>>,
}

struct Seen {
    cause: String,
    repeats: u64,
    /// Whether the mod has it as the error of a call of its own, and may fail with it: that is not told again.
    handed: bool,
}

impl Faults {
    /// Emits `mod_error`, unless the same mod failed at the same place in the same way before.
    pub(crate) fn tell(&self, emitter: &Emitter, mod_id: &str, place: &str, fault: &HookFault) {
        self.note(emitter, mod_id, place, fault, false);
    }

    /// As [`Self::tell`], of what the mod is told too, as the error of its call: should it fail with just that, it
    /// is the same failure.
    pub(crate) fn refuse(&self, emitter: &Emitter, mod_id: &str, place: &str, reason: &str) {
        self.note(emitter, mod_id, place, &HookFault::Error(reason.to_owned()), true);
    }

    fn note(&self, emitter: &Emitter, mod_id: &str, place: &str, fault: &HookFault, handed: bool) {
        let cause = fault.to_string();
        if self.is_new(mod_id, place, &cause, handed) {
            emitter.mod_error(mod_id, place, cause);
        }
    }

    fn is_new(&self, mod_id: &str, place: &str, cause: &str, handed: bool) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let causes = seen.entry((mod_id.to_owned(), place.to_owned())).or_default();
        let known = causes.iter().position(|seen| seen.cause == cause);
        let full = (causes.len() == TOLD_CAUSES).then_some(TOLD_CAUSES - 1);
        let Some(index) = known.or(full) else {
            causes.push(Seen { cause: cause.to_owned(), repeats: 0, handed });
            return true;
        };
        let same = std::mem::replace(&mut causes[index].handed, handed) && !handed;
        causes[index].repeats += u64::from(!same);
        false
    }

    /// Says in a notice what happened again after it was told, and forgets it.
    pub(crate) fn report_repeats(&self, emitter: &Emitter) {
        let seen = std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner));
        for ((mod_id, place), causes) in seen {
            let repeats: u64 = causes.iter().map(|seen| seen.repeats).sum();
            if repeats == 0 {
                continue;
            }
            let times = if repeats == 1 { "once" } else { &format!("{repeats} times") };
            emitter.notice(NoticeLevel::Warning, format!("{mod_id} failed {times} more at {place}"));
        }
    }
}

/// What of a cause is told: a mod's own words may be as long as it likes.
pub(super) fn shortened(cause: &str) -> Cow<'_, str> {
    if cause.len() <= CAUSE_BYTES {
        return cause.into();
    }
    format!("{}…", &cause[..cause.floor_char_boundary(CAUSE_BYTES)]).into()
}
