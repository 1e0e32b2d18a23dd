//! Shortcuts for what is typed: `?topic` asks for an explanation, `ping` is answered without the model.
#![forbid(unsafe_code)]

use mod_interface::prelude::*;

export_mod!(input_shortcuts);

async fn input_shortcuts(cmd: ModApi) -> Result<()> {
    cmd.hooks(Hooks::new().transform_input_sync(|prompt, _| Ok(shortcut(prompt.text()))))?;
    Ok(())
}

/// What becomes of a prompt. The next mod sees what this one makes of it.
fn shortcut(typed: &str) -> TransformInput {
    let typed = typed.trim();
    if typed.eq_ignore_ascii_case("ping") {
        return TransformInput::handled("pong");
    }
    match typed.strip_prefix('?').map(str::trim) {
        None | Some("") => TransformInput::Continue,
        Some(topic) => TransformInput::text(format!("Explain briefly, with one example: {topic}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shortcuts_are_changed() {
        let explained = "Explain briefly, with one example: lifetimes";
        assert_eq!(shortcut(" ? lifetimes "), TransformInput::text(explained));
        assert_eq!(shortcut("Ping"), TransformInput::handled("pong"));
        assert_eq!(
            [shortcut("?"), shortcut("why?"), shortcut("pinging")],
            [const { TransformInput::Continue }; 3]
        );
    }
}
