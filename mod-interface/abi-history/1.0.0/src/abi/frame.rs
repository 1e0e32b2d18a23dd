use std::marker::PhantomData;

use abi_stable::{
    StableAbi,
    std_types::{ROption, RResult, RStr, RString},
};
use async_ffi::FfiFuture;

use super::{
    Callable, HookObject, Shared, This,
    fields::{JsonField, NumberField, TextField},
    frame_host::{FrameHost, vtable},
};

/// What the host lends to a mod for one entry: the question, read through accessors, and the host's
/// services. A mod may keep it; it then shows the question as it was.
#[repr(transparent)]
#[derive(StableAbi, Clone)]
pub struct Frame(Shared<FrameVtableRef>);

/// What can be read of a message without copying it.
#[repr(C)]
#[derive(StableAbi, Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RawMessage {
    /// 0: no such message; 1: user; 2: assistant.
    pub role: u32,
    /// The position in `MessageSource`, as declared.
    pub source: u32,
    /// How many blocks it has.
    pub blocks: usize,
    /// For later minor versions.
    pub reserved: u64,
}

/// What can be read of a block without copying it.
#[repr(C)]
#[derive(StableAbi, Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawBlock<'a> {
    /// The kind's wire name; empty: no such block.
    pub kind: RStr<'a>,
    /// The text, the reasoning, or the first text of a tool's result.
    pub text: RStr<'a>,
    /// The id of the tool call.
    pub id: RStr<'a>,
    /// The name of the tool.
    pub name: RStr<'a>,
    /// Whether a tool's result is a failure.
    pub is_error: bool,
    /// For later minor versions.
    pub reserved: u64,
}

impl Default for RawBlock<'_> {
    fn default() -> Self {
        let none = RStr::from_str("");
        Self { kind: none, text: none, id: none, name: none, is_error: false, reserved: 0 }
    }
}

