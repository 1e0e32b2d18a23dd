use serde_json::{Value, json};

use super::{Error, Result, entry::AsyncEntry, entry::SyncEntry, runtime::RuntimeHandle};
use crate::{
    abi::{Callable, Entry, Frame, Invocation},
    types::{ToolOutput, ToolSpec},
};

type MakeEntry = Box<dyn FnOnce(RuntimeHandle) -> Box<dyn Entry> + Send>;

/// A tool that the model can call, registered with [`super::ModApi::add_tool`].
///
/// An `Err` of its code is what the model sees as the tool's failure; a panic is a `mod_error` too.
///
/// ```
/// use mod_interface::prelude::*;
///
/// let tool = Tool::new("add", "Adds two numbers")
///     .input_schema(json!({
///         "type": "object",
///         "properties": { "a": { "type": "number" }, "b": { "type": "number" } },
///         "required": ["a", "b"],
///     }))
///     .read_only()
///     .run(|call| async move {
///         let input: Value = call.input()?;
///         let sum = input["a"].as_f64().unwrap_or_default() + input["b"].as_f64().unwrap_or_default();
///         Ok(sum.to_string())
///     });
/// assert_eq!(tool.spec().name, "add");
/// ```
#[must_use = "a tool does nothing until it is given to `ModApi::add_tool`"]
pub struct Tool {
    spec: ToolSpec,
    make: MakeEntry,
}

/// A tool whose code is still to be given.
#[must_use = "a tool needs its code: call `run`"]
pub struct ToolBuilder(ToolSpec);

impl Tool {
    /// Starts a tool without input.
    #[expect(clippy::new_ret_no_self, reason = "a tool without code cannot exist")]
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> ToolBuilder {
        ToolBuilder(ToolSpec {
            name: name.into(),
            description: description.into(),
            input_schema: json!({ "type": "object", "properties": {}, "required": [] }),
            read_only: false,
        })
    }

    /// What the model is told.
    pub fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    pub(crate) fn into_parts(self, runtime: &RuntimeHandle) -> (ToolSpec, Callable) {
        (self.spec, Callable::new((self.make)(runtime.clone())))
    }
}

impl ToolBuilder {
    /// The JSON Schema of its input, of type `object`.
    pub fn input_schema(mut self, schema: Value) -> Self {
        self.0.input_schema = schema;
        self
    }

    /// Says that it never changes anything: it then runs unasked, in plan mode too.
    pub fn read_only(mut self) -> Self {
        self.0.read_only = true;
        self
    }

    /// Gives its code.
    pub fn run<F, Fut, T>(self, run: F) -> Tool
    where
        F: Fn(Invocation) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T>> + Send + 'static,
        T: Into<ToolOutput> + 'static,
    {
        let make = move |frame: &Frame| {
            let running = run(Invocation::of(frame).clone());
            async move { said(running.await) }
        };
        Tool { spec: self.0, make: Box::new(move |runtime| Box::new(AsyncEntry::new(make, runtime))) }
    }

    /// As [`Self::run`], for code that never awaits. It may take its time: each call has a thread of its own.
    ///
    /// ```
    /// use mod_interface::prelude::*;
    ///
    /// let tool = Tool::new("root", "Says where the workspace is").read_only().run_sync(|call| Ok(call.ctx().cwd().to_owned()));
    /// assert_eq!(tool.spec().name, "root");
    /// ```
    pub fn run_sync<F, T>(self, run: F) -> Tool
    where
        F: Fn(&Invocation) -> Result<T> + Send + Sync + 'static,
        T: Into<ToolOutput> + 'static,
    {
        let call = move |frame: &Frame| said(run(Invocation::of(frame)));
        Tool { spec: self.0, make: Box::new(move |runtime| Box::new(SyncEntry::new(call, runtime))) }
    }
}

/// What the model sees: a failure is an answer too.
fn said(output: Result<impl Into<ToolOutput>>) -> Result<ToolOutput> {
    Ok(output.map_or_else(|error: Error| ToolOutput::error(error.one_line()), Into::into))
}
