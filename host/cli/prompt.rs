//! Where the prompt comes from.

use std::{
    io::{self, Read},
    sync::mpsc,
    time::Duration,
};

use super::output::Usage;

/// How long standard input may stay silent before somebody is told what is waited for.
const PATIENCE: Duration = Duration::from_secs(3);

/// No prompt is longer, in bytes; models take less.
const MOST: u64 = 10_000_000;

/// The prompt: what was typed, and behind it what was piped in. `-` stands for standard input alone.
pub(super) fn compose(typed: &str, piped: Option<&str>) -> Result<String, Usage> {
    let typed = if typed == "-" { "" } else { typed.trim_end() };
    let piped = piped.unwrap_or_default().trim_end();
    let prompt = match (typed.is_empty(), piped.is_empty()) {
        (false, false) => format!("{typed}\n\n{piped}"),
        _ => format!("{typed}{piped}"),
    };
    if prompt.trim().is_empty() {
        return Err(Usage("the prompt is empty: give it with -p PROMPT, or pipe it into cmd -p".to_owned()));
    }
    Ok(prompt)
}

/// Reads `input` to its end. `waiting` is called once when nothing has come for a while: a pipe that
/// somebody forgot to close looks like a program that hangs.
pub(super) fn read(input: impl Read + Send + 'static, waiting: impl FnOnce()) -> io::Result<String> {
    read_within(PATIENCE, input, waiting)
}

fn read_within(
    patience: Duration,
    input: impl Read + Send + 'static,
    waiting: impl FnOnce(),
) -> io::Result<String> {
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        // The receiver waits until it is told.
        let _ = sender.send(read_bounded(input));
    });
    let read = receiver.recv_timeout(patience).or_else(|_| {
        waiting();
        receiver.recv()
    });
    read.map_err(io::Error::other)?
}

fn read_bounded(input: impl Read) -> io::Result<String> {
    let refused = |reason| Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    let mut bytes = Vec::new();
    input.take(MOST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST {
        return refused(format!(
            "the prompt on standard input is longer than {MOST} bytes; put it into a file and name that in the prompt"
        ));
    }
    String::from_utf8(bytes).or_else(|error| {
        refused(format!("the prompt is not valid UTF-8, at byte {}", error.utf8_error().valid_up_to()))
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn what_is_piped_in_stands_behind_what_was_typed() {
        let compose = |typed, piped| compose(typed, piped).unwrap();
        assert_eq!(compose("say hi", None), "say hi");
        assert_eq!(compose("review\n", Some("+ a\n- b\n")), "review\n\n+ a\n- b");
        assert_eq!(compose("review", Some("\n")), "review");
        assert_eq!(compose("-", Some("  piped\n")), "  piped");
    }

    #[test]
    fn an_empty_prompt_is_refused() {
        for (typed, piped) in [("-", None), ("", None), ("-", Some(" \n")), (" ", Some(""))] {
            assert_eq!(
                compose(typed, piped).unwrap_err().to_string(),
                "the prompt is empty: give it with -p PROMPT, or pipe it into cmd -p"
            );
        }
    }

    #[test]
    fn a_pipe_that_stays_silent_is_told_of_and_still_read() {
        let (reader, writer) = io::pipe().unwrap();
        let told = Cell::new(0);
        let text = read_within(Duration::ZERO, reader, || {
            told.set(told.get() + 1);
            (&writer).write_all("late".as_bytes()).unwrap();
            drop(writer);
        });
        assert_eq!((text.unwrap().as_str(), told.get()), ("late", 1));
    }

    #[test]
    fn a_prompt_that_is_no_text_is_refused() {
        let error = read(&b"ab\xff"[..], || ()).unwrap_err();
        assert_eq!(error.to_string(), "the prompt is not valid UTF-8, at byte 2");
    }

    #[test]
    fn a_prompt_without_end_is_refused() {
        let error = read(io::repeat(b'a'), || ()).unwrap_err();
        let told = "the prompt on standard input is longer than 10000000 bytes; put it into a file and name that in the prompt";
        assert_eq!(error.to_string(), told);
        let longest = read(io::repeat(b'a').take(MOST), || ()).unwrap();
        assert_eq!(longest.len() as u64, MOST);
    }

    use io::Write;
}
