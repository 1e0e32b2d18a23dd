use super::{
    FetchOptions,
    process::{command, converse, reason, run},
};
use crate::{
    Error,
    archive::{MAX_UNPACKED, PathSet, write_file},
    hash::FileHash,
    lock::RefKind,
    source::GitSource,
};
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{ChildStdin, ChildStdout, Command},
};

/// Files that large-file storage keeps elsewhere begin like this in the repository.
const LARGE_FILE: &[u8] = b"version https://git-lfs";
const COMMON: [&str; 10] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "transfer.fsckObjects=true",
    "-c",
    "gc.auto=0",
    "-c",
    "http.lowSpeedLimit=1000",
    "-c",
    "http.lowSpeedTime=30",
];

/// The files of a commit, written to a folder.
pub(crate) struct GitPackage {
    pub(crate) commit: String,
    pub(crate) ref_kind: RefKind,
    pub(crate) files: BTreeMap<String, FileHash>,
}

/// What a ref is on the other side.
struct Resolved {
    commit: String,
    kind: RefKind,
    /// The full name, for servers that give out no commits.
    name: Option<String>,
}

/// A commit's file.
struct Blob {
    object: String,
    size: u64,
    path: String,
}

/// Fetches a repository at its ref, or at `commit`, and writes the files of that commit into `root`. There is no
/// checkout: no hook, filter, attribute, link or submodule of the repository does anything.
///
/// # Errors
/// `E_TOOL_MISSING`, `E_FETCH`, `E_OFFLINE`, `E_TIMEOUT`, and those of an archive's entries.
pub(crate) fn fetch(
    source: &GitSource,
    commit: Option<&str>,
    root: &Path,
    options: &FetchOptions,
) -> Result<GitPackage, Error> {
    if options.offline {
        return Err(Error::Offline { package: source.identity() });
    }
    let git = Git { source, options, dir: root.with_extension("git") };
    git.init()?;
    let resolved = match commit.or(source.commit()) {
        Some(commit) => Resolved { commit: commit.to_owned(), kind: RefKind::Commit, name: None },
        None => git.resolve()?,
    };
    git.fetch(&resolved)?;
    let blobs = git.list(&resolved.commit)?;
    let files = git.write(&blobs, root)?;
    Ok(GitPackage { commit: resolved.commit, ref_kind: resolved.kind, files })
}

/// The commit that a tag of the repository names now; `None` when there is no such tag any more.
///
/// # Errors
/// `E_TOOL_MISSING`, `E_FETCH`, `E_TIMEOUT`.
pub(crate) fn tag_commit(
    source: &GitSource,
    tag: &str,
    folder: &Path,
    options: &FetchOptions,
) -> Result<Option<String>, Error> {
    let git = Git { source, options, dir: folder.join("tags.git") };
    git.init()?;
    let refs = git.refs(Some(tag))?;
    Ok(peeled(&refs, &format!("refs/tags/{tag}")))
}

struct Git<'a> {
    source: &'a GitSource,
    options: &'a FetchOptions,
    dir: PathBuf,
}

