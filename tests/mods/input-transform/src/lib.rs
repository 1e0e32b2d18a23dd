//! Shortcuts for prompts: `?quick …` asks for a short answer, `ping` is answered without the model.
//!
//! It shows the three things that can become of a prompt; the next mod sees what this one makes of it.
#![forbid(unsafe_code)]

use mod_interface::prelude::*;

export_mod!(input_transform);

async fn input_transform(cmd: ModApi) -> Result<()> {
    cmd.hooks(Hooks::new().transform_input_sync(|prompt, _| {
        let typed = prompt.text().trim();
        Ok(match typed.strip_prefix("?quick ") {
            Some(question) => TransformInput::text(format!("Answer in one sentence: {}", question.trim())),
            None if typed == "ping" => TransformInput::handled("pong"),
            None => TransformInput::Continue,
        })
    }))?;
    Ok(())
}
