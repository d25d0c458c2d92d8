//! The core's behaviour once more, slowly and obviously, and inputs to hold the real one to it.
//!
//! | module | what it says |
//! | --- | --- |
//! | [`json`] | what Python's `json` reads and writes |
//! | [`parser`] | which part of a text becomes which event |
//! | [`dialects`] | which calls a block of any dialect says, and texts of what a dialect is made of |
//! | [`conversation`] | which rows of a log become which message |
//! | [`text`] | any bytes as text, cut into chunks |
//! | [`memory`] | how many bytes are allocated |
//!
//! Everything here looks at whole texts, as often as it likes; nothing knows of chunks. The targets in
//! `fuzz_targets/` compare. `make fuzz TIME=60` runs each of them for that many seconds.

pub mod conversation;
pub mod dialects;
pub mod json;
pub mod memory;
pub mod parser;
pub mod text;
