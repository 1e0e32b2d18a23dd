use std::{fmt, time::Duration};

use serde_json::json;

use super::{
    Error, ModApi, Registration, Result,
    entry::{AsyncEntry, SyncEntry},
    runtime::RuntimeHandle,
    services,
    views::from_json,
};
use crate::{
    abi::{Callable, Entry, Frame, JsonField, Reply, TextField},
    types::{
        Effort, Message, ModelDone, ModelFailure, ModelInfo, ModelOutcome, ModelPiece, ModelQuestion,
        ProviderSpec, ToolSpec,
    },
};

type MakeEntry = Box<dyn FnOnce(RuntimeHandle) -> Box<dyn Entry> + Send>;
type Prepare = Box<dyn Fn(&str) -> Result<()> + Send + Sync>;

/// A source of models, registered with [`ModApi::add_provider`].
///
/// Its code is called once for each try of each model call, on a thread of its own. It pushes the pieces of the answer
/// as they come, and returns how the answer ended. When the run is interrupted, its future is dropped.
///
/// ```
/// use mod_interface::prelude::*;
///
/// let provider = Provider::new("parrot")
///     .model("polly", "Polly the parrot")
///     .prepare(|_model| {
///         std::env::var("PARROT_KEY").map(drop).map_err(|_| Error::msg("no key: set PARROT_KEY"))
///     })
///     .stream(|request, mut sink| async move {
///         let heard = request.last_message().map(|message| message.text()).unwrap_or_default();
///         for word in heard.split_inclusive(' ') {
///             sink.text(word).await?;
///         }
///         Ok(ModelDone::new("end_turn"))
///     });
/// assert_eq!(provider.spec().models[0].name, "Polly the parrot");
/// ```
#[must_use = "a provider does nothing until it is given to `ModApi::add_provider`"]
pub struct Provider {
    spec: ProviderSpec,
    make: MakeEntry,
}

/// A provider whose code is still to be given.
#[must_use = "a provider needs its code: call `stream`"]
pub struct ProviderBuilder {
    spec: ProviderSpec,
    prepare: Prepare,
}

impl Provider {
    /// Starts a provider: its models are named `id/…`.
    #[expect(clippy::new_ret_no_self, reason = "a provider without code cannot exist")]
    pub fn new(id: impl Into<String>) -> ProviderBuilder {
        let spec = ProviderSpec { id: id.into(), models: Vec::new() };
        ProviderBuilder { spec, prepare: Box::new(|_| Ok(())) }
    }

    /// What it is registered with.
    pub fn spec(&self) -> &ProviderSpec {
        &self.spec
    }
}

impl ProviderBuilder {
    /// Says that it has this model. A provider that says so of any has no others.
    pub fn model(mut self, id: impl Into<String>, name: impl Into<String>) -> Self {
        self.spec.models.push(ModelInfo { id: id.into(), name: name.into() });
        self
    }

    /// Makes sure that a model can be called, before a run begins and before each call: that there is a key, say.
    /// An `Err` is what the user is told, so it says what is missing and what to do. It must not take long.
    pub fn prepare(mut self, prepare: impl Fn(&str) -> Result<()> + Send + Sync + 'static) -> Self {
        self.prepare = Box::new(prepare);
        self
    }

    /// Gives its code.
    pub fn stream<F, Fut>(self, stream: F) -> Provider
    where
        F: Fn(ModelRequest, ModelSink) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<ModelDone, ModelError>> + Send + 'static,
    {
        let prepare = self.prepare;
        let prepare = move |frame: &Frame| prepare(&question(frame)?.model);
        let stream = move |frame: &Frame| {
            let request = question(frame).map(|question| ModelRequest { frame: frame.clone(), question });
            let answer = request.map(|request| stream(request, ModelSink { frame: frame.clone() }));
            async move {
                let ended = match answer {
                    Ok(answer) => answer.await,
                    Err(error) => Err(error.into()),
                };
                Ok(ended.map_or_else(|error| ModelOutcome::Failed(error.0), ModelOutcome::Done))
            }
        };
        let make = move |runtime: RuntimeHandle| {
            let prepare = SyncEntry::new(prepare, runtime.clone());
            Box::new(ProviderEntry { prepare, stream: AsyncEntry::new(stream, runtime) }) as Box<dyn Entry>
        };
        Provider { spec: self.spec, make: Box::new(make) }
    }
}

/// The two things that a provider is asked for.
struct ProviderEntry<P, S> {
    prepare: P,
    stream: S,
}

impl<P: Entry, S: Entry> Entry for ProviderEntry<P, S> {
    fn call(&self, frame: &Frame, reply: &mut Reply) -> u32 {
        match frame.text(TextField::Reason) {
            "prepare" => self.prepare.call(frame, reply),
            _ => self.stream.call(frame, reply),
        }
    }
}

fn question(frame: &Frame) -> Result<ModelQuestion> {
    from_json(frame, JsonField::Data, 0)
}

/// A call of a model. Nothing of the conversation is copied until it is asked for.
pub struct ModelRequest {
    frame: Frame,
    question: ModelQuestion,
}

impl ModelRequest {
    /// The model's id, without its provider.
    pub fn model(&self) -> &str {
        &self.question.model
    }

    /// The system prompt; may be empty.
    pub fn system(&self) -> &str {
        &self.question.system
    }

    /// The tools that the model may call.
    pub fn tools(&self) -> &[ToolSpec] {
        &self.question.tools
    }

