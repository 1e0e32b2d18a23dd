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
    use mod_interface::{
        prelude::*,
        testing::{Script, TestHost, block_on},
    };

    use super::{block_dangerous_commands, danger};

    const DELETE: &str = "Blocked by block-dangerous-commands: `rm -rf` deletes a tree without asking.";

    fn shell(command: &str) -> Value {
        json!({ "command": command })
    }

    #[test]
    fn a_dangerous_command_runs_only_if_the_person_says_yes() -> Result<()> {
        block_on(async {
            let guard = TestHost::new().confirm(true).confirm(false).load(block_dangerous_commands).await?;
            let rm = || guard.before_tool_call("shell_command", shell("rm -rf build"));
            assert_eq!(rm().await?, None);
            assert_eq!(rm().await?, Some(BeforeToolCall::block(DELETE)));
            let asked = "Run `rm -rf build`? `rm -rf` deletes a tree without asking.";
            assert_eq!(guard.questions(), [asked, asked]);
            assert_eq!(guard.before_tool_call("read_file", shell("rm -rf build")).await?, None);
            Ok(())
        })
    }

    #[test]
    fn where_nobody_is_there_to_ask_the_model_is_told_why() -> Result<()> {
        block_on(async {
            let guard = TestHost::new().load(block_dangerous_commands).await?;
            let script = Script::new("Clean up").tool("shell_command", "gone");
            let script = script.calls("shell_command", shell("rm -rf .")).says("I may not.");
            let ran = guard.run(script).await?;
            assert_eq!((ran.results(), ran.text()), (vec![DELETE.to_owned()], "I may not."));
            Ok(())
        })
    }

    #[test]
    fn dangerous_commands_are_known_however_they_are_spaced() {
        let dangerous = ["rm -rf /", "cd x && rm   -rf .", "git  push --force", "dd of=/dev/sda if=x"];
        let harmless = ["rm file", "git push", "ls -rf", "echo hello"];
        assert!(dangerous.iter().all(|command| danger(command).is_some()));
        assert!(harmless.iter().all(|command| danger(command).is_none()));
    }
}
