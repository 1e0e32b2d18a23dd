use abi_stable::{
    prefix_type::WithMetadata,
    staticref,
    std_types::{RErr, ROk, ROption, RResult, RStr, RString},
};
use async_ffi::FfiFuture;

use super::{
    Callable, FrameVtable, FrameVtableRef, HookObject, Panic, RawBlock, RawMessage, This,
    fields::{JsonField, NumberField, TextField},
    guard,
};
use crate::types::{ContentBlock, Message, MessageSource, Role};

/// What stands behind a frame, on the host's side. None of it may block, except as a service says.
pub trait FrameHost: Send + Sync + 'static {
    /// See [`TextField`].
    fn text(&self, field: TextField) -> &str;
    /// See [`NumberField`].
    fn number(&self, field: NumberField) -> u64;
    /// The message at `index`.
    fn message(&self, index: usize) -> Option<&Message>;
    /// See [`JsonField`].
    fn json(&self, field: JsonField, index: usize) -> Option<String>;
    /// Answers `service` at once.
    ///
    /// # Errors
    /// A line for the mod's author.
    fn call_now(&self, service: &str, args: &str) -> Result<String, String>;
    /// Answers `service` later.
    fn call(&self, service: &str, args: &str) -> FfiFuture<RResult<RString, RString>>;
    /// Registers something with one entry.
    ///
    /// # Errors
    /// A line for the mod's author.
    fn add(&self, kind: &str, spec: &str, callable: Callable) -> Result<u64, String>;
    /// Registers hooks.
    ///
    /// # Errors
    /// A line for the mod's author.
    fn add_hooks(&self, spec: &str, hooks: HookObject) -> Result<u64, String>;
}

/// The functions of the frames that a `T` stands behind.
pub(super) fn vtable<T: FrameHost>() -> FrameVtableRef {
    FrameVtableRef(Glue::<T>::VTABLE.as_prefix())
}

/// The functions that look a host's payload up and keep its panics on its own side.
struct Glue<T>(std::marker::PhantomData<T>);

const HOST_PANICKED: &str = "the host panicked while it served this call; please report it";

impl<T: FrameHost> Glue<T> {
    staticref! {
        const VTABLE: WithMetadata<FrameVtable> = WithMetadata::new(FrameVtable {
            text: Self::text,
            number: Self::number,
            message: Self::message,
            block: Self::block,
            json: Self::json,
            call_now: Self::call_now,
            call: Self::call,
            add: Self::add,
            add_hooks: Self::add_hooks,
        });
    }

    fn host<'a>(this: This<'a>) -> &'a T {
        // SAFETY: `Frame::new::<T>` alone makes objects of this table, with this payload.
        unsafe { this.payload::<FrameVtableRef, T>() }
    }

    unsafe extern "C" fn text<'a>(this: This<'a>, field: u32) -> RStr<'a> {
        let host = Self::host(this);
        let text = TextField::from_raw(field).and_then(|field| guard(|| host.text(field)).ok());
        RStr::from_str(text.unwrap_or_default())
    }

    unsafe extern "C" fn number(this: This<'_>, field: u32) -> u64 {
        let host = Self::host(this);
        NumberField::from_raw(field).and_then(|field| guard(|| host.number(field)).ok()).unwrap_or_default()
    }

    unsafe extern "C" fn message(this: This<'_>, index: usize) -> RawMessage {
        let message = guard(|| Self::host(this).message(index)).ok().flatten();
        message.map(raw_message).unwrap_or_default()
    }

    unsafe extern "C" fn block<'a>(this: This<'a>, message: usize, block: usize) -> RawBlock<'a> {
        let message = guard(|| Self::host(this).message(message)).ok().flatten();
        message.and_then(|message| message.content.get(block)).map(raw_block).unwrap_or_default()
    }

    unsafe extern "C" fn json(this: This<'_>, field: u32, index: usize) -> ROption<RString> {
        let host = Self::host(this);
        let json =
            JsonField::from_raw(field).and_then(|field| guard(|| host.json(field, index)).ok().flatten());
        json.map(RString::from).into()
    }

    unsafe extern "C" fn call_now(
        this: This<'_>,
        service: RStr<'_>,
        args: RStr<'_>,
    ) -> RResult<RString, RString> {
        let host = Self::host(this);
        match guard(|| host.call_now(service.as_str(), args.as_str())) {
            Ok(Ok(answer)) => ROk(answer.into()),
            Ok(Err(error)) => RErr(error.into()),
            Err(_) => RErr(HOST_PANICKED.into()),
        }
    }

    unsafe extern "C" fn call(
        this: This<'_>,
        service: RStr<'_>,
        args: RStr<'_>,
    ) -> FfiFuture<RResult<RString, RString>> {
        let host = Self::host(this);
        let answer = guard(|| host.call(service.as_str(), args.as_str()));
        answer.unwrap_or_else(|_| FfiFuture::new(std::future::ready(RErr(HOST_PANICKED.into()))))
    }

    unsafe extern "C" fn add(
        this: This<'_>,
        kind: RStr<'_>,
        spec: RStr<'_>,
        callable: Callable,
    ) -> RResult<u64, RString> {
        let host = Self::host(this);
        flatten(guard(|| host.add(kind.as_str(), spec.as_str(), callable)))
    }

    unsafe extern "C" fn add_hooks(
        this: This<'_>,
        spec: RStr<'_>,
        hooks: HookObject,
    ) -> RResult<u64, RString> {
        let host = Self::host(this);
        flatten(guard(|| host.add_hooks(spec.as_str(), hooks)))
    }
}

fn flatten(answer: Result<Result<u64, String>, Panic>) -> RResult<u64, RString> {
    match answer {
        Ok(Ok(id)) => ROk(id),
        Ok(Err(error)) => RErr(error.into()),
        Err(_) => RErr(HOST_PANICKED.into()),
    }
}

fn raw_message(message: &Message) -> RawMessage {
    let role = match message.role {
        Role::User => 1,
        Role::Assistant => 2,
    };
    let source = match message.source {
        MessageSource::User => 0,
        MessageSource::Steering => 1,
        MessageSource::FollowUp => 2,
        MessageSource::StopHook => 3,
        MessageSource::Recovery => 4,
        MessageSource::ToolResults => 5,
        MessageSource::Mod => 6,
        MessageSource::Other => 7,
    };
    RawMessage { role, source, blocks: message.content.len(), reserved: 0 }
}

fn raw_block(block: &ContentBlock) -> RawBlock<'_> {
    let mut raw = RawBlock { kind: block.kind().into(), ..RawBlock::default() };
    match block {
        ContentBlock::Text { text } => raw.text = text.as_str().into(),
        ContentBlock::Thinking { thinking, .. } => raw.text = thinking.as_str().into(),
        ContentBlock::ToolUse { id, name, .. } => {
            raw.id = id.as_str().into();
            raw.name = name.as_str().into();
        }
        ContentBlock::ToolResult { tool_use_id, content, is_error } => {
            raw.id = tool_use_id.as_str().into();
            raw.is_error = *is_error;
            raw.text = content.iter().find_map(ContentBlock::as_text).unwrap_or_default().into();
        }
        ContentBlock::Image { .. } => {}
    }
    raw
}
