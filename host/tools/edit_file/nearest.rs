use std::fmt::Write;

use tokio_util::sync::CancellationToken;

/// How alike, from 0 to 1, the nearest lines must be to be worth showing.
const ALIKE: f64 = 0.6;
/// Longer lines are compared by their beginning only.
const COMPARED: usize = 100;
/// Lines after so many are not compared.
const MAX_LINES: usize = 20_000;
/// How many lines are shown.
const SHOWN: usize = 20;

/// Says where the file is most like `old`, so that the next try can be right.
pub(super) fn nearest(content: &str, old: &str, stop: &CancellationToken) -> Option<String> {
    let lines: Vec<&str> = content.lines().collect();
    let wanted: Vec<&str> = old.lines().skip_while(|line| line.trim().is_empty()).collect();
    if let Some(at) = position_but_for_spaces(&lines, &wanted) {
        return Some(format!(
            "Only the spaces differ; the file has:\n{}",
            numbered(&lines, at, wanted.len())
        ));
    }
    let first: String = wanted.first()?.trim().chars().take(COMPARED).collect();
    let mut best = (ALIKE, None);
    for (at, line) in lines.iter().enumerate().take(MAX_LINES) {
        if stop.is_cancelled() {
            return None;
        }
        let line: String = line.trim().chars().take(COMPARED).collect();
        // The shorter one cannot be more like the longer one than it is long.
        let (short, long) = (line.len().min(first.len()), line.len().max(first.len()));
        if (short as f64) < best.0 * long as f64 {
            continue;
        }
        let alike = strsim::normalized_levenshtein(&line, &first);
        if alike > best.0 {
            best = (alike, Some(at));
        }
    }
    let at = best.1?;
    Some(format!("The nearest that it has:\n{}", numbered(&lines, at, wanted.len())))
}

fn position_but_for_spaces(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let squeezed = |line: &&str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted: Vec<String> = wanted.iter().map(squeezed).collect();
    let lines: Vec<String> = lines.iter().map(squeezed).collect();
    let (last, before) = wanted.split_last()?;
    lines.windows(wanted.len()).position(|window| match before.split_first() {
        None => window[0].contains(last.as_str()),
        Some((first, middle)) => {
            let inner = &window[1..window.len() - 1];
            window[0].ends_with(first.as_str())
                && inner == middle
                && window[window.len() - 1].starts_with(last.as_str())
        }
    })
}

fn numbered(lines: &[&str], at: usize, count: usize) -> String {
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate().skip(at).take(count.clamp(1, SHOWN)) {
        let line: String = line.chars().take(COMPARED).collect();
        let _ = writeln!(text, "{:>6}\t{line}", number + 1);
    }
    text.truncate(text.trim_end_matches('\n').len());
    text
}
