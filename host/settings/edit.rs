use std::path::{Path, PathBuf};

use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

use super::{
    Error, Result,
    read::{BOM, SYNTAX, syntax_error, text},
    twice::check_keys,
    write,
};

/// Changes the settings file at `path`: what `change` does to the document is written as a whole, and
/// nothing else in the file moves. The file and its folder are made when they are missing; an unchanged
/// document is not written. Other processes wait meanwhile.
///
/// # Errors
/// The file cannot be read or written, is no JSON, or what `change` says.
pub fn edit<T>(path: &Path, change: impl FnOnce(&Document) -> Result<T>) -> Result<T> {
    let _lock = write::lock(path)?;
    let before = text(path)?;
    let document = Document::parse(path, &before)?;
    let outcome = change(&document)?;
    let after = document.text();
    if after != before {
        write::replace(path, after.as_bytes())?;
    }
    Ok(outcome)
}

/// A settings file that is being edited. A key is given with its parents; where a parent is an array,
/// the key is an index.
pub struct Document {
    path: PathBuf,
    bom: bool,
    root: CstRootNode,
}

impl Document {
    fn parse(path: &Path, text: &str) -> Result<Self> {
        let bare = text.strip_prefix(BOM);
        check_keys(path, bare.unwrap_or(text))?;
        let root =
            CstRootNode::parse(bare.unwrap_or(text), &SYNTAX).map_err(|error| syntax_error(path, &error))?;
        Ok(Self { path: path.to_owned(), bom: bare.is_some(), root })
    }

    fn text(&self) -> String {
        let mark = if self.bom { BOM.to_string() } else { String::new() };
        mark + &self.root.to_string()
    }

    /// The value of a key.
    pub fn get(&self, key: &[&str]) -> Option<Value> {
        self.node(key)?.to_serde_value()
    }

    /// Gives a key a value. Missing parents are made.
    ///
    /// # Errors
    /// A parent has another kind of value.
    pub fn set(&self, key: &[&str], value: &Value) -> Result<()> {
        let Some((last, parents)) = key.split_last() else { return Ok(()) };
        if let Some(array) = self.node(parents).and_then(|node| node.as_array()) {
            let elements = array.elements();
            let element = last.parse().ok().and_then(|index: usize| elements.get(index).cloned());
            let element = element.ok_or_else(|| self.misfit(key, "an element of the array", None))?;
            let index = element.element_index().unwrap_or_default();
            match element.as_string_lit() {
                Some(text) => drop(text.replace_with(input(value))),
                None => {
                    element.remove();
                    array.insert(index, input(value));
                }
            }
            return Ok(());
        }
        let object = self.object(parents)?;
        match object.get(last) {
            Some(property) => property.set_value(input(value)),
            None => drop(object.append(last, input(value))),
        }
        Ok(())
    }

    /// Appends to an array, which is made when it is missing.
    ///
    /// # Errors
    /// The key or a parent has another kind of value.
    pub fn append(&self, key: &[&str], value: &Value) -> Result<()> {
        let Some((last, parents)) = key.split_last() else { return Ok(()) };
        let array = self
            .object(parents)?
            .array_value_or_create(last)
            .ok_or_else(|| self.misfit(key, "an array", self.node(key)))?;
        let starts = array.elements().is_empty();
        array.append(input(value));
        if starts {
            array.ensure_multiline();
        }
        Ok(())
    }

    /// Removes the elements of an array that `unwanted` picks, and says how many they were.
    ///
    /// # Errors
    /// The key has another kind of value than an array.
    pub fn remove(&self, key: &[&str], unwanted: impl Fn(&Value) -> bool) -> Result<usize> {
        let Some(node) = self.node(key) else { return Ok(0) };
        let array = node.as_array().ok_or_else(|| self.misfit(key, "an array", Some(node)))?;
        let elements = array.elements().into_iter();
        let unwanted: Vec<_> = elements
            .filter(|element| element.to_serde_value().is_some_and(|value| unwanted(&value)))
            .collect();
        let count = unwanted.len();
        unwanted.into_iter().for_each(CstNode::remove);
        Ok(count)
    }

    fn node(&self, key: &[&str]) -> Option<CstNode> {
        key.iter().try_fold(self.root.value()?, |node, step| child(&node, step))
    }

    /// The object at `key`; it is made, with its parents, when it is missing.
    fn object(&self, key: &[&str]) -> Result<CstObject> {
        let object = match (self.node(key), key.split_last()) {
            (Some(node), _) => node.as_object(),
            (None, None) => self.root.object_value_or_create(),
            (None, Some((last, parents))) => self.object(parents)?.object_value_or_create(last),
        };
        object.ok_or_else(|| self.misfit(key, "an object", self.node(key)))
    }

    fn misfit(&self, key: &[&str], expected: &str, got: Option<CstNode>) -> Error {
        let got = got.map_or_else(|| "nothing".to_owned(), |node| node.to_string());
        let key = if key.is_empty() { ".".to_owned() } else { key.join(".") };
        Error::Value { path: self.path.clone(), key, got, expected: expected.to_owned() }
    }
}

fn child(node: &CstNode, step: &str) -> Option<CstNode> {
    match node.as_array() {
        Some(array) => array.elements().get(step.parse::<usize>().ok()?).cloned(),
        None => node.as_object()?.get(step)?.value(),
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(bool) => CstInputValue::Bool(*bool),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
