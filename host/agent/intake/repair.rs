//! Rules that make an input fit its tool's schema, where there is one way to. Only the fields of the input
//! itself are looked at. A key that is there is never overwritten, and no value is made up.

use serde_json::{Map, Number, Value};

use super::coerce::kind;

/// What the rules made of an input.
#[derive(Debug, PartialEq)]
pub(super) struct Repair {
    pub(super) input: Map<String, Value>,
    /// The rules that changed something, in the order of the table.
    pub(super) rules: Vec<&'static str>,
    /// What the model should know if it was not enough.
    pub(super) hints: Vec<String>,
}

/// For a key that the schema does not know: the property that it stands for.
type KeyRule = for<'a> fn(&Properties<'a>, &str) -> Option<&'a str>;

/// For a value of a type that its property does not take: what it stands for.
type ValueRule = fn(&Property<'_>, &Value) -> Option<Fix>;

const KEY_RULES: [(&str, KeyRule); 2] = [("key_case", other_case), ("key_alias", alias)];

const VALUE_RULES: [(&str, ValueRule); 5] = [
    ("null_as_absent", null_as_absent),
    ("number_in_text", number_in_text),
    ("boolean_in_text", boolean_in_text),
    ("json_in_text", json_in_text),
    ("single_element", single_element),
];

/// Names for one thing. A key stands for a property of its group if the schema has only one of them.
const ALIASES: [&[&str]; 7] = [
    &["file_path", "path", "file", "file_name", "filename", "directory", "dir"],
    &["command", "cmd", "shell_command", "bash"],
    &["content", "contents", "text", "file_text"],
    &["old_string", "old_str", "old_text", "search"],
    &["new_string", "new_str", "new_text", "replace", "replacement"],
    &["pattern", "regex", "query", "glob"],
    &["prompt", "task", "instructions"],
];

/// Applies the rules; `None` when none of them has anything to change.
pub(super) fn repair(schema: &Value, input: &Map<String, Value>) -> Option<Repair> {
    let properties = Properties::of(schema)?;
    let mut repair = Repair { input: input.clone(), rules: Vec::new(), hints: Vec::new() };
    for (name, rule) in KEY_RULES {
        repair.rename(name, &properties, rule);
    }
    for (name, rule) in VALUE_RULES {
        repair.mend(name, &properties, rule);
    }
    (!repair.rules.is_empty()).then_some(repair)
}

impl Repair {
    fn rename(&mut self, name: &'static str, properties: &Properties<'_>, rule: KeyRule) {
        let unknown = self.input.keys().filter(|key| !properties.all.contains_key(*key));
        let meant = unknown.filter_map(|key| Some((key.clone(), rule(properties, key)?)));
        let meant: Vec<_> = meant.filter(|(_, meant)| !self.input.contains_key(*meant)).collect();
        for (key, property) in &meant {
            // Two keys that stand for one property: which of them counts would be a guess.
            if meant.iter().filter(|(_, other)| other == property).count() == 1
                && let Some(value) = self.input.remove(key)
            {
                self.input.insert((*property).to_owned(), value);
                self.hints.push(format!("{key} is called {property} here"));
                self.fired(name);
            }
        }
    }

    fn mend(&mut self, name: &'static str, properties: &Properties<'_>, rule: ValueRule) {
        let keys: Vec<String> = self.input.keys().cloned().collect();
        for key in keys {
            let Some(property) = properties.get(&key) else { continue };
            let fix = self.input.get(&key).filter(|value| property.refuses(value));
            match fix.and_then(|value| rule(&property, value)) {
                Some(Fix::Value(value)) => drop(self.input.insert(key, value)),
                Some(Fix::Absent) => drop(self.input.remove(&key)),
                None => continue,
            }
            self.fired(name);
        }
    }

    fn fired(&mut self, name: &'static str) {
        if self.rules.last() != Some(&name) {
            self.rules.push(name);
        }
    }
}

/// What a value is replaced by.
enum Fix {
    Value(Value),
    Absent,
}

/// The properties of an object schema.
struct Properties<'a> {
    all: &'a Map<String, Value>,
    required: Vec<&'a str>,
}

