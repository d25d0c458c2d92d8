//! Tools that are Python callables, for Rust programs (feature `python`): batches on Tokio await them on asyncio.
//!
//! An [`EventLoop`] makes a [`FunctionTool`](crate::execution::FunctionTool) of a callable. What
//! [`execution`](crate::execution) says of tools holds for it too: limits, retries, order and schemas are the same.
//!
//! ```no_run
//! use cogency_agent::execution::{BatchOptions, Effect, Toolbox, execute};
//! use cogency_rs::protocol::Call;
//! use cogency_agent::python::LoopThread;
//! use pyo3::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let asyncio = Python::attach(LoopThread::start)?;
//! let weather = Python::attach(|py| {
//!     let function = py.import("my_tools")?.getattr("weather")?; // async def weather(city): ...
//!     asyncio.event_loop().tool(&function)
//! })?;
//! let tools = Toolbox::of([weather.with_effect(Effect::ReadOnly { retries: 1 })])?;
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! let calls = [Call::of_json("\"weather\"", r#"{"city": "Oslo"}"#)];
//! for execution in execute(calls, &tools, &BatchOptions::new()).await {
//!     println!("{:?}", execution.outcome);
//! }
//! # });
//! # asyncio.close();
//! # Ok(())
//! # }
//! ```
//!
//! # What a callable may do
//!
//! | the callable | the call |
//! | --- | --- |
//! | returns a value that JSON can hold, or an object with `outcome`, `content` and `error` | ends with it, as in the Python package |
//! | raises, also `SystemExit` or `KeyboardInterrupt` | fails, with the exception and its traceback as the [cause](crate::execution::ToolExecution::cause); the loop goes on |
//! | is an `async def`, and its call is stopped | is over at once; its coroutine gets a `CancelledError`, and may clean up meanwhile |
//! | is cancelled in Python | fails, and says so |
//! | is not an `async def` | runs on a thread of Tokio's for blocking work; of a call that is stopped it ends on its own |
//! | is an `async def` that blocks its thread | holds up the other coroutines of its loop, and nothing else; a call whose time is up is over all the same |
//!
//! A call whose loop is closed, whose interpreter ends, or whose process is a fork of the loop's fails, and says so.
//!
//! # Who holds the interpreter
//!
//! A thread of Tokio is attached to the interpreter while it wakes the loop, and no longer; a thread for blocking work, while
//! the callable runs. So a program must not wait for a batch while it is attached: in a function that Python calls, it waits in
//! [`Python::detach`](pyo3::Python::detach).

#![allow(clippy::needless_pass_by_value, reason = "arguments of Python functions arrive by value")]

mod awaitable;
mod coroutine;
mod event_loop;
mod exit;
mod function;
mod json;
mod outcome;
mod queue;
mod thread;

pub use event_loop::EventLoop;
pub use thread::LoopThread;
