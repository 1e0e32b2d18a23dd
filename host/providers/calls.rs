use std::collections::HashSet;

use super::{ModelEvent, ProviderError};

/// The most tool calls of one answer: no model makes as many.
pub(super) const MAX_CALLS: usize = 1024;

/// The tool calls of an answer so far: who reads one asks here whether a piece can follow.
#[derive(Default)]
pub(crate) struct Calls {
    ids: HashSet<String>,
    open: bool,
}

impl Calls {
    /// Checks the next piece.
    ///
    /// # Errors
    /// A call without a name or an id, with the id of another, one too many, or input outside of a call.
    pub(crate) fn check(&mut self, event: &ModelEvent) -> Result<(), ProviderError> {
        match event {
            ModelEvent::ToolUse { id, name } => self.begin(id, name),
            ModelEvent::ToolInput(_) if !self.open => {
                Err(ProviderError::retryable("a piece of a tool's input outside of a tool call"))
            }
            ModelEvent::ToolInput(_) | ModelEvent::Alive => Ok(()),
            ModelEvent::Text(text) | ModelEvent::Thinking(text) if text.is_empty() => Ok(()),
            _ => {
                self.open = false;
                Ok(())
            }
        }
    }

    fn begin(&mut self, id: &str, name: &str) -> Result<(), ProviderError> {
        if id.is_empty() || name.is_empty() {
            return Err(ProviderError::retryable(format!(
                "a tool call needs an id and a name, got id: {id:?}, name: {name:?}"
            )));
        }
        if self.ids.len() == MAX_CALLS {
            return Err(too_many());
        }
        if !self.ids.insert(id.to_owned()) {
            return Err(ProviderError::retryable(format!(
                "two tool calls of one answer have the same id: {id}"
            )));
        }
        self.open = true;
        Ok(())
    }
}

pub(super) fn too_many() -> ProviderError {
    ProviderError::fatal(format!(
        "the response calls more tools than any model does, expected at most {MAX_CALLS}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> ModelEvent {
        ModelEvent::ToolUse { id: id.to_owned(), name: "ls".to_owned() }
    }

    #[test]
    fn input_follows_its_call_and_nothing_else() {
        let (text, input) = (ModelEvent::Text("a".to_owned()), ModelEvent::ToolInput("{".to_owned()));
        let outside = Err(ProviderError::retryable("a piece of a tool's input outside of a tool call"));
        let mut calls = Calls::default();
        assert_eq!(calls.check(&input), outside);
        for (event, expected) in [
            (call("c1"), Ok(())),
            (ModelEvent::Alive, Ok(())),
            (ModelEvent::Text(String::new()), Ok(())),
            (input.clone(), Ok(())),
            (text, Ok(())),
            (input.clone(), outside.clone()),
            (call("c2"), Ok(())),
            (ModelEvent::BlockEnd, Ok(())),
            (input, outside),
        ] {
            assert_eq!(calls.check(&event), expected, "{event:?}");
        }
    }

    #[test]
    fn calls_have_ids_of_their_own_and_an_end() {
        let mut calls = Calls::default();
        assert!((0..MAX_CALLS - 1).all(|id| calls.check(&call(&id.to_string())).is_ok()));
        let twice = ProviderError::retryable("two tool calls of one answer have the same id: 0");
        assert_eq!(calls.check(&call("0")), Err(twice));
        let nameless =
            ProviderError::retryable("a tool call needs an id and a name, got id: \"\", name: \"ls\"");
        assert_eq!(calls.check(&call("")), Err(nameless));
        assert_eq!((calls.check(&call("last")), calls.check(&call("more"))), (Ok(()), Err(too_many())));
    }
}
