//! What mods put on the screen: entries, status texts, widgets, dialogs.

use std::{
    future::IntoFuture,
    sync::{Arc, Mutex, OnceLock, Weak},
};

use futures::future::BoxFuture;
use host::{
    harness::{Harness, HarnessBuilder, Recording},
    mod_host::ModHost,
    settings::Settings,
    ui::Ui,
};
use mod_interface::{builtin_mod, prelude::*};
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::support::{
    behaving::{Echo, TODAY, compiled_in, echoes, line, only, renamed},
    mods::{Host, compiled_in as code},
    session::Folders,
};

/// A screen that keeps what it is shown, and agrees to everything when it is let.
#[derive(Default)]
pub(crate) struct Screen {
    shown: Mutex<Vec<String>>,
    repaints: Mutex<usize>,
    agree: Arc<Notify>,
    mods: OnceLock<Weak<ModHost>>,
    statuses: Mutex<Vec<Vec<String>>>,
}

impl Screen {
    fn show(&self, line: String) {
        self.shown.lock().unwrap().push(line);
    }

    pub(crate) fn shown(&self) -> Vec<String> {
        self.shown.lock().unwrap().clone()
    }

    /// Keeps the status line of these mods, from now on each time that it is to be painted.
    pub(crate) fn watch(&self, mods: &Arc<ModHost>) {
        self.mods.get_or_init(|| Arc::downgrade(mods));
        self.repaint();
    }

    pub(crate) fn statuses(&self) -> Vec<Vec<String>> {
        self.statuses.lock().unwrap().clone()
    }
}

impl Ui for Screen {
    fn interactive(&self) -> bool {
        true
    }

    fn confirm(&self, title: &str, message: Option<&str>) -> BoxFuture<'static, bool> {
        self.show(format!("{title} {message:?}"));
        let agree = Arc::clone(&self.agree);
        Box::pin(async move {
            agree.notified().await;
            true
        })
    }

    fn select(&self, title: &str, options: &[String]) -> BoxFuture<'static, Option<String>> {
        self.show(format!("{title} {options:?}"));
        Box::pin(std::future::ready(options.last().cloned()))
    }

    fn input(&self, title: &str, placeholder: Option<&str>) -> BoxFuture<'static, Option<String>> {
        self.show(format!("{title} {placeholder:?}"));
        Box::pin(std::future::ready(Some("typed".to_owned())))
    }

    fn show_entry(&self, custom_type: &str, lines: &[String]) {
        self.show(format!("{custom_type}: {}", lines.join(" | ")));
    }

    fn repaint(&self) {
        *self.repaints.lock().unwrap() += 1;
        if let Some(mods) = self.mods.get().and_then(Weak::upgrade) {
            self.statuses.lock().unwrap().push(mods.status_line());
        }
    }
}

/// What a session with these mods showed: entries, then status line and widgets before and after a tool call; and
/// what was told of faults.
#[derive(Debug, PartialEq)]
struct Seen {
    entries: Vec<String>,
    before: [Vec<String>; 3],
    after: [Vec<String>; 3],
    told: Vec<String>,
}

fn strings<const N: usize>(lines: [&str; N]) -> Vec<String> {
    lines.map(str::to_owned).to_vec()
}

