/// Why what a test asked for has no answer: the mod failed, or the test asks for what is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The mod's code returned an error.
    #[error("{place} failed: {reason}")]
    Failed {
        /// Where: a hook's wire name, `tool:<name>`, `command:<name>`, `on:<event>`, `bus:<channel>`, `load`.
        place: String,
        /// The error, with what caused it.
        reason: String,
    },
    /// The mod's code panicked.
    #[error("{place} panicked: {reason}")]
    Panicked {
        /// As in [`Self::Failed`].
        place: String,
        /// What the panic says, and where in the mod.
        reason: String,
    },
    /// The mod answered what the host refuses.
    #[error("{place} answered something invalid: {reason}")]
    Invalid {
        /// As in [`Self::Failed`].
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The mod's code took too long.
    #[error("{place} took longer than {limit_ms} ms")]
    TimedOut {
        /// As in [`Self::Failed`].
        place: String,
        /// What it may take.
        limit_ms: u64,
    },
    /// The test asks for what the mod has not registered.
    #[error("no such {what}: {name}, the mod has: {}", listed(.has))]
    Missing {
        /// What was asked for: `hook`, `tool`, `command`, `observer`, `listener`.
        what: &'static str,
        /// Its name.
        name: String,
        /// The names that there are.
        has: Vec<String>,
    },
    /// A run goes on, and the script has nothing more for the model to say.
    #[error(
        "the model is asked once more than it has answers; give the script one with says() or calls(), it has: {given}"
    )]
    ScriptIsOver {
        /// How many answers there were.
        given: usize,
    },
}

impl Fault {
    /// Where it happened, as in [`Self::Failed`]; empty where it is the test's own.
    pub fn place(&self) -> &str {
        match self {
            Self::Failed { place, .. }
            | Self::Panicked { place, .. }
            | Self::Invalid { place, .. }
            | Self::TimedOut { place, .. } => place,
            Self::Missing { .. } | Self::ScriptIsOver { .. } => "",
        }
    }

    /// What the host says of it in a `mod_error`.
    pub fn cause(&self) -> String {
        match self {
            Self::Failed { reason, .. } => reason.clone(),
            Self::Panicked { reason, .. } => format!("panicked: {reason}"),
            Self::Invalid { reason, .. } => format!("answered something invalid: {reason}"),
            Self::TimedOut { limit_ms, .. } => {
                format!("timeout: took longer than {limit_ms} ms of its own time")
            }
            Self::Missing { .. } | Self::ScriptIsOver { .. } => self.to_string(),
        }
    }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
