//! What the parser hands out.

use std::sync::Arc;

use super::{Call, Report, Text};

/// One event of a model's output.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Reasoning; never part of a response.
    Think(Text),
    /// Text for the user.
    Respond(Text),
    /// A piece of a call that is not complete, if [`CallStream`](super::CallStream) asks for pieces; and the number of the
    /// call, from 0 in the order of the calls.
    Piece(usize, Note),
    /// A complete call of a block that is not complete, with [`CallStart::Early`](super::CallStart::Early). It counts only if
    /// it comes again as a [`Call`](Self::Call), in the same order.
    Ready(Call),
    /// The ready calls that have not come again do not count, nor does a call of which only pieces came: their block is not
    /// valid.
    Withdrawn,
    /// One tool call of a block that is valid as a whole.
    Call(Call),
    /// The block is complete: its calls must be run now.
    Execute,
    /// What the model wrote as results. It is not what a tool returned.
    Result(Text),
    /// Output that cannot be read: a block that does not hold calls, or an answer that was cut off.
    Error(Box<Report>),
    /// `<end>`: the model is done.
    End,
}

/// A piece of a call that is not complete. It counts only if the call itself is handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// A call begins: its name is known, and its arguments have begun. Both are JSON strings.
    Start {
        /// Its name.
        name: String,
        /// Its id, if the model has written one before its arguments.
        id: Option<String>,
    },
    /// The next piece of its arguments as canonical JSON, with [`CallStream::Json`](super::CallStream::Json). The bracket that
    /// closes all arguments is not in any piece.
    Args(String),
    /// A value in its arguments, or the next piece of one that is a string, with
    /// [`CallStream::Values`](super::CallStream::Values).
    Value(ArgsPath, Text),
}

/// Where in the arguments of a call a value is: a key for each object around it, and an index for each array.
pub type ArgsPath = Arc<[ArgsStep]>;

/// A part of such a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgsStep {
    /// A key of an object.
    Key(Text),
    /// An index of an array, from 0.
    Index(usize),
}

impl Event {
    /// The call of a [`Call`](Self::Call).
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
