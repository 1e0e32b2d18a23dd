use crate::portable::check_package_name;
use std::fmt;

/// A package of an npm registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpmSource {
    /// Its name, with its scope.
    pub name: String,
    /// A version, a range or a tag; the registry's `latest` when there is none.
    pub version: Option<String>,
}

impl NpmSource {
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let at = text.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(at, _)| at);
        let (name, version) = match at {
            Some(at) => (&text[..at], Some(&text[at + 1..])),
            None => (text, None),
        };
        check_package_name(name).map_err(|_| "the name is not one of a package")?;
        if version.is_some_and(|version| !is_version(version)) {
            return Err("what follows the @ is no version, range or tag");
        }
        Ok(Self { name: name.to_owned(), version: version.map(str::to_owned) })
    }

    /// Whether the version is exact, so that no other one will ever be meant.
    pub fn is_pinned(&self) -> bool {
        self.version.as_deref().is_some_and(|version| semver::Version::parse(version).is_ok())
    }
}

/// npm takes paths, addresses and aliases where a version stands. Each of them has a `:` or a `/`.
fn is_version(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || ".^~<>=|*+- _".contains(c);
    !text.is_empty() && text.len() <= 256 && !text.starts_with(['-', '.']) && text.chars().all(allowed)
}

impl fmt::Display for NpmSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.version.as_ref().map_or(Ok(()), |version| write!(f, "@{version}"))
    }
}
