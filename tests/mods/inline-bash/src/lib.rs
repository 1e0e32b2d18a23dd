//! Puts what a command prints into the prompt: `What is in !{ls src}?`. Where the command fails, the prompt says so.
//!
//! It shows a hook that runs processes; what a mod runs asks no permission rule, for a person typed it.
#![forbid(unsafe_code)]

use mod_interface::prelude::*;

export_mod!(inline_bash);

const OPEN: &str = "!{";

async fn inline_bash(cmd: ModApi) -> Result<()> {
    cmd.hooks(Hooks::new().transform_input(|prompt, ctx| async move {
        let (mut done, mut rest) = (String::new(), prompt.text());
        while let Some((before, command, after)) = next_command(rest) {
            done += before;
            done += &printed(&ctx, command).await;
            rest = after;
        }
        Ok(if done.is_empty() { TransformInput::Continue } else { TransformInput::text(done + rest) })
    }))?;
    Ok(())
}

/// What stands before the first command, the command, and what stands behind it. Braces in it are its own.
fn next_command(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once(OPEN)?;
    let mut open = 1_usize;
    let end = rest.char_indices().find_map(|(at, c)| {
        open = match c {
            '{' => open + 1,
            '}' => open - 1,
            _ => open,
        };
        (open == 0).then_some(at)
    })?;
    Some((before, &rest[..end], &rest[end + 1..]))
}

async fn printed(ctx: &Ctx, command: &str) -> String {
    let error = match ctx.exec("sh").args(["-c", command]).await {
        Ok(ran) if ran.code == Some(0) => return ran.stdout.trim_end().to_owned(),
        Ok(ran) => ran.stderr.trim_end().to_owned(),
        Err(error) => error.to_string(),
    };
    format!("[`{command}` failed: {error}]")
}

#[cfg(test)]
mod tests {
    use mod_interface::{
        prelude::*,
        testing::{TestHost, block_on},
    };

    use super::inline_bash;

    #[test]
    fn each_command_is_replaced_by_what_it_prints() -> Result<()> {
        block_on(async {
            let failed = ExecOutput { stdout: "half".into(), stderr: "gone\n".into(), code: Some(2) };
            let host = TestHost::new().exec("sh -c echo ${HOME}", "/home/ada\n").exec("sh -c ls x", failed);
            let bash = host.load(inline_bash).await?;
            let expanded = TransformInput::text("/home/ada, [`ls x` failed: gone]!");
            assert_eq!(bash.transform_input("!{echo ${HOME}}, !{ls x}!").await?, expanded);
            for other in ["ls", "!{ls", "{ls}", "!"] {
                assert_eq!(bash.transform_input(other).await?, TransformInput::Continue, "{other}");
            }
            Ok(())
        })
    }
}
