//! Calls to outcomes: checks a call's arguments, and runs a batch in parallel, with results in call order.
//!
//! Generic over how one call is run ([`Runner`]), so that order, limits, timeouts and cancellation are built and
//! tested once, without Python.

pub mod arguments;
mod batch;

pub use batch::{Outcome, Policy, Runner, run};
