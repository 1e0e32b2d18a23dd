use std::{
    collections::BTreeSet,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
};

use jsonschema::{PatternOptions, ValidationError, Validator};
use mod_interface::types::ToolSpec;
use serde_json::Value;

use super::{Error, Tool, error::fault};

const MAX_BACKTRACKS: usize = 100_000;
/// How many faults of an input are told at once.
const MAX_FAULTS: usize = 5;

/// The tools, in the order in which they were added. Tools come and go while it is used.
#[derive(Default)]
pub struct ToolSet {
    entries: RwLock<Entries>,
}

#[derive(Default)]
struct Entries {
    all: Vec<Arc<Registered>>,
    allowed: Vec<Arc<BTreeSet<String>>>,
}

/// The tools as they were at one time.
pub struct Split {
    /// Those in force.
    pub active: Vec<Arc<Registered>>,
    /// Those that are switched off.
    pub off: Vec<Arc<Registered>>,
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
        if let Some(entry) = entries.all.iter().find(|entry| entry.tool.spec().name == spec.name) {
            return Err(Error::Taken { name: spec.name.clone(), holder: entry.holder.to_string() });
        }
        entries.all.push(Arc::new(Registered { tool, holder: holder.into(), validator }));
        Ok(())
    }

    /// Takes out this very tool, and says whether it was there. Another one that now has its name
    /// stays.
    pub fn remove(&self, tool: &Arc<dyn Tool>) -> bool {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let before = entries.all.len();
        entries.all.retain(|entry| !Arc::ptr_eq(&entry.tool, tool));
        entries.all.len() < before
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<Arc<Registered>> {
        self.read().all.iter().find(|entry| entry.tool.spec().name == name).cloned()
    }

    /// All tools as they are now.
    pub fn snapshot(&self) -> Vec<Arc<Registered>> {
        self.read().all.clone()
    }

    /// Leaves those tools in force that each of these sets has, in place of the sets before. A name that no tool has
    /// allows nothing.
    pub fn restrict(&self, allowed: Vec<Arc<BTreeSet<String>>>) {
        self.entries.write().unwrap_or_else(PoisonError::into_inner).allowed = allowed;
    }

    /// The tools that are in force now, and those that are not.
    pub fn split(&self) -> Split {
        let entries = self.read();
        let is_active = |entry: &Arc<Registered>| {
            entries.allowed.iter().all(|allowed| allowed.contains(&entry.tool.spec().name))
        };
        let (active, off) = entries.all.iter().cloned().partition(is_active);
        Split { active, off }
    }

    /// What the model is told of them, as they are now.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.read().all.iter().map(|entry| entry.tool.spec().clone()).collect()
    }

    fn read(&self) -> RwLockReadGuard<'_, Entries> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registered {
    /// Checks an input against the tool's schema.
    ///
    /// # Errors
    /// Says which fields are wrong, what they are and what they should be.
    pub fn check_input(&self, input: &Value) -> Result<(), Error> {
        let faults = self.validator.iter_errors(input).take(MAX_FAULTS);
        let told: Vec<String> =
            faults.map(|error| fault(&error.instance_path().to_string(), &error.to_string())).collect();
        if told.is_empty() {
            return Ok(());
        }
        Err(Error::Input { tool: self.tool.spec().name.clone(), problem: told.join("; ") })
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
        return Err(refused(fault("", &format!("its type must be \"object\", got: {got}"))));
    }
    // A schema can neither fetch anything nor take long: a pattern that tries too much fails.
    let patterns = PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACKS);
    let options = jsonschema::options().offline().with_pattern_options(patterns);
    let place = |error: &ValidationError<'_>| error.instance_path().to_string();
    options.build(schema).map_err(|error| refused(fault(&place(&error), &error.to_string())))
}

#[cfg(test)]
mod tests;
