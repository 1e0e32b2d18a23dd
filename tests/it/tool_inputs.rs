//! The author guide's list of what the built-in tools are called with.

use std::{fs, path::Path};

use host::tools::builtin;
use mod_interface::types::ToolSpec;
use serde_json::Value;

const LIST: &str = "mod-interface/src/guide/tool_inputs.md";

/// A tool's part of the list.
fn part(spec: &ToolSpec) -> String {
    let reads = if spec.read_only { ", which only reads" } else { "" };
    let required = spec.input_schema["required"].as_array().cloned().unwrap_or_default();
    let fields = spec.input_schema["properties"].as_object().unwrap();
    let rows = fields.iter().map(|(name, field)| {
        let needed = if required.contains(&Value::from(name.as_str())) { "yes" } else { "" };
        let what = field["description"]
            .as_str()
            .unwrap_or_default()
            .replace('\n', " ")
            .replace('|', "\\|")
            .replace('*', "\\*");
        format!("| `{name}` | {} | {needed} | {what} |\n", kind(field))
    });
    let rows: String = rows.collect();
    let head = "| Field | Type | Required | What the model is told |\n|---|---|---|---|\n";
    format!("\n# `{}`{reads}\n\n{head}{rows}", spec.name)
}

/// The type of a field, without the `null` that stands for "left out".
fn kind(field: &Value) -> String {
    let kinds = match &field["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => vec![kind.as_str().unwrap_or("any")],
    };
    kinds.into_iter().filter(|kind| *kind != "null").collect::<Vec<_>>().join(" or ")
}

#[test]
fn the_guide_lists_what_the_built_in_tools_are_called_with() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(LIST);
    let text = fs::read_to_string(&path).unwrap();
    let (head, list) = text.split_at(text.find("\n# ").unwrap_or(text.len()));
    let expected: String = builtin().iter().map(|tool| part(tool.spec())).collect();
    assert!(list == expected, "{LIST} should be:\n{head}{expected}");
}
