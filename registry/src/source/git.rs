use std::fmt;

const GITHUB: &str = "github.com";

/// A git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSource {
    /// The address that git gets.
    pub url: String,
    /// A tag, branch or commit; the default branch when there is none.
    pub reference: Option<String>,
    host: String,
    path: String,
}

impl GitSource {
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let rest = text.strip_prefix("git:").filter(|rest| !rest.starts_with("//"));
        let address = rest.unwrap_or(text);
        if let Some(rest) = address.strip_prefix("https://") {
            return Self::https(rest);
        }
        if let Some(rest) = address.strip_prefix("ssh://") {
            return Self::ssh(rest);
        }
        if address.contains("://") || address.contains("::") {
            return Err("only https and ssh are used to fetch");
        }
        if let Some((user, rest)) = address.split_once('@')
            && let Some((host, path)) = rest.split_once(':')
            && is_word(user)
        {
            return Self::new(host, path, |host, path| format!("{user}@{host}:{path}"));
        }
        match rest {
            Some(rest) => {
                let (host, path) = rest.split_once('/').ok_or("a host and a path are needed")?;
                Self::new(host, path, https_url)
            }
            None if address.split('@').next().is_some_and(|path| path.matches('/').count() == 1) => {
                Self::new(GITHUB, address, https_url)
            }
            None => Err("it is neither a package, nor a repository, nor a path that starts with ./ or /"),
        }
    }

    /// What it is known by, without ref, scheme, user and `.git`.
    pub fn identity(&self) -> String {
        format!("git:{}/{}", self.host, self.path)
    }

    /// The ref, when it is a whole commit: that is what is fetched, whatever tags and branches say.
    pub fn commit(&self) -> Option<&str> {
        self.reference
            .as_deref()
            .filter(|text| text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit()))
    }

    fn https(rest: &str) -> Result<Self, &'static str> {
        let (host, path) = rest.split_once('/').ok_or("a host and a path are needed")?;
        if host.contains('@') {
            return Err("a user name or password does not belong in it, use a git credential helper");
        }
        Self::new(host, path, https_url)
    }

    fn ssh(rest: &str) -> Result<Self, &'static str> {
        let (authority, path) = rest.split_once('/').ok_or("a host and a path are needed")?;
        let (user, host) = match authority.split_once('@') {
            Some((user, host)) if is_word(user) => (Some(user), host),
            Some(_) => return Err("a password does not belong in it, use an ssh key"),
            None => (None, authority),
        };
        let user = user.map(|user| format!("{user}@")).unwrap_or_default();
        let mut source = Self::new(host, path, |host, path| format!("ssh://{user}{host}/{path}"))?;
        // Which door ssh uses does not make it another repository.
        source.host = source.host.split('+').next().unwrap_or_default().to_owned();
        Ok(source)
    }

    fn new(host: &str, path: &str, url: impl Fn(&str, &str) -> String) -> Result<Self, &'static str> {
        let (path, reference) = match path.split_once('@') {
            Some((path, reference)) => (path, Some(reference)),
            None => (path, None),
        };
        let path = path.trim_end_matches('/');
        let bare = path.strip_suffix(".git").unwrap_or(path);
        let (name, port) = match host.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (host, None),
        };
        if !is_word(name) || !bare.split('/').all(is_word) {
            return Err(
                "a host or path may have letters, digits and . _ - only, and starts with none of . -",
            );
        }
        if port.is_some_and(|port| {
            port.is_empty() || port.len() > 5 || !port.bytes().all(|byte| byte.is_ascii_digit())
        }) {
            return Err("the port is not a number");
        }
        if reference.is_some_and(|reference| !is_ref(reference)) {
            return Err("what follows the @ is no tag, branch or commit");
        }
        let host_name = name.to_ascii_lowercase();
        let address = host.to_ascii_lowercase();
        Ok(Self {
            url: url(&address, path),
            reference: reference.map(str::to_owned),
            path: if host_name == GITHUB { bare.to_ascii_lowercase() } else { bare.to_owned() },
            host: match port {
                Some(port) if port != "443" => format!("{host_name}+{port}"),
                _ => host_name,
            },
        })
    }
}

fn https_url(host: &str, path: &str) -> String {
    format!("https://{host}/{path}")
}

fn is_word(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    !text.is_empty() && !text.starts_with(['-', '.']) && text.chars().all(allowed)
}

/// The rules that git has for refs, and no leading dash.
fn is_ref(text: &str) -> bool {
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    !text.starts_with('-')
        && !text.ends_with('.')
        && text != "@"
        && !text.contains("..")
        && !text.contains("@{")
        && !text.contains(|c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c))
        && text.split('/').all(part)
}

impl fmt::Display for GitSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)?;
        self.reference.as_ref().map_or(Ok(()), |reference| write!(f, "@{reference}"))
    }
}
