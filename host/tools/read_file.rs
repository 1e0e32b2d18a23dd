use std::{fmt::Write, num::NonZeroUsize, path::Path};

use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use self::lines::Lines;
use super::{Access, Error, ToolContext, file, path, typed};

mod lines;

const DEFAULT_LIMIT: usize = 2000;
/// How many bytes of a line are shown.
const MAX_LINE: usize = 2000;
/// How many bytes are shown in all.
const MAX_TEXT: usize = 100_000;

pub(super) struct ReadFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub(super) struct Input {
    /// The file, absolute or relative to the workspace.
    file_path: String,
    /// The line to start at, counted from 1.
    offset: Option<NonZeroUsize>,
    /// How many lines to read; 2000 when not given.
    limit: Option<NonZeroUsize>,
}

impl typed::Typed for ReadFile {
    type Input = Input;
    const NAME: &'static str = "read_file";
    const DESCRIPTION: &'static str = "Reads a text file. Each line is shown after its number and a tab, \
        which are no part of the file. Long files are read in parts, with offset and limit.";
    const ACCESS: Access = Access::Read;

    fn subjects(input: &Input) -> Vec<String> {
        vec![input.file_path.clone()]
    }

    fn describe(input: &Input) -> String {
        format!("read {}", input.file_path)
    }

    async fn run(&self, input: Input, ctx: ToolContext) -> Result<String, Error> {
        let path = path::resolve(&ctx.cwd, &input.file_path)?;
        let shown = path::shown(&ctx.cwd, &path);
        typed::reading(&ctx, move |stop| read(&path, &shown, &input, stop)).await
    }
}

fn read(path: &Path, shown: &str, input: &Input, stop: &CancellationToken) -> Result<String, Error> {
    let mut lines = Lines::of(file::open(path, shown, stop)?, shown);
    let start = lines.ahead()?;
    if start.is_empty() {
        return Ok(format!("[{shown} is empty]"));
    }
    if let Some(kind) = binary_kind(start) {
        let hint = "only text is read; shell_command can look into it";
        return Err(Error::Kind { path: shown.to_owned(), kind, hint });
    }
    let first = input.offset.map_or(1, NonZeroUsize::get);
    for before in 1..first {
        if lines.next(0)?.is_none() {
            return Err(none_at(first, before - 1, shown));
        }
    }
    if lines.ahead()?.is_empty() {
        return Err(none_at(first, first - 1, shown));
    }
    numbered(&mut lines, first, input.limit.map_or(DEFAULT_LIMIT, NonZeroUsize::get))
}

fn none_at(offset: usize, count: usize, shown: &str) -> Error {
    Error::Failed(format!("{shown} ends at line {count}, there is none at offset {offset}"))
}

/// The lines from here on, with their numbers, and how to see those that found no room.
fn numbered(lines: &mut Lines<'_>, first: usize, limit: usize) -> Result<String, Error> {
    let (mut text, mut number, mut has_cut) = (String::new(), first, false);
    while number - first < limit && text.len() < MAX_TEXT {
        let Some(line) = lines.next(MAX_LINE)? else { break };
        has_cut |= line.cut > 0;
        let _ = writeln!(text, "{number:>6}\t{line}");
        number += 1;
    }
    if !lines.ahead()?.is_empty() {
        let _ = writeln!(text, "[there is more; for the next lines: offset {number}]");
    }
    if has_cut {
        let _ = writeln!(text, "[long lines are cut; shell_command can show the rest, with cut -c]");
    }
    text.truncate(text.trim_end_matches('\n').len());
    Ok(text)
}

/// What a file that begins so is, when it is no text.
fn binary_kind(start: &[u8]) -> Option<String> {
    memchr::memchr(0, start)?;
    if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
        return Some("text in UTF-16".to_owned());
    }
    let kind = infer::get(start).map(|kind| format!("not text but {}", kind.mime_type()));
    Some(kind.unwrap_or_else(|| "not text".to_owned()))
}

#[cfg(test)]
mod tests;
