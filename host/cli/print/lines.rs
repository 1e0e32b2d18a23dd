use std::{
    io::{self, Write},
    sync::mpsc::{self, Receiver, SyncSender},
    thread::{self, JoinHandle},
};

/// How many lines may wait to be written before the run waits for the reader. A stalled reader shall
/// stall the run rather than fill the memory.
const WAITING: usize = 1024;

enum Line {
    Out(String),
    Err(String),
    End,
}

/// Hands lines to the writer.
#[derive(Clone)]
pub(super) struct Lines {
    sender: SyncSender<Line>,
}

/// Writes lines in the order in which they were handed over, on a thread of its own: whoever raises an
/// event does not wait for a terminal or a pipe.
pub(super) struct Writer {
    sender: SyncSender<Line>,
    thread: JoinHandle<io::Result<()>>,
}

impl Lines {
    /// Writes a line to standard output.
    pub(super) fn out(&self, line: String) {
        self.send(Line::Out(line));
    }

    /// Writes a line to standard error.
    pub(super) fn err(&self, line: String) {
        self.send(Line::Err(line));
    }

    fn send(&self, line: Line) {
        // A writer that is gone has told why, when it ended.
        let _ = self.sender.send(line);
    }
}

impl Writer {
    /// Starts to write. `broken` is called when standard output takes nothing more.
    pub(super) fn start(
        out: impl Write + Send + 'static,
        err: impl Write + Send + 'static,
        broken: impl FnOnce() + Send + 'static,
    ) -> io::Result<(Self, Lines)> {
        let (sender, receiver) = mpsc::sync_channel(WAITING);
        let thread = thread::Builder::new()
            .name("output".to_owned())
            .spawn(move || write(&receiver, out, err).inspect_err(|_| broken()))?;
        Ok((Self { sender: sender.clone(), thread }, Lines { sender }))
    }

    /// Waits until all is written.
    ///
    /// # Errors
    /// Standard output did not take all of it.
    pub(super) fn finish(self) -> io::Result<()> {
        let _ = self.sender.send(Line::End);
        self.thread.join().map_err(|_| io::Error::other("the output thread panicked"))?
    }
}

fn write(lines: &Receiver<Line>, mut out: impl Write, mut err: impl Write) -> io::Result<()> {
    for line in lines {
        match line {
            Line::Out(mut line) => {
                line.push('\n');
                out.write_all(line.as_bytes())?;
                out.flush()?;
            }
            // The result counts even where nobody reads the messages.
            Line::Err(line) => drop(writeln!(err, "{line}")),
            Line::End => break,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[test]
    fn all_lines_are_written_in_order_before_it_is_finished() {
        let (mut reader, pipe) = io::pipe().unwrap();
        let (writer, lines) = Writer::start(pipe.try_clone().unwrap(), pipe, || ()).unwrap();
        let more = lines.clone();
        for n in 0..WAITING {
            lines.out(format!("out {n}"));
        }
        more.err("err".to_owned());
        let text = thread::spawn(move || {
            let mut text = String::new();
            io::Read::read_to_string(&mut reader, &mut text).unwrap();
            text
        });
        writer.finish().unwrap();
        lines.out("too late".to_owned());
        let expected: String =
            (0..WAITING).map(|n| format!("out {n}\n")).chain(["err\n".to_owned()]).collect();
        assert_eq!(text.join().unwrap(), expected);
    }

    #[test]
    fn a_reader_that_goes_away_is_told_of_once_and_blocks_nobody() {
        let (reader, pipe) = io::pipe().unwrap();
        drop(reader);
        let cancel = CancellationToken::new();
        let told = cancel.clone();
        let (writer, lines) = Writer::start(pipe, io::sink(), move || told.cancel()).unwrap();
        for n in 0..3 * WAITING {
            lines.out(n.to_string());
        }
        assert_eq!(writer.finish().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert!(cancel.is_cancelled());
    }

    #[test]
    fn a_standard_error_that_is_gone_loses_no_result() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (mut reader, pipe) = io::pipe().unwrap();
        let (writer, lines) = Writer::start(pipe, Gone, || ()).unwrap();
        lines.err("a".to_owned());
        lines.out("b".to_owned());
        writer.finish().unwrap();
        let mut text = String::new();
        io::Read::read_to_string(&mut reader, &mut text).unwrap();
        assert_eq!(text, "b\n");
    }
}