/// One of them.
struct Property<'a> {
    /// The types that it takes; none where the schema does not say so plainly, and nothing is refused then.
    types: Vec<&'a str>,
    required: bool,
}

impl<'a> Properties<'a> {
    fn of(schema: &'a Value) -> Option<Self> {
        let required = schema.get("required").and_then(Value::as_array);
        let required = required.into_iter().flatten().filter_map(Value::as_str).collect();
        Some(Self { all: schema.get("properties")?.as_object()?, required })
    }

    fn get(&self, key: &str) -> Option<Property<'a>> {
        let types = match self.all.get(key)?.get("type") {
            Some(Value::String(one)) => vec![one.as_str()],
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        Some(Property { types, required: self.required.contains(&key) })
    }

    /// The only property for which `fits` holds.
    fn only(&self, fits: impl Fn(&str) -> bool) -> Option<&'a str> {
        let mut fitting = self.all.keys().map(String::as_str).filter(|key| fits(key));
        fitting.next().filter(|_| fitting.next().is_none())
    }
}

impl Property<'_> {
    fn takes(&self, kind: &str) -> bool {
        self.types.contains(&kind)
    }

    fn refuses(&self, value: &Value) -> bool {
        let kind = kind(value);
        let integer = kind == "number" && self.takes("integer");
        !self.types.is_empty() && !self.takes(kind) && !integer
    }
}

/// A name without what differs between `file_path`, `filePath` and `File-Path`.
fn folded(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

fn other_case<'a>(properties: &Properties<'a>, key: &str) -> Option<&'a str> {
    let key = folded(key);
    properties.only(|property| folded(property) == key)
}

fn alias<'a>(properties: &Properties<'a>, key: &str) -> Option<&'a str> {
    let key = folded(key);
    let group = ALIASES.iter().find(|group| group.iter().any(|name| folded(name) == key))?;
    properties.only(|property| group.contains(&property))
}

/// What some models send for a field that they leave out.
fn null_as_absent(property: &Property<'_>, value: &Value) -> Option<Fix> {
    (value.is_null() && !property.required).then_some(Fix::Absent)
}

fn number_in_text(property: &Property<'_>, value: &Value) -> Option<Fix> {
    let number: Number = serde_json::from_str(value.as_str()?).ok()?;
    let fits = property.takes("number") || (property.takes("integer") && !number.is_f64());
    fits.then(|| Fix::Value(number.into()))
}

fn boolean_in_text(property: &Property<'_>, value: &Value) -> Option<Fix> {
    let text = value.as_str()?;
    let meant = [true, false].into_iter().find(|it| text.eq_ignore_ascii_case(&it.to_string()))?;
    property.takes("boolean").then(|| Fix::Value(meant.into()))
}

fn json_in_text(property: &Property<'_>, value: &Value) -> Option<Fix> {
    let inside: Value = serde_json::from_str(value.as_str()?).ok()?;
    let nested = inside.is_object() || inside.is_array();
    (nested && !property.refuses(&inside)).then_some(Fix::Value(inside))
}

