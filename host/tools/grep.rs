use std::{io, num::NonZeroUsize, path::Path, sync::Arc};

use globset::GlobMatcher;
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use self::found::Found;
use super::{Access, Error, ToolContext, file, folder::Folder, page::Page, path, typed, typed::Typed, walk};

mod found;

const DEFAULT_LIMIT: usize = 200;
const MAX_CONTEXT: usize = 100;
/// Lines that need more memory than this are not searched.
const MAX_MEMORY: usize = 64 * 1024 * 1024;

pub(super) struct Grep;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub(super) struct Input {
    /// The regular expression, in the syntax of ripgrep. It matches within a line.
    pattern: String,
    /// The file or folder to search; the workspace when not given.
    path: Option<String>,
    /// Which files to search, such as *.rs or src/**/*.{js,ts}.
    glob: Option<String>,
    /// Whether upper and lower case are the same.
    #[serde(default)]
    case_insensitive: bool,
    /// What to show: the lines that match (when not given), the files that have one, or how many each has.
    #[serde(default)]
    output_mode: Mode,
    /// How many lines to show before and after each one that matches.
    #[schemars(range(max = MAX_CONTEXT))]
    context: Option<usize>,
    /// How many lines to show; 200 when not given.
    limit: Option<NonZeroUsize>,
    /// How many lines to skip.
    offset: Option<usize>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mode {
    #[default]
    Content,
    Files,
    Count,
}

impl Typed for Grep {
    type Input = Input;
    const NAME: &'static str = "grep";
    const DESCRIPTION: &'static str = "Searches files for a regular expression. Shows path:line:text for a line \
        that matches, path-line-text for one around it. Binary files, and those that .gitignore leaves out, are \
        not searched.";
    const ACCESS: Access = Access::Read;

    fn subjects(input: &Input) -> Vec<String> {
        vec![input.path.clone().unwrap_or_else(|| ".".to_owned())]
    }

    fn describe(input: &Input) -> String {
        match &input.path {
            Some(path) => format!("search for {} in {path}", input.pattern),
            None => format!("search for {}", input.pattern),
        }
    }

    async fn run(&self, input: Input, ctx: ToolContext) -> Result<String, Error> {
        let (cwd, hidden) = (ctx.cwd.clone(), ctx.hidden.clone());
        typed::reading(&ctx, move |stop| {
            let search = Search::new(&cwd, &input, stop)?;
            let root = path::resolve(&cwd, input.path.as_deref().unwrap_or("."))?;
            search.run(&Folder::new(&root, &hidden))
        })
        .await
    }
}

struct Search<'a> {
    cwd: &'a Path,
    stop: &'a CancellationToken,
    glob: Option<GlobMatcher>,
    searcher: Searcher,
    matcher: RegexMatcher,
    mode: Mode,
    page: Page,
}

impl<'a> Search<'a> {
    fn new(cwd: &'a Path, input: &Input, stop: &'a CancellationToken) -> Result<Self, Error> {
        let mut matcher = RegexMatcherBuilder::new();
        let matcher = matcher.case_insensitive(input.case_insensitive).crlf(true).build(&input.pattern);
        let matcher = matcher.map_err(|error| Error::input(Grep::NAME, "pattern", &error.to_string()))?;
        let glob = input.glob.as_deref().map(|glob| {
            let everywhere = if glob.contains('/') { glob.to_owned() } else { format!("**/{glob}") };
            walk::pattern(Grep::NAME, "glob", &everywhere)
        });
        let context = input.context.unwrap_or(0).min(MAX_CONTEXT);
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_MEMORY))
            .before_context(context)
            .after_context(context)
            .build();
        let page = Page::new(input.offset, input.limit, DEFAULT_LIMIT);
        Ok(Self { cwd, stop, glob: glob.transpose()?, searcher, matcher, mode: input.output_mode, page })
    }

    fn run(mut self, folder: &Arc<Folder>) -> Result<String, Error> {
        let root = folder.path();
        let shown = path::shown(self.cwd, root);
        let kind = root.metadata().map_err(|source| Error::io("search", &shown, source))?;
        let note = if kind.is_dir() {
            walk::unread(self.search_below(folder)?) + &folder.note()
        } else if self.search_file(root, &shown)? {
            format!("\n[{shown} is searched up to where it is not text]")
        } else {
            String::new()
        };
        let what = if self.mode == Mode::Content { "lines" } else { "files" };
        Ok(self.page.finish(what, None, "no match") + &note)
    }

    /// Searches all files below a folder, until the page is full; says how many could not be read.
    fn search_below(&mut self, folder: &Arc<Folder>) -> Result<usize, Error> {
        let (mut unread, root) = (0, folder.path());
        for entry in walk::below(folder) {
            if self.page.is_full() {
                break;
            }
            let Ok(entry) = entry else {
                unread += 1;
                continue;
            };
            let below = entry.path().strip_prefix(root).unwrap_or(entry.path());
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            if !is_file || self.glob.as_ref().is_some_and(|glob| !glob.is_match(below)) {
                continue;
            }
            let shown = path::shown(self.cwd, entry.path());
            unread += usize::from(self.search_file(entry.path(), &shown).is_err());
            if self.stop.is_cancelled() {
                return Err(Error::Interrupted);
            }
        }
        Ok(unread)
    }

    /// Searches one file, and says whether it turned out not to be text.
    fn search_file(&mut self, path: &Path, shown: &str) -> Result<bool, Error> {
        let file = file::open(path, shown, self.stop)?;
        let mut found = Found::new(shown, self.mode, &self.matcher, &mut self.page);
        let searched = self.searcher.search_reader(&self.matcher, file, &mut found);
        searched.map_err(|source: io::Error| Error::io("search", shown, source))?;
        Ok(found.finish())
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
