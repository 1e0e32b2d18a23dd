//! The session of a test, from inside a mod.

use super::{Script, TestHost, block_on};
use crate::prelude::*;

/// Keeps what each command says, and goes to the root of the session.
async fn keeps(cmd: ModApi) -> Result<()> {
    assert!(cmd.session().is_none());
    cmd.set_session_name(" a\nname ")?;
    for name in ["keep", "say", "root", "label"] {
        let api = cmd.clone();
        cmd.add_command(Command::new(name, "Does it").run(move |call| {
            let api = api.clone();
            async move {
                let session = api.session().ok_or_else(|| Error::msg("no session"))?;
                let tree = api.sessions().tree()?;
                match name {
                    "keep" => drop(session.append_custom_entry("line", &call.args())?),
                    "say" => {
                        let said = CustomMessage::new("said", call.args()).display(true);
                        session.append_custom_message_entry(said)?;
                    }
                    "label" => api.sessions().set_label(&api.sessions().leaf_id()?, call.args())?,
                    _ => api.sessions().navigate_tree(Navigation::to(tree.root().id())).await?,
                }
                let tree = api.sessions().tree()?;
                let shown =
                    tree.nodes().map(|node| format!("{}{}", node.kind(), node.label().unwrap_or_default()));
                Ok(CommandOutcome::message(shown.collect::<Vec<_>>().join(" ")))
            }
        }))?;
    }
    let api = cmd.clone();
    cmd.hooks(Hooks::new().on_turn_end(move |_, ctx| {
        let moving = api.sessions().navigate_tree(Navigation::to("s"));
        async move {
            ctx.ui().notify(&moving.await.map_or_else(|error| error.to_string(), |()| "moved".to_owned()));
            Ok(StatePatch::default())
        }
    }))?;
    Ok(())
}

#[test]
fn a_session_of_a_test_keeps_entries_tells_the_model_and_goes_elsewhere_between_runs() {
    block_on(async {
        let keeps = TestHost::new().kept("line", json!("before")).load(keeps).await.unwrap();
        assert_eq!(keeps.session_name().as_deref(), Some("a name"));
        let says = |text: &str| CommandOutcome::message(text);
        assert_eq!(keeps.run_command("keep", "one").await.unwrap(), says("session custom custom"));
        assert_eq!(
            keeps.run_command("say", "hear this").await.unwrap(),
            says("session custom custom custom_message")
        );
        let shown = json!({ "content": "hear this", "details": null });
        assert_eq!(keeps.shown(), [("said".to_owned(), shown)]);
        let ran = keeps.run(Script::new("go").says("yes")).await.unwrap();
        let texts = |messages: &[Message]| messages.iter().map(Message::text).collect::<Vec<_>>();
        assert_eq!(texts(&ran.messages), ["go", "hear this", "yes"]);
        let refused = "a run goes on, and the session cannot go elsewhere under it; wait for its end, or ask in a command";
        assert_eq!(keeps.notices(), [refused]);
        assert_eq!(
            texts(&keeps.run(Script::new("on").says("well")).await.unwrap().messages)[3..],
            ["on", "well"]
        );
        assert_eq!(keeps.kept("line"), [json!("before"), json!("one")]);
        let tree = "session custom custom custom_message turn turn!";
        assert_eq!(keeps.run_command("label", "!").await.unwrap(), says(tree));
        assert_eq!(keeps.run_command("root", "").await.unwrap(), says(tree));
        assert_eq!(keeps.kept("line"), Vec::<Value>::new());
        assert_eq!(texts(&keeps.run(Script::new("anew").says("ok")).await.unwrap().messages), ["anew", "ok"]);
    });
}

#[test]
fn a_mod_can_be_tested_without_a_session() {
    block_on(async {
        let keeps = TestHost::new().answer("session.bound", false).load(keeps).await.unwrap();
        let failed = keeps.run_command("keep", "one").await.unwrap_err().to_string();
        assert!(failed.ends_with("no session"), "{failed}");
    });
}
