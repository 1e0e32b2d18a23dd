//! The jobs and the data of `benches/hook_overhead`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const NEVER: &str = "a_tool_that_is_never_called";
const SAID: &str = "a text of some length, as they are";

/// The input of a shell command.
#[derive(Deserialize)]
#[allow(dead_code, reason = "parsed, as the mod does")]
struct Shell {
    command: String,
    description: String,
    timeout_ms: u64,
}

#[derive(Clone, Serialize)]
pub(crate) struct Message {
    role: &'static str,
    content: Value,
}

#[derive(Serialize)]
pub(crate) struct Turn {
    turn_number: u32,
    had_tool_calls: bool,
}

/// What a hook is asked.
pub(crate) enum Asked {
    /// The name of a tool.
    Name(&'static str),
    /// The input of a tool, 200 bytes of JSON.
    Input(Value),
    Messages(Vec<Message>),
    Turn(Turn),
}

impl Asked {
    /// As text.
    pub(crate) fn text(&self) -> serde_json::Result<Vec<u8>> {
        match self {
            Self::Name(name) => Ok(name.as_bytes().to_vec()),
            Self::Input(input) => serde_json::to_vec(input),
            Self::Messages(messages) => serde_json::to_vec(messages),
            Self::Turn(turn) => serde_json::to_vec(turn),
        }
    }

    /// How many messages are sent with it.
    pub(crate) fn sent(&self) -> usize {
        match self {
            Self::Messages(messages) => messages.len(),
            _ => 0,
        }
    }
}

/// A job: its name, that of the guest's function, what it is asked of so many messages, and itself.
pub(crate) struct Job {
    pub(crate) name: &'static str,
    pub(crate) function: &'static str,
    pub(crate) asked: fn(usize) -> Asked,
    pub(crate) work: fn(&Asked) -> Option<Value>,
}

pub(crate) const JOBS: [Job; 7] = [
    Job { name: "before_tool_call, tool name", function: "name", asked: name, work },
    Job { name: "before_tool_call, typed input", function: "typed", asked: input, work },
    Job {
        name: "before_tool_call, rewrite",
        function: "rewrite",
        asked: input,
        work: |_| Some(json!({ "input": { "command": SAID } })),
    },
    Job { name: "transform_context, no change", function: "last_message", asked: messages, work },
    Job {
        name: "transform_context, append",
        function: "append",
        asked: messages,
        work: |_| Some(json!({ "append": { "role": "user", "content": text(SAID) } })),
    },
    Job { name: "on_turn_end, no change", function: "turn", asked: turn, work },
    Job {
        name: "on_turn_end, own state",
        function: "state",
        asked: turn,
        work: |asked| match asked {
            Asked::Turn(turn) => Some(json!({ "state": turn.turn_number })),
            _ => None,
        },
    },
];

/// Looks at what it is asked, and has nothing to say.
fn work(asked: &Asked) -> Option<Value> {
    let never = match asked {
        Asked::Name(name) => *name == NEVER,
        Asked::Input(input) => Shell::deserialize(input).is_ok_and(|shell| shell.command == NEVER),
        Asked::Messages(messages) => messages.last().is_some_and(|message| message.role == "assistant"),
        Asked::Turn(turn) => !turn.had_tool_calls,
    };
    never.then(|| json!({ "block": "never" }))
}

fn name(_: usize) -> Asked {
    Asked::Name("shell_command")
}

fn input(_: usize) -> Asked {
    Asked::Input(json!({
        "command": "cargo test --workspace --all-features -- --nocapture --test-threads=1 | tee target/tests.log",
        "description": "Runs all the tests of the workspace in order",
        "timeout_ms": 600_000,
    }))
}

fn messages(count: usize) -> Asked {
    let message = Message { role: "user", content: text("a message of some length, as they are") };
    Asked::Messages(vec![message; count])
}

fn turn(_: usize) -> Asked {
    Asked::Turn(Turn { turn_number: 1, had_tool_calls: true })
}

fn text(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}
