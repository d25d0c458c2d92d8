//! Text to events, and results to text.
//!
//! [`Parser`] finds the marks ([`marks`]), reads the body of an execute block as JSON while it arrives ([`json`],
//! [`call`]), writes what it read the one canonical way ([`canonical`]), and hands out [`Event`]s.
//! [`results`] is the way back: outcomes to the array the model reads.

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
pub use limits::{Limits, Reading};
pub use parser::{CallStart, CallStream, Options, Parser, Stream};
pub use report::{Ending, Report, ReportKind};
pub use run::TextRun;
pub use text::Text;
pub use tools::Tools;
