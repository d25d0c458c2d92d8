//! The module that Python loads, `cogency_rs._core`: `python`, over the crates `cogency-rs` and `cogency-net`.
//!
//! It does not use the crate `cogency-agent`: Python has an event loop and a `SQLite` of its own.

mod python;

// The rooms of the core, by the paths that the files of `python` have for them.
use cogency_net as net;
use cogency_rs::{
    chat, constrain, context, detect, dialect, difference, execution, ids, json, protocol, turn,
    wire,
};
