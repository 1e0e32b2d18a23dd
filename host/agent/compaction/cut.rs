use std::sync::Arc;

use mod_interface::types::{ContentBlock, Message};

/// How many bytes of a conversation are a token, roughly; providers count otherwise, each in its way.
const BYTES_PER_TOKEN: u64 = 4;
/// What a picture counts as.
const PICTURE: u64 = 6000;

/// How many of `messages` a summary shall stand for. The first `summaries` of them are one already, and none but for
/// what follows them.
///
/// About a quarter stays, or the end alone where that is more. Never does more stay than goes, and what stays begins
/// with no answers to calls that are gone.
pub(super) fn cut(messages: &[Arc<Message>], summaries: usize) -> Option<usize> {
    let all: u64 = messages[summaries..].iter().map(|message| bytes(message)).sum();
    let (mut stays, mut cut) = (0, None);
    for (index, message) in messages.iter().enumerate().skip(summaries + 1).rev() {
        stays += bytes(message);
        if stays > all / 2 || (stays > all / 4 && cut.is_some()) {
            break;
        }
        if !answers_calls(message) {
            cut = Some(index);
        }
    }
    cut
}

/// How many tokens messages have, roughly.
pub(super) fn tokens(messages: &[Arc<Message>]) -> u64 {
    messages.iter().map(|message| bytes(message)).sum::<u64>() / BYTES_PER_TOKEN
}

fn answers_calls(message: &Message) -> bool {
    message.content.iter().any(|block| matches!(block, ContentBlock::ToolResult { .. }))
}

fn bytes(message: &Message) -> u64 {
    message.content.iter().map(bytes_of).sum()
}

fn bytes_of(block: &ContentBlock) -> u64 {
    match block {
        ContentBlock::Text { text } => text.len() as u64,
        ContentBlock::Thinking { thinking, .. } => thinking.len() as u64,
        ContentBlock::ToolUse { name, input, .. } => (name.len() + input.to_string().len()) as u64,
        ContentBlock::ToolResult { content, .. } => content.iter().map(bytes_of).sum(),
        ContentBlock::Image { .. } => PICTURE,
    }
}

#[cfg(test)]
mod tests {
    use mod_interface::types::{MessageSource, Role};
    use serde_json::json;

    use super::*;

    /// A conversation of messages so long: `r` are results, the others texts.
    fn conversation(lengths: &[(char, usize)]) -> Vec<Arc<Message>> {
        let message = |(kind, length): &(char, usize)| {
            let text = vec![ContentBlock::text("x".repeat(*length))];
            let content = match kind {
                'r' => {
                    vec![ContentBlock::ToolResult { tool_use_id: "c".into(), content: text, is_error: false }]
                }
                _ => text,
            };
            Arc::new(Message { role: Role::User, content, source: MessageSource::User })
        };
        lengths.iter().map(message).collect()
    }

    #[test]
    fn about_a_quarter_stays() {
        assert_eq!(cut(&conversation(&[('u', 10); 8]), 0), Some(6));
        assert_eq!(cut(&conversation(&[('u', 10); 9]), 0), Some(7));
    }

    #[test]
    fn where_the_end_alone_is_more_than_a_quarter_it_stays_if_it_is_not_more_than_goes() {
        assert_eq!(cut(&conversation(&[('u', 10), ('u', 20), ('u', 30)]), 0), Some(2));
        assert_eq!(cut(&conversation(&[('u', 10), ('u', 19), ('u', 30)]), 0), None);
        assert_eq!(cut(&conversation(&[('u', 10)]), 0), None);
        assert_eq!(cut(&[], 0), None);
    }

    #[test]
    fn what_stays_begins_with_no_answers_to_calls_that_are_gone() {
        let ends = |lengths: &[(char, usize)]| cut(&conversation(&[&[('u', 100)], lengths].concat()), 0);
        assert_eq!(ends(&[('a', 1), ('r', 10)]), Some(1));
        assert_eq!(ends(&[('a', 1), ('r', 40)]), Some(1));
        assert_eq!(ends(&[('a', 1), ('r', 100)]), None);
        assert_eq!(ends(&[('a', 70), ('r', 10), ('a', 1), ('r', 1)]), Some(3));
    }

    #[test]
    fn a_summary_is_not_summarized_for_its_own_sake() {
        assert_eq!(cut(&conversation(&[('u', 1000), ('u', 10), ('u', 11)]), 1), None);
        assert_eq!(cut(&conversation(&[('u', 1000), ('u', 11), ('u', 11)]), 1), Some(2));
        assert_eq!(cut(&conversation(&[('u', 1000)]), 1), None);
    }

    #[test]
    fn four_bytes_are_a_token() {
        let call = ContentBlock::ToolUse { id: "c".into(), name: "echo".into(), input: json!({"a": 1}) };
        let call = Arc::new(Message::assistant(vec![call, ContentBlock::text("12345")]));
        assert_eq!(tokens(&[call, Arc::new(Message::user("hello"))]), 21 / 4);
    }
}
