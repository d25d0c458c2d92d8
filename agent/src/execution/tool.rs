//! What a tool is: a name, how its calls are carried out, and what does the work.

use std::fmt;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::output::{ToolError, ToolOutput};
use cogency_rs::execution::arguments::ArgumentSchema;
use cogency_rs::protocol::Call;

/// A tool.
///
/// [`tool`] and [`blocking_tool`] make one of a closure. Other types can implement this trait, for instance where a tool
/// is written in another language: whatever carries out the call, [`start`](Self::start) hands it over as a [`Work`].
pub trait Tool: Send + Sync {
    /// The name by which the model calls it.
    fn name(&self) -> &str;

    /// How its calls are carried out. Asked once for each call.
    fn options(&self) -> ToolOptions {
        ToolOptions::default()
    }

    /// What its arguments must be; a call whose arguments do not fit is not started. `None` where [`start`](Self::start) checks
    /// them itself, as a closure does that reads them into a type.
    fn schema(&self) -> Option<&ArgumentSchema> {
        None
    }

    /// Starts one attempt of a call. Runs in the call's own task, so it must not block. A panic is the call's failure.
    fn start(&self, invocation: Invocation) -> Work;
}

/// What carries out one attempt of a call.
#[non_exhaustive]
pub enum Work {
    /// A future, awaited in the call's task. A call that is stopped drops it at its next `await`.
    Async(Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send>>),
    /// A function that blocks, run by [`spawn_blocking`](tokio::task::spawn_blocking). It cannot be interrupted: of a call
    /// that is stopped it ends on its own, and its result is dropped; if it still waits for a thread, it does not begin.
    Blocking(Box<dyn FnOnce() -> Result<ToolOutput, ToolError> + Send>),
}

impl fmt::Debug for Work {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Async(_) => "Async(..)",
            Self::Blocking(_) => "Blocking(..)",
        })
    }
}

/// How the calls of one tool are carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolOptions {
    /// How long one attempt may take, instead of the batch's own limit. Waiting for a free slot does not count.
    pub timeout: Option<Duration>,
    /// Whether its calls run together with others.
    pub order: Order,
    /// What a call does outside, which decides whether it may begin early and be tried again.
    pub effect: Effect,
}

/// Whether a call runs together with others of its batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// It may.
    #[default]
    Parallel,
    /// It is a barrier: the calls before it end first, it runs alone, then the calls after it start.
    Sequential,
}

/// What a call does outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// Something that a second attempt would do again. So it is not tried again.
    #[default]
    Once,
    /// Something that a second attempt does not do again: a call that failed or ran out of time is tried again.
    Idempotent {
        /// How many times it is tried again.
        retries: u32,
    },
    /// Nothing: it may also begin before its batch is complete, and be dropped.
    ReadOnly {
        /// How many times it is tried again.
        retries: u32,
    },
}

impl ToolOptions {
    /// How many times a call that failed or ran out of time is tried again.
    #[must_use]
    pub fn retries(&self) -> u32 {
        match self.effect {
            Effect::Once => 0,
            Effect::Idempotent { retries } | Effect::ReadOnly { retries } => retries,
        }
    }

    /// Whether a call may begin before its batch is complete: it has no effect, and no order to keep.
    #[must_use]
    pub fn may_begin_early(&self) -> bool {
        matches!(self.effect, Effect::ReadOnly { .. }) && self.order == Order::Parallel
    }
}

/// One attempt of a call, as its tool gets it.
#[derive(Clone, Debug)]
pub struct Invocation {
    pub(super) call: Arc<Call>,
    pub(super) place: usize,
    pub(super) attempt: NonZeroU32,
}

impl Invocation {
    /// The call.
    #[must_use]
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// The call's place among those that its batch began with or was given, in call order.
    #[must_use]
    pub fn place(&self) -> usize {
        self.place
    }

