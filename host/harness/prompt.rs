use std::{path::Path, sync::Arc};

use mod_interface::types::PermissionMode;

/// The base of the system prompt. The same bytes in every round of one permission mode: no time, no
/// listing, nothing that changes while the session goes on.
pub(super) fn system_prompt(cwd: &Path, mode: PermissionMode) -> Arc<str> {
    let plan = match mode {
        PermissionMode::Plan => "\nYou are in plan mode: read and plan, change nothing.",
        PermissionMode::Default | PermissionMode::AcceptEdits | PermissionMode::Bypass => "",
    };
    format!(
        "You are cmd, a coding agent that works in a user's project with the tools you are given.\n\
         Look before you change something, keep changes small, and check that they work.\n\
         When a tool call is denied or blocked, take the reason seriously and find another way or ask.\n\
         Working directory: {}\n\
         Platform: {}{plan}",
        cwd.display(),
        std::env::consts::OS,
    )
    .into()
}
