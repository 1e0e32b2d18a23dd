//! The jobs in a child process that is asked through pipes, a line of JSON each way: the name of the tool and its
//! input, or the messages, or the turn.

use std::{
    io::{self, BufRead, BufReader, Write},
    process::{ChildStdin, ChildStdout, Command, Stdio},
};

use host::hooks::{HookInput, Subject};
use mod_interface::types::{Hook, Message, Role};
use overhead::{NEVER, SAID, Shell};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Serialize)]
struct Asked<'a> {
    hook: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<&'a [std::sync::Arc<Message>]>,
    turn: u32,
    had_tool_calls: bool,
}

#[derive(Deserialize)]
struct Question {
    #[serde(default)]
    tool: String,
    input: Option<Value>,
    #[serde(default)]
    messages: Vec<Message>,
    turn: u32,
    had_tool_calls: bool,
}

pub(crate) struct Child {
    process: std::process::Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Child {
    /// Starts this program as one that does a job.
    pub(crate) fn start(job: &str) -> io::Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(["--child", job])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        match (process.stdin.take(), process.stdout.take()) {
            (Some(stdin), Some(stdout)) => Ok(Self { process, stdin, stdout: BufReader::new(stdout) }),
            _ => Err(io::Error::other("a child without pipes")),
        }
    }

    pub(crate) fn ask(&mut self, hook: Hook, input: &HookInput) -> io::Result<Value> {
        let (tool, tool_input, messages, had_tool_calls) = match &input.subject {
            Subject::ToolCall(call) => (Some(&*call.name), Some(&*call.input), None, false),
            Subject::Context(messages) => (None, None, Some(&messages[..]), false),
            Subject::TurnEnd { had_tool_calls, .. } => (None, None, None, *had_tool_calls),
            _ => (None, None, None, false),
        };
        let (hook, turn) = (hook.wire_name(), input.turn_number);
        let asked = Asked { hook, tool, input: tool_input, messages, turn, had_tool_calls };
        let mut line = serde_json::to_string(&asked)?;
        line.push('\n');
        self.stdin.write_all(line.as_bytes())?;
        line.clear();
        self.stdout.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }

    /// Ends it.
    ///
    /// # Errors
    /// It failed.
    pub(crate) fn end(self) -> io::Result<()> {
        let Self { mut process, stdin, stdout } = self;
        drop((stdin, stdout));
        let status = process.wait()?;
        if status.success() { Ok(()) } else { Err(io::Error::other(format!("the child failed: {status}"))) }
    }
}

/// What the child does: answers until nobody asks any more.
pub(crate) fn serve(job: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let mut answer = answer(job, serde_json::from_str(&line?)?)?.to_string();
        answer.push('\n');
        out.write_all(answer.as_bytes())?;
        out.flush()?;
    }
    Ok(())
}

fn answer(job: &str, asked: Question) -> io::Result<Value> {
    let never = |never: bool| if never { json!({ "block": "never" }) } else { Value::Null };
    Ok(match job {
        "typed" => {
            let shell = Shell::deserialize(asked.input.unwrap_or_default())?;
            never(shell.command == NEVER)
        }
        "rewrite" => json!({ "input": { "command": SAID } }),
        "last message" => never(asked.messages.last().is_some_and(|message| message.role == Role::Assistant)),
        "append" => json!({ "append": Message::user(SAID) }),
        "turn" => never(!asked.had_tool_calls),
        "state" => json!({ "state": asked.turn }),
        _ => never(asked.tool == NEVER),
    })
}
