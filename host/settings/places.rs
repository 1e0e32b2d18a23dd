use std::path::{Path, PathBuf};

use super::{Error, Result};

/// The folder's name in the user's home and in a workspace.
const FOLDER: &str = ".commandcode";

/// Whom a setting, a mod or a package belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The person at the keyboard.
    User,
    /// The workspace.
    Project,
}

impl Scope {
    /// `user` or `project`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// Where everything lies on disk. All paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The user's folder.
    pub home: PathBuf,
    /// The project's folder. `None` where it would be the user's own: a session in the home folder
    /// has no project scope.
    pub project: Option<PathBuf>,
    /// The workspace root.
    pub cwd: PathBuf,
    /// The user's home folder, which `~` stands for.
    pub user_home: Option<PathBuf>,
    /// Where cargo puts what it builds, when that is not beside the source.
    pub cargo_target: Option<PathBuf>,
}

impl Places {
    /// The places for `cwd`. `home_override` is the value of `COMMANDCODE_HOME`, `user_home` the
    /// user's home folder; an empty override counts as none.
    ///
    /// # Errors
    /// There is neither of them, or `cwd` is not absolute.
    pub fn new(cwd: PathBuf, home_override: Option<PathBuf>, user_home: Option<PathBuf>) -> Result<Self> {
        if !cwd.is_absolute() {
            return Err(Error::RelativeCwd(cwd));
        }
        let user_home = user_home.filter(|path| path.is_absolute());
        let home = match home_override.filter(|path| !path.as_os_str().is_empty()) {
            Some(path) => cwd.join(path),
            None => user_home.as_ref().ok_or(Error::NoHome)?.join(FOLDER),
        };
        let project = Some(cwd.join(FOLDER)).filter(|project| !same_folder(project, &home));
        Ok(Self { home, project, cwd, user_home, cargo_target: None })
    }

    /// The folder of `scope`; the user's where there is no project scope.
    pub fn folder(&self, scope: Scope) -> &Path {
        match scope {
            Scope::User => &self.home,
            Scope::Project => self.project.as_deref().unwrap_or(&self.home),
        }
    }

    /// The settings file of `scope`.
    pub fn settings(&self, scope: Scope) -> PathBuf {
        self.folder(scope).join("settings.json")
    }

    /// The folder of the session files.
    pub fn sessions(&self) -> PathBuf {
        self.home.join("sessions")
    }
}

/// Whether both are one folder, links followed where they exist.
fn same_folder(left: &Path, right: &Path) -> bool {
    let resolve = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    resolve(left) == resolve(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_folder_is_in_the_home_folder_unless_it_is_overridden() {
        let places = |over: Option<&str>, home: Option<&str>| {
            Places::new("/w".into(), over.map(PathBuf::from), home.map(PathBuf::from))
                .map(|places| places.home)
        };
        assert_eq!(places(None, Some("/u")).unwrap(), PathBuf::from("/u/.commandcode"));
        assert_eq!(places(Some(""), Some("/u")).unwrap(), PathBuf::from("/u/.commandcode"));
        assert_eq!(places(Some("/x"), Some("/u")).unwrap(), PathBuf::from("/x"));
        assert_eq!(places(Some("x"), None).unwrap(), PathBuf::from("/w/x"));
        assert_eq!(
            places(None, None).unwrap_err().to_string(),
            "no home folder is known: set HOME, or COMMANDCODE_HOME to the folder for settings and sessions"
        );
    }

    #[test]
    fn a_session_in_the_home_folder_has_no_project_scope() {
        let places = Places::new("/u".into(), None, Some("/u".into())).unwrap();
        assert_eq!(places.project, None);
        assert_eq!(places.settings(Scope::Project), PathBuf::from("/u/.commandcode/settings.json"));
        let places = Places::new("/u/w".into(), None, Some("/u".into())).unwrap();
        assert_eq!(places.settings(Scope::Project), PathBuf::from("/u/w/.commandcode/settings.json"));
    }
}
