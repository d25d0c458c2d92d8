//! Text to events, and results to text.
//!
//! [`Parser`] finds the marks of a [`Grammar`], reads each block of calls while it arrives, and hands out [`Event`]s, each [`Call`] in a
//! block that is valid as a whole. The way back: a [`Renderer`] writes calls, turns and results as a dialect has them.
//!
//! # Layers
//!
//! For who changes it: each module builds only on those before it in this table, which a test asserts. They are open to the other crates of
//! the workspace and to the tests, and hidden here: they promise nothing. `body` has a reader for each kind of block, a call is kept as
//! `canonical` JSON, and `results` and `stored` calls are as the log holds them.
//!
//! | layer | modules |
//! | --- | --- |
//! | text and JSON | `characters`, `canonical`, `verbatim`, `marks` |
//! | what is read | `limits`, `recovery`, `tools`, `call`, `results`, `problem`, `ending`, `report`, `event`, `run`, `unread` |
//! | a block of calls | `body`, `grammar`, `block`, `stored` |
//! | how it is spelled | `notation`, `advice` |
//! | a whole text | `values`, `parser` |
//! | the way back | `write` |
//!
//! The writer is above the parser because it asks the parser whether a call would read back as it is. The parser shows
//! the model an example of a call, so how calls are spelled (`notation`) is below both.

#[doc(hidden)]
pub mod advice;
#[doc(hidden)]
pub mod block;
#[doc(hidden)]
pub mod body;
#[doc(hidden)]
pub mod call;
#[doc(hidden)]
pub mod canonical;
#[doc(hidden)]
pub mod characters;
#[doc(hidden)]
pub mod ending;
#[doc(hidden)]
pub mod event;
#[doc(hidden)]
pub mod grammar;
#[doc(hidden)]
pub mod limits;
#[doc(hidden)]
pub mod marks;
mod notation;
#[doc(hidden)]
pub mod parser;
#[doc(hidden)]
pub mod problem;
#[doc(hidden)]
pub mod recovery;
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod results;
#[doc(hidden)]
pub mod run;
#[doc(hidden)]
pub mod stored;
#[doc(hidden)]
pub mod tools;
#[doc(hidden)]
pub mod unread;
mod values;
#[doc(hidden)]
pub mod verbatim;
#[doc(hidden)]
pub mod write;

pub use crate::text::Text;
pub use call::Call;
pub use ending::Ending;
pub use event::{ArgsPath, ArgsStep, Event, Note};
pub use grammar::Grammar;
pub use limits::{Limits, Strictness};
pub use parser::{CallStart, CallStream, Options, Parser, Stream};
pub use report::{Advice, BlockEnd, BlockFault, Finding, Report, ReportKind};
pub use results::CallOutcome;
pub use stored::{ShownCall, shown_call};
pub use tools::Tools;
pub use unread::{Callable, Unread};
pub use write::{Renderer, Returned, TurnPart, Unwritable};

#[doc(hidden)]
pub use ending::FinishKind;
#[doc(hidden)]
pub use run::TextRun;
#[doc(hidden)]
pub use values::JsonValues;
