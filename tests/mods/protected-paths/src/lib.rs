//! Keeps the model from writing to `.env`, `.git` and `node_modules`, wherever they are in the workspace, and whichever
//! way a path leads there. Reading is allowed.
//!
//! It shows a guard that compares places and not paths, and tells the person.
#![forbid(unsafe_code)]

use mod_interface::prelude::*;

export_mod!(protected_paths);

const PROTECTED: [&str; 3] = [".env", ".git", "node_modules"];

async fn protected_paths(cmd: ModApi) -> Result<()> {
    let root = cmd.place(".");
    cmd.hooks(Hooks::new().fail_closed().before_tool_call_sync(move |call, ctx| {
        if !["write_file", "edit_file"].contains(&call.tool_name()) {
            return Ok(None);
        }
        let Some(file) = call.input_place("file_path") else { return Ok(None) };
        let below = file.strip_prefix(&root).unwrap_or(&file);
        let Some(part) = PROTECTED.into_iter().find(|part| below.iter().any(|name| name == *part)) else {
            return Ok(None);
        };
        ctx.ui().notify(&format!("protected-paths: {} was not written", below.display()));
        Ok(Some(BeforeToolCall::block(format!("{part} is protected: it may be read, and not written."))))
    }))?;
    Ok(())
}
