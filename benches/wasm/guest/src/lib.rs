//! The jobs of `tests/mods/overhead` as a WebAssembly plugin has them: what it is asked lies in its memory as text, and
//! so does what it answers.

use serde::{Deserialize, Serialize};
use serde_json::json;

const NEVER: &str = "a_tool_that_is_never_called";
const SAID: &str = "a text of some length, as they are";

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

#[derive(Deserialize)]
struct Turn {
    turn_number: u32,
    had_tool_calls: bool,
}

/// Memory that the host writes what it asks into.
#[unsafe(no_mangle)]
pub extern "C" fn room(length: usize) -> *mut u8 {
    Box::leak(vec![0_u8; length].into_boxed_slice()).as_mut_ptr()
}

/// Takes back the text of an answer that was read.
#[unsafe(no_mangle)]
pub extern "C" fn read(at: *mut u8, length: usize) {
    drop(asked(at, length));
}

/// What the host wrote, taken back.
fn asked(at: *mut u8, length: usize) -> Vec<u8> {
    // SAFETY: `room` or `answer` made it, of that length.
    unsafe { Vec::from_raw_parts(at, length, length) }
}

/// Where the text of an answer is, and how long; 0 is none.
fn answer(said: Option<impl Serialize>) -> u64 {
    let Some(text) = said.and_then(|said| serde_json::to_vec(&said).ok()) else { return 0 };
    let text = Box::leak(text.into_boxed_slice());
    (text.as_ptr() as u64) << 32 | text.len() as u64
}

fn block(blocked: bool) -> u64 {
    answer(blocked.then(|| json!({ "block": "never" })))
}

/// Blocks the tool of a name.
#[unsafe(no_mangle)]
pub extern "C" fn name(at: *mut u8, length: usize) -> u64 {
    block(asked(at, length) == NEVER.as_bytes())
}

/// Blocks a shell command, after a typed parse.
#[unsafe(no_mangle)]
pub extern "C" fn typed(at: *mut u8, length: usize) -> u64 {
    let shell: Option<Shell> = serde_json::from_slice(&asked(at, length)).ok();
    block(shell.is_none_or(|shell| shell.command == NEVER))
}

/// Has another input.
#[unsafe(no_mangle)]
pub extern "C" fn rewrite(at: *mut u8, length: usize) -> u64 {
    drop(asked(at, length));
    answer(Some(json!({ "input": { "command": SAID } })))
}

/// Looks at the last of all messages.
#[unsafe(no_mangle)]
pub extern "C" fn last_message(at: *mut u8, length: usize) -> u64 {
    let messages: Vec<Message> = serde_json::from_slice(&asked(at, length)).unwrap_or_default();
    block(messages.last().is_some_and(|message| message.role == "assistant"))
}

/// Appends a message.
#[unsafe(no_mangle)]
pub extern "C" fn append(at: *mut u8, length: usize) -> u64 {
    drop(asked(at, length));
    answer(Some(json!({ "append": { "role": "user", "content": [{ "type": "text", "text": SAID }] } })))
}

/// Looks at a turn.
#[unsafe(no_mangle)]
pub extern "C" fn turn(at: *mut u8, length: usize) -> u64 {
    let turn: Option<Turn> = serde_json::from_slice(&asked(at, length)).ok();
    block(turn.is_none_or(|turn| !turn.had_tool_calls))
}

/// Keeps the number of a turn.
#[unsafe(no_mangle)]
pub extern "C" fn state(at: *mut u8, length: usize) -> u64 {
    let turn: Option<Turn> = serde_json::from_slice(&asked(at, length)).ok();
    answer(turn.map(|turn| json!({ "state": turn.turn_number })))
}
