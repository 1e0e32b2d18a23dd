use mod_interface::types::{ContentBlock, Effort, Role};
use serde::{Deserialize, Deserializer};

use crate::providers::ModelRequest;

/// No more of what came is shown.
const MAX_SHOWN_CHARS: usize = 300;

/// What a request must be like.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Expect {
    model: Option<String>,
    /// `Some(None)`: no effort may be set.
    #[serde(deserialize_with = "even_null")]
    effort: Option<Option<Effort>>,
    messages_count: Option<usize>,
    system_contains: Option<String>,
    last_user_contains: Option<String>,
    tools_include: Vec<String>,
    tools_exclude: Vec<String>,
    tool_result_contains: Option<ExpectedResult>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedResult {
    id: Option<String>,
    text: String,
}

fn even_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Effort>>, D::Error> {
    Option::<Effort>::deserialize(deserializer).map(Some)
}

impl Expect {
    /// Compares a request, one key after another; says what the first that does not hold expected and
    /// what came.
    pub(super) fn check(&self, request: &ModelRequest) -> Result<(), String> {
        if let Some(model) = self.model.as_deref().filter(|model| !request.model.ends_with(model)) {
            return Err(differs("model", &format!("expected one that ends with {model:?}"), &request.model));
        }
        if let Some(effort) = self.effort.filter(|effort| *effort != request.effort) {
            return Err(format!("effort: expected {}, got: {}", name(effort), name(request.effort)));
        }
        let count = request.messages.len();
        if let Some(expected) = self.messages_count.filter(|expected| *expected != count) {
            return Err(format!("messages_count: expected {expected}, got: {count}"));
        }
        contains("system_contains", self.system_contains.as_deref(), &request.system)?;
        contains("last_user_contains", self.last_user_contains.as_deref(), &last_user_text(request))?;
        self.check_tools(request)?;
        self.tool_result_contains.as_ref().map_or(Ok(()), |expected| expected.check(request))
    }

    fn check_tools(&self, request: &ModelRequest) -> Result<(), String> {
        let offered: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        let is_offered = |name: &&String| offered.contains(&name.as_str());
        if let Some(missing) = self.tools_include.iter().find(|name| !is_offered(name)) {
            return Err(differs("tools_include", &format!("expected {missing:?}"), &offered.join(", ")));
        }
        if let Some(extra) = self.tools_exclude.iter().find(is_offered) {
            return Err(differs("tools_exclude", &format!("expected no {extra:?}"), &offered.join(", ")));
        }
        Ok(())
    }
}

impl ExpectedResult {
    fn check(&self, request: &ModelRequest) -> Result<(), String> {
        let results = self.results(request);
        if results.iter().any(|result| result.contains(&self.text)) {
            return Ok(());
        }
        let of = self.id.as_deref().map(|id| format!(" in the result of {id}")).unwrap_or_default();
        let got = if results.is_empty() { "no result".to_owned() } else { results.join(" | ") };
        Err(differs("tool_result_contains", &format!("expected {:?}{of}", self.text), &got))
    }

    /// The texts of the results to look at.
    fn results(&self, request: &ModelRequest) -> Vec<String> {
        let of_message = |content: &[ContentBlock]| -> Vec<String> {
            let wanted = content.iter().filter_map(|block| match block {
                ContentBlock::ToolResult { tool_use_id, content, .. }
                    if self.id.as_ref().is_none_or(|id| id == tool_use_id) =>
                {
                    Some(content.iter().filter_map(ContentBlock::as_text).collect::<Vec<_>>().join("\n"))
                }
                _ => None,
            });
            wanted.collect()
        };
        let messages = request.messages.iter().rev();
        messages
            .map(|message| of_message(&message.content))
            .find(|found| !found.is_empty())
            .unwrap_or_default()
    }
}

fn last_user_text(request: &ModelRequest) -> String {
    let users = request.messages.iter().rev().filter(|message| message.role == Role::User);
    users.map(|message| message.text()).find(|text| !text.is_empty()).unwrap_or_default()
}

fn name(effort: Option<Effort>) -> String {
    effort.map_or("none".to_owned(), |effort| format!("{effort:?}").to_lowercase())
}

fn contains(key: &str, expected: Option<&str>, got: &str) -> Result<(), String> {
    match expected {
        Some(expected) if !got.contains(expected) => {
            Err(differs(key, &format!("expected {expected:?}"), got))
        }
        _ => Ok(()),
    }
}

fn differs(key: &str, expected: &str, got: &str) -> String {
    let got = match got.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &got[..end]),
        None => got.to_owned(),
    };
    format!("{key}: {expected}, got: {got}")
}
