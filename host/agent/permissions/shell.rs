//! A command line, taken apart into every command that it would run.
//!
//! Lists, pipes, subshells, substitutions, here-documents and writes to files are all seen. What could be
//! read in two ways is not read at all: the answer is then `None`, and somebody is asked. A program that
//! runs programs (`sh -c`, `xargs`, `find -exec`) is seen as that program alone.

/// One command, or one write to a file: `> path`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Command {
    written: String,
    words: Vec<String>,
}

impl Command {
    /// The command as it was written, with single spaces between its words.
    pub(super) fn as_written(&self) -> &str {
        &self.written
    }

    /// Other ways to write the same: without quotes, without what only leads to the program, without the
    /// program's folder.
    pub(super) fn disguises(&self) -> Vec<String> {
        let is_lead = |word: &&String| {
            WRAPPERS.contains(&word.as_str()) || word.starts_with('-') || is_assignment(word)
        };
        let leads = self.words.iter().take_while(is_lead).count();
        let bare = &self.words[leads..];
        let mut forms = vec![self.written.clone(), self.words.join(" "), bare.join(" ")];
        if let Some((program, arguments)) = bare.split_first() {
            let name = program.rsplit('/').next().unwrap_or_default().to_owned();
            forms.push([&[name], arguments].concat().join(" "));
        }
        forms
    }
}

const WRAPPERS: [&str; 7] = ["sudo", "env", "command", "builtin", "exec", "nohup", "time"];
const KEYWORDS: [&str; 13] =
    ["if", "then", "elif", "else", "fi", "while", "until", "do", "done", "{", "}", "!", "time"];
const NO_FILES: [&str; 3] = ["/dev/null", "/dev/stdout", "/dev/stderr"];
const WORD_ENDS: &str = " \t\n;&|<>()";
const MAX_DEPTH: usize = 16;

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Every command that `text` would run, or `None` where that cannot be told.
pub(super) fn commands(text: &str) -> Option<Vec<Command>> {
    let mut reader = Reader { text, at: 0, found: Vec::new(), here: Vec::new() };
    reader.list(None, 0)?;
    Some(reader.found)
}

#[derive(Default)]
struct Word {
    written: String,
    plain: String,
}

impl Word {
    fn push(&mut self, c: char) {
        self.written.push(c);
        self.plain.push(c);
    }

    fn push_str(&mut self, text: &str) {
        self.written.push_str(text);
        self.plain.push_str(text);
    }
}

/// The command that is being read.
#[derive(Default)]
struct Line {
    words: Vec<Word>,
    word: Option<Word>,
    target: Option<Target>,
}

/// What the next word is, where it is no argument.
#[derive(Clone, Copy)]
enum Target {
    Write,
    Read,
}

