//! The core of a text-protocol LLM agent.
//!
//! A model streams text. This crate turns the text into typed events, decides what to show, save and run, says which
//! calls of a batch may run now and for how long, and folds the stored log into the next prompt.
//!
//! ```
//! use cogency_rs::protocol::{Ending, Event, Grammar, Options, Parser};
//!
//! let grammar = Grammar::preset("hermes").expect("a dialect of the table");
//! let (mut parser, mut events) = (Parser::new(grammar, Options::default()), Vec::new());
//! for chunk in ["<tool", "_call>{\"name\": \"add\", \"arguments\": {\"a\": 2}}</tool_call>"] {
//!     parser.feed(chunk, &mut events); // however the text is cut, the events are the same
//! }
//! parser.finish(&Ending::Stopped, &mut events);
//! let Event::Call(call) = &events[0] else { panic!("the text is a call") };
//! assert_eq!((&*call.name(), call.arguments()), ("add", r#"{"a": 2}"#));
//! ```
//!
//! [`turn`] has an example of a whole turn.
//!
//! # Map
//!
//! | room | from → to | |
//! | --- | --- | --- |
//! | [`dialect`] | | how a model writes its calls, as a value; the table of presets |
//! | [`protocol`] | text → events | marks, calls, results, and how each is written |
//! | [`chat`] | text → deltas | what a server with `OpenAI`'s chat API sends of a model's text |
//! | [`constrain`] | tools → grammar | the texts that a model may write, for servers that hold it to a grammar |
//! | [`turn`] | events → steps | what to show, save and run; the circuit breaker; what follows a step |
//! | [`execution`] | calls → outcomes | which calls may run, in which order, for how long; what arguments must be (feature `arguments`) |
//! | [`context`] | log → messages | folding of conversations, the system prompt |
//! | `detect` | template → dialect | the dialect that a model was trained on (feature `detect`) |
//! | [`wire`] | bytes → deltas | what a provider streams: server-sent events, and the APIs of models on them |
//! | [`json`] | | JSON, in text that still grows and in whole texts |
//! | [`difference`] | texts → difference | the lines in which two texts differ, as git shows them |
//! | [`text`] | | text as Python holds it, which may have lone surrogates |
//! | [`ids`] | | ids of rows, in the order in which they are made |
//!
//! All of it is plain values and state machines: input goes in, output comes out. Nothing here waits, reads a clock,
//! starts a thread, opens a connection or knows where a log is: the caller does that.
//!
//! # In a Rust program
//!
//! No feature is on by default. The crate `cogency-agent` runs all of it on Tokio: `take_turn` is a whole turn in one
//! function, and its `execution` runs a batch of calls. The crate `cogency-net` sends requests to models.

#![forbid(unsafe_code)]

pub mod chat;
pub mod constrain;
pub mod context;
#[cfg(feature = "detect")]
pub mod detect;
pub mod dialect;
pub mod difference;
pub mod execution;
pub mod ids;
pub mod json;
pub mod protocol;
pub mod text;
pub mod turn;
pub mod wire;
