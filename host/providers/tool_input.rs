use serde_json::{Map, Value};

/// A tool call's input, made of the JSON text that the model wrote.
#[derive(Debug, PartialEq)]
pub(crate) struct ToolInput {
    /// An object, unless none could be made of the text: then the value, or the text itself.
    pub(crate) value: Value,
    /// What the input was, when it was no object.
    pub(crate) coerced: Option<Coercion>,
}

/// That an input was no object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Coercion {
    /// `array`, `null`, `string`, `number`, `boolean`, or `invalid` for text that is not JSON.
    pub(crate) raw_type: &'static str,
    /// Whether an object could be made of it.
    pub(crate) recovered: bool,
}

/// Reads the text of an input. What cannot be made an object stays as it is, so that the tool's
/// schema refuses it and the model is told what it sent.
pub(crate) fn parse(text: &str) -> ToolInput {
    if text.trim().is_empty() {
        // What some models send for a tool without parameters.
        return ToolInput { value: Value::Object(Map::new()), coerced: None };
    }
    let (raw_type, value) = match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => return ToolInput { value, coerced: None },
        Ok(value) => (kind(&value), value),
        Err(_) => ("invalid", Value::String(text.to_owned())),
    };
    let (value, recovered) = match object_in(&value) {
        Some(object) => (Value::Object(object), true),
        None => (value, false),
    };
    ToolInput { value, coerced: Some(Coercion { raw_type, recovered }) }
}

/// The one object that a value can only have meant: itself written as a string, the single member
/// of an array, or none at all.
fn object_in(value: &Value) -> Option<Map<String, Value>> {
    match value {
        Value::Null => Some(Map::new()),
        Value::String(text) => serde_json::from_str(text).ok(),
        Value::Array(members) => match members.as_slice() {
            [] => Some(Map::new()),
            [Value::Object(object)] => Some(object.clone()),
            _ => None,
        },
        _ => None,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn coerced(value: Value, raw_type: &'static str, recovered: bool) -> ToolInput {
        ToolInput { value, coerced: Some(Coercion { raw_type, recovered }) }
    }

    #[test]
    fn an_object_stays_and_no_text_is_the_empty_object() {
        assert_eq!(parse(r#"{"a":1}"#), ToolInput { value: json!({"a": 1}), coerced: None });
        assert_eq!(parse(" "), ToolInput { value: json!({}), coerced: None });
    }

    #[test]
    fn what_can_only_have_meant_one_object_becomes_it() {
        assert_eq!(parse("null"), coerced(json!({}), "null", true));
        assert_eq!(parse("[]"), coerced(json!({}), "array", true));
        assert_eq!(parse(r#"[{"a":1}]"#), coerced(json!({"a": 1}), "array", true));
        assert_eq!(parse(r#""{\"a\":1}""#), coerced(json!({"a": 1}), "string", true));
    }

    #[test]
    fn what_is_no_object_stays_what_the_model_sent() {
        assert_eq!(parse("[1]"), coerced(json!([1]), "array", false));
        assert_eq!(parse("[{},{}]"), coerced(json!([{}, {}]), "array", false));
        assert_eq!(parse("7"), coerced(json!(7), "number", false));
        assert_eq!(parse("true"), coerced(json!(true), "boolean", false));
        assert_eq!(parse(r#""ls""#), coerced(json!("ls"), "string", false));
        assert_eq!(parse(r#"{"a":"#), coerced(json!(r#"{"a":"#), "invalid", false));
        assert_eq!(parse(r#"{"a":1}{"#), coerced(json!(r#"{"a":1}{"#), "invalid", false));
    }
}
