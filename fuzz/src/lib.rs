//! The core's behaviour written a second time, slowly and obviously, and inputs to compare the core with it.
//!
//! | module | what it says |
//! | --- | --- |
//! | [`json`] | what Python's `json` reads and writes |
//! | [`parser`] | which part of a text becomes which event |
//! | [`dialects`] | which calls a block of any dialect holds, and texts made of a dialect's parts |
//! | [`quotes`] | which tags of a text are quoted |
//! | [`conversation`] | which rows of a log become which message |
//! | [`reading`] | what a parser reads of a text in pieces |
//! | [`described`] | arguments of a call, and a schema that allows them |
//! | [`changed`] | dialects with fields that nobody would give them |
//! | [`text`] | any bytes as text, cut into chunks |
//! | [`wire`] | what a provider's stream says |
//! | [`memory`] | how many bytes are allocated |
//!
//! Everything here looks at whole texts, as often as it likes, and knows nothing of chunks. The targets in
//! `fuzz_targets/` compare. `make fuzz TIME=60` runs each of them for that many seconds.

pub mod changed;
pub mod conversation;
pub mod described;
pub mod dialects;
pub mod json;
pub mod memory;
pub mod parser;
pub mod quotes;
pub mod reading;
pub mod text;
pub mod wire;