    /// How hard it shall think; `None` is the model's own default.
    pub fn effort(&self) -> Option<Effort> {
        self.question.effort
    }

    /// A copy of the messages, oldest first, valid for sending: roles alternate, and each tool call is answered at
    /// the head of the next message.
    ///
    /// # Errors
    /// A message of a kind that this version of the interface does not know.
    pub fn to_messages(&self) -> Result<Vec<Message>> {
        self.messages().map(|message| message.to_owned()).collect()
    }

    pub(super) fn frame(&self) -> &Frame {
        &self.frame
    }
}

impl fmt::Debug for ModelRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelRequest").field("model", &self.question.model).finish_non_exhaustive()
    }
}

/// Where the pieces of an answer go, in order.
///
/// Each push waits while the run is behind. What is refused (a tool call without an id, a piece of input outside of
/// a call, more than any model says) ends the call as a failure of the provider, whatever it does then.
pub struct ModelSink {
    frame: Frame,
}

impl ModelSink {
    /// Pushes pieces, all at once.
    ///
    /// # Errors
    /// A piece was refused, or nobody waits for the answer any more.
    pub async fn push_all(&mut self, pieces: &[ModelPiece]) -> Result<()> {
        if pieces.is_empty() {
            return Ok(());
        }
        let pieces = json!(pieces);
        // There is room, nearly always.
        if services::now(&self.frame, "model.push", &pieces)? == true {
            return Ok(());
        }
        services::later(&self.frame, "model.push", &pieces).await.map(drop)
    }

    /// Pushes a piece.
    ///
    /// # Errors
    /// As for [`Self::push_all`].
    pub async fn push(&mut self, piece: ModelPiece) -> Result<()> {
        self.push_all(&[piece]).await
    }

    /// Pushes a piece of text.
    ///
    /// # Errors
    /// As for [`Self::push_all`].
    pub async fn text(&mut self, text: impl Into<String>) -> Result<()> {
        self.push(ModelPiece::Text(text.into())).await
    }

    /// Pushes a piece of reasoning.
    ///
    /// # Errors
    /// As for [`Self::push_all`].
    pub async fn thinking(&mut self, text: impl Into<String>) -> Result<()> {
        self.push(ModelPiece::Thinking(text.into())).await
    }

    /// Pushes the provider's proof of the reasoning so far.
    ///
    /// # Errors
    /// As for [`Self::push_all`].
    pub async fn signature(&mut self, signature: impl Into<String>) -> Result<()> {
        self.push(ModelPiece::Signature(signature.into())).await
    }

    /// Begins a tool call.
    ///
    /// # Errors
    /// As for [`Self::push_all`].
    pub async fn tool_use(&mut self, id: impl Into<String>, name: impl Into<String>) -> Result<()> {
        self.push(ModelPiece::ToolUse { id: id.into(), name: name.into() }).await
    }

    /// Pushes a piece of the JSON text of the last tool call's input.
    ///
    /// # Errors
    /// As for [`Self::push_all`].
    pub async fn tool_input(&mut self, json: impl Into<String>) -> Result<()> {
        self.push(ModelPiece::ToolInput(json.into())).await
    }

    /// Says that the model still works: a call of which nothing is heard for two minutes is given up.
    ///
    /// # Errors
    /// As for [`Self::push_all`].
    pub async fn alive(&mut self) -> Result<()> {
        self.push(ModelPiece::Alive).await
    }
}

/// Why a model gave no complete answer.
///
/// `?` makes one of any error, after which the call is tried again, as after a broken connection: ever less often, up
/// to eight times. [`ModelError::fatal`] is for what no other try will mend.
#[derive(Debug)]
pub struct ModelError(ModelFailure);

impl ModelError {
    /// A failure that another try may mend.
    pub fn retryable(message: impl Into<String>) -> Self {
        Self(ModelFailure { message: message.into(), retryable: true, retry_after_ms: None })
    }

    /// A failure that no other try will mend.
    pub fn fatal(message: impl Into<String>) -> Self {
        Self(ModelFailure { message: message.into(), retryable: false, retry_after_ms: None })
    }

    /// Says how long the server asks to wait before the next try. A wait of more than a minute ends the call.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after_ms = Some(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        self
    }
}

impl From<Error> for ModelError {
    fn from(error: Error) -> Self {
        Self::retryable(error.one_line())
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for ModelError {
    fn from(error: E) -> Self {
        Error::from(error).into()
    }
}

impl ModApi {
    /// Adds a provider of models, from the next model call on, behind those that are there: mods extend the set, and
    /// replace nothing. A call that is going on when it is disposed comes to its end.
    ///
    /// One that cannot be added, because its id is taken or malformed, is told as a `mod_error`; the mod goes on
    /// without it, and the registration [is not active](Registration::is_active).
    ///
    /// A provider that panics, ends without an answer or says what no model can say fails the call, told as a
    /// `mod_error` of `provider:<id>` and as the run's error; nothing of the turn is kept.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// async fn parrot(cmd: ModApi) -> Result<()> {
    ///     cmd.add_provider(Provider::new("parrot").stream(|request, mut sink| async move {
    ///         sink.text(request.model()).await?;
    ///         Ok(ModelDone::new("end_turn"))
    ///     }))?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// The harness is gone.
    pub fn add_provider(&self, provider: Provider) -> Result<Registration> {
        let callable = Callable::new((provider.make)(self.runtime().clone()));
        self.add("provider", &serde_json::to_value(provider.spec)?, callable)
    }
}