/// Plays a session once with the mods compiled in and once as shared libraries.
async fn seen(does: &[(&'static str, &str)]) -> Seen {
    let folders = Folders::new();
    let compiled = one(&folders, does, compiled_in).await;
    let shared =
        |builder: HarnessBuilder, letter: &str| builder.mods([renamed(TODAY, letter, folders.dir())]);
    let shared = one(&folders, does, shared).await;
    assert_eq!(compiled, shared, "mods that are compiled in (left) and shared libraries (right) differ");
    compiled
}

async fn one(
    folders: &Folders,
    does: &[(&'static str, &str)],
    add: impl Fn(HarnessBuilder, &str) -> HarnessBuilder,
) -> Seen {
    let (screen, events) = (Arc::<Screen>::default(), Arc::<Mutex<Vec<String>>>::default());
    let kept = Arc::clone(&events);
    let builder = Harness::builder()
        .places(folders.places())
        .settings(Settings::default())
        .model(Some(folders.scenario(&json!({ "turns": [echoes(&["x"]), { "text": "done" }] }))))
        .record(Recording::InMemory)
        .tool(Arc::new(Echo::new()))
        .ui(Arc::clone(&screen) as _)
        .sink(Arc::new(move |event: &AgentEvent| kept.lock().unwrap().push(line(event))));
    let builder = does.iter().fold(builder, |builder, (letter, does)| {
        add(builder, letter).mod_options([(format!("behaving-{letter}.does"), (*does).to_owned())])
    });
    let harness = builder.start().await.unwrap();
    let state = || {
        let mods = harness.mods();
        [mods.status_line(), mods.widgets(Placement::AboveEditor), mods.widgets(Placement::BelowEditor)]
    };
    let before = state();
    harness.prompt("go", &CancellationToken::new()).await;
    let after = state();
    harness.end(SessionEndReason::Shutdown).await;
    let events = events.lock().unwrap().clone();
    let told = only(&events, &["notice", "mod_error"]).into_iter().map(str::to_owned).collect();
    Seen { entries: screen.shown(), before, after, told }
}

#[tokio::test]
async fn entries_are_kept_until_the_session_begins_and_drawn_by_the_renderer_of_their_type_or_as_json() {
    let seen = seen(&[("a", "entries"), ("b", "entries")]).await;
    let of_one = strings([
        "note: a draws: shown before its renderer is there",
        "note: a draws: one | two  on",
        "other: { |   \"a\": [ |     1 |   ] | }",
        "note: \"no note\"",
    ]);
    let at_call = strings(["note: a draws: from a call", "note: a draws: from a call"]);
    assert_eq!(seen.entries, [of_one.clone(), of_one, at_call].concat());
    let taken = "mod_error mod:behaving-b renderer:note: a renderer of that name is there already; the first stays: note";
    let other = "mod_error mod:behaving-a renderer:note: it draws other data: invalid type: string \"no note\", \
                 expected struct Note at line 1 column 9";
    assert_eq!(seen.told, [taken, other, "notice mod:behaving-a failed once more at renderer:note"]);
}

#[tokio::test]
async fn a_disposed_renderer_draws_nothing_more() {
    let seen = seen(&[("a", "renderer-until-called")]).await;
    assert_eq!((seen.entries, seen.told), (strings(["brief: brief", "brief: 2"]), vec![]));
}

#[tokio::test]
async fn a_renderer_that_crashes_is_a_warning_and_its_entry_is_shown_as_json() {
    let seen = seen(&[("a", "renderer-panics")]).await;
    assert_eq!(seen.entries, ["bad: { |   \"a\": 1 | }"]);
    let line =
        include_str!("../mods/behaving/src/screen.rs").lines().position(|line| line.contains("cannot draw"));
    let place = format!("tests/mods/behaving/src/screen.rs:{}", line.unwrap() + 1);
    assert_eq!(
        seen.told,
        [format!("mod_error mod:behaving-a renderer:bad: panicked: cannot draw at {place}")]
    );
}

#[tokio::test]
async fn a_renderer_that_shows_an_entry_of_its_own_type_comes_to_an_end() {
    let at_call = seen(&[("a", "renderer-loops-at-call")]).await;
    let depths: Vec<_> = (1..9).rev().map(|depth| format!("loop: depth {depth}")).collect();
    assert_eq!(at_call.entries, [strings(["loop: 9"]), depths].concat());
    let loops = "mods answer each other in a loop, 8 deep";
    assert_eq!(at_call.told.len(), 1);
    assert_eq!(
        at_call.told[0],
        format!("mod_error mod:behaving-a renderer:loop: answered something invalid: {loops}")
    );
    // While the session is bound each waits for its turn.
    assert_eq!(seen(&[("a", "renderer-loops")]).await.entries.len(), 1024 + 9);
}

#[tokio::test]
async fn an_entry_needs_a_type() {
    let seen = seen(&[("a", "entry-nameless")]).await;
    let nameless = "the type of an entry has 1 to 200 bytes, got: ";
    assert_eq!(
        seen.told,
        [
            format!("mod_error mod:behaving-a renderer: : {nameless}\" \""),
            format!("notice a: false Some({:?})", format!("{nameless}\"\"")),
        ]
    );
}

#[tokio::test]
async fn decision_36_each_mod_has_one_status_segment_and_they_stand_in_load_order() {
    let seen = seen(&[("b", "status"), ("a", "status-until-called"), ("c", "status-blank-at-call")]).await;
    assert_eq!(seen.before[0], ["b is ready", "a waits", "c is there"]);
    assert_eq!(seen.after[0], ["b is ready"]);
    assert_eq!(seen.told, [""; 0]);
}

#[tokio::test]
async fn decision_36_a_widget_is_drawn_at_each_painting_and_one_that_crashes_is_left_out() {
    let does = [("a", "widget-panics"), ("b", "widget"), ("c", "widget-until-called")];
    let seen = seen(&does).await;
    assert_eq!(seen.before[1..], [strings(["b painted 1", "below"]), strings(["c below"])]);
    assert_eq!(seen.after[1..], [strings(["b painted 2", "below"]), vec![]]);
    assert_eq!(seen.told.len(), 2);
    let crashed = "mod_error mod:behaving-a widget: panicked: cannot paint at ";
    assert_eq!(&seen.told[0][..crashed.len()], crashed);
    // Before the run and after it: once a run.
    assert_eq!(seen.told[1], seen.told[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_draws_the_screen_is_told_when_what_mods_keep_there_changes() {
    async fn paints(cmd: ModApi) -> Result<()> {
        let widget = cmd.ui().widget(Placement::AboveEditor, Vec::new)?;
        cmd.ui().set_status("one")?;
        cmd.ui().refresh_widgets();
        widget.dispose();
        widget.dispose();
        cmd.ui().set_status("")?;
        Ok(())
    }
    let screen = Arc::<Screen>::default();
    let host = Host::with(|config| config.ui = Arc::clone(&screen) as _);
    host.load([code("paints", builtin_mod!("paints", paints))]).await;
    assert_eq!(*screen.repaints.lock().unwrap(), 5);
    assert_eq!(host.mods.status_line(), [""; 0]);
}

static ASKS: OnceLock<ModApi> = OnceLock::new();

#[tokio::test(flavor = "multi_thread")]
async fn decision_37_dialogs_come_one_at_a_time_with_all_that_they_say() {
    async fn keeps(cmd: ModApi) -> Result<()> {
        ASKS.get_or_init(|| cmd);
        Ok(())
    }
    let screen = Arc::<Screen>::default();
    let host = Host::with(|config| config.ui = Arc::clone(&screen) as _);
    host.load([code("asks", builtin_mod!("asks", keeps))]).await;
    let cmd = ASKS.get().unwrap();
    let first = tokio::spawn(cmd.ui().confirm("First?").message("Really.").into_future());
    while screen.shown().is_empty() {
        tokio::task::yield_now().await;
    }
    // Each takes its place when it is asked; the second is given up while it waits.
    let mut given_up = Box::pin(cmd.ui().confirm("Second?").into_future());
    assert!(futures::poll!(&mut given_up).is_pending());
    let select = cmd.ui().select("Third?", &["a", "b"]);
    let input = cmd.ui().input("Fourth?").placeholder("none").into_future();
    drop(given_up);
    assert_eq!(screen.shown(), ["First? Some(\"Really.\")"]);
    screen.agree.notify_one();
    assert!(first.await.unwrap().unwrap());
    assert_eq!(
        (select.await.unwrap(), input.await.unwrap()),
        (Some("b".to_owned()), Some("typed".to_owned()))
    );
    let mut shown = screen.shown();
    shown.sort();
    assert_eq!(shown, ["First? Some(\"Really.\")", "Fourth? Some(\"none\")", "Third? [\"a\", \"b\"]"]);
}
