//! Asks before a shell command that destroys things; blocks it where nobody is there to ask.
#![forbid(unsafe_code)]

use mod_interface::prelude::*;

export_mod!(block_dangerous_commands);

/// What a command must not contain, and why.
const DANGEROUS: &[(&str, &str)] = &[
    ("rm -rf", "deletes a tree without asking"),
    ("git push --force", "rewrites what others have pulled"),
    ("git reset --hard", "throws away uncommitted work"),
    ("mkfs", "formats a disk"),
    ("dd of=/dev/", "writes over a disk"),
];

async fn block_dangerous_commands(cmd: ModApi) -> Result<()> {
    // A guard that fails must not let the command through.
    let guard = Hooks::new().fail_closed().before_tool_call(|call, ctx| async move {
        if call.tool_name() != "shell_command" {
            return Ok(None);
        }
        let command = call.input_str("command").unwrap_or_default();
        let Some((pattern, why)) = danger(&command) else { return Ok(None) };
        if ctx.ui().confirm(&format!("Run `{command}`? `{pattern}` {why}.")).await? {
            return Ok(None);
        }
        Ok(Some(BeforeToolCall::block(format!("Blocked by block-dangerous-commands: `{pattern}` {why}."))))
    });
    cmd.hooks(guard)?;
    Ok(())
}

/// The first dangerous pattern in `command`, however it is spaced.
fn danger(command: &str) -> Option<(&'static str, &'static str)> {
    let spaced = command.split_whitespace().collect::<Vec<_>>().join(" ");
    DANGEROUS.iter().copied().find(|(pattern, _)| spaced.contains(pattern))
}

#[cfg(test)]
mod tests {
    use super::danger;

    #[test]
    fn dangerous_commands_are_known_however_they_are_spaced() {
        let dangerous = ["rm -rf /", "cd x && rm   -rf .", "git  push --force", "dd of=/dev/sda if=x"];
        let harmless = ["rm file", "git push", "ls -rf", "echo hello"];
        assert!(dangerous.iter().all(|command| danger(command).is_some()));
        assert!(harmless.iter().all(|command| danger(command).is_none()));
    }
}
