//! A provider of this program behind the verb that any mod has.

use std::sync::Arc;

use futures::StreamExt;
use mod_interface::prelude::{Error, ModApi, ModelDone, ModelError, ModelPiece, ModelSink, Provider, Result};

use crate::providers::{self, Calls, ModelEvent, ProviderError};

/// What is ready at once is pushed at once, so many pieces at most.
const AT_ONCE: usize = 64;

/// Adds the provider.
pub(super) fn add(cmd: &ModApi, provider: Arc<dyn providers::Provider>) -> Result<()> {
    let (ready, id) = (Arc::clone(&provider), provider.id().to_owned());
    let added = Provider::new(id)
        .prepare(move |model| ready.prepare(model).map_err(Error::from))
        .stream(move |request, sink| answer(Arc::clone(&provider), request, sink));
    cmd.add_provider(added).map(drop)
}

async fn answer(
    provider: Arc<dyn providers::Provider>,
    request: mod_interface::prelude::ModelRequest,
    mut sink: ModelSink,
) -> Result<ModelDone, ModelError> {
    let request = providers::ModelRequest {
        model: request.model().into(),
        system: request.system().into(),
        messages: request.to_messages()?.into_iter().map(Arc::new).collect(),
        tools: request.tools().into(),
        effort: request.effort(),
    };
    // What a server says that no model can is the server's fault, and to be tried again; not this mod's.
    let mut calls = Calls::default();
    let checked =
        provider.stream(request).map(move |event| event.and_then(|it| calls.check(&it).map(|()| it)));
    let mut events = checked.ready_chunks(AT_ONCE);
    while let Some(ready) = events.next().await {
        let mut pieces = Vec::with_capacity(ready.len());
        let mut ended = None;
        for event in ready {
            match event {
                Ok(ModelEvent::Done { stop_reason, usage }) => {
                    ended = Some(Ok(ModelDone::new(stop_reason).usage(usage)));
                }
                Ok(event) => pieces.extend(piece(event)),
                Err(error) => ended = Some(Err(failed(error))),
            }
        }
        sink.push_all(&pieces).await?;
        if let Some(ended) = ended {
            return ended;
        }
    }
    Err(ModelError::retryable("the response was cut off before its end"))
}

fn piece(event: ModelEvent) -> Option<ModelPiece> {
    Some(match event {
        ModelEvent::Text(text) => ModelPiece::Text(text),
        ModelEvent::Thinking(text) => ModelPiece::Thinking(text),
        ModelEvent::ThinkingSignature(signature) => ModelPiece::Signature(signature),
        ModelEvent::ToolUse { id, name } => ModelPiece::ToolUse { id, name },
        ModelEvent::ToolInput(json) => ModelPiece::ToolInput(json),
        ModelEvent::BlockEnd => ModelPiece::BlockEnd,
        ModelEvent::Alive => ModelPiece::Alive,
        ModelEvent::Done { .. } => return None,
    })
}

fn failed(error: ProviderError) -> ModelError {
    match error {
        ProviderError::Fatal(message) => ModelError::fatal(message),
        ProviderError::Retryable { message, retry_after } => {
            let failed = ModelError::retryable(message);
            match retry_after {
                Some(wait) => failed.retry_after(wait),
                None => failed,
            }
        }
    }
}
