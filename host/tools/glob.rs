use std::{cmp::Reverse, num::NonZeroUsize, path::Path, sync::Arc, time::SystemTime};

use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::{
    Access, Error, Hidden, ToolContext, file, folder::Folder, page::Page, path, typed, typed::Typed, walk,
};

const DEFAULT_LIMIT: usize = 200;
/// How many files are put in order, at most.
const MAX_FILES: usize = 100_000;

pub(super) struct Glob;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub(super) struct Input {
    /// The pattern for the path below the folder: * within a name, ** across folders, {a,b} for either.
    pattern: String,
    /// The folder to look in; the workspace when not given.
    path: Option<String>,
    /// How many files to name; 200 when not given.
    limit: Option<NonZeroUsize>,
    /// How many files to skip.
    offset: Option<usize>,
}

impl Typed for Glob {
    type Input = Input;
    const NAME: &'static str = "glob";
    const DESCRIPTION: &'static str = "Finds files by a pattern such as **/*.rs or src/*.{js,ts}, the one that \
        changed last first. Files that .gitignore leaves out are not found.";
    const ACCESS: Access = Access::Read;

    fn subjects(input: &Input) -> Vec<String> {
        vec![input.path.clone().unwrap_or_else(|| ".".to_owned())]
    }

    fn describe(input: &Input) -> String {
        match &input.path {
            Some(path) => format!("find {} in {path}", input.pattern),
            None => format!("find {}", input.pattern),
        }
    }

    async fn run(&self, input: Input, ctx: ToolContext) -> Result<String, Error> {
        let (cwd, hidden) = (ctx.cwd.clone(), ctx.hidden.clone());
        typed::reading(&ctx, move |stop| find(&cwd, &hidden, &input, stop)).await
    }
}

fn find(cwd: &Path, hidden: &Arc<Hidden>, input: &Input, stop: &CancellationToken) -> Result<String, Error> {
    let root = path::resolve(cwd, input.path.as_deref().unwrap_or("."))?;
    file::check_folder(&root, &path::shown(cwd, &root))?;
    let pattern = walk::pattern(Glob::NAME, "pattern", &input.pattern)?;
    let folder = Folder::new(&root, hidden);
    let mut files: Vec<(Reverse<SystemTime>, String)> = Vec::new();
    let mut unread = 0;
    for entry in walk::below(&folder) {
        if stop.is_cancelled() {
            return Err(Error::Interrupted);
        }
        let Ok(entry) = entry else {
            unread += 1;
            continue;
        };
        let below = entry.path().strip_prefix(&root).unwrap_or(entry.path());
        let is_folder = entry.file_type().is_none_or(|kind| kind.is_dir());
        if is_folder || !pattern.is_match(below) {
            continue;
        }
        let changed = entry.metadata().ok().and_then(|metadata| metadata.modified().ok());
        files.push((Reverse(changed.unwrap_or(SystemTime::UNIX_EPOCH)), path::shown(cwd, entry.path())));
        if files.len() == MAX_FILES {
            break;
        }
    }
    files.sort_unstable();
    let mut page = Page::new(input.offset, input.limit, DEFAULT_LIMIT);
    let _ = files.iter().all(|(_, file)| page.add(file));
    let none = format!("no file matches {}; * stays within a folder, ** does not", input.pattern);
    let mut text = page.finish("files", Some(files.len()), &none);
    if files.len() == MAX_FILES {
        text.push_str("\n[there are more files than can be put in order; use a narrower pattern]");
    }
    Ok(text + &walk::unread(unread) + &folder.note())
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
