//! Around tool calls.

use mod_interface::prelude::*;

use crate::later::later;

/// The hooks that do `what`.
pub(crate) fn hooks(me: &str, what: &str) -> Option<Hooks> {
    let me = me.to_owned();
    Some(match what {
        "block" => before(move |_| BeforeToolCall::block(format!("blocked by {me}"))),
        "block-and-terminate" => {
            before(move |_| BeforeToolCall::block(format!("blocked by {me}")).and_terminate())
        }
        "rewrite" => before(move |call| BeforeToolCall::rewrite(rewritten(call, &me))),
        "context-before" => before(move |_| BeforeToolCall::context(format!("before {me}"))),
        "terminate-before" => before(|_| BeforeToolCall { terminate: true, ..BeforeToolCall::default() }),
        "replace" => after(move |result| AfterToolCall::text(format!("{}, seen by {me}", result.text()))),
        "context-after" => after(move |_| AfterToolCall::context(format!("after {me}"))),
        "flip" => {
            after(|result| AfterToolCall { is_error: Some(!result.is_error()), ..AfterToolCall::default() })
        }
        "terminate" => after(|_| AfterToolCall { terminate: true, ..AfterToolCall::default() }),
        "tool-state" => after(|result| AfterToolCall {
            mod_state: Some(json!({ "last": result.tool_call_id() })),
            ..AfterToolCall::default()
        }),
        _ => {
            let number: u32 = what.strip_prefix("block-")?.parse().ok()?;
            let id = format!("c{number}");
            before(move |call| match call.tool_call_id() == id {
                true => BeforeToolCall::block(format!("blocked by {me}")),
                false => BeforeToolCall::default(),
            })
        }
    })
}

fn rewritten(call: &ToolCall, me: &str) -> Value {
    json!({ "text": format!("{}{me}", call.input_str("text").unwrap_or_default()) })
}

/// Answers later.
fn before(answer: impl Fn(&ToolCall) -> BeforeToolCall + Send + Sync + 'static) -> Hooks {
    Hooks::new().before_tool_call(move |call, _| {
        let answer = answer(&call);
        async move {
            later().await;
            Ok(Some(answer))
        }
    })
}

/// Answers at once.
fn after(answer: impl Fn(&ToolResult) -> AfterToolCall + Send + Sync + 'static) -> Hooks {
    Hooks::new().after_tool_call_sync(move |result, _| Ok(Some(answer(result))))
}
