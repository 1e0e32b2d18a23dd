//! Has something to say to who says hi. The greeting goes to the model all the same; `/hi-stats` counts.
#![forbid(unsafe_code)]

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use mod_interface::prelude::*;

export_mod!(cmd_mod_hi);

/// The type of the rows in the feed.
const ROW: &str = "cmd-mod-hi/row";
const GREETINGS: &[&str] = &["hi", "hello", "hey", "yo", "sup", "howdy"];
const REMARKS: &[&str] = &[
    "a whole agent at your fingertips, and you open with small talk.",
    "that was the warm-up, I take it.",
    "greeted. Nothing was compiled in the process.",
    "two letters, and it still needed the enter key.",
    "the feeling is mutual, the tokens are yours.",
];

async fn cmd_mod_hi(cmd: ModApi) -> Result<()> {
    cmd.add_renderer(ROW, |remark: String| vec![format!("\u{1b}[2m[cmd-mod-hi]\u{1b}[0m {remark}")])?;

    let greeted = Arc::new(AtomicUsize::new(0));
    cmd.hooks(Hooks::sharing(&greeted).transform_input_sync(|greeted, prompt, ctx| {
        if is_greeting(prompt.text()) {
            let index = greeted.fetch_add(1, Relaxed);
            ctx.show_entry(ROW, &REMARKS[index % REMARKS.len()])?;
        }
        Ok(TransformInput::Continue)
    }))?;

    let stats = Command::new("hi-stats", "Says how often you said hi").run_sync(move |_| {
        let times = greeted.load(Relaxed);
        Ok(CommandOutcome::message(format!("You have said hi {times} times.")))
    });
    cmd.add_command(stats)?;
    Ok(())
}

/// Whether a prompt is a greeting and nothing else.
fn is_greeting(typed: &str) -> bool {
    let word = typed.trim().trim_end_matches(|c: char| c.is_whitespace() || ".!?".contains(c));
    GREETINGS.contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use mod_interface::{
        prelude::*,
        testing::{TestHost, block_on},
    };

    use super::{REMARKS, ROW, cmd_mod_hi, is_greeting};

    #[test]
    fn each_greeting_gets_another_remark_and_is_counted() -> Result<()> {
        block_on(async {
            let hi = TestHost::new().load(cmd_mod_hi).await?;
            for prompt in ["hi", "What does this do?", "Hello!"] {
                assert_eq!(hi.transform_input(prompt).await?, TransformInput::Continue);
            }
            assert_eq!(hi.shown(), [0, 1].map(|index| (ROW.to_owned(), json!(REMARKS[index]))));
            let stats = CommandOutcome::message("You have said hi 2 times.");
            assert_eq!(hi.run_command("hi-stats", "").await?, stats);
            assert_eq!(hi.draw(ROW, json!("so."))?, ["\u{1b}[2m[cmd-mod-hi]\u{1b}[0m so."]);
            Ok(())
        })
    }

    #[test]
    fn a_greeting_is_a_greeting_alone() {
        assert!(["hi", " YO ", "howdy?! ", "Hey..."].into_iter().all(is_greeting));
        assert!(["", "hi there", "high", "say hi", "!"].into_iter().all(|prompt| !is_greeting(prompt)));
    }
}
