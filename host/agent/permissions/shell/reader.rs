use super::{ANY, Command, program, redirect::HereDocument};

pub(super) const KEYWORDS: [&str; 12] =
    ["if", "then", "elif", "else", "fi", "while", "until", "do", "done", "{", "}", "!"];
const NO_FILES: [&str; 3] = ["/dev/null", "/dev/stdout", "/dev/stderr"];
pub(super) const MAX_DEPTH: usize = 16;

#[derive(Debug, Clone, Default)]
pub(super) struct Word {
    pub(super) written: String,
    /// Without quotes, and with an [`ANY`] for every expansion.
    pub(super) plain: String,
    /// Whether it may stand for names of files, or for several words.
    pub(super) is_glob: bool,
}

impl Word {
    pub(super) fn push(&mut self, c: char) {
        self.written.push(c);
        self.plain.push(c);
    }

    /// Adds what expands to something that is not known.
    pub(super) fn push_open(&mut self, text: &str) {
        self.written.push_str(text);
        self.plain.push(ANY);
    }

    /// Whether it has braces that expand: `{a,b}` or `{1..9}`.
    fn has_braces(&self) -> bool {
        let inside = self.written.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
        self.is_glob && inside.is_some_and(|(inside, _)| inside.contains(',') || inside.contains(".."))
    }
}

/// The command that is being read.
#[derive(Default)]
pub(super) struct Line {
    words: Vec<Word>,
    pub(super) word: Option<Word>,
    target: Option<Target>,
}

/// What the next word is, where it is no argument.
#[derive(Clone, Copy)]
pub(super) enum Target {
    Write,
    Read,
}

pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    found: Vec<Command>,
    /// Here-documents that the line so far has begun.
    pub(super) here: Vec<HereDocument>,
    /// How many commands it is inside of.
    inside: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, inside: usize) -> Self {
        Self { text, at: 0, found: Vec::new(), here: Vec::new(), inside }
    }

    /// Reads it all.
    pub(super) fn read(mut self) -> Option<Vec<Command>> {
        self.list(None, 0)?;
        Some(self.found)
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    pub(super) fn eat(&mut self, c: char) -> bool {
        let there = self.peek() == Some(c);
        self.at += if there { c.len_utf8() } else { 0 };
        there
    }

    /// The text up to `end`, which is read over.
    fn until(&mut self, end: char) -> Option<&'a str> {
        let rest = &self.text[self.at..];
        let body = &rest[..rest.find(end)?];
        self.at += body.len() + end.len_utf8();
        Some(body)
    }

    /// Reads commands up to `end`.
    pub(super) fn list(&mut self, end: Option<char>, depth: usize) -> Option<()> {
        // Shells disagree on where a here-document begins that is pending here.
        if depth > MAX_DEPTH || !self.here.is_empty() {
            return None;
        }
        let mut line = Line::default();
        while let Some(c) = self.next() {
            match c {
                ')' if end == Some(c) => {
                    self.finish(&mut line)?;
                    return self.here.is_empty().then_some(());
                }
                ')' => return None,
                ' ' | '\t' => self.end_word(&mut line),
                '\n' => {
                    self.finish(&mut line)?;
                    self.here_documents(depth)?;
                }
                ';' if self.peek() == Some(';') => return None,
                ';' => self.finish(&mut line)?,
                '&' | '|' => {
                    self.finish(&mut line)?;
                    let _ = self.eat(c) || c == '|' && self.eat('&');
                }
                // Arithmetic in one shell, subshells in another.
                '(' if self.peek() == Some('(') => return None,
                '(' => {
                    self.finish(&mut line)?;
                    self.list(Some(')'), depth + 1)?;
                }
                '>' => {
                    self.end_descriptor(&mut line);
                    self.write_target(&mut line, depth)?;
                }
                '<' => self.read_target(&mut line, depth)?,
                // Where a comment ends inside of something else, shells disagree.
                '#' if line.word.is_none() && depth > 0 => return None,
                '#' if line.word.is_none() => {
                    let rest = &self.text[self.at..];
                    self.at += rest.find('\n').unwrap_or(rest.len());
                }
                '\\' if self.eat('\n') => {}
                c => self.word(c, line.word.get_or_insert_default(), depth)?,
            }
        }
        self.finish(&mut line)?;
        (end.is_none() && self.here.is_empty()).then_some(())
    }

    /// Reads on in a word that `c` is the next character of.
    fn word(&mut self, c: char, word: &mut Word, depth: usize) -> Option<()> {
        match c {
            '\'' => {
                let body = self.until('\'')?;
                word.plain.push_str(body);
                word.written.extend(["'", body, "'"]);
            }
            '"' => self.double_quoted(word, depth)?,
            '\\' => {
                let c = self.next()?;
                word.written.extend(['\\', c]);
                word.plain.push(c);
            }
            '$' => self.dollar(word, false, depth)?,
            '`' => self.backticks(word, depth)?,
            c => {
                word.is_glob |= "*?[{".contains(c);
                word.push(c);
            }
        }
        (self.here.is_empty() || !word.written.contains('\n')).then_some(())
    }

    fn double_quoted(&mut self, word: &mut Word, depth: usize) -> Option<()> {
        word.written.push('"');
        loop {
            match self.next()? {
                '"' => break,
                '\\' if self.eat('\n') => {}
                '\\' => {
                    let c = self.next()?;
                    word.written.extend(['\\', c]);
                    let escapes = "$`\"\\".contains(c);
                    word.plain.extend((!escapes).then_some('\\').into_iter().chain([c]));
                }
                '$' => self.dollar(word, true, depth)?,
                '`' => self.backticks(word, depth)?,
                c => word.push(c),
            }
        }
        word.written.push('"');
        Some(())
    }

    pub(super) fn dollar(&mut self, word: &mut Word, quoted: bool, depth: usize) -> Option<()> {
        let start = self.at - 1;
        match self.peek() {
            Some('(') => {
                self.at += 1;
                if self.eat('(') { self.arithmetic()? } else { self.list(Some(')'), depth + 1)? }
            }
            Some('{') => {
                self.at += 1;
                self.braces(depth + 1)?;
            }
            // Old arithmetic, and quotes with escapes of their own.
            Some('[') => return None,
            Some('\'') if !quoted => return None,
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                while self.peek().is_some_and(is_name) {
                    self.at += 1;
                }
            }
            Some(c) if c.is_ascii_digit() || "@*#?-$!".contains(c) => self.at += 1,
            _ => {}
        }
        word.push_open(&self.text[start..self.at]);
        Some(())
    }

    /// Reads arithmetic, behind its two parentheses. With anything else in it, it may be commands.
    fn arithmetic(&mut self) -> Option<()> {
        let mut open = 0;
        loop {
            match self.next()? {
                '(' => open += 1,
                ')' if open > 0 => open -= 1,
                ')' => return self.eat(')').then_some(()),
                '$' if self.peek() == Some('(') => return None,
                c if c.is_ascii_alphanumeric() || "_$ +-*/%<>=!&|^~?:,".contains(c) => {}
                _ => return None,
            }
        }
    }

    /// Reads a parameter's braces. What quotes and parentheses mean in there depends on too much.
    fn braces(&mut self, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut inner = Word::default();
        loop {
            match self.next()? {
                '}' => return Some(()),
                '\'' | '"' | '\\' | '(' => return None,
                '$' => self.dollar(&mut inner, false, depth)?,
                '`' => self.backticks(&mut inner, depth)?,
                _ => {}
            }
        }
    }

    /// Reads backticks. A quote or an escape in there may mean two things.
    pub(super) fn backticks(&mut self, word: &mut Word, depth: usize) -> Option<()> {
        let body = self.until('`')?;
        if body.contains(['\'', '"', '\\', '#']) {
            return None;
        }
        word.push_open(&format!("`{body}`"));
        self.nested(body, |inner| inner.list(None, depth + 1))
    }

    pub(super) fn nested(&mut self, text: &'a str, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let mut inner = Self::new(text, self.inside);
        read(&mut inner)?;
        self.found.append(&mut inner.found);
        Some(())
    }

    pub(super) fn end_word(&mut self, line: &mut Line) {
        let Some(mut word) = line.word.take() else { return };
        if word.has_braces() {
            word.plain = ANY.to_string();
        }
        match line.target.take() {
            None => line.words.push(word),
            Some(Target::Read) => {}
            Some(Target::Write) if NO_FILES.contains(&word.plain.as_str()) => {}
            Some(Target::Write) => self.found.push(Command::write(word)),
        }
    }

    /// Ends a command.
    fn finish(&mut self, line: &mut Line) -> Option<()> {
        self.end_word(line);
        let Line { mut words, target, .. } = std::mem::take(line);
        if target.is_some() {
            return None;
        }
        let leads = words.iter().take_while(|word| KEYWORDS.contains(&word.written.as_str())).count();
        words.drain(..leads);
        program::commands(&words, self.inside, &mut self.found)
    }
}

impl Word {
    pub(super) fn is_number(&self) -> bool {
        self.written.chars().all(|c| c.is_ascii_digit())
    }
}

impl Line {
    pub(super) fn await_target(&mut self, target: Target) -> Option<()> {
        let free = self.target.is_none();
        self.target = Some(target);
        free.then_some(())
    }
}
