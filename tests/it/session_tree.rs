//! The tree of a session as mods see it, where it goes on, and its name.

use std::sync::Mutex;

use host::harness::{Earlier, Recording};
use mod_interface::{builtin_mod, prelude::*};

use crate::support::{scribe::Desk, session::Folders};

#[tokio::test]
async fn decision_33_after_navigate_tree_conversation_mod_state_and_entries_are_those_of_the_branchs_last_commit()
 {
    let folders = Folders::new();
    let desk = Desk::open(&folders, Recording::New, &["one", "two", "three", "four"]).await;
    desk.ask("go").await;
    desk.ask("/keep n 1").await;
    let first = desk.ask("/leaf").await;
    assert_eq!(desk.ask("on").await, "two (2)");
    desk.ask("/keep n 2").await;
    desk.ask("/say not said any more").await;
    assert_eq!(desk.ask(&format!("/go {first}")).await, "gone");
    assert_eq!((desk.ask("/leaf").await, desk.ask("/kept n").await), (first.clone(), "[1]".into()));
    assert_eq!(desk.ask("instead").await, "three (2)");
    let said = ["user[user]: go", "assistant: one", "user[user]: instead", "assistant: three"];
    assert_eq!(desk.conversation(), said);
    let tree = "ROOT <  session\n00000003 < ROOT turn\n00000004 < 00000003 custom\n00000007 < 00000004 turn\n\
                00000008 < 00000007 custom\n00000009 < 00000008 custom_message\n0000000d < 00000004 turn";
    assert_eq!(desk.ask("/tree").await, tree);
    desk.ask("/go 00000007").await;
    desk.close().await;

    let desk = Desk::open(&folders, Recording::Resume(Earlier::Latest), &["four"]).await;
    assert_eq!((desk.ask("/tree").await, desk.ask("/leaf").await), (tree.into(), "00000007".into()));
    assert_eq!(desk.ask("further").await, "four (3)");
    assert_eq!(
        desk.conversation()[2..],
        ["user[user]: on", "assistant: two", "user[user]: further", "assistant: four"]
    );
    desk.close().await;
}

#[tokio::test]
async fn decision_33_the_prompt_that_a_command_answers_with_starts_from_where_it_went() {
    let desk = Desk::open(&Folders::new(), Recording::InMemory, &["one", "two", "three"]).await;
    desk.ask("go").await;
    assert_eq!(desk.ask("/go-ask ROOT anew").await, "two (1)");
    assert_eq!(desk.conversation(), ["user[mod]: anew", "assistant: two"]);
    assert_eq!(desk.ask("on").await, "three (2)");
    desk.close().await;
}

#[tokio::test]
async fn with_summarize_the_new_branch_begins_with_notes_of_the_model_on_what_is_left_behind() {
    let folders = Folders::new();
    let turns = json!([
        { "text": "one" },
        { "text": "two" },
        { "text": "They tried b.", "expect": { "messages_count": 1, "last_user_contains": "USER: on\nAGENT: two\n" } },
        { "text": "three" },
        { "text": "", "expect": { "last_user_contains": "Look at this too: the names" } },
    ]);
    let desk = Desk::with(&folders, Recording::New, &[], |builder| {
        builder.model(Some(folders.scenario(&json!({ "turns": turns }))))
    })
    .await;
    desk.ask("go").await;
    let first = desk.ask("/leaf").await;
    assert_eq!(desk.ask("on").await, "two (2)");
    assert_eq!(desk.ask(&format!("/go-noting {first}")).await, "gone");
    assert_eq!(desk.ask("instead").await, "three (2)");
    let notes = "user[mod]: The conversation went back to this point. These are notes on what was said and done meanwhile; files \
                 may be as they were left then.\n\nThey tried b.";
    let said = ["user[user]: go", "assistant: one", notes, "user[user]: instead", "assistant: three"];
    assert_eq!(desk.conversation(), said);
    // A model that gives none leaves all as it was, and where nothing is left behind none is asked for.
    let leaf = desk.ask("/leaf").await;
    let failed = "error: the model MODEL gave no summary: its answer has no text (end_turn)";
    let asked = desk.ask(&format!("/go-noting {first} the names")).await;
    assert_eq!(asked.replace(&folders.scenario(&json!({ "turns": turns })), "MODEL"), failed);
    assert_eq!(desk.ask("/leaf").await, leaf);
    assert_eq!(desk.ask(&format!("/go-noting {leaf}")).await, "gone");
    desk.close().await;
}

