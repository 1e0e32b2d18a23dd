/// How many bytes of text a tool answers with, at most.
pub(super) const MAX_OUTPUT: usize = 30_000;

/// A part of a long list of lines: some are skipped, then some are taken.
pub(super) struct Page {
    skip: usize,
    limit: usize,
    seen: usize,
    taken: usize,
    text: String,
    more: bool,
}

impl Page {
    pub(super) fn new(offset: Option<usize>, limit: Option<std::num::NonZeroUsize>, default: usize) -> Self {
        let limit = limit.map_or(default, std::num::NonZeroUsize::get);
        Self { skip: offset.unwrap_or(0), limit, seen: 0, taken: 0, text: String::new(), more: false }
    }

    /// Adds a line, and says whether there is room for another.
    pub(super) fn add(&mut self, line: &str) -> bool {
        self.seen += 1;
        if self.seen <= self.skip {
            return true;
        }
        let too_long = self.taken > 0 && self.text.len() + line.len() >= MAX_OUTPUT;
        if self.taken == self.limit || too_long {
            self.more = true;
            return false;
        }
        self.text.push_str(line);
        self.text.push('\n');
        self.taken += 1;
        true
    }

    /// Whether no line has come yet, skipped ones included.
    pub(super) fn is_empty(&self) -> bool {
        self.seen == 0
    }

    /// Whether a line found no room.
    pub(super) fn is_full(&self) -> bool {
        self.more
    }

    /// The lines, with how to see the rest. `total` is how many there are, where that is known;
    /// `none` is said when there are none.
    pub(super) fn finish(self, what: &str, total: Option<usize>, none: &str) -> String {
        let next = self.skip + self.taken;
        match (self.taken, self.seen) {
            (0, 0) => none.to_owned(),
            (0, seen) => format!("no {what} after offset {}: there are {seen}", self.skip),
            _ if !self.more => self.text.trim_end_matches('\n').to_owned(),
            _ => {
                let of = total.map_or_else(String::new, |total| format!(" of {total}"));
                format!(
                    "{}[{what} {} to {next}{of}; for the next ones: offset {next}]",
                    self.text,
                    self.skip + 1
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;

    fn page(lines: usize, offset: usize, limit: usize) -> String {
        let mut page = Page::new(Some(offset), NonZeroUsize::new(limit), 7);
        let _ = (1..=lines).all(|line| page.add(&format!("line {line}")));
        page.finish("lines", Some(lines), "nothing")
    }

    #[test]
    fn what_fits_is_shown_without_a_word() {
        assert_eq!(page(3, 0, 3), "line 1\nline 2\nline 3");
        assert_eq!(page(3, 2, 3), "line 3");
    }

    #[test]
    fn what_does_not_fit_is_told() {
        assert_eq!(page(9, 2, 2), "line 3\nline 4\n[lines 3 to 4 of 9; for the next ones: offset 4]");
        assert_eq!(page(0, 0, 2), "nothing");
        assert_eq!(page(3, 3, 2), "no lines after offset 3: there are 3");
    }

    #[test]
    fn a_page_is_bounded_in_bytes_and_never_empty() {
        let mut page = Page::new(None, None, 10);
        assert!(page.add(&"x".repeat(MAX_OUTPUT + 1)));
        assert!(!page.add("y"));
        let text = page.finish("lines", None, "");
        assert_eq!(
            text,
            format!("{}\n[lines 1 to 1; for the next ones: offset 1]", "x".repeat(MAX_OUTPUT + 1))
        );
    }
}
