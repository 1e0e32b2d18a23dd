use futures::future::BoxFuture;
use mod_interface::types::ToolOutput;
use serde_json::json;

use super::*;
use crate::tools::{ToolContext, builtin};

struct Fake(ToolSpec);

impl Tool for Fake {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, _input: Value, _ctx: ToolContext) -> BoxFuture<'_, ToolOutput> {
        Box::pin(std::future::ready(ToolOutput::text("")))
    }
}

fn tool(name: &str, input_schema: Value) -> Arc<dyn Tool> {
    let (name, description) = (name.to_owned(), String::new());
    Arc::new(Fake(ToolSpec { name, description, input_schema, read_only: false }))
}

fn plain(name: &str) -> Arc<dyn Tool> {
    tool(name, json!({"type": "object"}))
}

fn names(set: &ToolSet) -> Vec<String> {
    set.specs().into_iter().map(|spec| spec.name).collect()
}

fn refused(tool: Arc<dyn Tool>) -> String {
    ToolSet::default().add(tool, "mod:a").unwrap_err().to_string()
}

#[test]
fn tools_stay_in_the_order_in_which_they_were_added() {
    let set = ToolSet::default();
    let (b, a) = (plain("b"), plain("a"));
    for tool in [&b, &a, &plain("c")] {
        set.add(tool.clone(), "mod:a").unwrap();
    }
    assert_eq!(names(&set), ["b", "a", "c"]);
    let before = set.snapshot();
    assert!(set.remove(&a));
    set.add(a.clone(), "mod:b").unwrap();
    assert_eq!(names(&set), ["b", "c", "a"]);
    let before: Vec<&str> = before.iter().map(|entry| entry.tool.spec().name.as_str()).collect();
    assert_eq!(before, ["b", "a", "c"]);
    assert_eq!(&*set.get("a").unwrap().holder, "mod:b");
    assert!(set.get("d").is_none());
}

