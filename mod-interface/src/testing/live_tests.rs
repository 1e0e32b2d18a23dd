//! What a mod asks of the session, by the names that it has on the wire.

use super::*;
use crate::{
    abi::{Callable, Entry, Frame, Reply},
    testing::Asked,
};

/// Asks for these services, and gives what each answers, or why not.
async fn asking(host: TestHost, services: Vec<(&'static str, Value)>) -> (TestMod, Vec<Value>) {
    let tested = host.load(|_| async { Ok(()) }).await.unwrap();
    let answers =
        services.iter().map(|(service, args)| ask(&tested, service, args).unwrap_or_else(Value::from));
    let answers = answers.collect();
    (tested, answers)
}

#[test]
fn a_flag_has_its_option_or_its_default_and_one_name() {
    let flag = |name: &str, default: Value| ("flag.add", json!({ "name": name, "default": default }));
    let get = |name: &str| ("flag", json!({ "name": name }));
    let asked = vec![
        flag("loud", json!(true)),
        flag("colour", json!("red")),
        flag("loud", json!(false)),
        get("loud"),
        get("colour"),
        get("other"),
    ];
    let (declared, answers) = block_on(asking(TestHost::new().option("colour", "green"), asked));
    assert_eq!(json!(answers), json!([1, 2, 0, "true", "green", null]));
    let refused = declared.events().into_iter().find(|event| event.kind() == EventKind::ModError);
    let expected = EventPayload::ModError {
        mod_id: "mod:test".to_owned(),
        hook: "flag:loud".to_owned(),
        error: "its name is taken already".to_owned(),
    };
    assert_eq!(refused, Some(expected));
}

#[test]
fn a_status_stands_in_the_place_of_the_one_before_and_a_blank_one_clears_it() {
    let status = |text: &str| ("ui.set_status", json!({ "text": text }));
    let (shows, _) = block_on(asking(TestHost::new(), vec![status("one"), status("two")]));
    assert_eq!(shows.status().as_deref(), Some("two"));
    let (cleared, _) = block_on(asking(TestHost::new(), vec![status("one"), status(" ")]));
    assert_eq!(cleared.status(), None);
}

#[test]
fn queued_messages_and_a_model_that_was_set_reach_the_run() {
    let queue = |text: &str, how: &str| ("queue_message", json!({ "content": text, "deliverAs": how }));
    let asked = vec![
        queue("later", "follow_up"),
        queue("now", "steer"),
        queue(" ", "steer"),
        ("set_model", json!({ "model": "a/b" })),
        ("set_effort", json!({ "effort": "high" })),
    ];
    block_on(async {
        let (queues, answers) = asking(TestHost::new(), asked).await;
        let none = "a message that is queued needs a text, got none";
        assert_eq!(json!(answers), json!([null, null, none, null, null]));
        assert_eq!(queues.queued(), ["later", "now"]);
        let ran = queues.run(Script::new("go").says("one").says("two")).await.unwrap();
        let said: Vec<_> = ran.messages.iter().map(|message| (message.text(), message.source)).collect();
        let user = MessageSource::User;
        let expected = [
            ("go", user),
            ("now", MessageSource::Steering),
            ("one", user),
            ("later", MessageSource::FollowUp),
            ("two", user),
        ];
        assert_eq!(said, expected.map(|(text, source)| (text.to_owned(), source)));
        let chosen: Vec<_> = ran.calls.iter().map(|call| (call.model.as_str(), call.effort)).collect();
        assert_eq!(chosen, [("a/b", Some(Effort::High)); 2]);
        assert_eq!(queues.queued(), [""; 0]);
    });
}

#[test]
fn the_active_tools_are_those_that_the_mod_leaves() {
    let factory = |cmd: ModApi| async move {
        for name in ["one", "two"] {
            cmd.add_tool(Tool::new(name, "Is one").run(|_| async { Ok("") }))?;
        }
        Ok(())
    };
    let filters = block_on(TestHost::new().load(factory)).unwrap();
    assert!(ask(&filters, "tools.set_active", &json!({ "names": ["two", "three"] })).is_ok());
    let told = ["tools.all", "tools.active"].map(|service| ask(&filters, service, &Value::Null).unwrap());
    assert_eq!(json!(told), json!([["one", "two"], ["two"]]));
}

/// Draws what it is given, once.
struct Draws;

impl Entry for Draws {
    fn call(&self, frame: &Frame, reply: &mut Reply) -> u32 {
        use crate::abi::{Encode, JsonField};
        let data = frame.json(JsonField::Data, 0).unwrap_or_default();
        assert!(data != "0", "nothing to draw");
        reply.completed.answer = vec![data].encode();
        reply.completed.status
    }
}

#[test]
fn what_a_mod_shows_and_draws_is_seen() {
    let draws = block_on(TestHost::new().load(|_| async { Ok(()) })).unwrap();
    let frame = draws.core.frame(Question::Factory);
    for (kind, spec) in [("renderer", r#"{"customType":"roast"}"#), ("widget", "{}")] {
        frame.frame().add(kind, spec, Callable::new(Box::new(Draws))).unwrap();
    }
    assert_eq!(ask(&draws, "show_entry", &json!({ "customType": "roast", "data": 7 })), Ok(Value::Null));
    assert_eq!(draws.shown(), [("roast".to_owned(), json!(7))]);
    assert_eq!(draws.draw("roast", json!([1])).unwrap(), ["[1]"]);
    assert_eq!(draws.widgets().unwrap(), [["null"]]);
    let fault = draws.draw("roast", json!(0)).unwrap_err().to_string();
    assert!(fault.starts_with("renderer:roast panicked: nothing to draw at "), "{fault}");
    let missing = draws.draw("toast", json!(0)).unwrap_err().to_string();
    assert_eq!(missing, "no such renderer: toast, the mod has: roast");
    let args = json!({ "customType": "roast", "data": 7 });
    assert_eq!(draws.asked(), [Asked { service: "show_entry".to_owned(), args }]);
}

#[test]
fn an_interruption_shows() {
    block_on(async {
        let stops = hooked(|| Hooks::new().should_stop_after_turn_sync(|_, ctx| Ok(ctx.cancelled()))).await;
        assert!(!stops.should_stop_after_turn().await.unwrap());
        stops.interrupt();
        assert!(stops.should_stop_after_turn().await.unwrap());
    });
}

#[test]
fn an_interruption_that_is_waited_for_comes() {
    block_on(async {
        let waits = hooked(|| {
            Hooks::new().on_stop(|_, ctx| async move {
                ctx.interrupted().await?;
                Ok(StopDecision::Continue { reason: Some("interrupted".to_owned()) })
            })
        });
        let waits = waits.await;
        let (mut asked, mut polls) = (std::pin::pin!(waits.on_stop("")), 0);
        let said = std::future::poll_fn(|cx| {
            polls += 1;
            let polled = asked.as_mut().poll(cx);
            if polls == 1 {
                assert!(polled.is_pending());
                waits.interrupt();
            }
            polled
        });
        assert_eq!(said.await, Ok(StopDecision::Continue { reason: Some("interrupted".to_owned()) }));
        assert_eq!((polls, waits.asked_of("interrupted")), (2, vec![Value::Null]));
    });
}
