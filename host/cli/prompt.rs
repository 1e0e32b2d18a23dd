//! Where the prompt comes from.

use std::{
    io::{self, Read},
    sync::mpsc,
    time::Duration,
};

use super::output::Usage;

/// How long standard input may stay silent before somebody is told what is waited for.
const PATIENCE: Duration = Duration::from_secs(3);

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
    mut input: impl Read + Send + 'static,
    waiting: impl FnOnce(),
) -> io::Result<String> {
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = input.read_to_end(&mut bytes).and_then(|_| {
            String::from_utf8(bytes).map_err(|error| {
                let place = error.utf8_error().valid_up_to();
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("the prompt is not valid UTF-8, at byte {place}"),
                )
            })
        });
        // The receiver waits until it is told.
        let _ = sender.send(read);
    });
    let read = receiver.recv_timeout(patience).or_else(|_| {
        waiting();
        receiver.recv()
    });
    read.map_err(io::Error::other)?
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

    use io::Write;
}
