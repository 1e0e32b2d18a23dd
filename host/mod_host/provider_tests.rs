//! What no SDK lets a mod say.

use std::task::{Context as Waking, Poll};

use abi_stable::std_types::RSome;
use futures::TryStreamExt;
use mod_interface::{
    abi::{Answer, Completed, Entry as ModEntry, Flags, Frame, Pending, Rest, Status},
    types::{AgentEvent, DeliverAs, Effort, EventPayload, ToolSpec},
};

use super::*;
use crate::mod_host::{
    SessionRecord,
    fixture::{NoRecord, World},
    live::Live,
};

/// A provider that pushes these, whatever the host says to it, and then answers with this JSON.
struct Pushes(Vec<String>, Option<String>);

impl ModEntry for Pushes {
    fn call(&self, frame: &Frame, reply: &mut Reply) -> u32 {
        for pieces in &self.0 {
            let _refused = frame.call_now("model.push", pieces);
        }
        if let Some(json) = &self.1 {
            reply.completed.answer = Answer::default()
                .announce(Flags::SOME | Flags::JSON, |texts| texts.json = json.as_str().into());
        }
        Status::Ready as u32
    }
}

/// An answer that never comes.
struct Never;

impl Rest for Never {
    fn poll(&mut self, _: &mut Waking<'_>, _: &mut Completed) -> Poll<()> {
        Poll::Pending
    }

    fn end(self: Box<Self>) {}
}

/// Is pending for ever.
struct Waits;

impl ModEntry for Waits {
    fn call(&self, _: &Frame, reply: &mut Reply) -> u32 {
        reply.pending = RSome(Pending::new(Box::new(Never)));
        Status::Pending as u32
    }
}

const DONE: &str = r#"{"done":{"stopReason":"stop"}}"#;

fn provider(world: &World, entry: impl ModEntry + 'static) -> ModProvider {
    let spec = ProviderSpec { id: "acme".to_owned(), models: Vec::new() };
    ModProvider::new(&world.core, &world.owner, spec, Callable::new(Box::new(entry)))
}

fn request() -> ModelRequest {
    let tool = ToolSpec {
        name: "ls".to_owned(),
        description: String::new(),
        input_schema: serde_json::json!({}),
        read_only: true,
    };
    let messages = vec![Arc::new(Message::user("hello"))];
    ModelRequest { model: "m".into(), system: "s".into(), messages, tools: [tool].into(), effort: None }
}

/// What comes of a call, and what is told of the mod.
async fn call(
    pushes: &[&str],
    answer: Option<&str>,
) -> (Result<Vec<ModelEvent>, ProviderError>, Vec<String>) {
    let world = World::new();
    let told = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&told);
    world.core.bus.add(Arc::new(move |event: &AgentEvent| {
        if let EventPayload::ModError { error, .. } = &event.payload {
            kept.lock().unwrap().push(error.clone());
        }
    }));
    let pushes = pushes.iter().map(|pieces| (*pieces).to_owned()).collect();
    let provider = provider(&world, Pushes(pushes, answer.map(str::to_owned)));
    let result = provider.stream(request()).try_collect().await;
    let told = std::mem::take(&mut *told.lock().unwrap());
    (result, told)
}

