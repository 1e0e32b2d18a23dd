use std::fmt;

/// What a mod's code fails with: any error, or a text.
///
/// `?` makes one of any [`std::error::Error`]; [`Error::msg`] makes one of a text.
///
/// ```
/// use mod_interface::prelude::*;
///
/// fn port(text: &str) -> Result<u16> {
///     let port: u16 = text.trim().parse()?;
///     if port == 0 { Err(Error::msg("port 0 means any port")) } else { Ok(port) }
/// }
/// assert_eq!(port("x").unwrap_err().to_string(), "invalid digit found in string");
/// assert_eq!(port("0").unwrap_err().to_string(), "port 0 means any port");
/// ```
pub struct Error(Box<dyn std::error::Error + Send + Sync>);

/// What a mod's code returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of a text.
    pub fn msg(text: impl Into<String>) -> Self {
        Self(text.into().into())
    }

    /// The error with all that caused it, on one line.
    pub(crate) fn one_line(&self) -> String {
        let mut line = self.0.to_string();
        let mut cause = self.0.source();
        while let Some(error) = cause {
            line += &format!(": {error}");
            cause = error.source();
        }
        line
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for Error {
    fn from(error: E) -> Self {
        Self(Box::new(error))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::Error;

    #[derive(Debug)]
    struct Outer(std::num::ParseIntError);

    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("no port")
        }
    }

    impl std::error::Error for Outer {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn an_error_is_told_with_all_that_caused_it() {
        let error = Error::from(Outer("x".parse::<u16>().unwrap_err()));
        assert_eq!(error.to_string(), "no port");
        assert_eq!(error.one_line(), "no port: invalid digit found in string");
        assert_eq!(Error::msg("just a text").one_line(), "just a text");
    }
}