struct HereDocument {
    end: String,
    expands: bool,
    strips_tabs: bool,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    found: Vec<Command>,
    here: Vec<HereDocument>,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, c: char) -> bool {
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
    fn list(&mut self, end: Option<char>, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
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
                '&' if self.eat('>') => {
                    self.end_word(&mut line);
                    self.write_target(&mut line, depth)?;
                }
                '&' | '|' => {
                    self.finish(&mut line)?;
                    let _ = self.eat(c) || c == '|' && self.eat('&');
                }
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
            c => word.push(c),
        }
        Some(())
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
                    word.plain.push(c);
                }
                '$' => self.dollar(word, true, depth)?,
                '`' => self.backticks(word, depth)?,
                c => word.push(c),
            }
        }
        word.written.push('"');
        Some(())
    }

    fn dollar(&mut self, word: &mut Word, quoted: bool, depth: usize) -> Option<()> {
        let start = self.at - 1;
        match self.peek() {
            Some('(') => {
                self.at += 1;
                self.list(Some(')'), depth + 1)?;
            }
            Some('{') => {
                self.at += 1;
                self.braces(depth + 1)?;
            }
            // Old arithmetic, and quotes with escapes of their own.
            Some('[') => return None,
            Some('\'') if !quoted => return None,
            _ => {}
        }
        word.push_str(&self.text[start..self.at]);
        Some(())
    }

    /// Reads a parameter's braces. What quotes mean in there depends on too much.
    fn braces(&mut self, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut inner = Word::default();
        loop {
            match self.next()? {
                '}' => return Some(()),
                '\'' | '"' | '\\' => return None,
                '$' => self.dollar(&mut inner, false, depth)?,
                '`' => self.backticks(&mut inner, depth)?,
                _ => {}
            }
        }
    }

    /// Reads backticks. A quote or an escape in there may mean two things.
    fn backticks(&mut self, word: &mut Word, depth: usize) -> Option<()> {
        let body = self.until('`')?;
        if body.contains(['\'', '"', '\\', '#']) {
            return None;
        }
        word.push_str(&format!("`{body}`"));
        self.nested(body, |inner| inner.list(None, depth + 1))
    }

    fn nested(&mut self, text: &'a str, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let mut inner = Self { text, at: 0, found: Vec::new(), here: Vec::new() };
        read(&mut inner)?;
        self.found.append(&mut inner.found);
        Some(())
    }

    /// Reads what stands behind a `>`.
    fn write_target(&mut self, line: &mut Line, depth: usize) -> Option<()> {
        if self.peek() == Some('(') {
            return self.process(line, '>', depth);
        }
        if self.eat('&') && self.is_descriptor() {
            return Some(());
        }
        let _ = self.eat('>') || self.eat('|');
        line.await_target(Target::Write)
    }

    /// Reads what stands behind a `<`.
    fn read_target(&mut self, line: &mut Line, depth: usize) -> Option<()> {
        // A shift in a subscript looks like a here-document.
        let in_word = line.word.as_ref().is_some_and(|word| !word.is_number());
        self.end_descriptor(line);
        match self.peek() {
            Some('(') => self.process(line, '<', depth),
            Some('<') if in_word => None,
            Some('<') => {
                self.at += 1;
                if self.eat('<') { line.await_target(Target::Read) } else { self.here_document() }
            }
            Some('&') => {
                self.at += 1;
                if self.is_descriptor() { Some(()) } else { line.await_target(Target::Read) }
            }
            Some('>') => {
                self.at += 1;
                line.await_target(Target::Write)
            }
            _ => line.await_target(Target::Read),
        }
    }

    fn process(&mut self, line: &mut Line, sign: char, depth: usize) -> Option<()> {
        let start = self.at;
        self.at += 1;
        self.list(Some(')'), depth + 1)?;
        let word = line.word.get_or_insert_default();
        word.push(sign);
        word.push_str(&self.text[start..self.at]);
        Some(())
    }

    /// Reads a descriptor's number, or the dash that closes it.
    fn is_descriptor(&mut self) -> bool {
        let word = self.plain_word();
        let is_one = word == "-" || !word.is_empty() && word.chars().all(|c| c.is_ascii_digit());
        self.at += if is_one { word.len() } else { 0 };
        is_one
    }

    /// Ends the word before a redirection; a number that touches it is a descriptor.
    fn end_descriptor(&mut self, line: &mut Line) {
        if line.word.as_ref().is_some_and(Word::is_number) {
            line.word = None;
        }
        self.end_word(line);
    }

    /// What stands before the next end of a word.
    fn plain_word(&self) -> &'a str {
        let rest = &self.text[self.at..];
        &rest[..rest.find(|c| WORD_ENDS.contains(c)).unwrap_or(rest.len())]
    }

    /// Reads the word that will end a here-document.
    fn here_document(&mut self) -> Option<()> {
        let strips_tabs = self.eat('-');
        while self.eat(' ') || self.eat('\t') {}
        let word = self.plain_word();
        self.at += word.len();
        if word.is_empty() || word.contains(['$', '`']) {
            return None;
        }
        let end = word.replace(['\'', '"', '\\'], "");
        self.here.push(HereDocument { expands: end == word, end, strips_tabs });
        Some(())
    }

    /// Reads the here-documents that the line before has begun.
    fn here_documents(&mut self, depth: usize) -> Option<()> {
        for document in std::mem::take(&mut self.here) {
            let start = self.at;
            let body = loop {
                let rest = &self.text[self.at..];
                if rest.is_empty() {
                    return None;
                }
                let line = rest.split('\n').next().unwrap_or_default();
                let before = self.at;
                self.at = (self.at + line.len() + 1).min(self.text.len());
                let line = if document.strips_tabs { line.trim_start_matches('\t') } else { line };
                if line == document.end {
                    break &self.text[start..before];
                }
            };
            if document.expands {
                self.nested(body, |inner| inner.expansions(depth + 1))?;
            }
        }
        Some(())
    }

    /// Reads a text in which only substitutions mean anything.
    fn expansions(&mut self, depth: usize) -> Option<()> {
        let mut text = Word::default();
        while let Some(c) = self.next() {
            match c {
                // A line that goes on may hide the end of the document.
                '\\' if self.next()? == '\n' => return None,
                '$' => self.dollar(&mut text, true, depth)?,
                '`' => self.backticks(&mut text, depth)?,
                _ => {}
            }
        }
        Some(())
    }

    fn end_word(&mut self, line: &mut Line) {
        let Some(word) = line.word.take() else { return };
        match line.target.take() {
            None => line.words.push(word),
            Some(Target::Read) => {}
            Some(Target::Write) if NO_FILES.contains(&word.plain.as_str()) => {}
            Some(Target::Write) => self.found.push(Command {
                written: format!("> {}", word.written),
                words: vec![">".to_owned(), word.plain],
            }),
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
        if !words.is_empty() {
            let written: Vec<_> = words.iter().map(|word| word.written.as_str()).collect();
            self.found.push(Command {
                written: written.join(" "),
                words: words.into_iter().map(|word| word.plain).collect(),
            });
        }
        Some(())
    }
}

impl Word {
    fn is_number(&self) -> bool {
        self.written.chars().all(|c| c.is_ascii_digit())
    }
}

impl Line {
    fn await_target(&mut self, target: Target) -> Option<()> {
        let free = self.target.is_none();
        self.target = Some(target);
        free.then_some(())
    }
}
