//! What a turn asks its caller to do.

use crate::protocol::{Call, Event, Text};

/// One thing to do. Steps are carried out in their order.
///
/// It has no further kinds within a major version: a program must carry out each.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Save these rows; they belong together.
    Save(Vec<Row>),
    /// Hand this to the consumer, with this time in seconds since the epoch.
    Emit(Emission, f64),
    /// Start the call at this place in the batch early: it is complete, and the batch is not. Its result counts only if a
    /// later [`Run`](Self::Run) has the call.
    Begin(usize, Call),
    /// Stop the calls from this place on that were started early, and drop what they returned.
    Withdraw(usize),
    /// Run these calls and hand their outcomes to [`Turn::results`](super::Turn::results).
    Run(Vec<Call>),
}

impl Step {
    /// Hands on what the model wrote.
    pub(super) fn event(event: impl Into<Event>, now: f64) -> Self {
        Self::Emit(Emission::Event(event.into()), now)
    }
}

/// A row of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its `type`.
    pub kind: RowKind,
    /// Its `content`.
    pub content: Text,
    /// Seconds since the epoch.
    pub timestamp: f64,
}

/// The `type` of a row that a turn saves. The log has no others, so these are all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// Reasoning.
    Think,
    /// Text for the user.
    Respond,
    /// One tool call.
    Call,
    /// The results of a batch.
    Result,
    /// Output that could not be read.
    Error,
}

impl RowKind {
    /// The name in the log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Think => "think",
            Self::Respond => "respond",
            Self::Call => "call",
            Self::Result => "result",
            Self::Error => "error",
        }
    }
}

/// What the consumer is handed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Emission {
    /// What the model wrote: text, a call or a piece of one, or output that could not be read; or that the batch runs now, or
    /// the turn is over.
    Event(Event),
    /// The results of the batch, as JSON.
    Results(Text, Tally),
    /// Too many failures in a row.
    BreakerOpened,
}

/// How a batch went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls that returned.
    pub succeeded: usize,
    /// Calls that did not.
    pub failed: usize,
}
