use std::{io, path::Path};

use jsonc_parser::ParseOptions;
use serde::Deserialize;
use serde_json::Value;

use super::{Error, Layer, Loaded, Places, Result, Scope, twice::check_keys};
use crate::files;

/// JSON as everybody writes it, with comments and trailing commas.
pub(super) const SYNTAX: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The mark that some editors put before UTF-8.
pub(super) const BOM: char = '\u{feff}';

/// Reads the settings of both scopes.
///
/// # Errors
/// A file cannot be read, is no JSON, or holds a value of the wrong kind.
pub fn load(places: &Places) -> Result<Loaded> {
    let (user, mut warnings) = read(&places.settings(Scope::User))?;
    let (project, more) = match places.project {
        Some(_) => read(&places.settings(Scope::Project))?,
        None => Default::default(),
    };
    warnings.extend(more);
    Ok(Loaded { user, project, warnings })
}

/// Reads one settings file, and says which keys it does not know. A file that is missing or empty
/// says nothing.
///
/// # Errors
/// As [`load`].
pub fn read(path: &Path) -> Result<(Layer, Vec<String>)> {
    let text = text(path)?;
    let text = text.strip_prefix(BOM).unwrap_or(&text);
    let document: Option<Value> =
        jsonc_parser::parse_to_serde_value(text, &SYNTAX).map_err(|error| syntax_error(path, &error))?;
    let Some(document) = document else { return Ok(Default::default()) };
    check_keys(path, text)?;
    check_objects(path, "", &document, &shape())?;

    let mut unknown = Vec::new();
    let mut track = serde_path_to_error::Track::new();
    let known = serde_path_to_error::Deserializer::new(&document, &mut track);
    let layer =
        Layer::deserialize(serde_ignored::Deserializer::new(known, &mut |key: serde_ignored::Path<'_>| {
            unknown.push(key.to_string());
        }))
        .map_err(|error| wrong_value(path, &track.path().to_string(), &error.to_string()))?;
    unknown.retain(|key| key != "$schema");
    Ok((layer, unknown.iter().map(|key| unknown_key(path, key)).collect()))
}

/// The text of `path`; empty when there is no such file.
pub(super) fn text(path: &Path) -> Result<String> {
    match files::read_text(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(source) => Err(Error::Read { path: path.to_owned(), source }),
    }
}

pub(super) fn syntax_error(path: &Path, error: &jsonc_parser::errors::ParseError) -> Error {
    let sentence = error.to_string();
    let mut chars = sentence.chars();
    let lower = chars.next().map(|first| first.to_lowercase().chain(chars).collect());
    Error::Syntax { path: path.to_owned(), reason: lower.unwrap_or_default() }
}

/// Every key there is: an empty layer, written out.
fn shape() -> Value {
    serde_json::to_value(Layer::default()).unwrap_or_default()
}

/// Refuses what is no object where one must stand: serde would take an array for its fields in order.
fn check_objects(path: &Path, key: &str, document: &Value, shape: &Value) -> Result<()> {
    let Value::Object(shape) = shape else { return Ok(()) };
    let Value::Object(document) = document else {
        let key = if key.is_empty() { "." } else { key };
        return Err(Error::Value {
            path: path.to_owned(),
            key: key.to_owned(),
            got: document.to_string(),
            expected: "an object".to_owned(),
        });
    };
    for (name, inner) in shape {
        let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
        document.get(name).map_or(Ok(()), |document| check_objects(path, &key, document, inner))?;
    }
    Ok(())
}

/// Takes serde's sentence apart, so that it speaks of JSON and not of Rust.
fn wrong_value(path: &Path, key: &str, sentence: &str) -> Error {
    let (path, key) = (path.to_owned(), key.to_owned());
    let got = ["invalid type: ", "invalid value: ", "unknown variant "]
        .iter()
        .find_map(|prefix| sentence.strip_prefix(prefix));
    let Some((got, expected)) = got.and_then(|rest| rest.split_once(", expected ")) else {
        return Error::Invalid { path, key, reason: sentence.to_owned() };
    };
    let expected = match expected {
        "a sequence" => "an array",
        "a map" => "an object",
        "u32" | "u64" => "a whole number, 0 or more",
        "a nonzero u32" => "a whole number, 1 or more",
        other => other,
    };
    Error::Value { path, key, got: got.to_owned(), expected: expected.to_owned() }
}

/// The line for a key that means nothing here, with the one that was probably meant.
fn unknown_key(path: &Path, key: &str) -> String {
    let (parent, name) = key.rsplit_once('.').map_or((None, key), |(parent, name)| (Some(parent), name));
    let siblings = siblings(parent);
    let hint = nearest(name, siblings.iter().map(String::as_str)).map(|known| match parent {
        Some(parent) => format!("; did you mean `{parent}.{known}`?"),
        None => format!("; did you mean `{known}`?"),
    });
    let hint = hint.unwrap_or_default();
    format!("{}: unknown setting `{key}`{hint}", path.display())
}

/// The name that was probably meant.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let like = known.map(|known| (strsim::jaro_winkler(name, known), known));
    let near = like.filter(|(likeness, _)| *likeness > 0.8);
    near.max_by(|left, right| left.0.total_cmp(&right.0)).map(|(_, known)| known)
}

/// The keys that may stand under `parent`: those of the shape.
fn siblings(parent: Option<&str>) -> Vec<String> {
    let shape = shape();
    let at =
        parent.into_iter().flat_map(|path| path.split('.')).try_fold(&shape, |value, key| value.get(key));
    at.and_then(Value::as_object).map(|object| object.keys().cloned().collect()).unwrap_or_default()
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
