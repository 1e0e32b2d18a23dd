//! What is said of the mods that were loaded, and of those that were asked for.

use std::collections::BTreeSet;

use mod_interface::types::NoticeLevel;

use super::Error;
use crate::{
    events::Emitter,
    mod_host::{Loaded, LoadedMod, Origin, nearest},
    settings::{KnownMods, Places},
};

/// The first option for a mod that there is not.
pub(super) fn unknown_option(unasked: &[String], names: &BTreeSet<String>) -> Option<Error> {
    let named = unasked.iter().filter_map(|option| Some((option, option.split_once('.')?.0)));
    let (option, name) = named.into_iter().find(|(_, name)| !names.contains(*name))?;
    let hint = match nearest(names.iter().map(String::as_str), name) {
        Some(name) => format!("did you mean {name}?"),
        None => "see cmd mods list".to_owned(),
    };
    Some(Error::Option { option: option.clone(), name: name.to_owned(), hint })
}

/// Tells what came of loading: what did not load, and what changed.
pub(super) fn tell(emitter: &Emitter, places: &Places, loaded: &Loaded) {
    for warning in &loaded.warnings {
        emitter.notice(NoticeLevel::Warning, warning.to_string());
    }
    for notice in remember(places, &loaded.mods) {
        emitter.notice(NoticeLevel::Info, notice);
    }
}

/// Remembers the hashes of the mods that nothing else pins, and says which of the user's changed since they
/// were loaded last. Those of `--mod` change all the time: they are being written.
fn remember(places: &Places, loaded: &[LoadedMod]) -> Vec<String> {
    let loose = loaded.iter().filter_map(|loaded| Some((loaded.loose_file()?, loaded.sha256.as_deref()?)));
    match KnownMods::remember(places, loose) {
        Ok(changed) => {
            let users = loaded.iter().filter(|loaded| matches!(loaded.origin, Origin::User { .. }));
            let changed =
                users.filter(|loaded| loaded.loose_file().is_some_and(|path| changed.contains(&path)));
            changed.map(|loaded| format!("it changed since it was loaded last: {}", loaded.origin)).collect()
        }
        Err(error) => vec![format!("the hashes of loose mods cannot be remembered: {error}")],
    }
}
