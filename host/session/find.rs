use std::{
    cmp::Reverse,
    fs,
    io::{BufRead, BufReader, ErrorKind},
    path::{Path, PathBuf},
};

use memchr::memmem;

use super::{
    Error, Result,
    entry::{Body, Entry},
    name::folder,
};

/// How many sessions a list names.
const MAX_LISTED: usize = 20;

/// Which of the workspace's sessions is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Earlier {
    /// The one that was written to last.
    Latest,
    /// The one whose id begins so, or, as ids of one hour begin alike, ends so. Without anything, an error lists
    /// those that there are.
    Id(String),
}

/// Finds the file of an earlier session of the workspace `cwd`. The latest is one that has a turn: a run that
/// was killed in its first has left a file too.
///
/// # Errors
/// There is none, several ids begin or end so, or the folder cannot be read.
pub fn find(sessions: &Path, cwd: &Path, earlier: &Earlier) -> Result<PathBuf> {
    let files = files(&folder(sessions, cwd))?;
    match earlier {
        Earlier::Latest => {
            // Of those written in one moment, the one that began last.
            let written = |path: &PathBuf| fs::metadata(path).and_then(|it| it.modified()).ok();
            let mut files = files;
            files.sort_by_cached_key(|(id, path)| Reverse((written(path), id.clone())));
            let latest = files.into_iter().map(|(_, path)| path).find(|path| has_a_turn(path));
            latest.ok_or_else(|| Error::NoneYet(cwd.to_owned()))
        }
        Earlier::Id(id) if id.is_empty() && files.is_empty() => Err(Error::NoneYet(cwd.to_owned())),
        Earlier::Id(id) if id.is_empty() => Err(Error::Which(listed(&files))),
        Earlier::Id(id) => {
            let meant = |file: &str| file.starts_with(&**id) || file.ends_with(&**id);
            let mut found: Vec<_> = files.into_iter().filter(|(file, _)| meant(file)).collect();
            match found.len() {
                0 => Err(Error::NoSuch { id: id.clone(), cwd: cwd.to_owned() }),
                1 => Ok(found.remove(0).1),
                _ => Err(Error::Several { id: id.clone(), ids: listed(&found) }),
            }
        }
    }
}

/// The ids of these sessions with their names, the one that began last first.
fn listed(files: &[(String, PathBuf)]) -> String {
    let shown = files.iter().rev().take(MAX_LISTED).map(|(id, path)| match name_of(path) {
        Some(name) => format!("{id} ({name})"),
        None => id.clone(),
    });
    let more = files.len().saturating_sub(MAX_LISTED);
    let more = (more > 0).then(|| format!("and {more} that began before them"));
    shown.chain(more).collect::<Vec<_>>().join(", ")
}

/// The name that stands last in a file.
fn name_of(path: &Path) -> Option<String> {
    let bytes = crate::files::read(path).ok()?;
    let at = memmem::rfind(&bytes, br#""type":"session_info""#)?;
    let start = bytes[..at].iter().rposition(|byte| *byte == b'\n')? + 1;
    let line = bytes[start..].split(|byte| *byte == b'\n').next()?;
    match Entry::read(line).ok()?.body {
        Body::SessionInfo { name } => Some(name),
        _ => None,
    }
}

/// Whether a commit stands in a file, as in most it does near the start. What cannot be read counts: to open it says why.
fn has_a_turn(path: &Path) -> bool {
    let has = || {
        let (mut lines, mut line) = (BufReader::new(crate::files::open(path)?), Vec::new());
        while lines.read_until(b'\n', &mut line)? > 0 {
            // Within a text the quotes would be escaped.
            if memmem::find(&line, br#""type":"commit""#).is_some() {
                return Ok(true);
            }
            line.clear();
        }
        std::io::Result::Ok(false)
    };
    has().unwrap_or(true)
}

/// The ids and files of the sessions in `folder`, by the time of their start.
fn files(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let failed = |source| Error::Read { path: folder.to_owned(), source };
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let mut files: Vec<_> = paths.into_iter().filter_map(|path| Some((id_of(&path)?, path))).collect();
    files.sort();
    Ok(files)
}

/// The id in a name `<time>-<id>.jsonl`; an id has five groups.
fn id_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_suffix(".jsonl")?;
    let groups: Vec<_> = name.rsplitn(6, '-').collect();
    let [id @ .., _time] = &groups[..] else { return None };
    let id: Vec<_> = id.iter().rev().copied().collect();
    (id.len() == 5).then(|| id.join("-"))
}

