//! The module that Python loads, `cogency_rs._core`: `python`, over the crates `cogency-rs` and `cogency-net`.
//!
//! It does not use the crate `cogency-agent`: Python has an event loop and a `SQLite` of its own.

#![deny(unsafe_code)]

mod python;
