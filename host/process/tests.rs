use std::{
    fs,
    sync::atomic::{AtomicU32, Ordering},
    time::Instant,
};

use super::*;

/// A number of seconds that no other process on this machine sleeps.
fn marker() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}.{:04}", std::process::id() + 100_000, NEXT.fetch_add(1, Ordering::Relaxed))
}

/// How many processes have `marker` as an argument.
fn alive(marker: &str) -> usize {
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let commands = pids.filter_map(|pid| fs::read_to_string(pid.path().join("cmdline")).ok());
    commands.filter(|command| command.split('\0').any(|arg| arg == marker)).count()
}

/// Waits until the whole brood has started.
fn all_up(marker: &str) {
    let started = Instant::now();
    while alive(marker) < 5 {
        assert!(started.elapsed() < Duration::from_secs(20), "{} are up", alive(marker));
        std::thread::yield_now();
    }
}

fn sh(script: &str) -> Run {
    Run::new("sh", "/").args(["-c", script])
}

async fn finished(run: Run) -> Finished {
    run.run(&CancellationToken::new(), &mut |_| ()).await.unwrap()
}

/// Starts five processes in the background, in groups and in a session of their own, and some that
/// do not listen.
fn brood(marker: &str) -> String {
    format!(
        "sleep {marker} & timeout 999999 sleep {marker} & setsid sleep {marker} &
         sh -c 'trap \"\" TERM; sleep {marker} & echo up; wait; sleep {marker}' & wait"
    )
}

#[tokio::test]
async fn a_process_gives_its_streams_and_its_code() {
    let finished = finished(sh("echo out; echo err >&2; exit 3")).await;
    let seen = (finished.stdout.text(), finished.stderr.text(), finished.end, finished.stopped);
    assert_eq!(seen, ("out\n".to_owned(), "err\n".to_owned(), End::Exited(3), 0));
}

#[tokio::test]
async fn merged_streams_keep_the_order_in_which_they_were_written() {
    let script = "for i in 1 2 3; do echo out $i; echo err $i >&2; done";
    let finished = finished(Run { streams: Streams::Merged, ..sh(script) }).await;
    let expected = "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n".to_owned();
    assert_eq!((finished.stdout.text(), finished.stderr.text()), (expected, String::new()));
}

#[tokio::test]
async fn long_output_is_cut_in_the_middle() {
    let finished = finished(Run { limit: 8, ..sh("printf 0123456789; printf abcdef") }).await;
    let seen = (finished.stdout.text(), finished.stdout.cut(), finished.stdout.total());
    assert_eq!(seen, ("0123\n[… 8 bytes cut …]\ncdef".to_owned(), 8, 16));
}

#[tokio::test]
async fn a_signal_is_told() {
    assert_eq!(finished(sh("kill -9 $$")).await.end, End::Signalled(9));
}

#[tokio::test]
async fn there_is_no_input_and_no_terminal() {
    let script = "cat; if (: </dev/tty) 2>/dev/null; then echo terminal; else echo none; fi";
    assert_eq!(finished(sh(script)).await.stdout.text(), "none\n");
}

#[tokio::test]
async fn variables_can_be_kept_back() {
    let script = "echo ${PATH:+path} ${CARGO_MANIFEST_DIR:+cargo}";
    let kept_back = Run { env_remove: vec!["CARGO_MANIFEST_DIR".into()], ..sh(script) };
    let seen = (finished(sh(script)).await.stdout.text(), finished(kept_back).await.stdout.text());
    assert_eq!(seen, ("path cargo\n".to_owned(), "path\n".to_owned()));
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let cancel = CancellationToken::new();
    let error = Run::new("no-such-program", "/").run(&cancel, &mut |_| ()).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot start no-such-program: No such file or directory (os error 2)");
    let error = Run::new("sh", "/no/such/folder").run(&cancel, &mut |_| ()).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot run sh here, this is not a folder: /no/such/folder");
}

#[tokio::test]
async fn what_is_left_in_the_background_is_ended_with_the_process() {
    let marker = marker();
    let script = format!("sleep {marker} & timeout 999999 sleep {marker} >/dev/null & echo done");
    let started = Instant::now();
    let finished = finished(sh(&script)).await;
    assert_eq!((finished.stdout.text(), finished.end), ("done\n".to_owned(), End::Exited(0)));
    assert!((2..=3).contains(&finished.stopped), "{}", finished.stopped);
    assert!(started.elapsed() < Duration::from_secs(10));
    assert_eq!(alive(&marker), 0);
}

#[tokio::test]
async fn a_timeout_ends_all_that_was_started() {
    let marker = marker();
    let run = Run { timeout: Some(Duration::from_millis(1500)), ..sh(&brood(&marker)) };
    let finished = finished(run).await;
    assert_eq!((finished.stdout.text(), finished.end), ("up\n".to_owned(), End::TimedOut));
    assert_eq!(alive(&marker), 0);
}

#[tokio::test]
async fn a_cancel_ends_all_that_was_started() {
    let (marker, cancel) = (marker(), CancellationToken::new());
    let mut on_output = |_: &[u8]| {
        all_up(&marker);
        cancel.cancel();
    };
    let finished = sh(&brood(&marker)).run(&cancel, &mut on_output).await.unwrap();
    assert_eq!((finished.stdout.text(), finished.end), ("up\n".to_owned(), End::Cancelled));
    assert_eq!(alive(&marker), 0);
}

#[tokio::test]
async fn a_cancelled_process_may_clean_up_first() {
    let cancel = CancellationToken::new();
    let script = "trap 'sleep 0.1; echo cleaned; exit 0' TERM; echo up; while :; do sleep 0.01; done";
    let finished = sh(script).run(&cancel, &mut |_| cancel.cancel()).await.unwrap();
    assert_eq!((finished.stdout.text(), finished.end), ("up\ncleaned\n".to_owned(), End::Cancelled));
}

#[tokio::test]
async fn a_dropped_run_leaves_nothing() {
    let (marker, cancel) = (marker(), CancellationToken::new());
    let up = CancellationToken::new();
    let run = sh(&brood(&marker));
    let mut on_output = |_: &[u8]| {
        all_up(&marker);
        up.cancel();
    };
    tokio::select! {
        finished = run.run(&cancel, &mut on_output) => panic!("it ended: {finished:?}"),
        () = up.cancelled() => (),
    }
    assert_eq!(alive(&marker), 0);
}

#[tokio::test]
async fn a_daemon_that_holds_the_output_open_is_not_waited_for() {
    let marker = marker();
    // The shell goes on once the daemon has let go of the inner pipe; then its parent is gone too.
    let script = format!(
        "exec 3>&1; pid=$( (setsid sh -c 'echo $$; exec sleep {marker} >&3' &) ); echo $pid; echo done"
    );
    let started = Instant::now();
    let finished = finished(sh(&script)).await;
    assert!(started.elapsed() < Duration::from_secs(10));
    let text = finished.stdout.text();
    let (pid, rest) = text.split_once('\n').unwrap();
    assert_eq!((rest, finished.end, finished.stopped), ("done\n", End::Exited(0), 0));
    assert_eq!(alive(&marker), 1);
    let daemon = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
    rustix::process::kill_process(daemon, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn endless_output_ends_with_the_timeout() {
    let run = Run { timeout: Some(Duration::from_millis(500)), limit: 100, ..sh("yes") };
    let finished = finished(run).await;
    assert_eq!(finished.end, End::TimedOut);
    assert!(finished.stdout.cut() > 0);
}
