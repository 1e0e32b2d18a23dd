//! Says to the model which color `#0af` in a prompt is, and shows those of an answer as a row of swatches.
//!
//! It shows a prompt that is rewritten, a row that a renderer draws, and `on_stop` where there is nothing to object to.
#![forbid(unsafe_code)]

use std::ops::Range;

use mod_interface::prelude::*;

export_mod!(hex_color_swatch);

/// The type of the rows in the feed.
const ROW: &str = "hex-color-swatch/row";

type Rgb = [u8; 3];

async fn hex_color_swatch(cmd: ModApi) -> Result<()> {
    cmd.add_renderer(ROW, |colors: Vec<Rgb>| {
        let drawn = colors
            .iter()
            .map(|[r, g, b]| format!("\u{1b}[48;2;{r};{g};{b}m  \u{1b}[0m #{r:02x}{g:02x}{b:02x}"));
        vec![drawn.collect::<Vec<_>>().join("  ")]
    })?;
    cmd.hooks(
        Hooks::new()
            .transform_input_sync(|prompt, _| {
                let explained = explained(prompt.text());
                Ok(explained.map_or(TransformInput::Continue, TransformInput::text))
            })
            .on_stop_sync(|stop, ctx| {
                let mut row: Vec<Rgb> = Vec::new();
                for (_, color) in colors(stop.last_assistant_text()) {
                    if !row.contains(&color) {
                        row.push(color);
                    }
                }
                if !row.is_empty() {
                    ctx.show_entry(ROW, &row)?;
                }
                Ok(StopDecision::Stop)
            }),
    )?;
    Ok(())
}

/// The text with a swatch behind each color; `None` where there is none.
fn explained(text: &str) -> Option<String> {
    let (mut explained, mut from) = (String::new(), 0);
    for (place, [r, g, b]) in colors(text) {
        explained += &text[from..place.end];
        explained += &format!(" (■ rgb {r} {g} {b})");
        from = place.end;
    }
    (from > 0).then(|| explained + &text[from..])
}

/// Where there are colors of three or six digits, and which.
fn colors(text: &str) -> impl Iterator<Item = (Range<usize>, Rgb)> {
    text.match_indices('#').filter_map(|(at, _)| {
        let in_word = |c: char| c.is_alphanumeric() || "_#&".contains(c);
        if text[..at].ends_with(in_word) {
            return None;
        }
        let end = text[at + 1..].find(|c| !in_word(c)).map_or(text.len(), |length| at + 1 + length);
        Some((at..end, rgb(&text[at + 1..end])?))
    })
}

fn rgb(digits: &str) -> Option<Rgb> {
    let digits: Option<Vec<_>> = digits.chars().map(|c| u8::try_from(c.to_digit(16)?).ok()).collect();
    match digits?[..] {
        [r, g, b] => Some([r, g, b].map(|digit| digit * 17)),
        [r, s, g, h, b, c] => Some([r * 16 + s, g * 16 + h, b * 16 + c]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{colors, explained};

    #[test]
    fn a_color_has_three_or_six_digits_and_stands_alone() {
        let found = |text| colors(text).map(|(_, color)| color).collect::<Vec<_>>();
        assert_eq!(found("#0af, #00AAFF; (#fff)"), [[0, 170, 255], [0, 170, 255], [255, 255, 255]]);
        let none = "#12345 #1234567 #ggg # issue#123 &#123; ##fff #fffé #fff_";
        assert_eq!(found(none), [[0; 3]; 0]);
    }

    #[test]
    fn what_has_no_color_is_left_alone() {
        assert_eq!(explained("#12345"), None);
        let both = "#0af (■ rgb 0 170 255) on #000 (■ rgb 0 0 0)?";
        assert_eq!(explained("#0af on #000?").as_deref(), Some(both));
    }
}
