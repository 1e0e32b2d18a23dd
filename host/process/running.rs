use std::{
    io,
    pin::{Pin, pin},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use futures::{Stream, StreamExt, stream};
use process_wrap::tokio::ChildWrapper;
use tokio::{
    io::AsyncRead,
    process::Command,
    time::{Instant, sleep, timeout},
};
use tokio_util::{bytes::Bytes, io::ReaderStream, sync::CancellationToken};

use super::{
    Captured, End, Error, Finished, Run,
    living::{self, Living},
};

/// How long processes that were asked to end may take.
const GRACE: Duration = Duration::from_secs(1);
/// How often it is looked whether they have ended.
const LOOK: Duration = Duration::from_millis(10);
/// How long it is waited for the end of a stream that a process which got away may hold open.
const DRAIN: Duration = Duration::from_millis(200);

/// A child, its family and its output.
type Started = (Box<dyn ChildWrapper>, Living, Chunks);

type Chunks = Pin<Box<dyn Stream<Item = io::Result<(Source, Bytes)>> + Send>>;

#[derive(Clone, Copy)]
enum Source {
    Stdout,
    Stderr,
}

struct Running<'a> {
    // Before the child, so that its members are found while the child is still their parent.
    family: Living,
    child: Box<dyn ChildWrapper>,
    chunks: Chunks,
    kept: Kept<'a>,
}

struct Kept<'a> {
    stdout: Captured,
    stderr: Captured,
    on_output: &'a mut (dyn FnMut(&[u8]) + Send),
}

pub(super) async fn run(
    run: &Run,
    cancel: &CancellationToken,
    on_output: &mut (dyn FnMut(&[u8]) + Send),
) -> Result<Finished, Error> {
    if !run.cwd.is_dir() {
        return Err(Error::Cwd { program: run.program.clone(), cwd: run.cwd.clone() });
    }
    let started = start(run).map_err(|source| Error::Start { program: run.program.clone(), source });
    let (child, family, chunks) = started?;
    let kept = Kept { stdout: Captured::new(run.limit), stderr: Captured::new(run.limit), on_output };
    let mut running = Running { family, child, chunks, kept };
    let lost = |source| Error::Follow { program: run.program.clone(), source };
    let end = running.until_end(cancel, run.timeout).await.map_err(lost)?;
    let stopped = running.wind_down().await.map_err(lost)?;
    Ok(Finished { stdout: running.kept.stdout, stderr: running.kept.stderr, end, stopped })
}

fn start(run: &Run) -> io::Result<Started> {
    let mut command = Command::new(&run.program);
    command.args(&run.args).current_dir(&run.cwd).stdin(Stdio::null());
    run.env_remove.iter().for_each(|name| {
        command.env_remove(name);
    });
    match run.streams {
        #[cfg(unix)]
        super::Streams::Merged => start_merged(command),
        _ => start_separate(command),
    }
}

/// One pipe for both streams keeps their order; two could only be read one after the other.
#[cfg(unix)]
fn start_merged(mut command: Command) -> io::Result<Started> {
    let (reader, writer) = io::pipe()?;
    let reader = tokio::net::unix::pipe::Receiver::from_owned_fd(reader.into())?;
    command.stdout(writer.try_clone()?).stderr(writer);
    // Dropping the command closes our ends of the pipe, without which its end would never be seen.
    let (child, family) = living::start(command.into())?;
    Ok((child, family, Box::pin(chunks(Source::Stdout, Some(reader)))))
}

fn start_separate(mut command: Command) -> io::Result<Started> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let (mut child, family) = living::start(command.into())?;
    let stdout = chunks(Source::Stdout, child.stdout().take());
    let stderr = chunks(Source::Stderr, child.stderr().take());
    Ok((child, family, Box::pin(stream::select(stdout, stderr))))
}

fn chunks<R: AsyncRead + Send + 'static>(
    source: Source,
    reader: Option<R>,
) -> impl Stream<Item = io::Result<(Source, Bytes)>> + Send {
    let chunks =
        stream::iter(reader).flat_map(|reader| Box::pin(ReaderStream::with_capacity(reader, 16 * 1024)));
    chunks.map(move |chunk| chunk.map(|bytes| (source, bytes)))
}

impl Running<'_> {
    async fn until_end(&mut self, cancel: &CancellationToken, limit: Option<Duration>) -> io::Result<End> {
        let mut time_is_up = pin!(async {
            match limit {
                Some(limit) => sleep(limit).await,
                None => std::future::pending().await,
            }
        });
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Ok(End::Cancelled),
                () = &mut time_is_up => return Ok(End::TimedOut),
                status = self.child.inner_mut().wait() => return status.map(End::of),
                Some(chunk) = self.chunks.next() => self.kept.keep(chunk?),
            }
        }
    }

    /// Ends what is left, says how many that were, and reads what they say on their way out.
    async fn wind_down(&mut self) -> io::Result<usize> {
        let Self { family, child, chunks, kept } = self;
        let stopped = family.lock().ask(&mut **child);
        let mut gone = pin!(end(family));
        let mut fetched = false;
        loop {
            tokio::select! {
                () = &mut gone => break,
                _ = child.inner_mut().wait(), if !fetched => fetched = true,
                Some(chunk) = chunks.next() => kept.keep(chunk?),
            }
        }
        let rest = async {
            while let Some(chunk) = chunks.next().await {
                kept.keep(chunk?);
            }
            child.inner_mut().wait().await
        };
        timeout(DRAIN, rest).await.unwrap_or(Ok(ExitStatus::default()))?;
        Ok(stopped)
    }
}

/// Waits until all have ended, or kills those that take too long.
async fn end(family: &Living) {
    let time_is_up = Instant::now() + GRACE;
    while !family.lock().is_gone() && Instant::now() < time_is_up {
        sleep(LOOK).await;
    }
    family.lock().kill();
}

impl Kept<'_> {
    fn keep(&mut self, (source, chunk): (Source, Bytes)) {
        match source {
            Source::Stdout => self.stdout.push(&chunk),
            Source::Stderr => self.stderr.push(&chunk),
        }
        (self.on_output)(&chunk);
    }
}

impl End {
    fn of(status: ExitStatus) -> Self {
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            return Self::Signalled(signal);
        }
        Self::Exited(status.code().unwrap_or(-1))
    }
}
