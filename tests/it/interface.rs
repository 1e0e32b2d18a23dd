//! Mods and hosts of different interfaces: what was built against an older one runs, what needs a newer one is
//! refused in one line, and who came first makes no difference.

use std::path::PathBuf;

use host::hooks::Mods;
use mod_interface::types::{
    AfterToolCall, BeforeToolCall, Effort, EffortChange, Hook, HookOutcome, Message, MessageEdit,
    MessageSource, NextTurn, StatePatch, StopDecision, TransformInput,
};
use serde_json::json;
use tempfile::TempDir;

use crate::support::{
    behaving::{Build, TODAY, V1_0_0, V1_1, renamed},
    fixtures::Library,
    foreign::{host_1_0_0, host_1_1},
    mods::{Host, loose, state},
};

/// Loads these, which are called by letters, in every order; those called `c` are refused with `refusal`.
async fn in_any_order(mods: [(&str, PathBuf); 3], refusal: impl Fn(&PathBuf) -> String) {
    let [first, second, third] = &mods;
    for order in [
        [first, second, third],
        [first, third, second],
        [second, first, third],
        [second, third, first],
        [third, first, second],
        [third, second, first],
    ] {
        let host = Host::with(|config| config.options = [("does".to_owned(), "prompt".to_owned())].into());
        let (names, warnings) = host.load(order.map(|(_, path)| loose(path))).await;
        let refused = mods.iter().filter(|(letter, _)| *letter == "c");
        assert_eq!(warnings, refused.map(|(_, path)| refusal(path)).collect::<Vec<_>>());
        let letters: Vec<_> =
            order.map(|(letter, _)| *letter).into_iter().filter(|letter| *letter != "c").collect();
        assert_eq!(names, letters.iter().map(|letter| format!("behaving-{letter}")).collect::<Vec<_>>());
        let runner = host.runner();
        let prompt = runner.round(host.mods.handlers(), 1).append_system_prompt(&state()).await;
        let expected: Vec<_> = letters.iter().map(|letter| format!("prompt of {letter}")).collect();
        assert_eq!(prompt, Some(expected.join("\n\n")), "{order:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn old_and_new_mods_run_beside_each_other_in_any_order_and_a_later_one_is_refused_in_one_line() {
    let dir = TempDir::new().unwrap();
    let mods = [("a", V1_0_0), ("b", TODAY), ("c", V1_1)];
    in_any_order(mods.map(|(letter, build)| (letter, renamed(build, letter, dir.path()))), |path| {
        format!(
            "{}: needs a newer cmd: built for a newer interface, update cmd or install an older version of the \
             mod, expected at most 1.0, got: 1.1",
            path.display()
        )
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_mod_that_hides_it_is_refused_by_what_its_root_module_says() {
    let dir = TempDir::new().unwrap();
    let mods = [("a", V1_0_0), ("b", V1_0_0), ("c", V1_1)];
    let mods = mods.map(|(letter, build)| (letter, renamed(build, letter, dir.path())));
    let hidden = Library::read(&mods[2].1).metadata(r#""interface":"1.1""#, r#""interface":"1.0""#);
    hidden.write(&mods[2].1);
    in_any_order(mods, |_| {
        "built against interface 1.1, this cmd has 1.0; build the mod again, or update cmd: behaving-c"
            .to_owned()
    })
    .await;
}

/// What a mod does, at which hook, and what its host is to understand of it; the events that it raises.
fn all_hooks() -> [(&'static str, Hook, Option<HookOutcome>, Vec<&'static str>); 13] {
    let said = || Message::user_from(MessageSource::Mod, "said by a");
    let next = NextTurn { model: None, effort: Some(EffortChange::Set(Effort::High)) };
    let go_on = StopDecision::Continue { reason: Some("a wants more than said".to_owned()) };
    let input = TransformInput::Transform { text: "typed a".to_owned() };
    let start = r#"{"data":"startup","kind":"session-start"}"#;
    let end = r#"{"data":"startup","kind":"session-end"}"#;
    let run = r#"{"data":["","end_turn","t",1],"kind":"run"}"#;
    [
        ("input", Hook::TransformInput, Some(HookOutcome::Input(input)), vec![]),
        (
            "append",
            Hook::TransformContext,
            Some(HookOutcome::TransformContext(vec![MessageEdit::Append { message: said() }])),
            vec![],
        ),
        (
            "prompt",
            Hook::AppendSystemPrompt,
            Some(HookOutcome::AppendSystemPrompt("prompt of a".to_owned())),
            vec![],
        ),
        (
            "block",
            Hook::BeforeToolCall,
            Some(HookOutcome::BeforeToolCall(BeforeToolCall::block("blocked by a"))),
            vec![],
        ),
        (
            "replace",
            Hook::AfterToolCall,
            Some(HookOutcome::AfterToolCall(AfterToolCall::text("x, seen by a"))),
            vec![],
        ),
        ("count-turns", Hook::OnTurnStart, Some(HookOutcome::State(StatePatch::mod_state(json!(2)))), vec![]),
        (
            "say-at-end",
            Hook::OnTurnEnd,
            Some(HookOutcome::State(StatePatch::default().append(said()))),
            vec![],
        ),
        ("stop", Hook::ShouldStopAfterTurn, Some(HookOutcome::ShouldStop), vec![]),
        ("effort", Hook::PrepareNextTurn, Some(HookOutcome::NextTurn(next)), vec![]),
        ("continue", Hook::OnStop, Some(HookOutcome::Stop(go_on)), vec![]),
        ("report", Hook::OnRunEnd, None, vec![run]),
        ("report", Hook::OnSessionStart, None, vec![start]),
        ("report", Hook::OnSessionEnd, None, vec![end]),
    ]
}

/// Asks a mod of `$build` at every hook, in a host that knows `$host`'s interface alone.
macro_rules! ask_all_hooks {
    ($host:ident, $build:expr) => {{
        let dir = TempDir::new().unwrap();
        let path = renamed($build, "a", dir.path());
        for (does, hook, outcome, events) in all_hooks() {
            let answered = $host::Mod::load(&path, does).await.ask(hook.wire_name()).await;
            assert_eq!(answered, format!("{outcome:?} {events:?}"), "{hook} of {:?}", $build);
        }
        $host::Mod::load(&path, "block").await.hooks()
    }};
}

#[tokio::test]
async fn a_host_that_knows_interface_1_0_0_alone_asks_mods_of_any_later_one_at_every_hook() {
    for build in [V1_0_0, TODAY, V1_1] {
        assert_eq!(ask_all_hooks!(host_1_0_0, build).len(), 1);
    }
}

#[tokio::test]
async fn a_host_of_a_later_interface_asks_mods_of_any_older_one_and_finds_no_hook_that_they_lack() {
    let later: [(Build, bool); 3] = [(V1_0_0, false), (TODAY, false), (V1_1, true)];
    for (build, has_later) in later {
        let hooks = ask_all_hooks!(host_1_1, build);
        assert_eq!(hooks.iter().map(|hooks| hooks.has_later()).collect::<Vec<_>>(), [has_later], "{build:?}");
    }
}
