use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use mod_interface::types::{ContentBlock, EventPayload, Usage};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::{ModelRequest, Provider, ProviderError, RetryPolicy, assembly::Assembly, retry::MAX_RETRY_AFTER};
use crate::events::Emitter;

/// This many failures are not told of.
const SILENT_FAILURES: u32 = 3;

/// How long a stream may say nothing at all.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);

/// Makes calls of a provider's models: tries them again where that can help, tells of each piece as
/// it comes, and returns the whole.
#[derive(Clone)]
pub struct ModelClient {
    provider: Arc<dyn Provider>,
    retry: RetryPolicy,
    idle_timeout: Duration,
    jitter: Arc<dyn Fn() -> f64 + Send + Sync>,
}

/// A whole response.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelResponse {
    /// The blocks in the order in which they came. A tool call's input is what the model sent, object or
    /// not; text that is no JSON is a string.
    pub content: Vec<ContentBlock>,
    /// The tokens of the attempt that succeeded.
    pub usage: Usage,
    /// Why the model stopped, in the provider's own word.
    pub stop_reason: String,
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The run was interrupted.
    #[error("the model call was interrupted")]
    Interrupted,
    /// Trying again would not help.
    #[error("{0}")]
    Fatal(String),
    /// It was tried as often as it may be.
    #[error("gave up after {attempts} attempts: {last}")]
    GaveUp {
        /// How often it was tried.
        attempts: u32,
        /// What went wrong the last time.
        last: String,
    },
}

enum Failure {
    Interrupted,
    Provider(ProviderError),
}

impl ModelClient {
    /// A client that tries again as `retry` says, with waits spread at random.
    pub fn new(provider: Arc<dyn Provider>, retry: RetryPolicy) -> Self {
        Self { provider, retry, idle_timeout: IDLE_TIMEOUT, jitter: Arc::new(fastrand::f64) }
    }

    /// Spreads the waits by `jitter`, which gives numbers from 0 to 1.
    #[must_use]
    pub fn with_jitter(self, jitter: impl Fn() -> f64 + Send + Sync + 'static) -> Self {
        Self { jitter: Arc::new(jitter), ..self }
    }

    /// Takes a stream that says nothing for `idle_timeout` as cut off.
    #[must_use]
    pub fn with_idle_timeout(self, idle_timeout: Duration) -> Self {
        Self { idle_timeout, ..self }
    }

    /// Makes one call. See the module's documentation for the events that it raises.
    ///
    /// # Errors
    /// As [`CallError`] says. Interrupting it ends it at once, in a wait too.
    pub async fn complete(
        &self,
        request: ModelRequest,
        emitter: &Emitter,
        cancel: &CancellationToken,
    ) -> Result<ModelResponse, CallError> {
        let mut failures = 0;
        loop {
            let mut message = Assembly::new(emitter);
            let error = match self.attempt(request.clone(), &mut message, cancel).await {
                Ok(response) => return Ok(response),
                Err(Failure::Interrupted) => return Err(CallError::Interrupted),
                Err(Failure::Provider(error)) => error,
            };
            failures += 1;
            let (error, delay) = self.next_try(failures, error)?;
            message.abandon();
            if failures > SILENT_FAILURES {
                let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
                emitter.emit(EventPayload::ApiRetry { attempt: failures + 1, error, delay_ms });
            }
            if cancel.run_until_cancelled(sleep(delay)).await.is_none() {
                return Err(CallError::Interrupted);
            }
        }
    }

    async fn attempt(
        &self,
        request: ModelRequest,
        message: &mut Assembly<'_>,
        cancel: &CancellationToken,
    ) -> Result<ModelResponse, Failure> {
        if cancel.is_cancelled() {
            return Err(Failure::Interrupted);
        }
        let mut events = self.provider.stream(request);
        loop {
            let next = cancel.run_until_cancelled(timeout(self.idle_timeout, events.next()));
            let event = match next.await {
                None => return Err(Failure::Interrupted),
                Some(Ok(Some(event))) => event,
                Some(Ok(None)) => Err(ProviderError::retryable("the response was cut off before its end")),
                Some(Err(_)) => Err(ProviderError::retryable(format!(
                    "nothing came from the model for {} s",
                    self.idle_timeout.as_secs_f64()
                ))),
            };
            if let Some(response) = event.and_then(|event| message.push(event)).map_err(Failure::Provider)? {
                return Ok(response);
            }
        }
    }

    /// What is told of a failure and how long to wait after it, or that it was the last one.
    fn next_try(&self, failures: u32, error: ProviderError) -> Result<(String, Duration), CallError> {
        let (message, retry_after) = match error {
            ProviderError::Fatal(message) => return Err(CallError::Fatal(message)),
            ProviderError::Retryable { message, retry_after } => (message, retry_after),
        };
        if failures >= self.retry.max_attempts {
            return Err(CallError::GaveUp { attempts: failures, last: message });
        }
        if let Some(asked) = retry_after.filter(|asked| *asked > MAX_RETRY_AFTER) {
            return Err(CallError::Fatal(format!(
                "{message}; the server asks to wait {} s, more than the {} s that a run waits: try again later",
                asked.as_secs(),
                MAX_RETRY_AFTER.as_secs()
            )));
        }
        let delay = self.retry.delay(failures, (self.jitter)(), retry_after);
        Ok((message, delay))
    }
}

#[cfg(test)]
mod tests;
