use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use jsonschema::{PatternOptions, Validator};
use mod_interface::types::ToolSpec;
use serde_json::Value;

use super::{Error, Tool, typed::shortened};

/// How many faults of an input are told at once.
const MAX_FAULTS: usize = 5;

/// The tools in force, in the order in which they were added. Tools come and go while it is used.
#[derive(Default)]
pub struct ToolSet {
    entries: RwLock<Vec<Arc<Registered>>>,
}

/// A tool of the set.
pub struct Registered {
    /// The tool.
    pub tool: Arc<dyn Tool>,
    /// Who added it: a mod's id, or `cmd`.
    pub holder: Arc<str>,
    validator: Validator,
}

impl ToolSet {
    /// Adds a tool for `holder`.
    ///
    /// # Errors
    /// When its name is taken or malformed, or when its schema is not one of an object. The set is as
    /// it was.
    pub fn add(&self, tool: Arc<dyn Tool>, holder: impl Into<Arc<str>>) -> Result<(), Error> {
        let spec = tool.spec();
        check_name(&spec.name)?;
        let validator = compile(spec)?;
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.iter().find(|entry| entry.tool.spec().name == spec.name) {
            return Err(Error::Taken { name: spec.name.clone(), holder: entry.holder.to_string() });
        }
        entries.push(Arc::new(Registered { tool, holder: holder.into(), validator }));
        Ok(())
    }

    /// Takes out this very tool, and says whether it was there. Another one that now has its name
    /// stays.
    pub fn remove(&self, tool: &Arc<dyn Tool>) -> bool {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let before = entries.len();
        entries.retain(|entry| !Arc::ptr_eq(&entry.tool, tool));
        entries.len() < before
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<Arc<Registered>> {
        self.read().iter().find(|entry| entry.tool.spec().name == name).cloned()
    }

    /// The tools as they are now.
    pub fn snapshot(&self) -> Vec<Arc<Registered>> {
        self.read().clone()
    }

    /// What the model is told of them, as they are now.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.read().iter().map(|entry| entry.tool.spec().clone()).collect()
    }

    fn read(&self) -> RwLockReadGuard<'_, Vec<Arc<Registered>>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registered {
    /// Checks an input against the tool's schema.
    ///
    /// # Errors
    /// Says which fields are wrong, what they are and what they should be.
    pub fn check_input(&self, input: &Value) -> Result<(), Error> {
        let mut faults = self.validator.iter_errors(input).peekable();
        let Some(first) = faults.peek() else { return Ok(()) };
        let field = first.instance_path().to_string().trim_start_matches('/').to_owned();
        let told: Vec<String> = faults.take(MAX_FAULTS).map(|fault| shortened(&fault.to_string())).collect();
        Err(Error::Input { tool: self.tool.spec().name.clone(), field, problem: told.join("; ") })
    }
}

fn check_name(name: &str) -> Result<(), Error> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if (1..=64).contains(&name.len()) && name.chars().all(allowed) {
        return Ok(());
    }
    Err(Error::Name(name.to_owned()))
}

fn compile(spec: &ToolSpec) -> Result<Validator, Error> {
    let refused = |reason: String| Error::Schema { tool: spec.name.clone(), reason };
    let schema = &spec.input_schema;
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        let got = schema.get("type").map_or_else(|| "none".to_owned(), ToString::to_string);
        return Err(refused(format!("its type must be \"object\", got: {}", shortened(&got))));
    }
    // Patterns that take exponential time are refused.
    let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
    options.build(schema).map_err(|error| refused(shortened(&error.to_string())))
}

#[cfg(test)]
mod tests;
