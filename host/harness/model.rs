use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{
    agent::{BoxError, Model, ModelCall, ModelResponse},
    events::Emitter,
    providers::{ModelClient, ModelRequest, Providers, RetryPolicy},
};

/// The models of all providers, as the agent sees them.
pub(super) struct Models {
    pub(super) providers: Providers,
    pub(super) retry: RetryPolicy,
}

impl Model for Models {
    fn complete<'a>(
        &'a self,
        call: ModelCall,
        emitter: &'a Emitter,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ModelResponse, BoxError>> {
        Box::pin(async move {
            let (provider, model) = self.providers.resolve(&call.model)?;
            let request = ModelRequest {
                model: model.into(),
                system: call.system,
                messages: call.messages,
                tools: call.tools,
                effort: call.effort,
            };
            let response = ModelClient::new(provider, self.retry).complete(request, emitter, &cancel).await?;
            Ok(ModelResponse {
                content: response.content,
                usage: response.usage,
                stop_reason: response.stop_reason,
            })
        })
    }

    fn check(&self, model: &str) -> Result<(), String> {
        self.providers.resolve(model).map(drop).map_err(|error| error.to_string())
    }
}
