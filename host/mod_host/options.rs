//! The values of `--mod-option`, and which of them a mod has asked for.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

/// How alike two names must be for one to be meant by the other.
const ALIKE: f64 = 0.75;

/// How many names are remembered for hints.
const MAX_WANTED: usize = 1024;

/// Values by name: `<mod>.<name>`, or a bare name for every mod that asks.
#[derive(Default)]
pub(super) struct Options {
    values: BTreeMap<String, String>,
    asked: Mutex<BTreeSet<String>>,
    /// All that mods ask for, `<mod>.<name>`, with a value or without.
    wanted: Mutex<BTreeSet<String>>,
    faults: Mutex<Vec<String>>,
}

impl Options {
    pub(super) fn new(values: BTreeMap<String, String>) -> Self {
        Self { values, asked: Mutex::default(), wanted: Mutex::default(), faults: Mutex::default() }
    }

    /// The value for a mod, and what was typed for it: `<mod>.<name>` before the bare name, if that is for it.
    pub(super) fn get(&self, owner: &str, name: &str, bare: bool) -> Option<(&str, &str)> {
        // What has a dot is for one mod: another's may be a key.
        let bare = bare && !name.contains('.');
        let full = format!("{owner}.{name}");
        let own = self.values.get_key_value(&full);
        if !self.values.is_empty() {
            self.want(full);
        }
        let (key, value) = own.or_else(|| self.values.get_key_value(name).filter(|_| bare))?;
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone());
        Some((key, value))
    }

    fn want(&self, name: String) {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        if wanted.len() < MAX_WANTED {
            wanted.insert(name);
        }
    }

    /// The option that may be meant by one that no mod has asked for: of the mod that it names, or of any.
    pub(super) fn meant(&self, typed: &str) -> Option<String> {
        let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = wanted.iter().filter_map(|name| name.split_once('.'));
        match typed.split_once('.') {
            Some((of, name)) => {
                let own = wanted.filter(|(owner, _)| *owner == of).map(|(_, name)| name);
                nearest(own, name).map(|name| format!("{of}.{name}"))
            }
            None => nearest(wanted.map(|(_, name)| name), typed).map(str::to_owned),
        }
    }

    /// Notes a value that is none of its flag.
    pub(super) fn note(&self, fault: String) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
    }

    /// What is wrong with the values.
    pub(super) fn faults(&self) -> Vec<String> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The options that no mod has asked for yet.
    pub(super) fn unasked(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        self.values.keys().filter(|key| !asked.contains(*key)).cloned().collect()
    }
}

/// The name that is most like what was typed, if one is much like it. Of an identity its last part counts too.
pub(crate) fn nearest<'a>(names: impl IntoIterator<Item = &'a str>, typed: &str) -> Option<&'a str> {
    let last = |name: &'a str| name.rsplit(['/', ':']).next().unwrap_or(name);
    let likeness =
        |name: &'a str| strsim::jaro_winkler(name, typed).max(strsim::jaro_winkler(last(name), typed));
    let all = names.into_iter().map(|name| (likeness(name), name));
    let best = all.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(best.1).filter(|_| best.0 >= ALIKE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mods_own_value_comes_before_the_one_for_all_and_what_nobody_asked_for_is_known() {
        let values = [("guard.limit", "1"), ("limit", "2"), ("limti", "3"), ("other.limit", "4")];
        let options = Options::new(values.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        assert_eq!(options.get("guard", "limit", true), Some(("guard.limit", "1")));
        assert_eq!(options.unasked(), ["limit", "limti", "other.limit"]);
        assert_eq!(options.get("notes", "limit", false), None);
        assert_eq!(options.get("notes", "limit", true), Some(("limit", "2")));
        assert_eq!(options.get("notes", "size", true), None);
        assert_eq!(options.get("notes", "other.limit", true), None, "it is another mod's");
        assert_eq!(options.unasked(), ["limti", "other.limit"]);
        let meant = ["limti", "guard.limits", "notes.siez", "colour", "notes.lim", "nobody.limit"]
            .map(|typed| options.meant(typed));
        let [limit, size] = ["guard.limit", "notes.size"].map(|name| Some(name.to_owned()));
        assert_eq!(
            meant,
            [Some("limit".to_owned()), limit, size, None, Some("notes.limit".to_owned()), None]
        );
    }

    #[test]
    fn the_nearest_name_is_one_that_is_much_like_it() {
        let names = ["review-guard", "npm:@team/notes"];
        assert_eq!(nearest(names, "revew-guard"), Some("review-guard"));
        assert_eq!(nearest(names, "note"), Some("npm:@team/notes"));
        assert_eq!(nearest(names, "xyz"), None);
    }
}
