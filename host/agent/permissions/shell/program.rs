//! What one command runs: itself, and the command that it is a way to run.

use super::{
    ANY, Command, Needs,
    reader::{KEYWORDS, MAX_DEPTH, Reader, Word},
};

/// A program whose arguments are a command.
struct Wrapper {
    name: &'static str,
    /// Options that stand alone.
    flags: &'static [&'static str],
    /// Options with a value.
    valued: &'static [&'static str],
    /// How many words stand before the command.
    operands: usize,
    needs: Needs,
}

const fn wrapper(
    name: &'static str,
    flags: &'static [&'static str],
    valued: &'static [&'static str],
) -> Wrapper {
    Wrapper { name, flags, valued, operands: 0, needs: Needs::Nothing }
}

/// An option that is not named here may be about anything: the command is not read then.
const WRAPPERS: [Wrapper; 16] = [
    wrapper("builtin", &[], &[]),
    wrapper("command", &["-p", "-v", "-V"], &[]),
    wrapper("exec", &["-c", "-l"], &["-a"]),
    wrapper("ionice", &["-t"], &["-c", "-n"]),
    wrapper("nice", &[], &["-n", "--adjustment"]),
    wrapper("nohup", &[], &[]),
    wrapper("setsid", &["-c", "-f", "-w", "--ctty", "--fork", "--wait"], &[]),
    wrapper("stdbuf", &[], &["-i", "-o", "-e", "--input", "--output", "--error"]),
    wrapper("time", &["-p", "-v", "--verbose"], &["-f", "--format"]),
    Wrapper {
        operands: 1,
        ..wrapper(
            "timeout",
            &["--foreground", "--preserve-status", "-v"],
            &["-s", "-k", "--signal", "--kill-after"],
        )
    },
    // These change what the command does, or as whom.
    Wrapper { needs: Needs::Rule, ..wrapper("busybox", &[], &[]) },
    Wrapper { needs: Needs::Rule, ..wrapper("toybox", &[], &[]) },
    Wrapper { needs: Needs::Rule, ..wrapper("doas", &["-n"], &["-u", "-C"]) },
    Wrapper {
        needs: Needs::Rule,
        ..wrapper("env", &["-", "-i", "--ignore-environment"], &["-u", "--unset", "-C", "--chdir"])
    },
    Wrapper {
        needs: Needs::Rule,
        ..wrapper("sudo", &["-n", "-E", "-H", "-S", "-b", "-k"], &["-u", "-g", "-p"])
    },
    Wrapper {
        needs: Needs::Rule,
        ..wrapper("xargs", &["-0", "-r", "-t", "-x"], &["-n", "-P", "-L", "-s", "-d", "-a", "-E"])
    },
];

/// What they run stands in a file, in a text, or runs later.
const UNREADABLE: [&str; 22] = [
    ".",
    "alias",
    "bind",
    "compgen",
    "complete",
    "coproc",
    "csh",
    "enable",
    "eval",
    "fc",
    "fish",
    "function",
    "hash",
    "mapfile",
    "parallel",
    "readarray",
    "source",
    "su",
    "tcsh",
    "trap",
    "watch",
    "zsh",
];
/// A shell runs what their values say.
const RUN_VARIABLES: [&str; 4] = ["BASH_ENV=", "ENV=", "PROMPT_COMMAND=", "PS4="];
const SHELLS: [&str; 5] = ["ash", "bash", "dash", "ksh", "sh"];
/// Options of a shell that change nothing of what is read. `o` has a value.
const SHELL_OPTIONS: &str = "efilnouvx";
const FIND_RUNS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

/// Finds every command that the words of one would run.
pub(super) fn commands(words: &[Word], depth: usize, found: &mut Vec<Command>) -> Option<()> {
    let assignments = words.iter().take_while(|word| word.is_assignment()).count();
    if words.iter().any(|word| RUN_VARIABLES.iter().any(|name| word.plain.starts_with(name))) {
        return None;
    }
    if assignments > 0 {
        found.push(Command::new(words, Needs::Rule));
    }
    let words = &words[assignments..];
    let Some((program, arguments)) = words.split_first() else { return Some(()) };
    let name = program.plain.rsplit('/').next().unwrap_or_default();
    if depth > MAX_DEPTH || program.is_open() || UNREADABLE.contains(&name) {
        return None;
    }
    if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
        return wrapped(wrapper, words, depth, found);
    }
    found.push(Command::new(words, Needs::Rule));
    match name {
        "find" => found_files(arguments, depth, found),
        _ if SHELLS.contains(&name) => script(arguments, depth, found),
        _ => Some(()),
    }
}

