use crate::version::{self, MajorMinor};
use serde::Deserialize;

/// The most bytes that the metadata section may have.
pub const MAX_METADATA: usize = 64 * 1024;
/// The schema of the metadata that this version reads.
const SCHEMA: u32 = 1;

/// What a mod says about itself in its link section: a JSON object, unknown keys ignored, NUL padding at its end
/// allowed.
///
/// ```json
/// {"schema": 1, "name": "review-guard", "version": "1.2.0", "interface": "1.0", "hooks": ["before_tool_call"],
///  "target": "x86_64-unknown-linux-gnu", "panic": "unwind", "rustc": "1.95.0"}
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// The mod's name.
    pub name: String,
    /// The mod's own version.
    pub version: semver::Version,
    /// The interface version it was built for.
    pub interface: MajorMinor,
    /// The hooks it has.
    pub hooks: Vec<String>,
    /// The Rust target triple it was built for.
    pub target: String,
    /// The panic strategy, `unwind` or `abort`.
    pub panic: String,
    /// The compiler, for people to read.
    pub rustc: Option<String>,
}

#[derive(Deserialize)]
struct Schema {
    schema: u32,
}

#[derive(Deserialize)]
struct Raw {
    name: String,
    version: semver::Version,
    #[serde(with = "version::text")]
    interface: MajorMinor,
    #[serde(default)]
    hooks: Vec<String>,
    target: String,
    panic: String,
    rustc: Option<String>,
}

impl Metadata {
    /// Reads the section's bytes; the reason for a failure is a clause.
    pub(super) fn parse(section: &[u8]) -> Result<Self, String> {
        if section.len() > MAX_METADATA {
            return Err(format!("it has {} bytes, at most {MAX_METADATA} are read", section.len()));
        }
        let padding = section.iter().rev().take_while(|byte| **byte == 0).count();
        let json = &section[..section.len() - padding];
        let Schema { schema } = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        if schema != SCHEMA {
            return Err(format!("its schema is {schema}, this version of cmd reads {SCHEMA}"));
        }
        let raw: Raw = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        crate::portable::check_mod_name(&raw.name).map_err(|error| error.to_string())?;
        Ok(Self {
            name: raw.name,
            version: raw.version,
            interface: raw.interface,
            hooks: raw.hooks,
            target: raw.target,
            panic: raw.panic,
            rustc: raw.rustc,
        })
    }
}
