//! What the test answers in the place of the host.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

/// Answers by what is asked. Of several, each is given once, in order; the last one stays.
#[derive(Default)]
pub(super) struct Answers(BTreeMap<String, VecDeque<Result<Value, String>>>);

impl Answers {
    pub(super) fn add(&mut self, asked: impl Into<String>, answer: Result<Value, String>) {
        self.0.entry(asked.into()).or_default().push_back(answer);
    }

    /// The next answer; `None` where the test has none.
    pub(super) fn next(&mut self, asked: &str) -> Option<Result<Value, String>> {
        let answers = self.0.get_mut(asked)?;
        if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() }
    }

    /// What begins with `prefix`, without it.
    pub(super) fn known(&self, prefix: &str) -> Vec<String> {
        self.0.keys().filter_map(|asked| asked.strip_prefix(prefix)).map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Answers;

    #[test]
    fn each_answer_is_given_once_and_the_last_one_stays() {
        let mut answers = Answers::default();
        answers.add("a", Ok(json!(1)));
        answers.add("a", Err("no".to_owned()));
        let given = [(); 3].map(|()| answers.next("a"));
        assert_eq!(given, [Some(Ok(json!(1))), Some(Err("no".to_owned())), Some(Err("no".to_owned()))]);
        assert_eq!(answers.next("b"), None);
    }
}
