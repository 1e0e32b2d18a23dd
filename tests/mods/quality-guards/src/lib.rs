//! Tells the model when it makes the same call again and again, and when its calls keep failing.
//!
//! It shows how to say something to the model without a trace: behind all messages of one call, so that the provider's
//! cache of those before holds, and nothing of it is kept.
#![forbid(unsafe_code)]

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use mod_interface::prelude::*;

export_mod!(quality_guards);

/// What was seen of each agent: a sub-agent's calls are its own.
#[derive(Default)]
struct Guards(Mutex<HashMap<String, Guard>>);

#[derive(Default)]
struct Guard {
    /// The last call, tool and input, and how often in a row it was made.
    last: (String, String),
    repeats: u64,
    /// How many calls in a row failed.
    failures: u64,
    /// What the model will be told.
    warnings: Vec<String>,
}

async fn quality_guards(cmd: ModApi) -> Result<()> {
    let limit =
        cmd.flag(Flag::number("limit").default(3).description("How many in a row are too many"))?.max(1);
    let hooks = Hooks::sharing(&Arc::new(Guards::default()))
        .before_tool_call_sync(move |guards, call, ctx| {
            guards.of(ctx, |guard| guard.called(call.tool_name(), call.input_json(), limit));
            Ok(None)
        })
        .after_tool_call_sync(move |guards, result, ctx| {
            guards.of(ctx, |guard| guard.ended(result.is_error(), limit));
            Ok(None)
        })
        .transform_context_sync(|guards, _, ctx| {
            let warnings = guards.of(ctx, |guard| std::mem::take(&mut guard.warnings));
            Ok(warnings.into_iter().map(|text| MessageEdit::append(Message::from_mod(text))).collect())
        });
    cmd.hooks(hooks)?;
    Ok(())
}

impl Guards {
    /// Does something with what is known of the agent that asks.
    fn of<T>(&self, ctx: &Ctx, act: impl FnOnce(&mut Guard) -> T) -> T {
        let mut guards: MutexGuard<'_, _> = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        act(guards.entry(ctx.agent_id().to_owned()).or_default())
    }
}

impl Guard {
    fn called(&mut self, tool: &str, input: &str, limit: u64) {
        let again = (self.last.0.as_str(), self.last.1.as_str()) == (tool, input);
        self.repeats = if again { self.repeats + 1 } else { 1 };
        self.last = (tool.to_owned(), input.to_owned());
        if self.repeats.is_multiple_of(limit) && again {
            let repeats = self.repeats;
            self.warnings
                .push(format!("You have called {tool} {repeats} times in a row with the same input."));
        }
    }

    fn ended(&mut self, is_error: bool, limit: u64) {
        self.failures = if is_error { self.failures + 1 } else { 0 };
        if is_error && self.failures.is_multiple_of(limit) {
            let failures = self.failures;
            self.warnings.push(format!("The last {failures} tool calls failed. Look at why first."));
        }
    }
}

#[cfg(test)]
mod tests {
    use mod_interface::{
        prelude::*,
        testing::{Script, TestHost, block_on},
    };

    use super::quality_guards;

    #[test]
    fn failures_in_a_row_are_told_once_and_a_success_ends_the_row() -> Result<()> {
        block_on(async {
            let guards = TestHost::new().option("limit", "2").load(quality_guards).await?;
            let script = Script::new("go").tool("grep", ToolOutput::error("no")).tool("glob", "yes");
            let script =
                script.calls("grep", json!(1)).and_calls("glob", json!(2)).and_calls("grep", json!(3));
            let ran = guards.run(script.calls("grep", json!(4)).says("one").says("two")).await?;
            let last: Vec<_> = ran.calls.iter().map(|call| call.messages.last().map(Message::text)).collect();
            let told = "The last 2 tool calls failed. Look at why first.";
            assert_eq!(last, [Some("go".into()), Some(String::new()), Some(told.to_owned())]);
            Ok(())
        })
    }
}
