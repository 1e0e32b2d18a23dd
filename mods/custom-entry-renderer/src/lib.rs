//! Entries of a mod's own in the feed: each tool that failed is a red row, with the first line of why.
#![forbid(unsafe_code)]

use mod_interface::prelude::*;

export_mod!(custom_entry_renderer);

/// The type of the entries. The first renderer of a type wins among all mods, so it is named after this one.
const FAILED: &str = "custom-entry-renderer/failed";

async fn custom_entry_renderer(cmd: ModApi) -> Result<()> {
    // From data to lines, styled with escape sequences. It may be drawn by any screen, so it only makes text.
    // With serde it can be a type of your own in place of the `Value`.
    cmd.add_renderer(FAILED, |failed: Value| {
        let (tool, error) = (text(&failed, "tool"), text(&failed, "error"));
        let mut lines = error.lines();
        let mut drawn = vec![format!("\u{1b}[31m✗ {tool}\u{1b}[0m {}", lines.next().unwrap_or_default())];
        let more = lines.count();
        if more > 0 {
            drawn.push(format!("  and {more} more lines"));
        }
        drawn
    })?;

    // Who shows it gives data alone.
    cmd.on(EventKind::ToolErrored, |event| {
        if let EventPayload::ToolErrored { tool_name, error, .. } = event.parse()?.payload {
            event.ctx().show_entry(FAILED, &json!({ "tool": tool_name, "error": error }))?;
        }
        Ok(())
    })?;
    Ok(())
}

fn text<'a>(data: &'a Value, field: &str) -> &'a str {
    data[field].as_str().unwrap_or_default()
}
