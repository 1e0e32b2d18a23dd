//! What mods keep in the record of a session, and what they say to the model by way of it.

use std::sync::Arc;

use host::harness::{Earlier, Recording};
use mod_interface::{builtin_mod, prelude::*};
use tokio::sync::Notify;

use crate::{
    screen::Screen,
    support::{scribe::Desk, session::Folders},
};

#[tokio::test]
async fn the_session_is_undefined_until_bound_and_a_run_without_a_file_has_one_too() {
    let folders = Folders::new();
    let desk = Desk::open(&folders, Recording::InMemory, &["one"]).await;
    let unbound = "no session is bound yet; ask in a hook, an event or a command, not in the factory";
    let told = format!("notice in the factory: false Some(\"{unbound}\")");
    assert_eq!(desk.take(&["notice"]), [told.clone(), told]);
    assert_eq!(desk.ask("/keep n 1").await, "00000001");
    assert_eq!(desk.ask("go").await, "one (1)");
    assert_eq!((desk.ask("/kept n").await, desk.ask("/info").await), ("[1]".into(), "Some(\"go\")".into()));
    desk.close().await;
    assert!(!folders.home().join("sessions").exists());
}

#[tokio::test]
async fn decision_32_custom_entries_carry_their_owner_and_a_mod_reads_its_own_in_file_order_after_a_resume_too()
 {
    let folders = Folders::new();
    let desk = Desk::open(&folders, Recording::New, &["one"]).await;
    for kept in ["/keep n 1", "/other-keep n \"other\"", "/keep m null", "/keep n {\"b\":2,\"a\":[1]}"] {
        desk.ask(kept).await;
    }
    assert_eq!(desk.ask("go").await, "one (1)");
    assert_eq!(desk.conversation(), ["user[user]: go", "assistant: one"], "the model never sees it");
    desk.ask("/keep n 3").await;
    let kept = "[1,{\"a\":[1],\"b\":2},3]";
    assert_eq!(
        (desk.ask("/kept n").await, desk.ask("/other-kept n").await),
        (kept.into(), "[\"other\"]".into())
    );
    desk.close().await;

    let desk = Desk::open(&folders, Recording::Resume(Earlier::Latest), &[]).await;
    assert_eq!(
        (desk.ask("/kept n").await, desk.ask("/other-kept n").await),
        (kept.into(), "[\"other\"]".into())
    );
    assert_eq!((desk.ask("/kept m").await, desk.ask("/other-kept m").await), ("[null]".into(), "[]".into()));
    assert_eq!(desk.ask("/kept mod:scribe").await, "[]");
    desk.close().await;
}

#[tokio::test]
async fn decision_32_a_custom_message_reaches_the_model_once_at_the_next_turn() {
    let folders = Folders::new();
    let desk = Desk::open(&folders, Recording::New, &["one", "two", "three"]).await;
    desk.ask("/say hear this").await;
    desk.ask("/other-say hear this").await;
    desk.ask("go").await;
    let first = ["user[user]: go", "user[mod]: hear this", "user[mod]: hear this", "assistant: one"];
    assert_eq!(desk.conversation(), first);
    // In the hook of a round, and left to the next one.
    desk.ask("/leave and that").await;
    desk.ask("on").await;
    assert_eq!(desk.conversation()[4..], ["user[user]: on", "assistant: two"]);
    desk.ask("further").await;
    let third = ["user[user]: further", "user[mod]: and that", "assistant: three"];
    assert_eq!(desk.conversation()[6..], third);
    desk.ask("/say after all").await;
    desk.close().await;

    let desk = Desk::open(&folders, Recording::Resume(Earlier::Latest), &["four", "five"]).await;
    desk.ask("again").await;
    let fourth = ["user[user]: again", "user[mod]: after all", "assistant: four"];
    assert_eq!(desk.conversation()[9..], fourth);
    desk.ask("and again").await;
    assert_eq!(desk.conversation()[12..], ["user[user]: and again", "assistant: five"]);
    desk.close().await;
}

#[tokio::test]
async fn decision_32_a_custom_message_that_is_folded_reaches_the_model_at_once_and_not_again() {
    let folders = Folders::new();
    let desk = Desk::open(&folders, Recording::New, &["one", "two"]).await;
    desk.ask("/fold at once").await;
    desk.ask("go").await;
    let first = ["user[user]: go", "user[mod]: at once", "assistant: one"];
    assert_eq!(desk.conversation(), first);
    desk.ask("on").await;
    assert_eq!(desk.conversation()[3..], ["user[user]: on", "assistant: two"]);
    desk.close().await;

    let desk = Desk::open(&folders, Recording::Resume(Earlier::Latest), &["three"]).await;
    desk.ask("again").await;
    assert_eq!(desk.conversation()[5..], ["user[user]: again", "assistant: three"]);
    desk.close().await;
}

