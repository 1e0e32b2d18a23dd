//! The jobs of `tests/mods/overhead` as a WebAssembly plugin has them: what it is asked lies in its memory, as text.

use serde::Deserialize;

const NEVER: &str = "a_tool_that_is_never_called";

#[derive(Deserialize)]
#[allow(dead_code, reason = "parsed, as the mod does")]
struct Shell {
    command: String,
    description: String,
    timeout_ms: u64,
}

#[derive(Deserialize)]
struct Message {
    role: String,
}

/// Memory that the host writes what it asks into.
#[unsafe(no_mangle)]
pub extern "C" fn room(length: usize) -> *mut u8 {
    Box::leak(vec![0_u8; length].into_boxed_slice()).as_mut_ptr()
}

/// What the host wrote, taken back.
fn asked(at: *mut u8, length: usize) -> Vec<u8> {
    // SAFETY: `room` made it, of that length.
    unsafe { Vec::from_raw_parts(at, length, length) }
}

/// Whether the tool of that name is blocked.
#[unsafe(no_mangle)]
pub extern "C" fn name(at: *mut u8, length: usize) -> u32 {
    u32::from(asked(at, length) == NEVER.as_bytes())
}

/// Whether a shell command is blocked, after a typed parse.
#[unsafe(no_mangle)]
pub extern "C" fn typed(at: *mut u8, length: usize) -> u32 {
    let shell: Option<Shell> = serde_json::from_slice(&asked(at, length)).ok();
    u32::from(shell.is_none_or(|shell| shell.command == NEVER))
}

/// Another input: where its text is, and how long.
#[unsafe(no_mangle)]
pub extern "C" fn rewrite(at: *mut u8, length: usize) -> u64 {
    drop(asked(at, length));
    let said = serde_json::json!({ "command": "a text of some length, as they are" }).to_string().into_bytes();
    let said = Box::leak(said.into_boxed_slice());
    (said.as_ptr() as u64) << 32 | said.len() as u64
}

/// Takes the text of an answer back.
#[unsafe(no_mangle)]
pub extern "C" fn read(at: *mut u8, length: usize) {
    drop(asked(at, length));
}

/// Whether the last message is the model's.
#[unsafe(no_mangle)]
pub extern "C" fn last_message(at: *mut u8, length: usize) -> u32 {
    let messages: Vec<Message> = serde_json::from_slice(&asked(at, length)).unwrap_or_default();
    u32::from(messages.last().is_some_and(|message| message.role == "assistant"))
}
