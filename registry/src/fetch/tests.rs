//! With the real `npm` and `git`, against a registry and repositories of this machine.

mod git;
mod npm;

use super::FetchOptions;
use crate::{
    Error, Installed, Installer, State,
    fixtures::{Mod, host},
    installed,
};
use std::path::Path;

pub(super) fn add(scope: &Path, text: &str, options: &FetchOptions) -> Result<Installed, Error> {
    Installer::new(scope, &host()).fetching(options.clone()).add(text)
}

pub(super) fn code(result: Result<Installed, Error>) -> &'static str {
    result.map_or_else(|error| error.code(), |_| "ok")
}

pub(super) fn mods(scope: &Path) -> Vec<String> {
    let said = |state| match state {
        State::Ok(found) => format!("{} {}", found.name, found.version),
        State::Problem(error) => error.code().to_owned(),
    };
    installed(scope, &host()).into_iter().map(|candidate| said(candidate.state)).collect()
}

pub(super) fn at_version(version: &'static str) -> Mod {
    Mod { version, ..Mod::default() }
}
