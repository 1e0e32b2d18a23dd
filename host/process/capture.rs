use std::collections::VecDeque;

/// The beginning and the end of a stream that may be longer than what is kept of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    cut: u64,
}

impl Captured {
    /// Keeps up to `limit` bytes: the first half of them, and the last.
    pub(crate) fn new(limit: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), half: limit / 2, cut: 0 }
    }

    pub(crate) fn push(&mut self, chunk: &[u8]) {
        let (head, rest) = chunk.split_at(chunk.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(head);
        let kept = &rest[rest.len().saturating_sub(self.half)..];
        let overflow = (self.tail.len() + kept.len()).saturating_sub(self.half);
        self.tail.drain(..overflow);
        self.tail.extend(kept);
        self.cut += (rest.len() - kept.len() + overflow) as u64;
    }

    /// How many bytes in the middle were not kept.
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// How many bytes there were in all.
    pub fn total(&self) -> u64 {
        self.cut + (self.head.len() + self.tail.len()) as u64
    }

    /// What was kept, as text. A line stands where bytes were cut out.
    pub fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.cut == 0 {
            return String::from_utf8_lossy(&[self.head.as_slice(), &tail].concat()).into_owned();
        }
        let head = without_partial_end(&self.head);
        let start = tail.iter().take(3).take_while(|byte| is_continuation(**byte)).count();
        let cut = self.cut + (self.head.len() - head.len() + start) as u64;
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(&tail[start..]));
        format!("{head}\n[… {cut} bytes cut …]\n{tail}")
    }

    /// The last `limit` bytes that arrived, as text, from the start of a line where there is one.
    pub(crate) fn end(&self, limit: usize) -> String {
        let kept = self.head.iter().filter(|_| self.cut == 0).chain(&self.tail);
        let skipped = self.head.len() * usize::from(self.cut == 0) + self.tail.len();
        let bytes: Vec<u8> = kept.copied().skip(skipped.saturating_sub(limit)).collect();
        if bytes.len() as u64 == self.total() {
            return String::from_utf8_lossy(&bytes).into_owned();
        }
        let line = bytes.iter().position(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        String::from_utf8_lossy(&bytes[line..]).into_owned()
    }
}

const fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// Takes off a character that the end of `bytes` cuts in two.
fn without_partial_end(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(limit: usize, chunks: &[&str]) -> Captured {
        let mut captured = Captured::new(limit);
        chunks.iter().for_each(|chunk| captured.push(chunk.as_bytes()));
        captured
    }

    #[test]
    fn what_fits_is_kept_whole() {
        let captured = captured(10, &["hell", "o wor"]);
        assert_eq!((captured.text(), captured.cut(), captured.total()), ("hello wor".to_owned(), 0, 9));
    }

    #[test]
    fn of_what_does_not_fit_the_beginning_and_the_end_are_kept() {
        for chunks in
            [&["0123456789abcdef"][..], &["012", "3456", "789abc", "d", "ef"], &["0123", "456789abcdef"]]
        {
            let captured = captured(8, chunks);
            let seen = (captured.text(), captured.cut(), captured.total());
            assert_eq!(seen, ("0123\n[… 8 bytes cut …]\ncdef".to_owned(), 8, 16), "{chunks:?}");
        }
    }

    #[test]
    fn a_character_at_the_cut_is_dropped_whole() {
        let captured = captured(6, &["aaé€", "xx€b"]);
        assert_eq!(captured.text(), "aa\n[… 10 bytes cut …]\nb");
        assert_eq!(captured.cut(), 7);
    }

    #[test]
    fn the_end_starts_at_a_line() {
        assert_eq!(captured(100, &["one\ntwo\nthree"]).end(9), "three");
        assert_eq!(captured(100, &["one\ntwo\n"]).end(100), "one\ntwo\n");
        assert_eq!(captured(8, &["0123456789abcdef"]).end(100), "cdef");
    }
}