#[tokio::test]
async fn decision_32_a_message_that_was_delivered_in_a_turn_that_failed_comes_once() {
    let folders = Folders::new();
    // There is no answer: the first run ends before its commit.
    let desk = Desk::open(&folders, Recording::New, &[]).await;
    desk.ask("/say hear this").await;
    desk.ask("go").await;
    desk.ask("on").await;
    let heard = ["user[user]: go", "user[mod]: hear this", "user[user]: on"];
    assert_eq!(desk.conversation(), heard);
    desk.close().await;
    let desk = Desk::open(&folders, Recording::Resume(Earlier::Id("0".into())), &["one"]).await;
    desk.ask("again").await;
    assert_eq!(desk.conversation(), ["user[user]: again", "user[mod]: hear this", "assistant: one"]);
    desk.close().await;
}

async fn draws(cmd: ModApi) -> Result<()> {
    cmd.add_renderer("drawn", |said: Value| vec![format!("drawn: {said}")])?;
    Ok(())
}

#[tokio::test]
async fn a_custom_message_is_shown_where_that_was_asked_for_drawn_by_the_renderer_of_its_type_or_as_its_text()
{
    let (folders, screen) = (Folders::new(), Arc::<Screen>::default());
    let desk = Desk::with(&folders, Recording::InMemory, &["one"], |builder| {
        builder.ui(Arc::clone(&screen) as _).built_in("draws", builtin_mod!("draws", draws))
    })
    .await;
    for said in ["/show plain two words", "/show drawn two words", "/say nobody is shown this", "/keep n 1"] {
        desk.ask(said).await;
    }
    let drawn = r#"drawn: drawn: {"content":"two words","details":{"of":"drawn"}}"#;
    assert_eq!(screen.shown(), ["plain: two words", drawn]);
    desk.ask("go").await;
    let told = ["user[mod]: two words", "user[mod]: two words", "user[mod]: nobody is shown this"];
    assert_eq!(desk.conversation()[1..4], told);
    desk.close().await;
}

#[tokio::test]
async fn what_cannot_be_kept_is_refused_and_nothing_is_written() {
    let folders = Folders::new();
    let desk = Desk::open(&folders, Recording::New, &[]).await;
    let large = format!("/keep n \"{}\"", "x".repeat(4 << 20));
    let refused = "error: too much for session.append, expected at most 4194304 bytes, got: 4194332";
    assert_eq!(desk.ask(&large).await, refused);
    let long = "t".repeat(201);
    let type_ = |shown: &str| format!("error: the type of an entry has 1 to 200 bytes, got: {shown:?}");
    assert_eq!(desk.ask(&format!("/keep {long} 1")).await, type_(&long));
    assert_eq!(desk.ask(&format!("/show {long} x")).await, type_(&long));
    assert_eq!(desk.ask("/say  ").await, "error: a message to the model needs a text, got none");
    assert_eq!(desk.ask(&format!("/kept {long}")).await, "[]");
    assert_eq!(desk.ask("/kept").await, "[]");
    assert_eq!(desk.ask("/tree").await, "ROOT <  session");
    desk.close().await;
    assert_eq!(folders.session_files().len(), 0, "nothing was kept, and nothing is left");
}

/// Keeps numbers from a thread of its own, as fast as it can, until it is told to stop.
async fn busy(cmd: ModApi, stop: Arc<Notify>) -> usize {
    let kept = std::thread::spawn(move || {
        let mut kept = 0;
        let mut stop = std::pin::pin!(stop.notified());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        while stop.as_mut().poll(&mut context).is_pending() {
            if let Some(session) = cmd.session() {
                session.append_custom_entry("busy", &kept).unwrap();
                kept += 1;
            }
        }
        kept
    });
    tokio::task::spawn_blocking(|| kept.join().unwrap()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_kept_while_a_run_commits_stands_beside_its_turns() {
    static API: std::sync::Mutex<Option<ModApi>> = std::sync::Mutex::new(None);
    async fn lends(cmd: ModApi) -> Result<()> {
        let api = cmd.clone();
        cmd.add_command(Command::new("count", "Counts").run(move |_| {
            let entries = api.session().map(|session| session.get_custom_entries::<usize>("busy"));
            async move {
                let data: Vec<_> = entries.unwrap()?.into_iter().map(|entry| entry.data).collect();
                let in_order = data.iter().copied().eq(0..data.len());
                Ok(CommandOutcome::message(format!("{} {in_order}", data.len())))
            }
        }))?;
        *API.lock().unwrap() = Some(cmd);
        Ok(())
    }
    let (folders, answers) = (Folders::new(), ["a", "b", "c", "d", "e", "f"]);
    let build =
        |builder: host::harness::HarnessBuilder| builder.built_in("lends", builtin_mod!("lends", lends));
    let desk = Desk::with(&folders, Recording::New, &answers, build).await;
    let stop = Arc::new(Notify::new());
    let busy = tokio::spawn(busy(API.lock().unwrap().take().unwrap(), Arc::clone(&stop)));
    for turn in 1..=answers.len() {
        assert_eq!(desk.ask("go").await, format!("{} ({turn})", answers[turn - 1]));
    }
    stop.notify_waiters();
    stop.notify_one();
    let kept = busy.await.unwrap();
    assert_eq!(desk.ask("/count").await, format!("{kept} true"));
    desk.close().await;

    let desk = Desk::with(&folders, Recording::Resume(Earlier::Latest), &["g"], build).await;
    assert_eq!((desk.ask("go").await, desk.ask("/count").await), ("g (7)".into(), format!("{kept} true")));
    desk.close().await;
    API.lock().unwrap().take();
}