#[cfg(test)]
mod tests {
    use std::{
        sync::Arc,
        time::{Duration, SystemTime},
    };

    use mod_interface::types::{AgentState, Message};

    use super::*;
    use crate::session::{Session, session_id};

    struct Sessions(tempfile::TempDir);

    impl Sessions {
        /// Records a session that begins at `second`, and gives its id.
        fn record(&self, cwd: &str, second: u64) -> Arc<str> {
            self.record_named(cwd, second, &[])
        }

        fn record_named(&self, cwd: &str, second: u64, names: &[&str]) -> Arc<str> {
            let now = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
            let id = session_id(now, [second as u8; 10]);
            let clock = Arc::new(move || now);
            let mut session = Session::create(self.0.path(), Path::new(cwd), Arc::clone(&id), clock).unwrap();
            let mut state = AgentState::new(&*id);
            state.push(Message::user("hi"));
            session.commit(&state).unwrap();
            names.iter().for_each(|name| drop(session.set_name(name).unwrap()));
            id
        }

        fn find(&self, earlier: &Earlier) -> Result<String, String> {
            let found = find(self.0.path(), Path::new("/project"), earlier);
            found.map(|path| id_of(&path).unwrap()).map_err(|error| error.to_string())
        }

        fn by_id(&self, id: &str) -> Result<String, String> {
            self.find(&Earlier::Id(id.to_owned()))
        }
    }

    #[test]
    fn the_latest_is_the_one_that_was_written_to_last_in_this_workspace() {
        let sessions = Sessions(tempfile::tempdir().unwrap());
        let none = "there is no session to continue in /project yet; run without --continue";
        assert_eq!(sessions.find(&Earlier::Latest), Err(none.to_owned()));
        let (first, second) = (sessions.record("/project", 100), sessions.record("/project", 200));
        sessions.record("/elsewhere", 300);
        let path =
            |id: &str| find(sessions.0.path(), Path::new("/project"), &Earlier::Id(id.into())).unwrap();
        let touch = |id: &str, second| {
            let file = fs::File::options().append(true).open(path(id)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(second)).unwrap();
        };
        touch(&first, 1000);
        touch(&second, 1000);
        assert_eq!(sessions.find(&Earlier::Latest), Ok(second.to_string()), "the later of two at once");
        touch(&first, 1001);
        assert_eq!(sessions.find(&Earlier::Latest), Ok(first.to_string()));
        let header = fs::read_to_string(path(&first)).unwrap().lines().next().unwrap().to_owned();
        let killed = r#"{"type":"message","message":{"text":"\"type\":\"commit\""}}"#;
        fs::write(path(&first), format!("{header}\n{killed}\n")).unwrap();
        assert_eq!(sessions.find(&Earlier::Latest), Ok(second.to_string()), "a turn that was not committed");
    }

    #[test]
    fn a_session_is_found_by_its_id_and_by_either_end_of_it() {
        let sessions = Sessions(tempfile::tempdir().unwrap());
        let (first, second) = (sessions.record("/project", 100), sessions.record("/project", 200));
        assert_eq!(sessions.by_id(&first), Ok(first.to_string()));
        assert_eq!(sessions.by_id(&first[..13]), Ok(first.to_string()));
        assert_eq!(sessions.by_id(&second[30..]), Ok(second.to_string()));
        let several =
            format!("several sessions have that at an end of their id: {second}, {first}, got: 0000");
        assert_eq!(sessions.by_id("0000"), Err(several));
        let none = "there is no such session in /project; --continue takes the last one, got: x";
        assert_eq!(sessions.by_id("x"), Err(none.to_owned()));
    }

    #[test]
    fn sessions_are_listed_with_their_names_the_one_that_began_last_first() {
        let sessions = Sessions(tempfile::tempdir().unwrap());
        let none = "there is no session to continue in /project yet; run without --continue";
        assert_eq!(sessions.by_id(""), Err(none.to_owned()));
        let first = sessions.record_named("/project", 100, &["old", "new \"type\":\"session_info\""]);
        let second = sessions.record("/project", 200);
        let which = format!(
            "which session shall go on? --resume takes the id of one, or --continue: {second}, {first} (new \"type\":\"session_info\")"
        );
        assert_eq!(sessions.by_id(""), Err(which));
        (1000..1020).for_each(|second| drop(sessions.record("/project", second)));
        let many = sessions.by_id("").unwrap_err();
        assert_eq!(many.split(", ").last(), Some("and 2 that began before them"));
    }
}