    /// Which attempt this is; the first is 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt.get()
    }

    /// The arguments as a value of a type.
    ///
    /// # Errors
    /// They do not fit the type; the model reads why.
    ///
    /// # Complexity
    /// O(arguments)
    pub fn arguments<A: DeserializeOwned>(&self) -> Result<A, ToolError> {
        serde_json::from_str(self.call.arguments())
            .map_err(|error| ToolError::invalid_arguments(error.to_string()))
    }
}

/// A tool made of a closure.
#[derive(Clone)]
pub struct FunctionTool {
    name: String,
    options: ToolOptions,
    schema: Option<Arc<ArgumentSchema>>,
    start: Arc<dyn Fn(Invocation) -> Work + Send + Sync>,
}

impl fmt::Debug for FunctionTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, options, schema: _, start: _ } = self;
        formatter
            .debug_struct("FunctionTool")
            .field("name", name)
            .field("options", options)
            .finish_non_exhaustive()
    }
}

/// Makes a tool of an async closure, from its arguments to a value that is written as JSON.
///
/// ```
/// use cogency_agent::execution::{ToolError, tool};
///
/// #[derive(serde::Deserialize)]
/// struct Sum { a: i64, b: i64 }
///
/// let add = tool("add", |Sum { a, b }| async move {
///     a.checked_add(b).ok_or_else(|| ToolError::new("the sum is too large"))
/// });
/// ```
pub fn tool<A, R, F, Fut>(name: impl Into<String>, function: F) -> FunctionTool
where
    A: DeserializeOwned,
    R: Serialize,
    F: Fn(A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
{
    FunctionTool::new(name, move |invocation| match invocation.arguments() {
        Ok(arguments) => {
            let returned = function(arguments);
            Work::Async(Box::pin(async move { ToolOutput::of(&returned.await?) }))
        }
        Err(error) => Work::Async(Box::pin(std::future::ready(Err(error)))),
    })
}

/// Makes a tool of a closure that blocks; it runs on its own thread. See [`Work::Blocking`].
///
/// ```
/// use cogency_agent::execution::blocking_tool;
///
/// #[derive(serde::Deserialize)]
/// struct Read { path: String }
///
/// let read = blocking_tool("read", |Read { path }| Ok(std::fs::read_to_string(path)?));
/// ```
pub fn blocking_tool<A, R, F>(name: impl Into<String>, function: F) -> FunctionTool
where
    A: DeserializeOwned,
    R: Serialize,
    F: Fn(A) -> Result<R, ToolError> + Send + Sync + 'static,
{
    let function = Arc::new(function);
    FunctionTool::new(name, move |invocation| {
        let function = Arc::clone(&function);
        Work::Blocking(Box::new(move || ToolOutput::of(&function(invocation.arguments()?)?)))
    })
}

impl FunctionTool {
    /// A tool of a function that starts its calls; see [`Tool::start`].
    pub fn new(
        name: impl Into<String>,
        start: impl Fn(Invocation) -> Work + Send + Sync + 'static,
    ) -> Self {
        let (options, schema) = (ToolOptions::default(), None);
        Self { name: name.into(), options, schema, start: Arc::new(start) }
    }

    /// The same tool, whose arguments must fit this schema. The model reads what is wrong with them in plain words.
    #[must_use]
    pub fn with_schema(mut self, schema: ArgumentSchema) -> Self {
        self.schema = Some(Arc::new(schema));
        self
    }

    /// The same tool, one attempt of which may take this long.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// The same tool, whose calls have this effect.
    #[must_use]
    pub fn with_effect(mut self, effect: Effect) -> Self {
        self.options.effect = effect;
        self
    }

    /// The same tool, whose calls run in this order.
    #[must_use]
    pub fn with_order(mut self, order: Order) -> Self {
        self.options.order = order;
        self
    }
}

impl Tool for FunctionTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn options(&self) -> ToolOptions {
        self.options
    }

    fn schema(&self) -> Option<&ArgumentSchema> {
        self.schema.as_deref()
    }

    fn start(&self, invocation: Invocation) -> Work {
        (self.start)(invocation)
    }
}