fn wrapped(wrapper: &Wrapper, words: &[Word], depth: usize, found: &mut Vec<Command>) -> Option<()> {
    let inner = wrapper.inner(&words[1..])?;
    // One that lies elsewhere may be another program of the same name.
    let is_plain = !inner.is_empty() && !words[0].plain.contains('/');
    found.push(Command::new(words, if is_plain { wrapper.needs } else { Needs::Rule }));
    // An unquoted value of an assignment may be several words here.
    let mut assignments = inner.iter().take_while(|word| word.is_assignment());
    let is_keyword = inner.first().is_some_and(|word| KEYWORDS.contains(&word.plain.as_str()));
    if is_keyword || assignments.any(Word::is_open) {
        return None;
    }
    // Words from elsewhere follow, where there is a command.
    if wrapper.name == "xargs" && !inner.is_empty() {
        let more = Word { plain: ANY.to_string(), ..Word::default() };
        return commands(&[inner, &[more]].concat(), depth + 1, found);
    }
    commands(inner, depth + 1, found)
}

impl Wrapper {
    /// The command behind the wrapper's own words.
    fn inner<'a>(&self, words: &'a [Word]) -> Option<&'a [Word]> {
        let mut at = 0;
        while let Some(text) = words.get(at).map(|word| word.plain.as_str()) {
            at += match text {
                "--" => {
                    at += 1;
                    break;
                }
                _ if self.flags.contains(&text) || self.has_value_in(text) => 1,
                _ if self.valued.contains(&text) => 2,
                _ if text.starts_with('-') => return None,
                _ => break,
            };
        }
        let own = words.get(..at + self.operands)?;
        let is_plain = !own.iter().any(Word::is_open);
        is_plain.then(|| &words[own.len()..])
    }

    /// Whether it is an option with its value in one word: `-n5`, `--signal=9`.
    fn has_value_in(&self, text: &str) -> bool {
        self.valued.iter().any(|option| {
            let rest = text.strip_prefix(option).unwrap_or_default();
            if option.starts_with("--") { rest.starts_with('=') } else { !rest.is_empty() }
        })
    }
}

/// What `find` runs for what it finds.
fn found_files(arguments: &[Word], depth: usize, found: &mut Vec<Command>) -> Option<()> {
    let mut rest = arguments;
    while let Some(at) = rest.iter().position(|word| FIND_RUNS.contains(&word.plain.as_str())) {
        rest = &rest[at + 1..];
        let ends = |at: &usize| match rest[*at].plain.as_str() {
            ";" => true,
            "+" => *at > 0 && rest[*at - 1].plain == "{}",
            _ => false,
        };
        let end = (0..rest.len()).find(ends).unwrap_or(rest.len());
        let command = &rest[..end];
        if command.first().is_some_and(|word| word.plain.contains("{}")) {
            return None;
        }
        commands(command, depth + 1, found)?;
        rest = &rest[end..];
    }
    Some(())
}

/// What a shell is given to run. A script in a file is a program like any other; without one, the shell
/// reads its commands from elsewhere.
fn script(arguments: &[Word], depth: usize, found: &mut Vec<Command>) -> Option<()> {
    let mut arguments = arguments.iter();
    let mut is_text = false;
    loop {
        let word = arguments.next()?;
        match word.plain.strip_prefix('-') {
            _ if word.plain.contains(ANY) || word.plain.starts_with('+') => return None,
            Some(options) if options.chars().all(|c| c == 'c' || SHELL_OPTIONS.contains(c)) => {
                is_text |= options.contains('c');
                for _ in options.matches('o') {
                    arguments.next()?;
                }
            }
            Some(_) => return None,
            None if is_text => {
                found.extend(Reader::new(&word.plain, depth + 1).read()?);
                return Some(());
            }
            None => return (!word.is_open()).then_some(()),
        }
    }
}

impl Word {
    /// Whether an expansion may make something else of it.
    fn is_open(&self) -> bool {
        self.plain.contains(ANY) || self.is_glob && !["[", "[["].contains(&self.plain.as_str())
    }

    fn is_assignment(&self) -> bool {
        self.plain.split_once('=').is_some_and(|(name, _)| {
            let name = name.strip_suffix('+').unwrap_or(name);
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    }
}

impl Command {
    fn new(words: &[Word], needs: Needs) -> Self {
        let join = |text: fn(&Word) -> &str| words.iter().map(text).collect::<Vec<_>>().join(" ");
        let written = join(|word| &word.written).trim_end().to_owned();
        Self { written, text: join(|word| &word.plain), needs }
    }

    /// A write to a file.
    pub(super) fn write(target: Word) -> Self {
        // What a rule says of `out/*` does not hold for `out/../x`.
        let is_plain = !target.is_open() && !target.plain.split('/').any(|part| part == "..");
        let needs = if is_plain { Needs::Rule } else { Needs::More };
        let sign = Word { written: ">".to_owned(), plain: ">".to_owned(), ..Word::default() };
        Self::new(&[sign, target], needs)
    }
}