/// The functions of a [`Frame`].
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = FrameVtableRef, prefix_fields = FrameVtableFields)))]
#[sabi(missing_field(option))]
pub struct FrameVtable {
    /// Reads a [`TextField`].
    pub text: for<'a> unsafe extern "C" fn(this: This<'a>, field: u32) -> RStr<'a>,
    /// Reads a [`NumberField`].
    pub number: unsafe extern "C" fn(this: This<'_>, field: u32) -> u64,
    /// Reads a message.
    pub message: unsafe extern "C" fn(this: This<'_>, index: usize) -> RawMessage,
    /// Reads a block of a message.
    pub block: for<'a> unsafe extern "C" fn(this: This<'a>, message: usize, block: usize) -> RawBlock<'a>,
    /// Makes JSON of a [`JsonField`].
    pub json: unsafe extern "C" fn(this: This<'_>, field: u32, index: usize) -> ROption<RString>,
    /// Asks for a service that answers at once.
    pub call_now:
        unsafe extern "C" fn(this: This<'_>, service: RStr<'_>, args: RStr<'_>) -> RResult<RString, RString>,
    /// Asks for a service that answers later.
    pub call: unsafe extern "C" fn(
        this: This<'_>,
        service: RStr<'_>,
        args: RStr<'_>,
    ) -> FfiFuture<RResult<RString, RString>>,
    /// Registers something with one entry; gives the registration's number.
    pub add: unsafe extern "C" fn(
        this: This<'_>,
        kind: RStr<'_>,
        spec: RStr<'_>,
        callable: Callable,
    ) -> RResult<u64, RString>,
    /// Registers hooks; gives the registration's number.
    #[sabi(last_prefix_field)]
    pub add_hooks:
        unsafe extern "C" fn(this: This<'_>, spec: RStr<'_>, hooks: HookObject) -> RResult<u64, RString>,
}

/// A frame on the side of the host that made it.
pub struct OwnFrame<T>(Frame, PhantomData<T>);

impl<T: FrameHost> OwnFrame<T> {
    /// Makes a frame that `host` stands behind.
    pub fn new(host: T) -> Self {
        Self(Frame(Shared::new(vtable::<T>(), host)), PhantomData)
    }

    /// The frame, to be lent or cloned.
    #[inline]
    pub fn frame(&self) -> &Frame {
        &self.0
    }

    /// What stands behind it.
    #[inline]
    pub fn host(&self) -> &T {
        // SAFETY: `new` alone makes an `OwnFrame<T>`, with a payload of type `T`.
        unsafe { self.0.0.payload::<T>() }
    }

    /// What stands behind it, while nobody else holds the frame: for using its memory again.
    #[inline]
    pub fn host_mut(&mut self) -> Option<&mut T> {
        // SAFETY: as in `host`.
        unsafe { self.0.0.payload_mut::<T>() }
    }
}

impl Frame {
    /// Two more handles of the frame.
    #[inline]
    pub(crate) fn twice(&self) -> (Self, Self) {
        let (one, other) = self.0.twice();
        (Self(one), Self(other))
    }

    /// Reads a text.
    #[inline]
    pub fn text(&self, field: TextField) -> &str {
        // SAFETY: the function and the object were made together by `Shared::new`.
        unsafe { self.0.vtable().text()(self.0.this(), field as u32) }.as_str()
    }

    /// Reads a number.
    #[inline]
    pub fn number(&self, field: NumberField) -> u64 {
        // SAFETY: as in `text`.
        unsafe { self.0.vtable().number()(self.0.this(), field as u32) }
    }

    /// Reads a message.
    #[inline]
    pub fn message(&self, index: usize) -> RawMessage {
        // SAFETY: as in `text`.
        unsafe { self.0.vtable().message()(self.0.this(), index) }
    }

    /// Reads a block.
    #[inline]
    pub fn block(&self, message: usize, block: usize) -> RawBlock<'_> {
        // SAFETY: as in `text`.
        unsafe { self.0.vtable().block()(self.0.this(), message, block) }
    }

    /// Makes JSON of a part.
    pub fn json(&self, field: JsonField, index: usize) -> Option<String> {
        // SAFETY: as in `text`.
        let json = unsafe { self.0.vtable().json()(self.0.this(), field as u32, index) };
        json.into_option().map(RString::into_string)
    }

    /// Asks for a service that answers at once.
    ///
    /// # Errors
    /// The host's line: no such service, bad arguments, or what the service says.
    pub fn call_now(&self, service: &str, args: &str) -> Result<String, String> {
        // SAFETY: as in `text`.
        let answer = unsafe { self.0.vtable().call_now()(self.0.this(), service.into(), args.into()) };
        strings(answer)
    }

    /// Asks for a service that answers later. Nothing of the frame is borrowed by the future.
    ///
    /// # Errors
    /// As for [`Self::call_now`].
    pub fn call(
        &self,
        service: &str,
        args: &str,
    ) -> impl Future<Output = Result<String, String>> + Send + 'static + use<> {
        // SAFETY: as in `text`.
        let answer = unsafe { self.0.vtable().call()(self.0.this(), service.into(), args.into()) };
        async move { strings(answer.await) }
    }

    /// Registers something with one entry.
    ///
    /// # Errors
    /// The host's line.
    pub fn add(&self, kind: &str, spec: &str, callable: Callable) -> Result<u64, String> {
        // SAFETY: as in `text`.
        let answer = unsafe { self.0.vtable().add()(self.0.this(), kind.into(), spec.into(), callable) };
        answer.into_result().map_err(RString::into_string)
    }

    /// Registers hooks.
    ///
    /// # Errors
    /// The host's line.
    pub fn add_hooks(&self, spec: &str, hooks: HookObject) -> Result<u64, String> {
        // SAFETY: as in `text`.
        let answer = unsafe { self.0.vtable().add_hooks()(self.0.this(), spec.into(), hooks) };
        answer.into_result().map_err(RString::into_string)
    }
}

fn strings(answer: RResult<RString, RString>) -> Result<String, String> {
    answer.into_result().map(RString::into_string).map_err(RString::into_string)
}
