use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::{Access, Error, ToolContext, file, path, typed};

mod nearest;

/// Files above this many bytes are not edited.
const MAX_SIZE: u64 = 50_000_000;
/// How many places are named.
const MAX_NAMED: usize = 20;

pub(super) struct EditFile {
    pub(super) writing: file::Writing,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub(super) struct Input {
    /// The file, absolute or relative to the workspace.
    file_path: String,
    /// The text to replace, exactly as it is in the file, without line numbers.
    old_string: String,
    /// The text to put in its place.
    new_string: String,
    /// Replace every occurrence. Without it there must be just one.
    #[serde(default)]
    replace_all: bool,
}

impl typed::Typed for EditFile {
    type Input = Input;
    const NAME: &'static str = "edit_file";
    const DESCRIPTION: &'static str = "Replaces text in a file. old_string must be in the file exactly once, \
        spaces included: take in enough of the lines around it, or set replace_all.";
    const ACCESS: Access = Access::Edit;

    fn subjects(input: &Input) -> Vec<String> {
        vec![input.file_path.clone()]
    }

    fn describe(input: &Input) -> String {
        format!("edit {}", input.file_path)
    }

    async fn run(&self, input: Input, ctx: ToolContext) -> Result<String, Error> {
        let path = path::resolve(&ctx.cwd, &input.file_path)?;
        let shown = path::shown(&ctx.cwd, &path);
        let writing = self.writing.clone();
        typed::writing(&ctx, move |stop| {
            let _writing = writing.begin();
            edit(&path, &shown, &input, stop)
        })
        .await
    }
}

fn edit(path: &Path, shown: &str, input: &Input, stop: &CancellationToken) -> Result<String, Error> {
    if input.old_string.is_empty() {
        return Err(Error::Failed(
            "old_string is empty; write_file makes a file or replaces it whole".to_owned(),
        ));
    }
    if input.old_string == input.new_string {
        return Err(Error::Failed("old_string and new_string are the same: nothing to do".to_owned()));
    }
    let content = file::read_whole(path, shown, MAX_SIZE, stop)?;
    let change = Change::find(&content, input);
    match change.places.as_slice() {
        [] => return Err(Error::Failed(not_found(&content, shown, &input.old_string, stop))),
        [_] => (),
        _ if input.replace_all => (),
        places => {
            return Err(Error::Failed(format!(
                "old_string is {} times in {shown}, at lines {}; take in more lines around it, or set replace_all",
                places.len(),
                lines(&content, places),
            )));
        }
    }
    file::write(path, shown, &change.apply(&content), stop)?;
    let line = if change.places.len() == 1 { "line" } else { "lines" };
    Ok(format!("edited {shown}: {line} {}", lines(&content, &change.places)))
}

/// A replacement that fits the line ends of the file.
struct Change {
    old: Vec<u8>,
    new: Vec<u8>,
    places: Vec<usize>,
}

impl Change {
    fn find(content: &[u8], input: &Input) -> Self {
        let as_given = Self::of(content, input.old_string.clone(), input.new_string.clone());
        let newlines = memchr::memchr_iter(b'\n', content).count();
        let crlf = memchr::memmem::find_iter(content, b"\r\n").count();
        // A model is shown no carriage returns, so it sends none.
        if crlf == 0 || crlf < newlines && !as_given.places.is_empty() {
            return as_given;
        }
        Self::of(content, with_crlf(&input.old_string), with_crlf(&input.new_string))
    }

    fn of(content: &[u8], old: String, new: String) -> Self {
        let places = memchr::memmem::find_iter(content, &old).collect();
        Self { old: old.into_bytes(), new: new.into_bytes(), places }
    }

    fn apply(&self, content: &[u8]) -> Vec<u8> {
        let mut edited = Vec::with_capacity(content.len());
        let mut done = 0;
        for place in &self.places {
            edited.extend_from_slice(&content[done..*place]);
            edited.extend_from_slice(&self.new);
            done = place + self.old.len();
        }
        edited.extend_from_slice(&content[done..]);
        edited
    }
}

fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// The numbers of the lines at which the places are.
fn lines(content: &[u8], places: &[usize]) -> String {
    let (mut line, mut counted) = (1, 0);
    let numbers: Vec<String> = places
        .iter()
        .take(MAX_NAMED)
        .map(|place| {
            line += memchr::memchr_iter(b'\n', &content[counted..*place]).count();
            counted = *place;
            line.to_string()
        })
        .collect();
    let more = if places.len() > MAX_NAMED { ", …" } else { "" };
    numbers.join(", ") + more
}

fn not_found(content: &[u8], shown: &str, old: &str, stop: &CancellationToken) -> String {
    let content = String::from_utf8_lossy(content);
    match nearest::nearest(&content, old, stop) {
        Some(nearest) => format!("old_string is not in {shown}. {nearest}"),
        None => format!("old_string is not in {shown}, nor anything like it; read the file again"),
    }
}

#[cfg(test)]
mod tests;
