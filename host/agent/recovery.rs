//! Answers that are no end, and are continued by the loop.
//!
//! | kind     | the answer                                          | what the model is told |
//! |----------|-----------------------------------------------------|------------------------|
//! | `pause`  | the provider paused a long turn (`pause_turn`)      | nothing: the conversation is sent again as it stands |
//! | `length` | hit the output limit, without a tool call           | to go on where it ended |
//! | `empty`  | has neither text nor a tool call                    | to go on, or to say that it is done |
//!
//! What the model is told is a user message of `source: recovery`. Each kind is continued three times in a
//! row at most, told by `continuation_recovery`; a turn that is none of them begins the count anew. A
//! continuation is a turn like any other: hooks, commit and `max_turns` hold for it. A pause goes on before
//! all else; the others when nothing is queued to follow, before `on_stop` is asked. The text of a paused or
//! cut-off answer and of what continues it count as one answer.
//!
//! An answer that announces an action and ends (`intent`) is not continued: to tell it from a finished one
//! is a guess about language. An `on_stop` hook can.

use mod_interface::types::{ContentBlock, EventPayload, Message, MessageSource, NoticeLevel, RecoveryKind};

use super::ModelResponse;
use crate::events::Emitter;

const MAX_ATTEMPTS: u32 = 3;
const GO_ON: &str = "Your answer hit the output limit. Go on exactly where it ended, and repeat nothing.";
const SAY_SOMETHING: &str = "Your answer was empty. Go on, or say that you are done.";

/// Words of providers for an answer that ends early because the model will not say more.
const REFUSALS: [&str; 4] = ["refusal", "content_filter", "safety", "recitation"];

/// Whether the last answer needs to be continued, and how often answers were.
#[derive(Default)]
pub(super) struct Recovery {
    due: Option<RecoveryKind>,
    attempts: Vec<RecoveryKind>,
}

impl Recovery {
    /// Looks at an answer.
    pub(super) fn note(&mut self, response: &ModelResponse) {
        self.due = kind_of(response);
        if self.due.is_none() {
            self.attempts.clear();
        }
    }

    /// Whether the turn was paused.
    pub(super) fn is_paused(&self) -> bool {
        self.due == Some(RecoveryKind::Pause)
    }

    /// Continues the last answer if it is due: gives the kind and what to say to the model.
    pub(super) fn take(&mut self, emitter: &Emitter) -> Option<(RecoveryKind, Option<Message>)> {
        let kind = self.due.take()?;
        let before = self.attempts.iter().filter(|it| **it == kind).count();
        let attempt = u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1);
        let (what, say) = match kind {
            RecoveryKind::Pause => ("was paused", None),
            RecoveryKind::Length => ("hit the output limit", Some(GO_ON)),
            RecoveryKind::Empty | RecoveryKind::Intent => ("was empty", Some(SAY_SOMETHING)),
        };
        if attempt > MAX_ATTEMPTS {
            let told =
                format!("the answer {what} once more, and is not continued after {MAX_ATTEMPTS} times");
            emitter.notice(NoticeLevel::Warning, told);
            return None;
        }
        self.attempts.push(kind);
        emitter.emit(EventPayload::ContinuationRecovery { kind, attempt, max_attempts: MAX_ATTEMPTS });
        Some((kind, say.map(|text| Message::user_from(MessageSource::Recovery, text))))
    }
}

/// Whether the answer ends at the output limit.
pub(super) fn is_at_limit(stop_reason: &str) -> bool {
    is_one_of(stop_reason, &["length", "max_tokens"])
}

fn kind_of(response: &ModelResponse) -> Option<RecoveryKind> {
    let ModelResponse { content, stop_reason, .. } = response;
    if content.iter().any(|block| matches!(block, ContentBlock::ToolUse { .. })) {
        return None;
    }
    if is_one_of(stop_reason, &["pause_turn"]) {
        return Some(RecoveryKind::Pause);
    }
    if is_at_limit(stop_reason) {
        return Some(RecoveryKind::Length);
    }
    let says = |block: &ContentBlock| block.as_text().is_some_and(|text| !text.trim().is_empty());
    let empty = !content.iter().any(says) && !is_one_of(stop_reason, &REFUSALS);
    empty.then_some(RecoveryKind::Empty)
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|it| it.eq_ignore_ascii_case(word))
}
