//! The core of a text-protocol LLM agent.
//!
//! A model streams text; this crate turns it into typed events, decides what to show, save and run, runs the
//! tool calls in parallel, and folds the stored log into the next prompt.
//!
//! # Map
//!
//! | room | from → to | |
//! | --- | --- | --- |
//! | [`dialect`] | | how a model writes its calls, as a value; the table of presets |
//! | [`protocol`] | text → events | tags, JSON, calls, results; no I/O, no clock |
//! | [`turn`] | events → steps | what to emit, save and run; the circuit breaker |
//! | [`execution`] | calls → outcomes | which calls of a batch may run, in which order and for how long |
//! | [`context`] | log → messages | conversation folding, the system prompt |
//! | `python` | | the only room that knows Python (feature `python`) |
//!
//! All four are plain state machines: input goes in, output comes out, and the caller
//! does the waiting.

pub mod context;
pub mod dialect;
pub mod execution;
pub mod protocol;
pub mod turn;

#[cfg(feature = "python")]
mod python;