#[test]
fn in_force_is_what_every_set_allows_and_a_name_without_a_tool_allows_nothing() {
    let set = ToolSet::default();
    for tool in ["a", "b", "c"].map(plain) {
        set.add(tool, "cmd").unwrap();
    }
    let split = || {
        let Split { active, off } = set.split();
        [active, off]
            .map(|tools| tools.iter().map(|entry| entry.tool.spec().name.clone()).collect::<String>())
    };
    let allow = |names: &[&str]| Arc::new(names.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(split(), ["abc", ""]);
    set.restrict(vec![allow(&["b", "a", "x"]), allow(&["b", "c"])]);
    assert_eq!((split(), names(&set).concat()), (["b".to_owned(), "ac".to_owned()], "abc".to_owned()));
    set.restrict(vec![allow(&["x"])]);
    assert_eq!(split(), ["", "abc"]);
    set.add(plain("x"), "cmd").unwrap();
    set.restrict(vec![allow(&["x"])]);
    assert_eq!(split(), ["x", "abc"]);
    set.restrict(Vec::new());
    assert_eq!(split(), ["abcx", ""]);
}

#[test]
fn an_existing_name_wins() {
    let set = ToolSet::default();
    for tool in builtin() {
        set.add(tool, "cmd").unwrap();
    }
    let before = names(&set);
    let error = set.add(plain("grep"), "mod:search").unwrap_err();
    assert_eq!(error.to_string(), "the name is taken, cmd already has a tool of this name: grep");
    assert_eq!(names(&set), before);
}

#[test]
fn only_the_very_tool_is_removed() {
    let set = ToolSet::default();
    let (first, second) = (plain("a"), plain("a"));
    set.add(first.clone(), "mod:a").unwrap();
    assert!(set.remove(&first));
    set.add(second, "mod:a").unwrap();
    assert!(!set.remove(&first));
    assert_eq!(names(&set), ["a"]);
}

#[test]
fn a_name_that_models_do_not_accept_is_refused() {
    for name in ["", "a b", "é", "a.b", &"a".repeat(65)] {
        let expected = format!("a tool's name must be 1 to 64 letters, digits, _ or -, got: {name:?}");
        assert_eq!(refused(plain(name)), expected);
    }
    ToolSet::default().add(plain(&format!("A-z_9{}", "a".repeat(59))), "mod:a").unwrap();
}

#[test]
fn decision_29_a_schema_that_is_none_is_refused_with_the_reason() {
    let cases = [
        (json!(null), "its type must be \"object\", got: none"),
        (json!({}), "its type must be \"object\", got: none"),
        (json!({"type": "array"}), "its type must be \"object\", got: \"array\""),
        (json!({"type": ["object", "null"]}), "its type must be \"object\", got: [\"object\",\"null\"]"),
        (json!({"type": "object", "required": "a"}), "at required: \"a\" is not of type \"array\""),
        (
            json!({"type": "object", "properties": {"a": {"type": "text"}}}),
            "at properties/a/type: \"text\" is not valid under any of the schemas listed in the 'anyOf' keyword",
        ),
        (
            json!({"type": "object", "properties": {"a": {"pattern": "(a+"}}}),
            "at properties/a/pattern: \"(a+\" is not a \"regex\"",
        ),
        (
            json!({"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}}),
            "Pointer '/nowhere' does not exist",
        ),
        (
            json!({"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}}),
            "Resource 'https://example.com/a.json' is not present in a registry and retrieving it failed: Retrieval is disabled, cannot fetch https://example.com/a.json",
        ),
        (
            json!({"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}),
            "Resource 'file:///etc/passwd' is not present in a registry and retrieving it failed: Retrieval is disabled, cannot fetch file:///etc/passwd",
        ),
        (
            json!({"type": "object", "$schema": "https://example.com/own"}),
            "Unknown meta-schema: 'https://example.com/own'. Custom meta-schemas must be registered in the registry before use",
        ),
    ];
    for (schema, reason) in cases {
        assert_eq!(refused(tool("a", schema)), format!("the input_schema of a cannot be used: {reason}"));
    }
}

#[test]
fn an_input_is_checked_against_the_schema() {
    let set = ToolSet::default();
    let properties =
        json!({"path": {"type": "string"}, "depth": {"type": "array", "items": {"type": "integer"}}});
    let schema = json!({"type": "object", "properties": properties, "required": ["path"], "additionalProperties": false});
    set.add(tool("walk", schema), "mod:a").unwrap();
    let check =
        |input: Value| set.get("walk").unwrap().check_input(&input).map_err(|error| error.to_string());
    assert_eq!(check(json!({"path": "a", "depth": [1]})), Ok(()));
    let cases = [
        (json!({}), "bad input for walk: \"path\" is a required property"),
        (json!({"path": 1}), "bad input for walk: at path: 1 is not of type \"string\""),
        (
            json!({"path": "a", "depth": [1, "b"]}),
            "bad input for walk: at depth/1: \"b\" is not of type \"integer\"",
        ),
        (
            json!({"path": "a", "b": 1}),
            "bad input for walk: Additional properties are not allowed ('b' was unexpected)",
        ),
        (
            json!({"path": 1, "depth": 2}),
            "bad input for walk: at depth: 2 is not of type \"array\"; at path: 1 is not of type \"string\"",
        ),
        (json!([]), "bad input for walk: [] is not of type \"object\""),
    ];
    for (input, expected) in cases {
        assert_eq!(check(input), Err(expected.to_owned()));
    }
}

#[test]
fn a_schema_that_refers_to_itself_ends() {
    let set = ToolSet::default();
    let schemas = [
        json!({"type": "object", "$ref": "#"}),
        json!({"type": "object", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
        json!({"type": "object", "properties": {"a": {"$ref": "#"}}}),
    ];
    for (number, schema) in schemas.into_iter().enumerate() {
        let name = format!("tool-{number}");
        if set.add(tool(&name, schema), "mod:a").is_ok() {
            let _ = set.get(&name).unwrap().check_input(&json!({"a": {"a": {}}}));
        }
    }
}

#[test]
fn a_pattern_that_takes_too_long_ends() {
    let set = ToolSet::default();
    let schema = json!({"type": "object", "properties": {"a": {"pattern": "^(a|aa)+(?=b)b$"}}});
    set.add(tool("a", schema), "mod:a").unwrap();
    let started = std::time::Instant::now();
    set.get("a").unwrap().check_input(&json!({"a": "a".repeat(100)})).unwrap_err();
    assert!(started.elapsed() < std::time::Duration::from_secs(10));
    set.get("a").unwrap().check_input(&json!({"a": "aab"})).unwrap();
}
