//! Asks before a shell command that can do harm, and says why it blocks one where nobody is there to ask.
//!
//! It shows a guard that asks the person, and what is said in its place without one.
#![forbid(unsafe_code)]

use mod_interface::prelude::*;

export_mod!(permission_gate);

async fn permission_gate(cmd: ModApi) -> Result<()> {
    let gate = Hooks::new().fail_closed().before_tool_call(|call, ctx| async move {
        let command = call.input_str("command").unwrap_or_default();
        if call.tool_name() != "shell_command" || !is_dangerous(&command) {
            return Ok(None);
        }
        let ui = ctx.ui();
        if !ui.is_interactive() {
            return Ok(Some(BeforeToolCall::block("Dangerous, and nobody is there to allow it.")));
        }
        let answer = ui.select(&format!("Run `{command}`?"), &["No", "Yes"]).await?;
        let allowed = answer.as_deref() == Some("Yes");
        Ok((!allowed).then(|| BeforeToolCall::block("The person did not allow it.")))
    });
    cmd.hooks(gate)?;
    Ok(())
}

/// Whether a command line has a command that deletes trees, acts as root, or opens files to everybody.
fn is_dangerous(command: &str) -> bool {
    let commands = command.split(['|', ';', '&', '\n', '(', ')', '`']);
    commands.map(|command| command.split_whitespace().collect::<Vec<_>>()).any(|words| {
        let flag = |letter: char| {
            words.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
        };
        words.contains(&"sudo")
            || words.contains(&"rm") && (flag('r') || flag('R') || words.contains(&"--recursive"))
            || words.contains(&"chmod") && words.iter().any(|word| word.ends_with("777"))
    })
}

#[cfg(test)]
mod tests {
    use mod_interface::{
        prelude::*,
        testing::{TestHost, block_on},
    };

    use super::{is_dangerous, permission_gate};

    #[test]
    fn it_runs_when_the_person_says_yes_and_nothing_else_will_do() -> Result<()> {
        block_on(async {
            let gate = TestHost::new().select("Yes").select("No").load(permission_gate).await?;
            let asked = || gate.before_tool_call("shell_command", json!({ "command": "sudo ls" }));
            assert_eq!(asked().await?, None);
            assert_eq!(asked().await?, Some(BeforeToolCall::block("The person did not allow it.")));
            assert_eq!(gate.questions(), ["Run `sudo ls`?"; 2]);
            Ok(())
        })
    }

    #[test]
    fn what_can_do_harm_is_known_behind_others_too() {
        let dangerous =
            ["rm -rf x", "ls && rm x -r", "(sudo ls)", "chmod -R 0777 .", "true\nrm --recursive x"];
        let harmless = ["rm x", "ls -r; rm x", "chmod 644 x", "echo summary", "grep -r sudoku ."];
        assert!(dangerous.into_iter().all(is_dangerous));
        assert!(!harmless.into_iter().any(is_dangerous));
    }
}
