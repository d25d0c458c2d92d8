//! What the parser hands out.

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
    /// A call that is complete in a block that is not, for those who asked for it. It counts when it comes again as a
    /// [`Call`](Self::Call), in the same order.
    Ready(Call),
    /// The calls that were ready and have not come again do not count: their block is not valid.
    Withdrawn,
    /// One tool call of a block that is valid as a whole.
    Call(Call),
    /// The block is complete: its calls are to be run now.
    Execute,
    /// What the model wrote between `<results>` tags. Not the system's word.
    Result(Text),
    /// Output that cannot be read: a block that is not one of calls, or an answer that was cut.
    Error(Box<Report>),
    /// `<end>`: the model is done.
    End,
}

/// What is known of a call before it is complete. None of it counts until the call itself is handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A call begins.
    Start,
    /// Its name, a JSON string.
    Name(String),
    /// The next piece of its arguments, as the model writes them.
    Args(Text),
}

impl Event {
    /// The call that it is.
    #[must_use]
    pub fn into_call(self) -> Option<Call> {
        match self {
            Self::Call(call) => Some(call),
            _ => None,
        }
    }
}

impl From<Report> for Event {
    fn from(report: Report) -> Self {
        Self::Error(Box::new(report))
    }
}
