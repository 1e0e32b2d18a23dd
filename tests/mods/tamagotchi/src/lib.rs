//! A pet in the status line: it is busy while a tool runs, frets when one fails, and cheers when tests are green.
//!
//! It shows both sides of a tool call, the status line, and how a session that goes on differs from a new one.
#![forbid(unsafe_code)]

use mod_interface::prelude::*;

export_mod!(tamagotchi);

async fn tamagotchi(cmd: ModApi) -> Result<()> {
    cmd.hooks(
        Hooks::new()
            .on_session_start_sync(|session, ctx| match session.reason() {
                "resume" => show(ctx, "(^.^) is happy to see you again"),
                _ => show(ctx, "(o.o) hatched"),
            })
            .before_tool_call_sync(|call, ctx| {
                show(ctx, &format!("(>.<) is busy with {}", call.tool_name()))?;
                Ok(None)
            })
            .after_tool_call_sync(|result, ctx| {
                if result.is_error() {
                    show(ctx, &format!("(;.;) frets about {}", result.tool_name()))?;
                } else if is_green(&result.text()) {
                    show(ctx, "\\(^o^)/ the tests are green")?;
                } else {
                    show(ctx, "(o.o) looks on")?;
                }
                Ok(None)
            }),
    )?;
    Ok(())
}

fn show(ctx: &Ctx, text: &str) -> Result<()> {
    ctx.ui().set_status(text).map(drop)
}

/// Whether a text tells of tests that passed, and of none that failed.
fn is_green(text: &str) -> bool {
    let words: Vec<_> = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let told = |what: &str| {
        let counts = words.windows(2).filter(|pair| pair[1] == what);
        counts.filter_map(|pair| pair[0].parse::<u64>().ok()).sum::<u64>()
    };
    told("passed") > 0 && told("failed") == 0
}

#[cfg(test)]
mod tests {
    use mod_interface::{
        prelude::*,
        testing::{TestHost, block_on},
    };

    use super::{is_green, tamagotchi};

    #[test]
    fn it_has_one_line_at_a_time() -> Result<()> {
        block_on(async {
            let pet = TestHost::new().load(tamagotchi).await?;
            pet.before_tool_call("grep", json!({})).await?;
            assert_eq!(pet.status().as_deref(), Some("(>.<) is busy with grep"));
            pet.after_tool_call("grep", json!({}), ToolOutput::error("no such folder")).await?;
            assert_eq!(pet.status().as_deref(), Some("(;.;) frets about grep"));
            Ok(())
        })
    }

    #[test]
    fn tests_are_green_when_some_passed_and_none_failed() {
        let green =
            ["test result: ok. 7 passed; 0 failed; 0 ignored", "12 passed in 0.1s", "3 passed, 4 passed"];
        let other =
            ["", "0 passed", "passed", "3 passed, 1 failed", "1 passed; 0 failed\n2 passed; 3 failed"];
        assert!(green.into_iter().all(is_green));
        assert!(!other.into_iter().any(is_green));
    }
}