fn single_element(property: &Property<'_>, value: &Value) -> Option<Fix> {
    match value.as_array()?.as_slice() {
        [one] if !one.is_object() && !property.refuses(one) => Some(Fix::Value(one.clone())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "file_path": {"type": "string"},
                "limit": {"type": "integer"},
                "ratio": {"type": ["number", "null"]},
                "all": {"type": "boolean"},
                "edit": {"type": "object"},
                "lines": {"type": "array"},
                "any": {},
            },
            "required": ["file_path"],
        })
    }

    /// What came of an input, and the rules that fired.
    fn repaired(input: Value) -> Option<(Value, Vec<&'static str>)> {
        repair(&schema(), input.as_object().unwrap()).map(|it| (Value::Object(it.input), it.rules))
    }

    fn becomes(input: Value, output: Value, rule: &'static str) {
        assert_eq!(repaired(input), Some((output, vec![rule])));
    }

    fn stays(input: Value) {
        assert_eq!(repaired(input), None);
    }

    #[test]
    fn key_case_takes_a_key_in_another_case_for_the_property() {
        for key in ["filePath", "file-path", "FilePath", "FILE_PATH", "filepath"] {
            becomes(json!({ key: "a" }), json!({"file_path": "a"}), "key_case");
        }
    }

    #[test]
    fn key_alias_takes_a_well_known_name_for_the_only_property_of_its_group() {
        becomes(json!({"path": "a"}), json!({"file_path": "a"}), "key_alias");
        becomes(json!({"fileName": "a"}), json!({"file_path": "a"}), "key_alias");
        let both = json!({"properties": {"file_path": {}, "directory": {}}});
        assert_eq!(repair(&both, json!({"path": "a"}).as_object().unwrap()), None);
        let command = json!({"properties": {"command": {}}});
        let found = repair(&command, json!({"cmd": "ls"}).as_object().unwrap()).unwrap();
        assert_eq!(
            found,
            Repair {
                input: json!({"command": "ls"}).as_object().unwrap().clone(),
                rules: vec!["key_alias"],
                hints: vec!["cmd is called command here".to_owned()],
            }
        );
    }

    #[test]
    fn a_key_that_is_there_is_never_overwritten_and_two_keys_are_not_chosen_from() {
        stays(json!({"file_path": "a", "filePath": "b"}));
        stays(json!({"file_path": "a", "path": "b"}));
        stays(json!({"filePath": "a", "FilePath": "b"}));
        stays(json!({"path": "a", "file": "b"}));
    }

    #[test]
    fn number_in_text_reads_a_number_where_one_is_wanted() {
        becomes(json!({"limit": "12"}), json!({"limit": 12}), "number_in_text");
        becomes(json!({"ratio": "0.5"}), json!({"ratio": 0.5}), "number_in_text");
        for text in ["1.5", "12 lines", "", "twelve", "007"] {
            stays(json!({ "limit": text }));
        }
    }

    #[test]
    fn boolean_in_text_reads_true_and_false_and_nothing_else() {
        becomes(json!({"all": "true"}), json!({"all": true}), "boolean_in_text");
        becomes(json!({"all": "False"}), json!({"all": false}), "boolean_in_text");
        stays(json!({"all": "yes"}));
        stays(json!({"all": 1}));
    }

    #[test]
    fn json_in_text_reads_an_object_or_an_array_where_one_is_wanted() {
        becomes(json!({"edit": "{\"a\":1}"}), json!({"edit": {"a": 1}}), "json_in_text");
        becomes(json!({"lines": "[1]"}), json!({"lines": [1]}), "json_in_text");
        stays(json!({"edit": "[1]"}));
        stays(json!({"edit": "{\"a\":"}));
    }

    #[test]
    fn single_element_takes_the_one_member_of_an_array_for_the_value() {
        becomes(json!({"file_path": ["a"]}), json!({"file_path": "a"}), "single_element");
        stays(json!({"file_path": ["a", "b"]}));
        stays(json!({"file_path": [1]}));
        stays(json!({"file_path": []}));
    }

    #[test]
    fn null_as_absent_leaves_out_an_optional_field_and_no_other() {
        becomes(json!({"limit": null}), json!({}), "null_as_absent");
        stays(json!({"file_path": null}));
        stays(json!({"ratio": null}));
    }

    #[test]
    fn a_value_that_its_property_takes_is_left_alone() {
        stays(json!({"file_path": "12", "limit": 3, "ratio": 1, "all": true, "edit": {}, "any": "5"}));
        assert_eq!(repair(&json!({"type": "object"}), json!({"a": "1"}).as_object().unwrap()), None);
    }

    #[test]
    fn several_rules_work_together() {
        let (input, rules) = repaired(json!({"filePath": ["a"], "limit": "3", "all": "true"})).unwrap();
        assert_eq!(input, json!({"file_path": "a", "limit": 3, "all": true}));
        assert_eq!(rules, ["key_case", "number_in_text", "boolean_in_text", "single_element"]);
    }
}