impl Git<'_> {
    fn init(&self) -> Result<(), Error> {
        let mut git = self.command();
        git.args(["init", "-q", "--bare", "--template="]).arg(&self.dir);
        self.run(git).map(drop)
    }

    /// git without what the user's settings would run. Even `init` has a hook.
    fn command(&self) -> Command {
        let mut git = command("git", self.options);
        git.args(COMMON)
            .env("GIT_ALLOW_PROTOCOL", &self.options.git_protocols)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GCM_INTERACTIVE", "never");
        git
    }

    /// The same within the repository that was made, so that no other one's settings count.
    fn git(&self) -> Command {
        let mut git = self.command();
        git.arg("-C").arg(&self.dir);
        git
    }

    /// The same, for what goes over the network: ssh must not ask, unless the user has a command of their own.
    fn remote(&self) -> Command {
        let mut git = self.git();
        if !self.source.url.starts_with("https:") && !self.has_ssh_command() {
            git.args(["-c", "core.sshCommand=ssh -oBatchMode=yes"]);
        }
        git
    }

    fn has_ssh_command(&self) -> bool {
        let mut git = self.git();
        git.args(["config", "--get", "core.sshCommand"]);
        self.run(git).is_ok()
    }

    fn run(&self, git: Command) -> Result<Vec<u8>, Error> {
        let said = run(git, "git", self.options)?;
        if said.success { Ok(said.stdout) } else { Err(self.error(reason(&said.stderr))) }
    }

    fn error(&self, reason: String) -> Error {
        Error::Fetch { what: self.source.identity(), reason }
    }

    /// The refs of the other side that a name can mean, by full name.
    fn refs(&self, name: Option<&str>) -> Result<BTreeMap<String, String>, Error> {
        let mut git = self.remote();
        git.args(["ls-remote", "--end-of-options", &self.source.url]);
        match name {
            Some(name) => git.args([
                format!("refs/tags/{name}"),
                format!("refs/tags/{name}^{{}}"),
                format!("refs/heads/{name}"),
            ]),
            None => git.arg("HEAD"),
        };
        let text = String::from_utf8_lossy(&self.run(git)?).into_owned();
        let rows = text.lines().filter_map(|line| line.split_once('\t'));
        Ok(rows.map(|(commit, name)| (name.to_owned(), commit.to_owned())).collect())
    }

    /// A tag before a branch of the same name.
    fn resolve(&self) -> Result<Resolved, Error> {
        let name = self.source.reference.as_deref();
        let refs = self.refs(name)?;
        let candidates = match name {
            Some(name) => vec![
                (RefKind::Tag, format!("refs/tags/{name}")),
                (RefKind::Branch, format!("refs/heads/{name}")),
            ],
            None => vec![(RefKind::Head, "HEAD".to_owned())],
        };
        for (kind, name) in candidates {
            if let Some(commit) = peeled(&refs, &name) {
                return Ok(Resolved { commit, kind, name: Some(name) });
            }
        }
        let wanted = name.unwrap_or("HEAD");
        Err(self.error(format!(
            "it has no tag or branch of this name, and a commit is written with all its 40 digits: {wanted}"
        )))
    }

    /// Fetches one commit. A server that gives out no commits by their ids is asked for the ref, which must still be
    /// that commit.
    fn fetch(&self, resolved: &Resolved) -> Result<(), Error> {
        let by_commit = self.fetch_spec(&resolved.commit);
        let (Err(error), Some(name)) = (&by_commit, &resolved.name) else {
            return by_commit;
        };
        if self.fetch_spec(name).is_err() {
            return Err(self.error(error.to_string()));
        }
        let mut git = self.git();
        git.args(["rev-parse", "--verify", "refs/mods/pin^{commit}"]);
        let found = String::from_utf8_lossy(&self.run(git)?).trim().to_owned();
        if found == resolved.commit {
            return Ok(());
        }
        Err(self.error(format!(
            "its ref moved while it was fetched, try again, expected {}, got: {found}",
            resolved.commit
        )))
    }

    fn fetch_spec(&self, what: &str) -> Result<(), Error> {
        let mut git = self.remote();
        git.args([
            "fetch",
            "-q",
            "--depth=1",
            "--no-tags",
            "--no-write-fetch-head",
            "--end-of-options",
            &self.source.url,
        ]);
        git.arg(format!("+{what}:refs/mods/pin"));
        self.run(git).map(drop)
    }

    fn list(&self, commit: &str) -> Result<Vec<Blob>, Error> {
        let mut git = self.git();
        git.args(["ls-tree", "-r", "-z", "-l", "--full-tree", &format!("{commit}^{{commit}}")]);
        let listing = self.run(git)?;
        let (mut paths, mut total, mut blobs) = (PathSet::default(), 0, Vec::new());
        for row in listing.split(|byte| *byte == 0).filter(|row| !row.is_empty()) {
            let row = String::from_utf8_lossy(row);
            let blob = blob(&row)
                .unwrap_or_else(|| Err(self.error(format!("git said something unknown: {row}"))))?;
            paths.add_file(&blob.path)?;
            total += blob.size;
            if total > MAX_UNPACKED {
                return Err(Error::TooBig { what: "unpacked bytes", limit: MAX_UNPACKED, found: total });
            }
            blobs.push(blob);
        }
        Ok(blobs)
    }

    /// Asks for one file after the other.
    fn write(&self, blobs: &[Blob], root: &Path) -> Result<BTreeMap<String, FileHash>, Error> {
        let mut git = self.git();
        git.args(["cat-file", "--batch"]);
        converse(git, "git", self.options, |ask, answer| {
            let mut pipe = Pipe { ask, answer: BufReader::new(answer) };
            let written = blobs.iter().map(|blob| {
                let hash = self.write_one(blob, &mut pipe, root)?;
                Ok((blob.path.clone(), hash))
            });
            written.collect()
        })
    }

    fn write_one(&self, blob: &Blob, pipe: &mut Pipe, root: &Path) -> Result<FileHash, Error> {
        let failed = |error: std::io::Error| self.error(error.to_string());
        pipe.ask.write_all(format!("{}\n", blob.object).as_bytes()).map_err(failed)?;
        let mut header = String::new();
        pipe.answer.read_line(&mut header).map_err(failed)?;
        if header.trim_end() != format!("{} blob {}", blob.object, blob.size) {
            return Err(self.ended());
        }
        if pipe.answer.fill_buf().map_err(failed)?.starts_with(LARGE_FILE) {
            let reason = "a file is kept in git-lfs, which is not read, its author must commit it";
            return Err(self.error(format!("{reason}: {}", blob.path)));
        }
        let hash = write_file(&mut pipe.answer.by_ref().take(blob.size), &root.join(&blob.path))?;
        if hash.size != blob.size {
            return Err(self.ended());
        }
        pipe.answer.read_exact(&mut [0]).map_err(failed)?;
        Ok(hash)
    }

    fn ended(&self) -> Error {
        self.error("git ended too early".to_owned())
    }
}

/// The two ends of a `cat-file --batch`.
struct Pipe {
    ask: ChildStdin,
    answer: BufReader<ChildStdout>,
}

/// One row `<mode> <type> <object> <size>\t<path>`; `None` when it is none.
fn blob(row: &str) -> Option<Result<Blob, Error>> {
    let (facts, path) = row.split_once('\t')?;
    let facts: Vec<&str> = facts.split_whitespace().collect();
    let [mode, _, object, size] = facts.as_slice() else {
        return None;
    };
    let refuse = |found: &str| Some(Err(Error::EntryType { path: path.to_owned(), found: found.to_owned() }));
    match *mode {
        "100644" | "100755" | "100664" => {
            Some(Ok(Blob { object: (*object).to_owned(), size: size.parse().ok()?, path: path.to_owned() }))
        }
        "120000" => refuse("a symbolic link"),
        "160000" => refuse("a submodule"),
        other => refuse(other),
    }
}

/// An annotated tag has an object of its own; `^{}` names the commit.
fn peeled(refs: &BTreeMap<String, String>, name: &str) -> Option<String> {
    refs.get(&format!("{name}^{{}}")).or_else(|| refs.get(name)).cloned()
}
