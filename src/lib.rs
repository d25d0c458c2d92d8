//! The core of a text-protocol LLM agent.
//!
//! A model streams text. This crate turns the text into typed events, decides what to show, save and run, says which
//! calls of a batch may run now and for how long, and folds the stored log into the next prompt.
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
//! | [`execution`] | calls → outcomes | which calls may run, in which order, for how long; what arguments must be |
//! | [`context`] | log → messages | folding of conversations, the system prompt |
//! | `agent` | text → messages | a whole turn, on Tokio, with a log (feature `tokio`) |
//! | [`wire`] | bytes → deltas | what a provider streams: server-sent events, and the APIs of models on them |
//! | `net` | | requests to providers, on Tokio (feature `net`) |
//! | [`json`] | | JSON, in text that still grows and in whole texts |
//! | [`difference`] | texts → difference | the lines in which two texts differ, as git shows them |
//! | [`text`] | | text as Python holds it, which may have lone surrogates |
//! | [`ids`] | | ids of rows, in the order in which they are made |
//! | `python` | | the only room that knows Python (feature `python`) |
//! | `python_tools` | | tools that are Python callables, in `python` (feature `python-tools`) |
//!
//! Only `agent`, `execution::tokio`, `net` and `python` wait. All else is plain values and state machines: input goes
//! in, output comes out. Nothing there waits, reads a clock, starts a thread or knows where a log is: the caller does that.
//!
//! # In a Rust program
//!
//! The feature `python`, which is on by default, makes this crate an extension module of Python. A Rust program leaves it
//! out:
//!
//! ```toml
//! [dependencies]
//! cogency-rs = { version = "0.2", default-features = false, features = ["tokio"] }
//! ```
//!
//! With the feature `tokio`, `agent::take_turn` is a whole turn in one function, and `execution::tokio` runs a batch of
//! calls. Without it the parts are driven by the program itself, on whatever runs its tools.
//!
//! This is a whole turn of an agent: a text in the dialect `hermes` arrives in pieces, its two calls run one at a time,
//! and the log becomes the messages that the model is sent next.
//!
//! ```
//! use std::num::NonZeroUsize;
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use cogency_rs::context::{Conversation, FoldOptions, Message, Role, Rules};
//! use cogency_rs::dialect::presets;
//! use cogency_rs::execution::{Admission, Due, Schedule};
//! use cogency_rs::protocol::results::CallOutcome;
//! use cogency_rs::protocol::stored::shown_call;
//! use cogency_rs::protocol::{Ending, Event, Grammar, Options, Parser, Stream};
//! use cogency_rs::turn::{Breaker, Emission, Errors, Row, RowKind, Step, Turn, TurnOutcome};
//!
//! let dialect = presets::preset("hermes").expect("a row of the table");
//! let grammar = Grammar::preset("hermes").expect("a row of the table");
//!
//! // Text to events. However the text is cut, the events are the same.
//! let mut parser = Parser::new(grammar, Options::default());
//! let mut events = Vec::new();
//! for chunk in [
//!     "Both sums.<tool",
//!     "_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 3}}\n</tool_call>\n<tool_call>\n",
//!     "{\"name\": \"add\", \"arguments\": {\"a\": \"x\"}}\n</tool_call>",
//! ] {
//!     parser.feed(chunk.as_bytes(), &mut events);
//! }
//! parser.finish(&Ending::Stopped, &mut events);
//!
//! // Events to steps, which are carried out in their order.
//! let (mut log, mut shown, mut batch) = (Vec::<Row>::new(), Vec::new(), Vec::new());
//! let mut turn = Turn::new(Stream::Event, Errors::Event, Arc::clone(&dialect));
//! let mut steps = Vec::new();
//! for event in events {
//!     turn.event(event, 1.0, &mut steps); // the time is the caller's: seconds since the epoch
//! }
//! for step in steps.drain(..) {
//!     match step {
//!         Step::Save(rows) => log.extend(rows),
//!         Step::Emit(emission, _) => shown.push(emission),
//!         Step::Run(calls) => batch = calls,
//!         Step::Begin(..) | Step::Withdraw(_) => {} // with `CallStart::Early` only
//!     }
//! }
//! assert_eq!(shown[0], Emission::Event(Event::Respond("Both sums.".into())));
//! assert_eq!(batch[0].json(), r#"{"name": "add", "args": {"a": 2, "b": 3}}"#);
//!
//! // Calls to outcomes: one at a time, each for two seconds. The schedule says what may begin and whose time is up.
//! let mut schedule = Schedule::new(batch.len(), NonZeroUsize::new(1), None);
//! assert_eq!(schedule.ask(0), Admission::Now);
//! assert!(matches!(schedule.ask(1), Admission::Later(_)));
//! schedule.start_clock(0, Duration::ZERO, Duration::from_secs(2));
//! assert_eq!(schedule.next_deadline(), Some(Duration::from_secs(2)));
//! let sum = CallOutcome::success("\"Success\"".into(), Some("5".into())); // JSON, as the log holds it
//! assert_eq!(schedule.leave(0), [(1, 0)], "the second call begins");
//! schedule.over(0);
//! schedule.start_clock(1, Duration::from_secs(1), Duration::from_secs(2));
//! assert_eq!(schedule.due(Duration::from_secs(3)), Due::Calls(vec![1]), "and runs out of time");
//! let late = CallOutcome::Failure { message: "\"no answer within 2 s\"".into() };
//!
//! turn.results(vec![sum, late], &mut Breaker::new(3.0), &mut steps);
//! turn.finish(&Ending::Stopped, 4.0, &mut steps);
//! for step in steps {
//!     if let Step::Save(rows) = step {
//!         log.extend(rows);
//!     }
//! }
//! assert_eq!(turn.outcome(), TurnOutcome::Acted);
//!
//! // Log to messages, in the model's own dialect.
//! let mut conversation =
//!     Conversation::new(FoldOptions { dialect, rules: Rules::Own, ..FoldOptions::default() });
//! let mut messages: Vec<Message> = Vec::new();
//! for row in log {
//!     let content = row.content.as_bytes();
//!     match row.kind {
//!         RowKind::Think => conversation.think(content),
//!         RowKind::Respond => conversation.respond(content),
//!         RowKind::Call => conversation.call(shown_call(content).unwrap().expect("a call")),
//!         RowKind::Result => messages.extend(conversation.result(content)),
//!         RowKind::Error => unreachable!("all of it could be read"),
//!     }
//! }
//! messages.extend(conversation.open());
//! assert_eq!((messages[0].role, messages[1].role), (Role::Assistant, Role::User));
//! assert_eq!(
//!     messages[1].content.to_str(),
//!     Some(
//!         "<tool_response>\n5\n</tool_response>\n\
//!          <tool_response>\nError: no answer within 2 s\n</tool_response>"
//!     )
//! );
//! ```

// All unsafe code is that of the module that Python loads.
#![cfg_attr(not(feature = "python"), forbid(unsafe_code))]

#[cfg(feature = "tokio")]
pub mod agent;
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
#[cfg(feature = "net")]
pub mod net;
pub mod protocol;
pub mod text;
pub mod turn;
pub mod wire;

#[cfg(feature = "python")]
mod python;
#[cfg(feature = "python-tools")]
pub use python::tools as python_tools;
