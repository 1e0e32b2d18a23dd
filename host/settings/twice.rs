use std::{collections::HashSet, path::Path};

use jsonc_parser::ast::Value;

use super::{
    Error, Result,
    read::{SYNTAX, syntax_error},
};

/// Refuses a key that an object has twice. Readers take the last one, so that a rule written into the first
/// would hold for nothing.
pub(super) fn check_keys(path: &Path, text: &str) -> Result<()> {
    let parsed = jsonc_parser::parse_to_ast(text, &Default::default(), &SYNTAX)
        .map_err(|error| syntax_error(path, &error))?;
    let Some((key, at)) = parsed.value.as_ref().and_then(|value| twice(value, "")) else { return Ok(()) };
    let line = 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
    Err(Error::Twice { path: path.to_owned(), key, line })
}

/// The first key that stands there again, with its parents, and where.
fn twice(value: &Value<'_>, parent: &str) -> Option<(String, usize)> {
    match value {
        Value::Array(array) => {
            let mut elements = array.elements.iter().enumerate();
            elements.find_map(|(index, element)| twice(element, &format!("{parent}[{index}]")))
        }
        Value::Object(object) => {
            let mut seen = HashSet::new();
            object.properties.iter().find_map(|property| {
                let name = property.name.as_str();
                let key = if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") };
                let again = !seen.insert(name);
                if again { Some((key, property.range.start)) } else { twice(&property.value, &key) }
            })
        }
        _ => None,
    }
}
