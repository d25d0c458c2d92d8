//! A whole turn of an agent: a model's text is read, its calls run on Tokio, a log keeps all of it, and the log becomes the
//! messages that the model is sent next.
//!
//! The crate `cogency-rs` has the parts, and this one puts them together for Rust programs: [`take_turn`] is one function over
//! a stream of text and a [`Log`], and [`execution`] runs a batch of calls. The Python package does the same in its own
//! shells, on asyncio.
//!
//! | feature | what it adds |
//! | --- | --- |
//! | `net` | `ask`, which gets such a stream from a service over HTTP |
//! | `sqlite` | `SqliteLog`, the log in a SQLite file |
//! | `python` | `python`: tools that are Python callables |
//!
//! ```
//! use std::sync::Arc;
//!
//! use cogency_agent::{Log, LogRow, MemoryLog, TurnSetup, chunks, take_turn};
//! use cogency_agent::execution::{Toolbox, tool};
//! use cogency_rs::protocol::{Event, Grammar};
//! use cogency_rs::turn::{Breaker, Emission, TurnOutcome};
//!
//! #[derive(serde::Deserialize)]
//! struct Sum {
//!     a: i64,
//!     b: i64,
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let tools = Toolbox::of([tool("add", |Sum { a, b }| async move { Ok(a + b) })])?;
//! let setup = TurnSetup::new(Grammar::preset("hermes").expect("a row of the table"), tools);
//! let log = MemoryLog::new();
//! log.append("c1", vec![LogRow::user("What is 2 + 3?", 1.0)]).await?;
//!
//! // However the model's text is cut, the turn is the same.
//! let text = chunks([
//!     "One sum.<tool",
//!     "_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 3}}\n</tool_call>",
//! ]);
//! let mut shown = Vec::new();
//! let emit = |emission: Emission| shown.push(emission);
//! let report = take_turn(text, &setup, &log, "c1", &mut Breaker::new(3.0), emit).await?;
//!
//! assert_eq!(report.outcome, TurnOutcome::Acted); // so the model is asked again
//! assert_eq!(shown[0], Emission::Event(Event::Respond("One sum.".into())));
//! let said: Vec<_> = report.messages.iter().map(|message| message.content.to_str()).collect();
//! assert_eq!(said[0], Some("What is 2 + 3?"));
//! assert_eq!(said[2], Some("<tool_response>\n5\n</tool_response>"));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

#![forbid(unsafe_code)]

#[cfg(feature = "net")]
mod answer;
pub mod execution;
mod fold;
mod log;
mod output;
mod outside;
#[cfg(feature = "python")]
pub mod python;
#[cfg(feature = "sqlite")]
mod sqlite;
mod turn;

#[cfg(feature = "net")]
pub use answer::{Answer, AnswerError, ask};
pub use fold::fold;
pub use log::{Log, LogRow, LogRowKind, MemoryLog};
pub use output::{Chunks, ModelOutput, chunks};
pub use outside::Outside;
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteError, SqliteLog, Synchronous};
pub use turn::{TurnReport, TurnSetup, take_turn};
