use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use sha2::{Digest, Sha256};

/// How much of a workspace's path its folder's name shows; file systems end names at 255 bytes.
const SHOWN: usize = 64;

/// Makes an id (a UUID, version 7) of the time and ten random bytes. Ids sort by time.
pub fn session_id(now: SystemTime, random: [u8; 10]) -> Arc<str> {
    let millis = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let millis = u64::try_from(millis).unwrap_or(u64::MAX);
    uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid().to_string().into()
}

/// Where a session's file lies: `<sessions>/<workspace>/<time>-<id>.jsonl`.
pub(super) fn file_path(sessions: &Path, cwd: &Path, timestamp: &str, id: &str) -> PathBuf {
    let time = timestamp.replace([':', '.'], "-");
    folder(sessions, cwd).join(format!("{time}-{id}.jsonl"))
}

/// Where the sessions of a workspace lie.
pub(super) fn folder(sessions: &Path, cwd: &Path) -> PathBuf {
    sessions.join(folder_name(cwd))
}

/// A name for the sessions of a workspace: the end of its path, readable, and a hash that keeps
/// `a/b` and `a-b` apart.
fn folder_name(cwd: &Path) -> String {
    let text = cwd.to_string_lossy();
    let slug: String =
        text.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '-' }).collect();
    let shown = slug[slug.len().saturating_sub(SHOWN)..].trim_matches('-');
    let hash = Sha256::digest(cwd.as_os_str().as_encoded_bytes());
    format!("{shown}-{:02x}{:02x}{:02x}{:02x}", hash[0], hash[1], hash[2], hash[3])
}

/// The time as RFC 3339 has it, to the millisecond.
pub(super) fn timestamp(now: SystemTime) -> String {
    humantime::format_rfc3339_millis(now).to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn ids_sort_by_time() {
        let id = |seconds, byte| session_id(UNIX_EPOCH + Duration::from_secs(seconds), [byte; 10]);
        assert_eq!(&*id(1_000_000_000, 0), "00e8d4a5-1000-7000-8000-000000000000");
        assert!(id(1_000_000_000, 0xff) < id(1_000_000_001, 0));
        assert_ne!(id(1, 1), id(1, 2));
    }

    #[test]
    fn a_file_lies_in_its_workspaces_folder_under_its_time() {
        let path = |cwd: &str| file_path(Path::new("/s"), Path::new(cwd), "2026-11-30T17:11:05.123Z", "id");
        assert_eq!(path("/project/a"), Path::new("/s/project-a-f595f49e/2026-11-30T17-11-05-123Z-id.jsonl"));
        assert_ne!(path("/project/a/b"), path("/project/a-b"));
        let long = path(&"/ä".repeat(500));
        assert!(long.components().all(|part| part.as_os_str().len() < 255), "{long:?}");
    }
}
