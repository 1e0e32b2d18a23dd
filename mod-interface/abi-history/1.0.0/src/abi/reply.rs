use abi_stable::{
    StableAbi,
    std_types::{RBox, RNone, ROption, RSome, RString},
};

use super::{Panic, Pending};

/// How an entry into a mod ended. A number that is none of these counts as a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Status {
    /// The answer is in the reply.
    Ready = 0,
    /// The answer is to come: the reply has the rest of the call.
    Pending = 1,
    /// The mod's code returned an error; the reply says which.
    Failed = 2,
    /// The mod's code panicked; the reply says where.
    Panicked = 3,
}

impl Status {
    /// The status of that number.
    #[inline]
    pub const fn from_raw(raw: u32) -> Option<Self> {
        match raw {
            0 => Some(Self::Ready),
            1 => Some(Self::Pending),
            2 => Some(Self::Failed),
            3 => Some(Self::Panicked),
            _ => None,
        }
    }
}

/// The bits of [`Answer::flags`]. Unknown bits are ignored.
pub struct Flags;

impl Flags {
    /// There is an opinion; without it the rest of the answer is not looked at.
    pub const SOME: u64 = 1;
    /// `text` has a value.
    pub const TEXT: u64 = 1 << 1;
    /// `json` has a value.
    pub const JSON: u64 = 1 << 2;
    /// `state` has a value: the calling mod's slot of `mod_state`, as JSON.
    pub const STATE: u64 = 1 << 3;
    /// The tool call is blocked.
    pub const BLOCK: u64 = 1 << 4;
    /// The run ends after the batch.
    pub const TERMINATE: u64 = 1 << 5;
    /// `is_error` was set; [`Self::IS_ERROR`] is its value.
    pub const IS_ERROR_SET: u64 = 1 << 6;
    /// The tool call counts as failed.
    pub const IS_ERROR: u64 = 1 << 7;
    /// The run goes on; the prompt is handled; the command's text is a prompt.
    pub const GO_ON: u64 = 1 << 8;
    /// The prompt is handled.
    pub const HANDLED: u64 = 1 << 9;
}

/// What a mod answers: flags, and texts where there are any. "No opinion" is all zeros: nothing is made,
/// moved or dropped for it.
#[repr(C)]
#[derive(StableAbi, Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// See [`Flags`].
    pub flags: u64,
    /// The texts that the flags announce.
    pub texts: ROption<RBox<Texts>>,
}

/// The texts of an [`Answer`].
#[repr(C)]
#[derive(StableAbi, Debug, Clone, PartialEq, Eq)]
pub struct Texts {
    /// Plain text; of a failure, what went wrong.
    pub text: RString,
    /// JSON text.
    pub json: RString,
    /// The new slot of `mod_state`, as JSON text.
    pub state: RString,
    /// JSON text of what later minor versions add; ignored by those that do not know it.
    pub extension: RString,
}

impl Default for Answer {
    #[inline]
    fn default() -> Self {
        Self { flags: 0, texts: RNone }
    }
}

impl Default for Texts {
    fn default() -> Self {
        let none = RString::new;
        Self { text: none(), json: none(), state: none(), extension: none() }
    }
}

impl Answer {
    /// The answer with one more text, announced by `flag`.
    pub fn announce(mut self, flag: u64, put: impl FnOnce(&mut Texts)) -> Self {
        self.flags |= flag;
        let mut texts = self.texts.unwrap_or_else(|| RBox::new(Texts::default()));
        put(&mut texts);
        Self { texts: RSome(texts), ..self }
    }

    /// The text that `pick` finds; none where there are no texts.
    pub(super) fn find(&self, pick: impl FnOnce(&Texts) -> &RString) -> &str {
        self.texts.as_ref().into_option().map_or("", |texts| pick(texts).as_str())
    }
}

/// A finished entry: its status, with the answer or the fault.
#[repr(C)]
#[derive(StableAbi, Debug, Clone, PartialEq, Eq)]
pub struct Completed {
    /// See [`Status`]; never `Pending`.
    pub status: u32,
    /// The answer, when ready; else its text says what went wrong.
    pub answer: Answer,
}

impl Default for Completed {
    #[inline]
    fn default() -> Self {
        Self { status: Status::Ready as u32, answer: Answer::default() }
    }
}

impl Completed {
    /// An answer.
    pub fn ready(answer: Answer) -> Self {
        Self { answer, ..Self::default() }
    }

    /// A failure.
    pub fn fault(status: Status, text: &str) -> Self {
        let answer = Answer::default().announce(Flags::TEXT, |texts| texts.text = text.into());
        Self { status: status as u32, answer }
    }

    /// Whether it is an answer without an opinion.
    #[inline]
    pub fn is_silent(&self) -> bool {
        self.status == Status::Ready as u32 && self.answer.flags & Flags::SOME == 0
    }

    /// What went wrong.
    pub fn fault_text(&self) -> &str {
        self.answer.find(|texts| &texts.text)
    }
}

impl From<Panic> for Completed {
    fn from(panic: Panic) -> Self {
        Self::fault(Status::Panicked, &panic.0)
    }
}

/// Where a mod puts its answer, or what is left of the call.
#[repr(C)]
#[derive(StableAbi)]
pub struct Reply {
    /// The answer, unless it is pending.
    pub completed: Completed,
    /// The rest of a call whose answer is pending.
    pub pending: ROption<Pending>,
}

impl Default for Reply {
    #[inline]
    fn default() -> Self {
        Self { completed: Completed::default(), pending: RNone }
    }
}
