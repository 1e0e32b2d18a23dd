use std::sync::Arc;

use futures::future::BoxFuture;
use mod_interface::types::{ToolOutput, ToolSpec};
use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Access, Error, Tool, ToolContext};

/// A built-in tool: its input has a type, of which its schema is made. The comments on the fields
/// are what the model is told of them.
pub(super) trait Typed: Send + Sync + 'static {
    type Input: DeserializeOwned + JsonSchema + Send;

    const NAME: &'static str;
    const DESCRIPTION: &'static str;
    const ACCESS: Access;

    /// See [`Tool::rule_subjects`].
    fn subjects(input: &Self::Input) -> Vec<String>;

    /// See [`Tool::describe`].
    fn describe(input: &Self::Input) -> String;

    fn run(&self, input: Self::Input, ctx: ToolContext)
    -> impl Future<Output = Result<String, Error>> + Send;
}

/// Makes a [`Tool`] of it.
pub(super) fn tool<T: Typed>(typed: T) -> Arc<dyn Tool> {
    let spec = ToolSpec {
        name: T::NAME.to_owned(),
        description: T::DESCRIPTION.to_owned(),
        input_schema: schema::<T::Input>(),
        read_only: T::ACCESS == Access::Read,
    };
    Arc::new(Builtin { typed, spec })
}

struct Builtin<T> {
    typed: T,
    spec: ToolSpec,
}

impl<T: Typed> Tool for Builtin<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self) -> Access {
        T::ACCESS
    }

    fn rule_subjects(&self, input: &Value) -> Vec<String> {
        parse::<T>(input).map(|input| T::subjects(&input)).unwrap_or_default()
    }

    fn describe(&self, input: &Value) -> BoxFuture<'_, Option<String>> {
        let description = parse::<T>(input).ok().map(|input| one_line(&T::describe(&input)));
        Box::pin(std::future::ready(description))
    }

    fn run(&self, input: Value, ctx: ToolContext) -> BoxFuture<'_, ToolOutput> {
        Box::pin(async move {
            let answer = match parse::<T>(&input) {
                Ok(input) => self.typed.run(input, ctx).await,
                Err(error) => Err(error),
            };
            answer.map_or_else(|error| ToolOutput::error(error.to_string()), ToolOutput::text)
        })
    }
}

fn parse<T: Typed>(input: &Value) -> Result<T::Input, Error> {
    serde_path_to_error::deserialize(input).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." { "" } else { &path };
        Error::input(T::NAME, field, &error.inner().to_string())
    })
}

fn one_line(text: &str) -> String {
    const LONGEST: usize = 200;
    let cut = if text.chars().nth(LONGEST).is_some() { "…" } else { "" };
    let shown = text.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c });
    shown.chain(cut.chars()).collect()
}

fn schema<I: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let settings = settings.with_transform(RecursiveTransform(plain));
    settings.into_generator().into_root_schema_for::<I>().into()
}

/// Takes out what is of Rust and tells a model nothing, and the `null` of optional fields: not every
/// provider takes a list of types.
fn plain(schema: &mut Schema) {
    schema.remove("title");
    schema.remove("format");
    if let Some([kind, Value::String(null)]) = schema.get("type").and_then(Value::as_array).map(Vec::as_slice)
        && null == "null"
    {
        let kind = kind.clone();
        schema.insert("type".to_owned(), kind);
    }
}

/// Does work that reads files, away from the async threads. It is abandoned when the run is
/// interrupted; `stop` tells it then, and when this future is dropped.
pub(super) async fn reading<R: Send + 'static>(
    ctx: &ToolContext,
    work: impl FnOnce(&CancellationToken) -> Result<R, Error> + Send + 'static,
) -> Result<R, Error> {
    tokio::select! {
        biased;
        () = ctx.cancel.cancelled() => Err(Error::Interrupted),
        done = writing(ctx, work) => done,
    }
}

/// Does work that changes files. It is not abandoned but waited for: it is short, and the answer
/// must say whether the change was made.
pub(super) async fn writing<R: Send + 'static>(
    ctx: &ToolContext,
    work: impl FnOnce(&CancellationToken) -> Result<R, Error> + Send + 'static,
) -> Result<R, Error> {
    let stop = ctx.cancel.child_token();
    let _stop_when_dropped = stop.clone().drop_guard();
    let done = tokio::task::spawn_blocking(move || work(&stop)).await;
    done.unwrap_or_else(|lost| Err(Error::Failed(format!("the tool broke down: {lost}"))))
}

#[cfg(test)]
mod tests;
