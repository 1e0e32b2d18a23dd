//! A clock in the status line, and `/clock`. Its flags: `format`, of `%H`, `%M` and `%S`; `label`; `utc-offset`, as in
//! `+05:30`; and `every`, so many seconds. An empty text is as if it were not given.
//!
//! It shows a timer, in a runtime of the mod's own, that ends with the session; and a clock that tests can set.
#![forbid(unsafe_code)]

mod face;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use mod_interface::prelude::*;
use tokio::{task::JoinHandle, time::sleep};

use face::Face;

export_mod!(clock, runtime);

struct Clock {
    cmd: ModApi,
    face: Face,
    every: Duration,
    now: Box<dyn Fn() -> SystemTime + Send + Sync>,
    ticking: Mutex<Option<JoinHandle<()>>>,
}

async fn clock(cmd: ModApi) -> Result<()> {
    with_time(cmd, SystemTime::now).await
}

async fn with_time(cmd: ModApi, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Result<()> {
    let format = text(&cmd, "format", "%H:%M", "How the time is shown")?;
    let label = text(&cmd, "label", "time:", "What stands before it")?;
    let offset = text(&cmd, "utc-offset", "+00:00", "How far the time is ahead of UTC")?;
    let every =
        cmd.flag(Flag::number("every").default(30).description("After how many seconds it is shown anew"))?;
    let every = Duration::from_secs(every.max(1));
    let face = Face::new(format, label, &offset)?;
    let clock =
        Arc::new(Clock { cmd: cmd.clone(), face, every, now: Box::new(now), ticking: Mutex::default() });

    let hooks = Hooks::sharing(&clock)
        .on_session_start(|clock, _, _| async move { clock.start() })
        .before_tool_call_sync(|clock, _, _| clock.show().map(|()| None))
        .on_session_end(|clock, _, _| async move { clock.stop().await });
    cmd.hooks(hooks)?;
    cmd.add_command(
        Command::new("clock", "Says what time it is")
            .run_sync(move |_| Ok(CommandOutcome::message(clock.face.at((clock.now)())))),
    )?;
    Ok(())
}

/// A flag that is a text, and never an empty one.
fn text(cmd: &ModApi, name: &str, default: &str, what: &str) -> Result<String> {
    let text = cmd.flag(Flag::string(name).default(default).description(what))?;
    Ok(if text.is_empty() { default.to_owned() } else { text })
}

impl Clock {
    fn show(&self) -> Result<()> {
        self.cmd.ui().set_status(&self.face.at((self.now)())).map(drop)
    }

    fn start(self: Arc<Self>) -> Result<()> {
        self.show()?;
        let clock = Arc::clone(&self);
        let ticking = tokio::spawn(async move {
            loop {
                sleep(clock.every).await;
                if clock.show().is_err() {
                    return;
                }
            }
        });
        *self.ticking.lock().unwrap_or_else(PoisonError::into_inner) = Some(ticking);
        Ok(())
    }

    /// Returns when the timer is gone.
    async fn stop(&self) -> Result<()> {
        let ticking = self.ticking.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(ticking) = ticking {
            ticking.abort();
            let _aborted = ticking.await;
        }
        self.cmd.ui().set_status("").map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use mod_interface::{
        prelude::*,
        testing::{Fault, TestHost, TestMod, block_on},
    };
    use tokio::time::{Instant, sleep};

    use super::with_time;

    /// A clock that starts at the beginning of 1970, and goes as the paused one of the test does.
    async fn loaded(options: &[(&str, &str)]) -> Result<TestMod, Fault> {
        let (options, begun) = (options.iter(), Instant::now());
        let host = options.fold(TestHost::new(), |host, (name, value)| host.option(name, value));
        host.load(move |cmd| with_time(cmd, move || SystemTime::UNIX_EPOCH + begun.elapsed())).await
    }

    fn shown(clock: &TestMod) -> Vec<String> {
        let shown = clock.asked_of("ui.set_status");
        shown.iter().map(|status| status["text"].as_str().unwrap_or_default().to_owned()).collect()
    }

    #[test]
    fn it_is_shown_at_the_start_by_the_timer_and_before_each_tool_until_the_session_ends() -> Result<()> {
        block_on(async {
            let clock = loaded(&[("format", "%M:%S"), ("every", "60")]).await?;
            clock.on_session_start(SessionStartSource::Startup).await?;
            sleep(Duration::from_secs(150)).await;
            assert_eq!(clock.before_tool_call("grep", json!({})).await?, None);
            let until_now = ["time: 00:00", "time: 01:00", "time: 02:00", "time: 02:30"];
            assert_eq!(shown(&clock), until_now);
            assert_eq!(clock.status().as_deref(), Some("time: 02:30"));
            assert_eq!(clock.run_command("clock", "").await?, CommandOutcome::message("time: 02:30"));

            clock.on_session_end(SessionEndReason::Shutdown).await?;
            sleep(Duration::from_secs(3600)).await;
            assert_eq!(shown(&clock), [&until_now[..], &[""]].concat());
            assert_eq!(clock.status(), None);
            Ok(())
        })
    }

    #[test]
    fn a_flag_that_is_empty_falls_back_and_one_that_is_nonsense_is_told() -> Result<()> {
        block_on(async {
            let clock = loaded(&[("format", ""), ("label", ""), ("utc-offset", "")]).await?;
            assert_eq!(clock.run_command("clock", "").await?, CommandOutcome::message("time: 00:00"));
            let there = loaded(&[("format", "%H"), ("label", "there"), ("utc-offset", "-01:00")]).await?;
            assert_eq!(there.run_command("clock", "").await?, CommandOutcome::message("there 23"));
            let refused = loaded(&[("utc-offset", "here")]).await.unwrap_err().to_string();
            assert_eq!(refused, "load failed: an offset of UTC is as in +05:30, got: here");
            Ok(())
        })
    }
}
