use std::{num::NonZeroU32, time::Duration};

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{
    agent::{BoxError, Model, ModelCall, ModelResponse},
    events::Emitter,
    providers::{ModelClient, ModelRequest, Providers, RetryPolicy},
    settings,
};

/// The models of all providers, as the agent sees them.
pub(super) struct Models {
    providers: Providers,
    retry: RetryPolicy,
}

impl Models {
    pub(super) fn new(providers: Providers, api: &settings::Api) -> Self {
        let standard = RetryPolicy::default();
        let retry = RetryPolicy {
            max_attempts: api.max_attempts.map_or(standard.max_attempts, NonZeroU32::get),
            base_delay: api.base_delay_ms.map_or(standard.base_delay, Duration::from_millis),
            ..standard
        };
        Self { providers, retry }
    }
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