/// Goes to the root from a hook of every round, and once from a task of its own when a run has ended.
async fn restless(cmd: ModApi) -> Result<()> {
    let api = cmd.clone();
    let root = move || {
        let root = api.sessions().tree().map(|tree| tree.root().id().to_owned());
        let api = api.clone();
        async move { api.sessions().navigate_tree(Navigation::to(root?)).await }
    };
    let (in_a_hook, on_its_own) = (root.clone(), Mutex::new(Some(root)));
    cmd.hooks(Hooks::new().on_turn_end(move |_, ctx| {
        let moving = in_a_hook();
        async move {
            ctx.ui().notify(&format!("{:?}", moving.await.map_err(|error| error.to_string())));
            Ok(StatePatch::default())
        }
    }))?;
    let api = cmd.clone();
    cmd.add_command(Command::new("thread", "Goes to the root in a thread").run(move |_| {
        let (root, api) = (on_its_own.lock().unwrap().take(), api.clone());
        async move {
            let gone = root.map(|root| std::thread::spawn(move || futures::executor::block_on(root())));
            let gone = gone.map(|gone| gone.join().unwrap().map_err(|error| error.to_string()));
            api.ui().notify(&format!("{gone:?}"));
            Ok(CommandOutcome::Done)
        }
    }))?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_not_moved_under_its_feet_and_a_thread_of_a_mod_moves_the_session_between_runs() {
    let folders = Folders::new();
    let desk = Desk::with(&folders, Recording::New, &["one", "two", "three"], |builder| {
        builder.built_in("restless", builtin_mod!("restless", restless))
    })
    .await;
    desk.take(&[]);
    assert_eq!((desk.ask("go").await, desk.ask("on").await), ("one (1)".into(), "two (2)".into()));
    let refused = "notice Err(\"a run goes on, and the session cannot go elsewhere under it; wait for its end, or ask in a command\")";
    assert_eq!(desk.take(&["notice"]), [refused, refused]);
    desk.ask("/thread").await;
    assert_eq!(desk.take(&["notice"]), ["notice Some(Ok(()))"]);
    assert_eq!(desk.ask("anew").await, "three (1)");
    desk.close().await;
}

#[tokio::test]
async fn a_prompt_that_was_dropped_does_not_hold_the_session() {
    let desk = Desk::open(&Folders::new(), Recording::New, &["one", "lost", "three"]).await;
    desk.ask("go").await;
    let dropped = Box::pin(desk.ask("dropped"));
    assert!(futures::poll!(dropped).is_pending());
    assert_eq!(desk.ask("/go ROOT").await, "gone");
    assert_eq!(desk.ask("anew").await, "three (1)");
    desk.close().await;
}

#[tokio::test]
async fn a_navigation_that_is_refused_takes_nothing_of_a_turn_that_was_not_committed() {
    let folders = Folders::new();
    let broken = json!({ "error": { "kind": "fatal", "message": "broken" } });
    let turns = json!([{ "text": "one" }, broken, { "text": "three" }]);
    let desk = Desk::with(&folders, Recording::New, &[], |builder| {
        builder.model(Some(folders.scenario(&json!({ "turns": turns }))))
    })
    .await;
    desk.ask("go").await;
    desk.ask("on").await;
    assert_eq!(
        desk.ask("/go nosuch").await.split_once(", ").unwrap().0,
        "error: the session has no such node"
    );
    assert_eq!(desk.ask("again").await, "three (2)");
    let said =
        ["user[user]: go", "assistant: one", "user[user]: on", "user[user]: again", "assistant: three"];
    assert_eq!(desk.conversation(), said);
    desk.close().await;
}

#[tokio::test]
async fn what_is_no_node_is_refused_and_labels_last() {
    let folders = Folders::new();
    let desk = Desk::open(&folders, Recording::New, &["one"]).await;
    desk.ask("go").await;
    let told = "error: the session has no such node, its tree lists those that there are, got: ";
    for id in ["00000001", "mod:scribe", "ffffffff"] {
        assert_eq!(desk.ask(&format!("/go {id}")).await, format!("{told}{id}"));
        assert_eq!(desk.ask(&format!("/label {id} x")).await, format!("{told}{id}"));
    }
    assert_eq!(desk.ask("/label 00000003 the  first").await, "labelled");
    let long = "x".repeat(1001);
    let refused = "error: a name is too long, expected at most 1000 bytes, got: 1001";
    assert_eq!(desk.ask(&format!("/label 00000003 {long}")).await, refused);
    desk.close().await;
    let desk = Desk::open(&folders, Recording::Resume(Earlier::Latest), &[]).await;
    assert_eq!(desk.ask("/tree").await, "ROOT <  session\n00000003 < ROOT turnthe first");
    desk.ask("/other-label 00000003").await;
    assert_eq!(desk.ask("/tree").await, "ROOT <  session\n00000003 < ROOT turn");
    desk.close().await;
}

/// Names the session in its factory, and in answer to its name.
async fn names(cmd: ModApi) -> Result<()> {
    cmd.set_session_name("  given in\nthe factory ")?;
    let api = cmd.clone();
    cmd.on(EventKind::SessionTitled, move |_| {
        let _told = api.set_session_name("given in the factory");
    })?;
    Ok(())
}

#[tokio::test]
async fn decision_30_a_name_that_a_factory_gives_is_kept_until_bind_and_told_once() {
    let folders = Folders::new();
    let desk = Desk::with(&folders, Recording::New, &["one"], |builder| {
        builder.built_in("names", builtin_mod!("names", names))
    })
    .await;
    let titled = "session_titled given in the factory";
    assert_eq!(desk.take(&["session_titled", "session_start", "mod_error"]), [titled, "session_start"]);
    desk.ask("go").await;
    desk.close().await;
    let desk = Desk::open(&folders, Recording::Resume(Earlier::Latest), &[]).await;
    assert_eq!(desk.ask("/name another").await, "Some(\"another\")");
    assert_eq!(desk.ask("/name another").await, "Some(\"another\")");
    assert_eq!(desk.ask("/name  ").await, "Some(\"another\")");
    assert_eq!(desk.ask(&format!("/name {}", "x".repeat(1001))).await, "Some(\"another\")");
    let told = [
        "session_titled another",
        "mod_error mod:scribe set_session_name: a session's name may not be blank",
        "mod_error mod:scribe set_session_name: a name is too long, expected at most 1000 bytes, got: 1001",
    ];
    assert_eq!(desk.take(&["session_titled", "mod_error"]), told);
    desk.close().await;
}
