//! Text to events, and results to text.
//!
//! [`Parser`] finds the marks of a [`grammar`] ([`marks`]), reads each block of calls while it arrives ([`block`], with a
//! reader for each kind of [`body`]), and hands out [`Event`]s. A [`call`] is kept as [`canonical`] JSON.
//!
//! The way back: [`results`] are the outcomes of calls as the log holds them, and [`write`](mod@write) writes calls and
//! results as a dialect has them.

pub mod advice;
pub mod block;
pub mod body;
pub mod call;
pub mod canonical;
pub mod event;
pub mod grammar;
pub mod json;
pub mod limits;
pub mod marks;
pub mod parser;
pub mod problem;
pub mod report;
pub mod results;
pub mod run;
pub mod stored;
pub mod text;
pub mod tools;
pub mod verbatim;
pub mod write;

pub use call::Call;
pub use event::Event;
pub use grammar::Grammar;
pub use limits::{Limits, Strictness};
pub use parser::{CallStart, CallStream, Options, Parser, Stream};
pub use report::{Ending, Report, ReportKind};
pub use run::TextRun;
pub use text::Text;
pub use tools::Tools;
