use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::pattern::Pattern;
use crate::tools;

/// Folders of a project of which no edit is accepted unasked.
const GUARDED: [&str; 3] = [".commandcode", ".git", ".registry"];

/// Where the paths in rules and calls begin, and where links lead.
#[derive(Clone)]
pub struct Workspace {
    /// The root; relative paths start here.
    pub cwd: Arc<Path>,
    /// What `~` stands for.
    pub home: Option<PathBuf>,
    /// Folders of which no edit is accepted unasked, wherever they lie.
    pub guarded: Vec<PathBuf>,
    /// Follows all links, also to what is not there yet.
    pub follow: fn(&Path) -> PathBuf,
}

impl Workspace {
    /// The names of a path: from the root and without dots, as it was given and where links lead.
    pub(super) fn names(&self, given: &str) -> Vec<PathBuf> {
        let given = match self.in_home(given) {
            Some((home, below)) => home.join(below),
            None => PathBuf::from(given),
        };
        let given = tools::normal(&self.cwd.join(given));
        let real = (self.follow)(&given);
        if given == real { vec![given] } else { vec![given, real] }
    }

    /// A name as people write it: relative where it lies inside.
    pub(super) fn shown(&self, name: &Path) -> String {
        match self.inside(name) {
            Some(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
            inside => inside.unwrap_or(name).to_string_lossy().into_owned(),
        }
    }

    /// Whether an edit there changes the project alone: inside the workspace, and not what says which programs
    /// run, or who may do what.
    pub(super) fn is_project_file(&self, name: &Path) -> bool {
        let is_guarded = |part: &OsStr| GUARDED.iter().any(|guarded| part.eq_ignore_ascii_case(guarded));
        let is_ours = |folder: &PathBuf| name.starts_with(folder) || name.starts_with((self.follow)(folder));
        let inside = self.inside(name);
        inside.is_some_and(|inside| !inside.iter().any(is_guarded)) && !self.guarded.iter().any(is_ours)
    }

    fn inside<'a>(&self, name: &'a Path) -> Option<&'a Path> {
        let inside = name.strip_prefix(&self.cwd);
        inside.or_else(|_| name.strip_prefix((self.follow)(&self.cwd))).ok()
    }

    /// What a rule's pattern means for names of paths. It has names as a path has them, and one that ends in
    /// `/*` or `/**` also means the folder itself. One that begins with a `*` means paths anywhere.
    pub(super) fn patterns(&self, pattern: &str) -> Vec<Pattern> {
        let folder = pattern.strip_suffix("/**").or_else(|| pattern.strip_suffix("/*"));
        let folder = folder.map(|folder| if folder.is_empty() { "/" } else { folder });
        [Some(pattern), folder].into_iter().flatten().flat_map(|pattern| self.each(pattern)).collect()
    }

    fn each(&self, pattern: &str) -> Vec<Pattern> {
        if pattern.starts_with('*') {
            return vec![Pattern::new(pattern)];
        }
        // A star in the name of a folder that the pattern does not name is no star of the pattern's.
        let literal = |path: &Path| path.to_string_lossy().replace('*', "\0");
        let starred = |path: &str| path.replace('\0', "*");
        let (base, below) = match self.in_home(pattern) {
            Some((home, below)) => (literal(home), below),
            None => (literal(&self.cwd), pattern),
        };
        let full = tools::normal(&Path::new(&base).join(below)).to_string_lossy().into_owned();
        let fixed = full.find('*').map_or(full.len(), |star| full[..star].rfind('/').unwrap_or(0));
        let (fixed, rest) = full.split_at(fixed);
        let fixed = starred(fixed);
        let real = (self.follow)(Path::new(if fixed.is_empty() { "/" } else { &fixed }));
        let real = real.to_string_lossy();
        let real = if rest.is_empty() { &*real } else { real.trim_end_matches('/') };
        let mut patterns = vec![Pattern::below(&fixed, rest)];
        if real != fixed {
            patterns.push(Pattern::below(real, rest));
        }
        patterns
    }

    /// The home folder, and what is named below it, where a `~` begins the path.
    fn in_home<'a>(&self, path: &'a str) -> Option<(&Path, &'a str)> {
        let below = path.strip_prefix('~')?;
        let below = if below.is_empty() { below } else { below.strip_prefix('/')? };
        // More slashes would make it a path from the root.
        Some((self.home.as_deref()?, below.trim_start_matches('/')))
    }
}
