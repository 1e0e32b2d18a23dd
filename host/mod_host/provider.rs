//! A provider of a mod, as the run sees it: like any other.
//!
//! Its code runs on a thread of its own and pushes pieces, which wait in a short queue until the run has taken those
//! before them. What no model can say ends the call, and is the mod's fault: a tool call without an id or with one
//! that this answer has had, input outside of a call, a piece of a kind that is none, more than any model says.

use std::{
    collections::{HashSet, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{StreamExt, stream};
use mod_interface::{
    abi::{Callable, OwnFrame, Reply, decode_model},
    types::{
        Message, ModelDone, ModelFailure, ModelInfo, ModelOutcome, ModelPiece, ModelQuestion, ProviderSpec,
    },
};
use tokio::sync::mpsc;

use super::{
    Core,
    adapter::{enter, settle},
    alone,
    frame::{ModFrame, Question},
    identity::ModIdentity,
    journal::place,
    listener::begin,
    services::Asker,
};
use crate::{
    hooks::HookFault,
    providers::{Calls, MAX_RESPONSE_BYTES, ModelEvent, ModelRequest, ModelStream, Provider, ProviderError},
};

/// So many pushes wait for the run.
const QUEUE: usize = 16;

/// What a piece counts for beside its text: there is an end to those without any too.
const PIECE_BYTES: usize = 16;

/// The most that a name or an id may hold.
const MAX_NAME: usize = 64;

/// What a provider is asked, and where its pieces go.
pub(crate) struct ProviderQuestion {
    /// `prepare` or `stream`.
    pub(crate) what: &'static str,
    pub(crate) messages: Vec<Arc<Message>>,
    /// A [`ModelQuestion`], as JSON text.
    pub(crate) json: String,
    pieces: Option<Pieces>,
}

/// The way of the pieces to the run.
struct Pieces {
    queue: mpsc::Sender<Result<Vec<ModelEvent>, String>>,
    said: Mutex<Said>,
}

/// What was said so far.
#[derive(Default)]
struct Said {
    size: usize,
    calls: Calls,
    fault: Option<String>,
}

/// What a provider is asked that asks something itself.
pub(super) fn asked(asker: &Asker) -> Result<Arc<ProviderQuestion>, String> {
    match &asker.question {
        Question::Provider(question) => Ok(Arc::clone(question)),
        _ => Err(does_not_stream()),
    }
}

impl ProviderQuestion {
    /// Takes pieces; false where there is no room for them.
    pub(super) fn push_now(&self, json: &str) -> Result<bool, String> {
        let pieces = self.pieces()?;
        match pieces.queue.try_reserve() {
            Ok(room) => pieces.take(json, room).map(|()| true),
            Err(mpsc::error::TrySendError::Full(())) => Ok(false),
            Err(mpsc::error::TrySendError::Closed(())) => Err(nobody_waits()),
        }
    }

    /// Takes pieces as soon as there is room.
    pub(super) async fn push(&self, json: &str) -> Result<(), String> {
        let pieces = self.pieces()?;
        let room = pieces.queue.reserve().await.map_err(|_| nobody_waits())?;
        pieces.take(json, room)
    }

    fn pieces(&self) -> Result<&Pieces, String> {
        self.pieces.as_ref().ok_or_else(does_not_stream)
    }
}

fn does_not_stream() -> String {
    "only a provider that streams can push pieces".to_owned()
}

fn nobody_waits() -> String {
    "nobody waits for this answer any more".to_owned()
}

impl Pieces {
    /// Puts pieces into the room that there is for them, or what is wrong with them: then nothing follows.
    fn take(
        &self,
        json: &str,
        room: mpsc::Permit<'_, Result<Vec<ModelEvent>, String>>,
    ) -> Result<(), String> {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fault) = &said.fault {
            return Err(fault.clone());
        }
        match said.read(json) {
            Ok(events) => {
                room.send(Ok(events));
                Ok(())
            }
            Err(fault) => {
                said.fault = Some(fault.clone());
                room.send(Err(fault.clone()));
                Err(fault)
            }
        }
    }
}

impl Said {
    fn read(&mut self, json: &str) -> Result<Vec<ModelEvent>, String> {
        let pieces: Vec<ModelPiece> =
            serde_json::from_str(json).map_err(|error| format!("a piece that is none: {error}"))?;
        self.size += json.len() + PIECE_BYTES * pieces.len();
        if self.size > 2 * MAX_RESPONSE_BYTES {
            return Err(format!(
                "more than any model says, expected at most {} bytes",
                2 * MAX_RESPONSE_BYTES
            ));
        }
        pieces.into_iter().map(|piece| self.piece(piece)).collect()
    }

    fn piece(&mut self, piece: ModelPiece) -> Result<ModelEvent, String> {
        let event = event(piece);
        self.calls.check(&event).map_err(|error| error.to_string())?;
        Ok(event)
    }
}

fn event(piece: ModelPiece) -> ModelEvent {
    match piece {
        ModelPiece::Text(text) => ModelEvent::Text(text),
        ModelPiece::Thinking(text) => ModelEvent::Thinking(text),
        ModelPiece::Signature(signature) => ModelEvent::ThinkingSignature(signature),
        ModelPiece::ToolUse { id, name } => ModelEvent::ToolUse { id, name },
        ModelPiece::ToolInput(json) => ModelEvent::ToolInput(json),
        ModelPiece::BlockEnd => ModelEvent::BlockEnd,
        ModelPiece::Alive => ModelEvent::Alive,
    }
}

/// A provider of a mod.
#[derive(Clone)]
pub(crate) struct ModProvider {
    core: std::sync::Weak<Core>,
    owner: Arc<ModIdentity>,
    spec: Arc<ProviderSpec>,
    callable: Callable,
}

impl ModProvider {
    /// # Errors
    /// What is wrong with its id or its models.
    pub(super) fn check(&self) -> Result<(), String> {
        let ProviderSpec { id, models } = &*self.spec;
        let named = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if id.is_empty() || id.len() > MAX_NAME || !id.bytes().all(named) {
            return Err(format!(
                "a provider's id is of a-z, 0-9 and -, {MAX_NAME} characters at most, got: {id}"
            ));
        }
        let mut ids = HashSet::new();
        match models.iter().find(|model| model.id.trim().is_empty() || !ids.insert(&model.id)) {
            Some(model) => {
                Err(format!("each model of a provider has an id of its own, got one again: {:?}", model.id))
            }
            None => Ok(()),
        }
    }

    pub(super) fn new(
        core: &Arc<Core>,
        owner: &Arc<ModIdentity>,
        spec: ProviderSpec,
        callable: Callable,
    ) -> Self {
        Self { core: Arc::downgrade(core), owner: Arc::clone(owner), spec: Arc::new(spec), callable }
    }

    fn core(&self) -> Result<Arc<Core>, ProviderError> {
        let core = self.core.upgrade().filter(|core| !core.shutdown.is_cancelled());
        core.ok_or_else(|| ProviderError::fatal(super::HARNESS_GONE))
    }

    fn frame(&self, core: &Arc<Core>, question: ProviderQuestion) -> OwnFrame<ModFrame> {
        OwnFrame::new(ModFrame::new(core, &self.owner, Question::Provider(Arc::new(question))))
    }

    /// What is told of a fault of the mod: it fails the call, and is a `mod_error`.
    fn fault(&self, fault: &HookFault) -> ProviderError {
        let (id, owner) = (&self.spec.id, &self.owner.id);
        if let Some(core) = self.core.upgrade() {
            core.bus.main().mod_error(owner, &format!("provider:{id}"), fault.to_string());
        }
        ProviderError::fatal(format!("the model provider {id} of {owner} failed: {fault}"))
    }

    /// Begins a call.
    fn begin(&self, request: ModelRequest) -> Result<Answering, ProviderError> {
        let core = self.core()?;
        let (queue, pieces) = mpsc::channel(QUEUE);
        let question = ModelQuestion {
            model: request.model.to_string(),
            system: request.system.to_string(),
            tools: request.tools.to_vec(),
            effort: request.effort,
        };
        let question = ProviderQuestion {
            what: "stream",
            messages: request.messages,
            json: serde_json::to_string(&question)
                .map_err(|error| ProviderError::fatal(error.to_string()))?,
            pieces: Some(Pieces { queue, said: Mutex::default() }),
        };
        let frame = self.frame(&core, question);
        let name = (place::PROVIDER, self.spec.id.as_str());
        let answer = alone::begin(&core, &self.owner, name, &self.callable, frame);
        let answer = answer.map_err(|fault| self.fault(&fault))?;
        Ok(Answering { provider: self.clone(), pieces, answer: Some(answer), ready: VecDeque::new() })
    }
}

impl Provider for ModProvider {
    fn id(&self) -> &str {
        &self.spec.id
    }

    fn models(&self) -> &[ModelInfo] {
        &self.spec.models
    }

    fn prepare(&self, model: &str) -> Result<(), ProviderError> {
        let core = self.core()?;
        // It may choose a model, which is prepared for that.
        let _telling = begin().map_err(|loops| self.fault(&loops))?;
        let json = serde_json::json!({ "model": model }).to_string();
        let question = ProviderQuestion { what: "prepare", messages: Vec::new(), json, pieces: None };
        let frame = self.frame(&core, question);
        let mut reply = Reply::default();
        let pending = enter(&core.journal, &self.owner, place::PROVIDER, &mut reply, |reply| {
            self.callable.call(frame.frame(), reply)
        });
        if pending.is_some() {
            return Err(self.fault(&HookFault::Invalid("prepare must answer at once".to_owned())));
        }
        match settle(&reply.completed) {
            Ok(_) => Ok(()),
            // It says what is missing: that is what it is asked for.
            Err(HookFault::Error(missing)) => Err(ProviderError::fatal(missing)),
            Err(fault) => Err(self.fault(&fault)),
        }
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        match self.begin(request) {
            Ok(answering) => stream::unfold(answering, |mut answering| async move {
                Some((answering.next().await?, answering))
            })
            .boxed(),
            Err(error) => stream::once(std::future::ready(Err(error))).boxed(),
        }
    }
}

/// An answer that is coming. Dropping it gives the call up.
struct Answering {
    provider: ModProvider,
    pieces: mpsc::Receiver<Result<Vec<ModelEvent>, String>>,
    /// How it ends; taken when it has.
    answer: Option<alone::Answer>,
    ready: VecDeque<Result<ModelEvent, ProviderError>>,
}

impl Answering {
    async fn next(&mut self) -> Option<Result<ModelEvent, ProviderError>> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(ready);
            }
            let answer = self.answer.as_mut()?;
            tokio::select! {
                biased;
                Some(pieces) = self.pieces.recv() => self.take(pieces),
                ended = answer => {
                    while let Ok(pieces) = self.pieces.try_recv() {
                        self.take(pieces);
                    }
                    if self.answer.take().is_some() {
                        let ended = ended.unwrap_or_else(|_| Err(alone::no_answer()));
                        let ended = ended.and_then(|completed| {
                            decode_model(settle(&completed)?).map_err(HookFault::Invalid)
                        });
                        self.ready.push_back(self.end(ended));
                    }
                }
            }
        }
    }

    /// Takes pieces, or that they were none: then the call is over.
    fn take(&mut self, pieces: Result<Vec<ModelEvent>, String>) {
        if self.answer.is_none() {
            return;
        }
        match pieces {
            Ok(events) => self.ready.extend(events.into_iter().map(Ok)),
            Err(fault) => {
                self.answer = None;
                self.ready.push_back(Err(self.provider.fault(&HookFault::Invalid(fault))));
            }
        }
    }

    fn end(&self, ended: Result<Option<ModelOutcome>, HookFault>) -> Result<ModelEvent, ProviderError> {
        match ended {
            Ok(Some(ModelOutcome::Done(ModelDone { stop_reason, usage }))) => {
                Ok(ModelEvent::Done { stop_reason, usage })
            }
            Ok(Some(ModelOutcome::Failed(failure))) => Err(error(failure)),
            Ok(None) => {
                let fault = "it ended without saying that the answer is complete".to_owned();
                Err(self.provider.fault(&HookFault::Invalid(fault)))
            }
            Err(fault) => Err(self.provider.fault(&fault)),
        }
    }
}

/// A failure that the mod tells of itself: of the server, say.
fn error(failure: ModelFailure) -> ProviderError {
    let ModelFailure { message, retryable, retry_after_ms } = failure;
    if retryable {
        ProviderError::Retryable { message, retry_after: retry_after_ms.map(Duration::from_millis) }
    } else {
        ProviderError::Fatal(message)
    }
}

#[cfg(test)]
#[path = "provider_tests.rs"]
mod tests;
