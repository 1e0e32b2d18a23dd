use std::{
    fs::{self, DirEntry},
    num::NonZeroUsize,
    path::Path,
    sync::Arc,
};

use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::{
    Access, Error, Hidden, ToolContext, file, folder::Folder, page::Page, path, typed, typed::Typed,
};
use crate::files::kind_of;

const DEFAULT_LIMIT: usize = 500;
/// How many entries are put in order, at most.
const MAX_ENTRIES: usize = 100_000;

pub(super) struct ListDirectory;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub(super) struct Input {
    /// The folder, absolute or relative to the workspace; the workspace when not given.
    path: Option<String>,
    /// How many entries to name; 500 when not given.
    limit: Option<NonZeroUsize>,
    /// How many entries to skip.
    offset: Option<usize>,
}

impl Typed for ListDirectory {
    type Input = Input;
    const NAME: &'static str = "list_directory";
    const DESCRIPTION: &'static str = "Names what is in a folder, hidden files too, in the order of the names: \
        folders with a / at the end, links with where they lead.";
    const ACCESS: Access = Access::Read;

    fn subjects(input: &Input) -> Vec<String> {
        vec![input.path.clone().unwrap_or_else(|| ".".to_owned())]
    }

    fn describe(input: &Input) -> String {
        format!("list {}", input.path.as_deref().unwrap_or("."))
    }

    async fn run(&self, input: Input, ctx: ToolContext) -> Result<String, Error> {
        let (cwd, hidden) = (ctx.cwd.clone(), ctx.hidden.clone());
        typed::reading(&ctx, move |stop| list(&cwd, &hidden, &input, stop)).await
    }
}

fn list(cwd: &Path, hidden: &Arc<Hidden>, input: &Input, stop: &CancellationToken) -> Result<String, Error> {
    let folder = path::resolve(cwd, input.path.as_deref().unwrap_or("."))?;
    let shown = path::shown(cwd, &folder);
    file::check_folder(&folder, &shown)?;
    let failed = |source| Error::io("list", &shown, source);
    let found = Folder::new(&folder, hidden);
    let mut entries = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)?.take(MAX_ENTRIES) {
        if stop.is_cancelled() {
            return Err(Error::Interrupted);
        }
        let entry = entry.map_err(failed)?;
        if found.shows(&entry.path()) {
            entries.push((entry.file_name(), entry));
        }
    }
    entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    let mut page = Page::new(input.offset, input.limit, DEFAULT_LIMIT);
    let _ = entries.iter().all(|(_, entry)| page.add(&marked(entry)));
    let mut text = page.finish("entries", Some(entries.len()), &format!("[{shown} is an empty folder]"));
    if entries.len() == MAX_ENTRIES {
        text.push_str("\n[there are more entries than can be put in order; glob can find some of them]");
    }
    Ok(text + &found.note())
}

/// A name, and a mark for what is no regular file.
fn marked(entry: &DirEntry) -> String {
    let name = entry.file_name().to_string_lossy().into_owned();
    let Ok(kind) = entry.file_type() else { return name };
    match kind {
        _ if kind.is_dir() => name + "/",
        _ if kind.is_file() => name,
        _ if kind.is_symlink() => {
            let target = entry.path().read_link().unwrap_or_default();
            let (target, path) = (target.to_string_lossy().into_owned(), entry.path());
            match path.metadata() {
                Ok(metadata) if metadata.is_dir() => format!("{name} -> {target}/"),
                Ok(_) => format!("{name} -> {target}"),
                Err(_) => format!("{name} -> {target} (not there)"),
            }
        }
        _ => format!("{name} ({})", kind_of(kind)),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
