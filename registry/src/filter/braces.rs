/// The most patterns that one becomes.
const MAX_EXPANDED: usize = 1024;

/// Expands `{a,b}` and `{1..3}`, also within each other. Braces of one item, and braces that are not closed, are
/// literal. True when there would have been more than [`MAX_EXPANDED`].
pub(super) fn expand(pattern: &str) -> (Vec<String>, bool) {
    let mut done = Vec::new();
    // What is literal, and what is still to be read; the last is next, so that the order is kept.
    let mut open = vec![(String::new(), pattern.to_owned())];
    while let Some((literal, rest)) = open.pop() {
        if done.len() + open.len() > MAX_EXPANDED {
            done.truncate(MAX_EXPANDED);
            return (done, true);
        }
        let Some(brace) = next_brace(&rest) else {
            done.push(literal + &rest);
            continue;
        };
        let literal = literal + &rest[..brace.start];
        let after = &rest[brace.end..];
        for item in brace.items.iter().rev() {
            open.push((literal.clone(), format!("{item}{after}")));
        }
    }
    (done, false)
}

/// A brace with more than one item: where it is, and the items.
struct Brace {
    start: usize,
    end: usize,
    items: Vec<String>,
}

/// The first brace that expands. As in a shell, `${…}` does not, and after braces of one item nothing does, unless a
/// later comma and brace make items of them.
fn next_brace(text: &str) -> Option<Brace> {
    let mut from = 0;
    loop {
        let start = from + unescaped(&text[from..], '{')?;
        from = start + 1;
        let Some((items, length)) = items(&text[start + 1..]) else {
            continue;
        };
        let end = start + 1 + length;
        if text[..start].ends_with('$') {
            from = end;
            continue;
        }
        match items.as_slice() {
            [only] => match sequence(only) {
                Some(items) => return Some(Brace { start, end, items }),
                None if only.contains(',') => {}
                None => return None,
            },
            _ => {
                let items = items.iter().map(|item| (*item).to_owned()).collect();
                return Some(Brace { start, end, items });
            }
        }
    }
}

fn unescaped(text: &str, wanted: char) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let hit = !escaped && c == wanted;
        escaped = !escaped && c == '\\';
        hit.then_some(at)
    })
}

/// The items up to the brace that closes, split at the commas of this level; and the length with that brace.
fn items(text: &str) -> Option<(Vec<&str>, usize)> {
    let (mut depth, mut start, mut escaped) = (0usize, 0, false);
    let mut items = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => {}
            '{' => depth += 1,
            ',' if depth == 0 => {
                items.push(&text[start..at]);
                start = at + 1;
            }
            '}' if depth == 0 && items.is_empty() && is_literal_close(&text[..at], &text[at + 1..]) => {}
            '}' if depth == 0 => {
                items.push(&text[start..at]);
                return Some((items, at + 1));
            }
            '}' => depth -= 1,
            _ => {}
        }
        escaped = !escaped && c == '\\';
    }
    None
}

/// `{a},b}` has the items `a}` and `b`.
fn is_literal_close(item: &str, after: &str) -> bool {
    let more = after.match_indices(',').any(|(at, _)| {
        let rest = &after[at + 1..];
        !rest.starts_with(',') && rest.contains('}')
    });
    more && !item.contains(',') && sequence(item).is_none()
}

/// `1..3`, `01..03`, `3..1`, `a..c`, each with a step or without: `1..9..2`.
fn sequence(item: &str) -> Option<Vec<String>> {
    let parts: Vec<&str> = item.split("..").collect();
    let (first, last, step) = match parts.as_slice() {
        [first, last] => (*first, *last, 1),
        [first, last, step] => (*first, *last, integer(step)?.unsigned_abs().max(1)),
        _ => return None,
    };
    let step = usize::try_from(step).ok()?;
    let ordered = |low: i64, high: i64| -> Vec<i64> {
        if low <= high {
            (low..=high).step_by(step).take(MAX_EXPANDED + 1).collect()
        } else {
            (high..=low).rev().step_by(step).take(MAX_EXPANDED + 1).collect()
        }
    };
    if let (Some(low), Some(high)) = (integer(first), integer(last)) {
        let width = if padded(first) || padded(last) { first.len().max(last.len()) } else { 0 };
        return Some(ordered(low, high).iter().map(|number| format!("{number:0width$}")).collect());
    }
    let letter = |text: &str| match text.as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => Some(i64::from(*letter)),
        _ => None,
    };
    let letters = ordered(letter(first)?, letter(last)?);
    Some(
        letters
            .iter()
            .filter_map(|code| u8::try_from(*code).ok())
            .map(|code| char::from(code).to_string())
            .collect(),
    )
}

fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

fn padded(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.len() > 1 && digits.starts_with('0')
}