#[tokio::test]
async fn pieces_come_in_order_with_the_end_behind_them() {
    let (events, told) = call(&[r#"[{"text":"a"},"alive"]"#, "[]", r#"[{"text":"b"}]"#], Some(DONE)).await;
    let text = |text: &str| ModelEvent::Text(text.to_owned());
    let done = ModelEvent::Done { stop_reason: "stop".to_owned(), usage: Default::default() };
    assert_eq!((events, told), (Ok(vec![text("a"), ModelEvent::Alive, text("b"), done]), vec![]));
}

#[tokio::test]
async fn what_is_no_piece_and_what_is_no_end_is_a_fault_of_the_mod() {
    let kinds =
        "expected one of `text`, `thinking`, `signature`, `tool_use`, `tool_input`, `block_end`, `alive`";
    let cases = [
        (
            &[r#"[{"hologram":"x"}]"#, r#"[{"text":"more"}]"#][..],
            Some(DONE),
            format!("a piece that is none: unknown variant `hologram`, {kinds} at line 1 column 12"),
        ),
        (&["}{"], Some(DONE), "a piece that is none: expected value at line 1 column 1".to_owned()),
        (&[], None, "it ended without saying that the answer is complete".to_owned()),
        (&[], Some("}{"), "expected value at line 1 column 1".to_owned()),
        (
            &[],
            Some(r#"{"undone":1}"#),
            "unknown variant `undone`, expected `done` or `failed` at line 1 column 9".to_owned(),
        ),
    ];
    for (pushes, answer, fault) in cases {
        let (result, told) = call(pushes, answer).await;
        let fault = format!("answered something invalid: {fault}");
        let error = format!("the model provider acme of mod:a failed: {fault}");
        assert_eq!((result, told), (Err(ProviderError::Fatal(error)), vec![fault]));
    }
}

#[tokio::test]
async fn a_push_where_there_is_no_room_is_not_taken() {
    let world = World::new();
    let (queue, mut pieces) = mpsc::channel(1);
    let pieces_to = Pieces { queue, said: Mutex::default() };
    let (messages, json) = (Vec::new(), String::new());
    let question = Arc::new(ProviderQuestion { what: "stream", messages, json, pieces: Some(pieces_to) });
    let frame = world.frame(Question::Provider(question));
    let push = |text: &str| frame.call_now("model.push", &format!(r#"[{{"text":"{text}"}}]"#));
    assert_eq!((push("a"), push("b")), (Ok("true".to_owned()), Ok("false".to_owned())));
    let later = frame.call("model.push", r#"[{"text":"c"}]"#);
    let texts = async {
        let (a, c) = (pieces.recv().await, pieces.recv().await);
        [a, c].map(|pieces| pieces.unwrap().unwrap())
    };
    let (later, texts) = tokio::join!(later, texts);
    assert_eq!(later, Ok("true".to_owned()));
    assert_eq!(texts, ["a", "c"].map(|text| vec![ModelEvent::Text(text.to_owned())]));
    drop(pieces);
    let nobody = Err("nobody waits for this answer any more".to_owned());
    assert_eq!((push("d"), frame.call("model.push", "[]").await), (nobody.clone(), nobody));
}

#[tokio::test]
async fn only_a_provider_that_streams_pushes_pieces() {
    let world = World::new();
    let refused = Err("only a provider that streams can push pieces".to_owned());
    assert_eq!(world.now("model.push", "[]"), refused);
    assert_eq!(world.later("model.push", "[]").await, refused);
    let question =
        ProviderQuestion { what: "prepare", messages: Vec::new(), json: String::new(), pieces: None };
    let frame = world.frame(Question::Provider(Arc::new(question)));
    assert_eq!(frame.call_now("model.push", "[]"), refused);
}

#[tokio::test]
async fn a_provider_that_is_not_ready_at_once_is_not_ready() {
    let world = World::new();
    let fault =
        "the model provider acme of mod:a failed: answered something invalid: prepare must answer at once";
    assert_eq!(provider(&world, Waits).prepare("m"), Err(ProviderError::fatal(fault)));
}

/// Takes one of its own models when it is asked whether that can be called.
struct ChoosesItself;

impl ModEntry for ChoosesItself {
    fn call(&self, frame: &Frame, _: &mut Reply) -> u32 {
        let _asked = frame.call_now("set_model", r#"{"model":"acme/m"}"#);
        Status::Ready as u32
    }
}

/// A session whose models are those of one provider.
struct Session(ModProvider, Arc<Mutex<usize>>);

impl Live for Session {
    fn queue_message(&self, _: String, _: DeliverAs) -> Result<(), String> {
        Ok(())
    }

    fn set_model(&self, _: &str) -> Result<(), String> {
        *self.1.lock().unwrap() += 1;
        self.0.prepare("m").map_err(|error| error.to_string())
    }

    fn set_effort(&self, _: Option<Effort>) {}

    fn record(&self) -> &dyn SessionRecord {
        &NoRecord
    }
}

#[tokio::test]
async fn a_provider_that_chooses_itself_while_it_is_prepared_comes_to_an_end() {
    let (world, asked) = (World::new(), Arc::default());
    let provider = provider(&world, ChoosesItself);
    let session: Arc<dyn Live> = Arc::new(Session(provider.clone(), Arc::clone(&asked)));
    world.core.bind(&session);
    assert_eq!(provider.prepare("m"), Ok(()));
    assert_eq!(*asked.lock().unwrap(), 8, "as deep as listeners may be");
}
