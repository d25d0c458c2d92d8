//! A batch of calls on Tokio, for Rust programs.
//!
//! [`Batch`] drives the [`Schedule`](cogency_rs::execution::Schedule) that the Python package drives on asyncio: order, limits, barriers
//! and time are the same, and so are the words that a model reads. Each attempt of a call is a separate Tokio task, so
//! calls run in parallel; all that is known of the batch belongs to the [`Batch`], so nothing is locked.
//!
//! ```
//! use std::time::Duration;
//!
//! use cogency_agent::execution::{BatchOptions, Effect, ToolError, Toolbox, execute, tool};
//! use cogency_rs::protocol::Call;
//! use cogency_rs::protocol::results::CallOutcome;
//!
//! #[derive(serde::Deserialize)]
//! struct Sum {
//!     a: i64,
//!     b: i64,
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let add = tool("add", |Sum { a, b }| async move {
//!     a.checked_add(b).ok_or_else(|| ToolError::new("the sum is too large"))
//! });
//! let tools = Toolbox::of([add.with_effect(Effect::ReadOnly { retries: 2 })])?;
//! let options = BatchOptions::new().with_call_timeout(Duration::from_secs(30));
//!
//! let calls = [r#"{"a": 2, "b": 3}"#, r#"{"a": "x"}"#].map(|args| Call::of_json("\"add\"", args));
//! let executions = execute(calls, &tools, &options).await;
//!
//! assert_eq!(executions[0].outcome, CallOutcome::success("\"Success\"".into(), Some("5".into())));
//! let CallOutcome::Failure { message } = &executions[1].outcome else { panic!("it failed") };
//! assert!(message.starts_with("\"Invalid arguments for tool 'add': "));
//! # Ok::<_, cogency_agent::execution::AmbiguousName>(())
//! # }).unwrap();
//! ```
//!
//! # What a call may do
//!
//! | the tool | the call |
//! | --- | --- |
//! | returns a value | succeeds |
//! | returns an error, or panics | fails, and is tried again if its [`Effect`] allows it; other calls go on |
//! | takes longer than it may | is stopped, and waited for until it has stopped; it fails, whatever it returns after that |
//! | never awaits and never returns | cannot be stopped: the batch waits for it. What blocks belongs in [`blocking_tool`] |
//! | blocks a thread, and its time is up | fails at once; its thread ends on its own |
//!
//! A program whose tools are written in another language implements [`Tool`]: its [`Work`] is a future or a function.

mod attempt;
mod batch;
mod call;
mod options;
mod output;
mod record;
mod tool;
mod toolbox;

pub use batch::{Batch, execute};
pub use options::{BatchOptions, OnAbandoned, Pause, pause};
pub use output::{Cause, ToolError, ToolOutput};
pub use record::{AbandonedCall, CallStatus, Progress, ToolExecution};
pub use tool::{
    Effect, FunctionTool, Invocation, Order, Tool, ToolOptions, Work, blocking_tool, tool,
};
pub use toolbox::{AmbiguousName, Toolbox};
