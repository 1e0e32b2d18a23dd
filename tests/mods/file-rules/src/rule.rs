use mod_interface::prelude::*;
use serde::Deserialize;

/// What a file says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    pub(crate) on: On,
    pub(crate) action: Action,
    pub(crate) message: String,
    /// All of them must hold; without any the rule always does.
    #[serde(default)]
    conditions: Vec<Condition>,
}

/// What a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum On {
    /// A tool call. Its fields are `tool`, and those of its input.
    Tool,
    /// A typed prompt, `text`.
    Prompt,
    /// The end of a run, whose last answer is `text`.
    Stop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    /// It does not happen.
    Block,
    /// It happens, and something is said of it.
    Warn,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Condition {
    field: String,
    op: Op,
    text: String,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Op {
    Is,
    Contains,
    Lacks,
    StartsWith,
    EndsWith,
}

impl Rule {
    pub(crate) fn read(text: &str) -> Result<Self> {
        Ok(Self::deserialize(text.parse::<Value>()?)?)
    }

    /// Whether all conditions hold. One about a field that is not there does not.
    pub(crate) fn holds(&self, field: impl Fn(&str) -> Option<String>) -> bool {
        self.conditions
            .iter()
            .all(|condition| field(&condition.field).is_some_and(|value| condition.holds(&value)))
    }
}

impl Condition {
    fn holds(&self, value: &str) -> bool {
        let text = self.text.as_str();
        match self.op {
            Op::Is => value == text,
            Op::Contains => value.contains(text),
            Op::Lacks => !value.contains(text),
            Op::StartsWith => value.starts_with(text),
            Op::EndsWith => value.ends_with(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rule;

    fn holds(conditions: &str) -> bool {
        let rule = format!(r#"{{"on":"tool","action":"warn","message":"m","conditions":[{conditions}]}}"#);
        let field = |name: &str| (name == "path").then(|| "src/main.rs".to_owned());
        Rule::read(&rule).unwrap().holds(field)
    }

    #[test]
    fn all_conditions_must_hold() {
        let condition = |field: &str, op: &str, text: &str| {
            format!(r#"{{"field":"{field}","op":"{op}","text":"{text}"}}"#)
        };
        let path = |op, text| condition("path", op, text);
        let true_ones = [
            path("is", "src/main.rs"),
            path("contains", "main"),
            path("lacks", "lib"),
            path("starts_with", "src/"),
            path("ends_with", ".rs"),
        ];
        let false_ones = [
            path("is", "main.rs"),
            path("contains", "lib"),
            path("lacks", "main"),
            path("starts_with", "main"),
            path("ends_with", "src"),
            condition("other", "lacks", "x"),
        ];
        assert!(holds("") && holds(&true_ones.join(",")));
        for wrong in false_ones {
            assert!(!holds(&wrong) && !holds(&format!("{},{wrong}", true_ones[0])), "{wrong}");
        }
    }

    #[test]
    fn a_file_that_is_wrong_says_where() {
        let wrong = Rule::read(r#"{"on":"tool","action":"allow","message":""}"#).unwrap_err().to_string();
        assert_eq!(wrong, "unknown variant `allow`, expected `block` or `warn`");
    }
}
