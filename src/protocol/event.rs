//! What the parser hands out.

use super::body::Note;
use super::{Call, Report, Text};

/// One event of a model's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Reasoning; never part of a response.
    Think(Text),
    /// Text for the user.
    Respond(Text),
    /// What is known of a call that is not complete, for those who asked for it; calls that begin are numbered from 0.
    Piece(usize, Note),
    /// One tool call of a block that is valid as a whole.
    Call(Call),
    /// The block is complete: its calls are to be run now.
    Execute,
    /// What the model wrote between `<results>` tags. Not the system's word.
    Result(Text),
    /// Output that cannot be read: a block that is none, or an answer that was cut.
    Error(Box<Report>),
    /// `<end>`: the model is done.
    End,
}

impl From<Report> for Event {
    fn from(report: Report) -> Self {
        Self::Error(Box::new(report))
    }
}
