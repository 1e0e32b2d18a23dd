use serde_json::{Map, Value};

/// The one object that a value can only have meant: itself written as a string, the single member of an
/// array, or none at all.
pub(super) fn object_in(value: &Value) -> Option<Map<String, Value>> {
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

/// The kind of a value, as JSON Schema names it.
pub(super) fn kind(value: &Value) -> &'static str {
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

    #[test]
    fn what_can_only_have_meant_one_object_becomes_it() {
        let meant = |value: Value| object_in(&value).map(Value::Object);
        assert_eq!(meant(json!(null)), Some(json!({})));
        assert_eq!(meant(json!([])), Some(json!({})));
        assert_eq!(meant(json!([{"a": 1}])), Some(json!({"a": 1})));
        assert_eq!(meant(json!("{\"a\":1}")), Some(json!({"a": 1})));
    }

    #[test]
    fn nothing_is_guessed_of_anything_else() {
        let values = [
            json!([1]),
            json!([{}, {}]),
            json!([[{}]]),
            json!(7),
            json!(true),
            json!("ls"),
            json!("{\"a\":"),
        ];
        for value in values {
            assert_eq!(object_in(&value), None, "{value}");
        }
    }
}
