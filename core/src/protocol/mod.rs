//! Text to events, and results to text.
//!
//! [`Parser`] finds the marks of a [`grammar`] ([`marks`]), reads each block of calls while it arrives ([`block`], with a
//! reader for each kind of [`body`]), and hands out [`Event`]s. A [`call`] is kept as [`canonical`] JSON.
//!
//! The way back: [`results`] are the outcomes of calls as the log holds them, and [`write`](mod@write) writes calls and
//! results as a dialect has them.
//!
//! # Layers
//!
//! Each module builds only on those before it in this table, which a test asserts.
//!
//! | layer | modules |
//! | --- | --- |
//! | text and JSON | [`characters`], [`canonical`], [`verbatim`], [`marks`] |
//! | what is read | [`limits`], [`recovery`], [`tools`], [`call`], [`results`], [`problem`], [`ending`], [`report`], [`event`], [`run`], [`unread`] |
//! | a block of calls | [`body`], [`grammar`], [`block`], [`stored`] |
//! | how it is spelled | `notation`, [`advice`] |
//! | a whole text | `values`, [`parser`] |
//! | the way back | [`write`](mod@write) |
//!
//! The writer is above the parser because it asks the parser whether a call would read back as it is. The parser shows
//! the model an example of a call, so how calls are spelled (`notation`) is below both.

pub mod advice;
pub mod block;
pub mod body;
pub mod call;
pub mod canonical;
pub mod characters;
pub mod ending;
pub mod event;
pub mod grammar;
pub mod limits;
pub mod marks;
mod notation;
pub mod parser;
pub mod problem;
pub mod recovery;
pub mod report;
pub mod results;
pub mod run;
pub mod stored;
pub mod tools;
pub mod unread;
mod values;
pub mod verbatim;
pub mod write;

pub use crate::text::Text;
pub use call::Call;
pub use ending::{Ending, FinishKind};
pub use event::Event;
pub use grammar::Grammar;
pub use limits::{Limits, Strictness};
pub use parser::{CallStart, CallStream, Options, Parser, Stream};
pub use report::{Finding, Report, ReportKind};
pub use run::TextRun;
pub use tools::Tools;
pub use unread::{Callable, Unread};
pub use values::JsonValues;
