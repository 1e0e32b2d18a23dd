//! Server-sent events: bytes in, the data of each event out.
//!
//! Only the data is handed on; no API in use here says anything with an event's name, id or retry
//! time that its data does not say. Written here because the crate for it, eventsource-stream 0.2.3,
//! panics on a byte order mark, copies the rest of its buffer for every line, and has no bound.

use std::mem;

/// The most that one event may hold, so that a server cannot fill the memory.
pub(crate) const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Parses a stream that arrives in pieces, split anywhere.
#[derive(Default)]
pub(crate) struct SseParser {
    /// The line that has no end yet.
    line: Vec<u8>,
    /// The data lines of the event that has no end yet, each with its line feed.
    data: String,
    /// The last byte was a carriage return: a line feed that follows belongs to it.
    after_cr: bool,
    /// The first line, which alone may start with a byte order mark, is over.
    started: bool,
}

/// An event that holds more than [`MAX_EVENT_BYTES`].
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {MAX_EVENT_BYTES} bytes")]
pub(crate) struct EventTooLarge;

impl SseParser {
    /// Takes the next bytes; returns the data of the events that they complete. An event that the
    /// stream's end leaves open is dropped, as the standard has it.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<String>, EventTooLarge> {
        let mut events = Vec::new();
        while let Some(&first) = bytes.first() {
            if mem::take(&mut self.after_cr) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (piece, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            if self.line.len() + self.data.len() + piece.len() > MAX_EVENT_BYTES {
                return Err(EventTooLarge);
            }
            self.line.extend_from_slice(piece);
            let Some((&line_end, rest)) = rest.split_first() else { break };
            self.after_cr = line_end == b'\r';
            bytes = rest;
            events.extend(self.end_of_line());
        }
        Ok(events)
    }

    fn end_of_line(&mut self) -> Option<String> {
        let line = mem::take(&mut self.line);
        let first_line = !mem::replace(&mut self.started, true);
        let text = match line.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) if first_line => rest,
            _ => &line,
        };
        if text.is_empty() {
            return self.end_of_event();
        }
        let text = String::from_utf8_lossy(text);
        let (field, value) = text.split_once(':').unwrap_or((&text, ""));
        if field == "data" {
            self.data.push_str(value.strip_prefix(' ').unwrap_or(value));
            self.data.push('\n');
        }
        None
    }

    fn end_of_event(&mut self) -> Option<String> {
        let mut data = mem::take(&mut self.data);
        data.pop()?;
        Some(data)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(pieces: &[&[u8]]) -> Vec<String> {
        let mut parser = SseParser::default();
        pieces.iter().flat_map(|piece| parser.push(piece).unwrap()).collect()
    }

    #[test]
    fn an_event_is_its_data_lines_joined_without_the_other_fields() {
        let stream = b"event: delta\nid: 7\ndata: one\ndata:two\ndata\ndata:  three\nretry: 5\n\n";
        assert_eq!(parse(&[stream]), ["one\ntwo\n\n three"]);
    }

    #[test]
    fn comments_and_events_without_data_are_nothing() {
        assert_eq!(parse(&[b": keep-alive\n\n:\n\nevent: ping\n\ndata: x\n\n"]), ["x"]);
    }

    #[test]
    fn an_event_that_the_end_leaves_open_is_dropped() {
        assert_eq!(parse(&[b"data: whole\n\ndata: half\n"]), ["whole"]);
    }

    #[test]
    fn every_line_end_counts_once_even_when_split() {
        let expected = ["a", "b"];
        assert_eq!(parse(&[b"data: a\r\n\r\ndata: b\r\n\r\n"]), expected);
        assert_eq!(parse(&[b"data: a\r\rdata: b\r\r"]), expected);
        assert_eq!(parse(&[b"data: a\r", b"\n\r", b"\ndata: b\r", b"\n", b"\r\n"]), expected);
    }

    #[test]
    fn a_byte_order_mark_counts_only_at_the_start() {
        assert_eq!(parse(&[b"\xEF\xBB", b"\xBFdata: a\n\n\xEF\xBB\xBFdata: b\n\ndata: c\n\n"]), ["a", "c"]);
    }

    #[test]
    fn bytes_that_are_no_text_do_not_break_the_stream() {
        assert_eq!(parse(&[b"data: \xFF\n\ndata: b\n\n"]), ["\u{FFFD}", "b"]);
    }

    #[test]
    fn an_event_that_never_ends_is_refused() {
        let mut parser = SseParser::default();
        let line = [b"data: ".as_slice(), &[b'x'; 64 * 1024], b"\n"].concat();
        let refused = (0..200).find_map(|_| parser.push(&line).err());
        assert_eq!(refused, Some(EventTooLarge));
        let mut parser = SseParser::default();
        let refused = (0..200).find_map(|_| parser.push(&[b'x'; 64 * 1024]).err());
        assert_eq!(refused, Some(EventTooLarge));
    }

    prop_compose! {
        fn an_event()(
            lines in prop::collection::vec("[^\r\n]{0,12}", 1..4),
            comment in prop::option::of("[^\r\n]{0,6}"),
            line_end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
        ) -> (String, String) {
            let mut wire = comment.map(|text| format!(":{text}{line_end}")).unwrap_or_default();
            for line in &lines {
                wire.push_str(&format!("data: {line}{line_end}"));
            }
            wire.push_str(line_end);
            (wire, lines.join("\n"))
        }
    }

    proptest! {
        #[test]
        fn any_split_of_any_events_gives_the_same_events(
            events in prop::collection::vec(an_event(), 0..6),
            mark in any::<bool>(),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let (wires, expected): (Vec<_>, Vec<_>) = events.into_iter().unzip();
            let stream = format!("{}{}", if mark { "\u{FEFF}" } else { "" }, wires.concat()).into_bytes();
            let mut ends: Vec<_> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            ends.extend([0, stream.len()]);
            ends.sort_unstable();
            let pieces: Vec<_> = ends.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
            prop_assert_eq!(parse(&pieces), expected);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = SseParser::default().push(&bytes);
        }
    }
}
