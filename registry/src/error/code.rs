use super::Error;

impl Error {
    /// The stable code, for people to search for and programs to tell apart.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "E_IO",
            Self::Name { .. } => "E_NAME",
            Self::Source { .. } => "E_SOURCE",
            Self::Manifest { .. } => "E_MANIFEST",
            Self::ManifestSchema { .. } => "E_MOD_SCHEMA",
            Self::NoArtifact { .. } => "E_NO_ARTIFACT",
            Self::Refused { refusal, .. } => refusal.code(),
            Self::TargetLies { .. } => "E_TARGET_LIES",
            Self::Identity { .. } => "E_IDENTITY",
            Self::Lock { .. } => "E_LOCK",
            Self::LockVersion { .. } => "E_LOCK_VERSION",
            Self::LockDrift { .. } => "E_LOCK_DRIFT",
            Self::NotInstalled { .. } => "E_NOT_INSTALLED",
            Self::NoLockEntry { .. } => "E_NO_LOCK_ENTRY",
            Self::UnknownPackage { .. } => "E_UNKNOWN_PACKAGE",
            Self::Permissions { .. } => "E_PERMISSIONS",
            Self::Busy { .. } => "E_BUSY",
            Self::Archive { .. } => "E_ARCHIVE",
            Self::EntryPath { .. } => "E_ENTRY_PATH",
            Self::EntryType { .. } => "E_ENTRY_TYPE",
            Self::EntryDuplicate { .. } => "E_ENTRY_DUPLICATE",
            Self::TooBig { .. } => "E_TOO_BIG",
            Self::Integrity { .. } => "E_INTEGRITY",
            Self::HashMismatch { .. } => "E_HASH_MISMATCH",
            Self::Unsigned { .. } => "E_UNSIGNED",
            Self::BadSignature { .. } => "E_SIGNATURE",
            Self::SignerChanged { .. } => "E_SIGNER_CHANGED",
            Self::ToolMissing { program: "npm" } => "E_NPM_MISSING",
            Self::ToolMissing { .. } => "E_GIT_MISSING",
            Self::Timeout { .. } => "E_TIMEOUT",
            Self::Fetch { .. } => "E_FETCH",
            Self::Offline { .. } => "E_OFFLINE",
            Self::TagMoved { .. } => "E_TAG_MOVED",
            Self::RegistryChanged { .. } => "E_REGISTRY_CHANGED",
            Self::Downgrade { .. } => "E_DOWNGRADE",
            Self::NoPrevious { .. } => "E_NO_PREVIOUS",
            Self::LockOutdated { .. } => "E_LOCK_OUTDATED",
            Self::Declined { .. } => "E_DECLINED",
            Self::Interrupted => "E_INTERRUPTED",
            Self::NoMods { .. } => "E_NO_MODS",
        }
    }
}
