use std::{collections::HashSet, sync::Arc};

use mod_interface::types::{ContentBlock, Message, MessageSource, Role};
use serde_json::{Value, json};

const NO_RESULT: &str = "This call has no result: it was cut off before it was done.";
const NO_BEGINNING: &str = "(The conversation begins before this.)";

/// Makes a conversation one that a model can be sent, and changes nothing else.
///
/// Where a message came from is for the transcript: what is sent has no source.
///
/// Afterwards roles alternate and the user begins; no message and no text is blank; each tool call is
/// answered once, at the head of the very next message; nothing else is answered. The input of each call
/// is an object: what the model wrote in place of one is shown to it inside of one, for an endpoint that
/// checks the inputs would refuse the conversation for ever after. A message that needs no change is
/// shared, not copied.
pub fn prepare_for_send(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let mut sent = Vec::with_capacity(messages.len() + 1);
    for turn in merged(messages) {
        match turn.role {
            Role::User => sent.extend(answering(&turn, &open_calls(&sent))),
            Role::Assistant => {
                if sent.is_empty() {
                    sent.push(Arc::new(Message::user(NO_BEGINNING)));
                }
                append(&mut sent, without_repeated_calls(turn));
            }
        }
    }
    let calls = open_calls(&sent);
    if !calls.is_empty() {
        let silent = Message { role: Role::User, content: Vec::new(), source: MessageSource::ToolResults };
        sent.extend(answering(&Arc::new(silent), &calls));
    }
    sent.iter_mut().for_each(forget_source);
    sent
}

fn forget_source(message: &mut Arc<Message>) {
    if message.source != MessageSource::default() {
        Arc::make_mut(message).source = MessageSource::default();
    }
}

/// One message per turn of a role, blanks left out.
fn merged(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let mut turns = Vec::with_capacity(messages.len());
    for message in messages.iter().map(without_blanks).filter(|message| !message.content.is_empty()) {
        append(&mut turns, with_object_inputs(message));
    }
    turns
}

fn append(turns: &mut Vec<Arc<Message>>, message: Arc<Message>) {
    match turns.last_mut().filter(|last| last.role == message.role) {
        Some(last) => Arc::make_mut(last).content.extend_from_slice(&message.content),
        None => turns.push(message),
    }
}

fn without_blanks(message: &Arc<Message>) -> Arc<Message> {
    fn is_blank(block: &ContentBlock) -> bool {
        match block {
            ContentBlock::Text { text } => text.trim().is_empty(),
            ContentBlock::Thinking { thinking, signature } => thinking.is_empty() && signature.is_none(),
            _ => false,
        }
    }
    fn strip(content: &mut Vec<ContentBlock>) {
        content.retain(|block| !is_blank(block));
        for block in content {
            if let ContentBlock::ToolResult { content, .. } = block {
                strip(content);
            }
        }
    }
    fn holds_blank(block: &ContentBlock) -> bool {
        is_blank(block)
            || matches!(block, ContentBlock::ToolResult { content, .. } if content.iter().any(holds_blank))
    }
    let mut message = Arc::clone(message);
    if message.content.iter().any(holds_blank) {
        strip(&mut Arc::make_mut(&mut message).content);
    }
    message
}

fn with_object_inputs(mut message: Arc<Message>) -> Arc<Message> {
    let is_no_object =
        |block: &ContentBlock| matches!(block, ContentBlock::ToolUse { input, .. } if !input.is_object());
    if message.content.iter().any(is_no_object) {
        for block in &mut Arc::make_mut(&mut message).content {
            if let ContentBlock::ToolUse { input, .. } = block
                && !input.is_object()
            {
                *input = json!({ "input": Value::take(input) });
            }
        }
    }
    message
}

fn without_repeated_calls(mut message: Arc<Message>) -> Arc<Message> {
    let calls = calls_of(&message);
    let different: HashSet<&str> = calls.iter().copied().collect();
    if different.len() < calls.len() {
        let mut seen = HashSet::new();
        Arc::make_mut(&mut message).content.retain(|block| match block {
            ContentBlock::ToolUse { id, .. } => seen.insert(id.clone()),
            _ => true,
        });
    }
    message
}

fn calls_of(message: &Message) -> Vec<&str> {
    let calls = message.content.iter().filter_map(|block| match block {
        ContentBlock::ToolUse { id, .. } => Some(id.as_str()),
        _ => None,
    });
    calls.collect()
}

fn open_calls(sent: &[Arc<Message>]) -> Vec<String> {
    sent.last().map(|last| calls_of(last).into_iter().map(str::to_owned).collect()).unwrap_or_default()
}

/// `turn`, its head being one result for each of `calls`; `None` when there is nothing to say.
fn answering(turn: &Arc<Message>, calls: &[String]) -> Option<Arc<Message>> {
    if answers_exactly(&turn.content, calls) {
        return Some(Arc::clone(turn)).filter(|turn| !turn.content.is_empty());
    }
    let is_answer = |block: &&ContentBlock| result_id(block).is_some();
    let result_of = |call: &String| {
        let found = turn.content.iter().find(|block| result_id(block) == Some(call));
        found.cloned().unwrap_or_else(|| ContentBlock::ToolResult {
            tool_use_id: call.clone(),
            content: vec![ContentBlock::text(NO_RESULT)],
            is_error: true,
        })
    };
    let said = turn.content.iter().filter(|block| !is_answer(block)).cloned();
    let content: Vec<_> = calls.iter().map(result_of).chain(said).collect();
    let turn = Message { role: Role::User, content, source: turn.source };
    (!turn.content.is_empty()).then(|| Arc::new(turn))
}

fn answers_exactly(content: &[ContentBlock], calls: &[String]) -> bool {
    let results: Vec<&str> = content.iter().map_while(result_id).collect();
    let different: HashSet<&str> = results.iter().copied().collect();
    results.len() == calls.len()
        && calls.iter().all(|call| different.contains(call.as_str()))
        && content[results.len()..].iter().all(|block| result_id(block).is_none())
}

fn result_id(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::ToolResult { tool_use_id, .. } => Some(tool_use_id),
        _ => None,
    }
}
