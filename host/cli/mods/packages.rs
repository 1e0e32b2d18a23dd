//! The packages that the settings name.

use std::path::Path;

use registry::{Source, lock::Lock};
use serde_json::{Value, json};

use crate::{
    cli::output::Usage,
    mod_host::nearest,
    settings::{self, Loaded, Places, Scope},
};

/// Where the packages of a scope are named.
const KEY: [&str; 2] = ["mods", "sources"];

/// A package that the settings of a scope name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) scope: Scope,
    /// Its identity.
    pub(super) id: String,
    /// The source as it is written.
    pub(super) text: String,
}

/// The scopes that there are, the project's first: it shadows the user's.
pub(super) fn scopes(places: &Places) -> &'static [Scope] {
    if places.project.is_some() { &[Scope::Project, Scope::User] } else { &[Scope::User] }
}

/// The packages of a scope, as its settings name them. An entry that cannot be read is its own identity.
pub(super) fn entries(places: &Places, loaded: &Loaded, scope: Scope) -> Vec<Entry> {
    let layer = match scope {
        Scope::User => &loaded.user,
        Scope::Project => &loaded.project,
    };
    let texts = layer.mods.sources.iter().map(|entry| entry.source.clone());
    texts
        .map(|text| Entry { scope, id: identity(places, scope, &text).unwrap_or_else(|| text.clone()), text })
        .collect()
}

/// The identity of a source that stands in the settings of a scope.
fn identity(places: &Places, scope: Scope, text: &str) -> Option<String> {
    Source::parse(text).ok()?.identity(places.folder(scope), places.user_home.as_deref())
}

/// The identity of what somebody typed in `cwd`.
fn typed_identity(places: &Places, cwd: &Path, typed: &str) -> Option<String> {
    let source = Source::parse(typed.strip_prefix("path:").unwrap_or(typed)).ok()?;
    source.identity(cwd, places.user_home.as_deref())
}

/// The one of these packages that was meant by what was typed in `cwd`.
///
/// # Errors
/// None of them; a name that is much like it is told.
pub(super) fn meant<'a>(
    places: &Places,
    known: &'a [Entry],
    cwd: &Path,
    typed: &str,
) -> Result<&'a Entry, Usage> {
    let id = typed_identity(places, cwd, typed);
    let is_meant =
        |entry: &&Entry| Some(&entry.id) == id.as_ref() || entry.id == typed || entry.text == typed;
    let named = known.iter().find(is_meant);
    let mut shipping: Vec<_> = known.iter().filter(|entry| ships(places, entry, typed)).collect();
    if let Some(entry) = named {
        // The name alone, as of a package of npm, may also be that of another package's mod.
        let is_name = registry::portable::check_mod_name(typed).is_ok();
        if !is_name || shipping.iter().all(|other| other.id == entry.id) {
            return Ok(entry);
        }
        shipping.push(entry);
    }
    shipping.sort_by_key(|entry| (entry.id.as_str(), entry.scope.as_str()));
    shipping.dedup_by_key(|entry| (entry.scope, &entry.id));
    match shipping[..] {
        [] => {}
        [entry] => return Ok(entry),
        _ => {
            let ids: Vec<_> = shipping.iter().map(|entry| entry.id.as_str()).collect();
            return Err(Usage(format!(
                "several packages have this mod, name one of {}: {typed}",
                ids.join(", ")
            )));
        }
    }
    let hint = match nearest(known.iter().map(|entry| entry.id.as_str()), typed) {
        Some(id) => format!("did you mean {id}?"),
        None => "see cmd mods list".to_owned(),
    };
    Err(Usage(format!("no such package is named in the settings, {hint}: {typed}")))
}

/// Whether the lock says that a package has the mod of that name.
fn ships(places: &Places, entry: &Entry, name: &str) -> bool {
    let lock = Lock::read(places.folder(entry.scope)).unwrap_or_default();
    lock.get(&entry.id)
        .is_some_and(|package| package.artifacts.iter().any(|artifact| artifact.mod_name == name))
}

/// What was locked in a scope without being named any more.
pub(super) fn locked(places: &Places, scope: Scope) -> Vec<Entry> {
    let lock = Lock::read(places.folder(scope)).unwrap_or_default();
    let entry = |package: &registry::lock::Package| Entry {
        scope,
        id: package.id.clone(),
        text: package.source.clone(),
    };
    lock.packages().iter().map(entry).collect()
}

/// Names a package in the settings of a scope. Where they name it already, the text alone is changed: a
/// filter stays, and so does everything around it.
pub(super) fn name(places: &Places, scope: Scope, id: &str, text: &str) -> settings::Result<()> {
    settings::edit(&places.settings(scope), |document| {
        let entries = document.get(&KEY).unwrap_or(Value::Null);
        let entries = entries.as_array().map(Vec::as_slice).unwrap_or_default();
        let place = entries.iter().position(|entry| is_of(places, scope, entry, id));
        let Some(place) = place else { return document.append(&KEY, &json!(text)) };
        if source(&entries[place]) == Some(text) {
            return Ok(());
        }
        let index = place.to_string();
        if entries[place].is_string() {
            document.set(&["mods", "sources", &index], &json!(text))
        } else {
            document.set(&["mods", "sources", &index, "source"], &json!(text))
        }
    })
}

/// Takes a package out of the settings of a scope, and says whether it was there.
pub(super) fn unname(places: &Places, scope: Scope, id: &str) -> settings::Result<bool> {
    let path = places.settings(scope);
    if !path.exists() {
        return Ok(false);
    }
    let removed =
        settings::edit(&path, |document| document.remove(&KEY, |entry| is_of(places, scope, entry, id)))?;
    Ok(removed > 0)
}

fn is_of(places: &Places, scope: Scope, entry: &Value, id: &str) -> bool {
    source(entry).is_some_and(|text| text == id || identity(places, scope, text).as_deref() == Some(id))
}

fn source(entry: &Value) -> Option<&str> {
    entry.as_str().or_else(|| entry.get("source")?.as_str())
}
