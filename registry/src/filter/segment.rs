/// One part of a pattern, to match one part of a path.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    tokens: Vec<Token>,
}

#[derive(Debug, Clone)]
enum Token {
    Char(char),
    /// `?`
    Any,
    /// `*`
    Star,
    Class {
        negated: bool,
        items: Vec<Item>,
    },
}

#[derive(Debug, Clone)]
enum Item {
    Range(char, char),
    Named(Test),
}

/// Whether a character is of a named class.
type Test = fn(char) -> bool;

/// `[[:name:]]`
const NAMED: [(&str, Test); 11] = [
    ("[:alnum:]", char::is_alphanumeric),
    ("[:alpha:]", char::is_alphabetic),
    ("[:ascii:]", |c| c.is_ascii()),
    ("[:blank:]", |c| c == ' ' || c == '\t'),
    ("[:cntrl:]", char::is_control),
    ("[:digit:]", char::is_numeric),
    ("[:lower:]", char::is_lowercase),
    ("[:punct:]", |c| c.is_ascii_punctuation()),
    ("[:space:]", char::is_whitespace),
    ("[:upper:]", char::is_uppercase),
    ("[:xdigit:]", |c| c.is_ascii_hexdigit()),
];

impl Segment {
    pub(super) fn new(text: &str) -> Self {
        let text: Vec<char> = text.chars().collect();
        let mut tokens = Vec::new();
        let mut at = 0;
        while let Some(&c) = text.get(at) {
            let (token, length) = match c {
                '\\' => text.get(at + 1).map_or((Token::Char('\\'), 1), |next| (Token::Char(*next), 2)),
                '?' => (Token::Any, 1),
                '*' => (Token::Star, 1),
                '[' => class(&text[at..]).unwrap_or((Token::Char('['), 1)),
                other => (Token::Char(other), 1),
            };
            at += length;
            if !matches!((&token, tokens.last()), (Token::Star, Some(Token::Star))) {
                tokens.push(token);
            }
        }
        Self { tokens }
    }

    /// A star takes as little as it can; when the rest fails, the last star takes one more. The ones before it need
    /// not be tried again.
    pub(super) fn matches(&self, text: &str) -> bool {
        if text.starts_with('.') && !matches!(self.tokens.first(), Some(Token::Char('.'))) {
            return false;
        }
        let text: Vec<char> = text.chars().collect();
        let (mut token, mut at) = (0, 0);
        let mut star: Option<(usize, usize)> = None;
        while at < text.len() {
            match self.tokens.get(token) {
                Some(Token::Star) => {
                    star = Some((token, at));
                    token += 1;
                }
                Some(single) if single.takes(text[at]) => {
                    token += 1;
                    at += 1;
                }
                _ => {
                    let Some((star_token, taken)) = &mut star else {
                        return false;
                    };
                    *taken += 1;
                    at = *taken;
                    token = *star_token + 1;
                }
            }
        }
        self.tokens[token..].iter().all(|token| matches!(token, Token::Star))
    }
}

impl Token {
    fn takes(&self, c: char) -> bool {
        match self {
            Self::Char(own) => *own == c,
            Self::Any => true,
            Self::Star => false,
            Self::Class { negated, items } => items.iter().any(|item| item.has(c)) != *negated,
        }
    }
}

impl Item {
    fn has(&self, c: char) -> bool {
        match self {
            Self::Range(first, last) => (*first..=*last).contains(&c),
            Self::Named(has) => has(c),
        }
    }
}

/// Reads a class and its length; `None` when it is not closed, and `[` is literal.
fn class(text: &[char]) -> Option<(Token, usize)> {
    text.contains(&']').then_some(())?;
    let negated = matches!(text.get(1), Some('!' | '^'));
    let mut at = if negated { 2 } else { 1 };
    let first = at;
    let mut items = Vec::new();
    while *text.get(at)? != ']' || at == first {
        if let Some((length, named)) = named(&text[at..]) {
            items.push(Item::Named(named));
            at += length;
            continue;
        }
        let (start, length) = literal(&text[at..])?;
        at += length;
        let ranged = text.get(at) == Some(&'-') && *text.get(at + 1)? != ']';
        if !ranged {
            items.push(Item::Range(start, start));
            continue;
        }
        if named(&text[at + 1..]).is_some() {
            // A range cannot end in a named class: the whole pattern matches nothing.
            return Some((Token::Class { negated: false, items: Vec::new() }, text.len()));
        }
        let (end, length) = literal(&text[at + 1..])?;
        at += 1 + length;
        if start <= end {
            items.push(Item::Range(start, end));
        }
    }
    let token = match items.as_slice() {
        [Item::Range(start, end)] if start == end && !negated => Token::Char(*start),
        [] => {
            return Some((Token::Class { negated: false, items }, text.len()));
        }
        _ => Token::Class { negated, items },
    };
    Some((token, at + 1))
}

fn named(text: &[char]) -> Option<(usize, Test)> {
    let starts = |name: &str| name.chars().eq(text.iter().copied().take(name.len()));
    NAMED.iter().find(|(name, _)| starts(name)).map(|(name, has)| (name.len(), *has))
}

/// A character of a class, which `\` may stand before.
fn literal(text: &[char]) -> Option<(char, usize)> {
    match text {
        ['\\', next, ..] => Some((*next, 2)),
        [c, ..] => Some((*c, 1)),
        [] => None,
    }
}
