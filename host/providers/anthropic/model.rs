//! What a model's name says of what it takes.

use mod_interface::types::Effort;
use serde::Serialize;

/// How the model shall think.
#[derive(Debug, Serialize, PartialEq, Eq)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Thinking {
    Enabled { budget_tokens: u32 },
    Adaptive { display: &'static str },
}

/// How hard a model shall work that decides by itself how long it thinks.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub(super) struct OutputConfig {
    effort: &'static str,
}

/// The version in a name such as `claude-sonnet-4-5-20250929` or `claude-3-opus-latest`; `None` where it is of
/// another family.
fn version(model: &str) -> Option<(u32, u32)> {
    let (_, rest) = model.split_once("claude-")?;
    // A longer number is a date.
    let short = rest.split(['-', '.', '@', ':']).filter(|part| part.len() <= 2);
    let mut numbers = short.filter_map(|part| part.parse().ok());
    Some((numbers.next()?, numbers.next().unwrap_or(0)))
}

/// The longest answer, in tokens, that a model of that name takes to be asked for.
pub(super) fn max_tokens(model: &str) -> u32 {
    match version(model) {
        Some(version) if version < (3, 5) => 4096,
        Some(version) if version < (3, 7) => 8192,
        _ => 32_000,
    }
}

/// What `effort` means to the model. A budget leaves room for an answer.
pub(super) fn thinking(model: &str, effort: Effort) -> (Thinking, Option<OutputConfig>) {
    let is_adaptive = version(model).is_some_and(|version| version >= (4, 6));
    if is_adaptive {
        let effort = match effort {
            Effort::Minimal | Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::Max => "max",
        };
        return (Thinking::Adaptive { display: "summarized" }, Some(OutputConfig { effort }));
    }
    let budget_tokens = match effort {
        Effort::Minimal => 1024,
        Effort::Low => 4096,
        Effort::Medium => 8192,
        Effort::High => 16_384,
        Effort::Max => 24_576,
    };
    (Thinking::Enabled { budget_tokens }, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_in_every_order_of_a_name() {
        let cases = [
            ("claude-3-opus-20240229", Some((3, 0))),
            ("claude-3-5-sonnet-latest", Some((3, 5))),
            ("claude-3-7-sonnet-20250219", Some((3, 7))),
            ("claude-opus-4-20250514", Some((4, 0))),
            ("claude-sonnet-4-5-20250929", Some((4, 5))),
            ("anthropic/claude-opus-4.7", Some((4, 7))),
            ("claude-sonnet-5", Some((5, 0))),
            ("claude-next", None),
            ("glm-4-6", None),
        ];
        for (model, expected) in cases {
            assert_eq!(version(model), expected, "{model}");
        }
    }

    #[test]
    fn an_answer_may_be_as_long_as_every_model_of_the_version_takes() {
        let longest = ["claude-3-opus-20240229", "claude-3-5-haiku-latest", "claude-opus-4-1", "glm-4-6"];
        assert_eq!(longest.map(max_tokens), [4096, 8192, 32_000, 32_000]);
    }

    #[test]
    fn an_effort_is_a_budget_for_models_that_take_one_and_a_word_for_later_ones() {
        let efforts = [Effort::Minimal, Effort::Low, Effort::Medium, Effort::High, Effort::Max];
        for model in ["claude-opus-4-5", "glm-4-6"] {
            let budgets = efforts.map(|effort| match thinking(model, effort) {
                (Thinking::Enabled { budget_tokens }, None) => budget_tokens,
                other => panic!("{other:?}"),
            });
            assert_eq!(budgets, [1024, 4096, 8192, 16_384, 24_576]);
            assert!(budgets.iter().all(|budget| *budget < max_tokens(model)));
        }
        let words = efforts.map(|effort| match thinking("claude-opus-4-6", effort) {
            (Thinking::Adaptive { display: "summarized" }, Some(OutputConfig { effort })) => effort,
            other => panic!("{other:?}"),
        });
        assert_eq!(words, ["low", "low", "medium", "high", "max"]);
    }
}
