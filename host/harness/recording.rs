use std::{sync::Arc, time::SystemTime};

use mod_interface::types::SessionStartSource;

use crate::{
    session::{self, Clock, Earlier, Session, session_id},
    settings::Places,
};

/// Where a session is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Recording {
    /// In a new file.
    #[default]
    New,
    /// In memory alone.
    InMemory,
    /// In the file of an earlier session of the workspace, which goes on.
    Resume(Earlier),
}

impl Recording {
    pub(super) fn begin(&self, places: &Places) -> session::Result<Session> {
        let clock: Clock = Arc::new(SystemTime::now);
        match self {
            Self::New => Session::create(&places.sessions(), &places.cwd, new_id(), clock),
            Self::InMemory => Ok(Session::in_memory(new_id())),
            Self::Resume(earlier) => {
                let path = session::find(&places.sessions(), &places.cwd, earlier)?;
                Ok(Session::open(&path, clock)?.0)
            }
        }
    }

    pub(super) fn source(&self) -> SessionStartSource {
        match self {
            Self::New | Self::InMemory => SessionStartSource::Startup,
            Self::Resume(_) => SessionStartSource::Resume,
        }
    }
}

fn new_id() -> Arc<str> {
    let mut random = [0; 10];
    // Without random bytes the time alone tells sessions apart.
    let _by_time_alone = getrandom::fill(&mut random);
    session_id(SystemTime::now(), random)
}
