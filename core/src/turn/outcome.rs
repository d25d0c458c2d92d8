//! How a turn came out.

use crate::protocol::ReportKind;

/// How a turn came out; it decides whether the model is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TurnOutcome {
    /// Calls ran, and the model has to be shown their results.
    Acted,
    /// The model answered, and called nothing.
    Answered,
    /// The model said that it is done.
    Ended,
    /// A block could not be read, and the model has to write it again.
    Malformed,
    /// The output was cut off.
    Truncated,
    /// The model refused to answer, or its provider withheld the answer.
    Refused,
    /// Calls wait for approval.
    Waiting,
    /// The turn was given up: too many batches in a row in which nothing succeeded.
    Failed,
}

impl TurnOutcome {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Acted,
        Self::Answered,
        Self::Ended,
        Self::Malformed,
        Self::Truncated,
        Self::Refused,
        Self::Waiting,
        Self::Failed,
    ];

    /// The outcome with this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Acted => "acted",
            Self::Answered => "answered",
            Self::Ended => "ended",
            Self::Malformed => "malformed",
            Self::Truncated => "truncated",
            Self::Refused => "refused",
            Self::Waiting => "waiting",
            Self::Failed => "failed",
        }
    }

    /// The outcome when the model goes on with an answer. Text after a block that could not be read is not one.
    pub(super) fn and_answer(self) -> Self {
        if self == Self::Acted { Self::Answered } else { self }
    }

    /// The outcome when a block cannot be read, or the answer was cut off or refused.
    pub(super) fn of_error(kind: ReportKind) -> Self {
        match kind {
            ReportKind::Malformed | ReportKind::Unfinished => Self::Malformed,
            ReportKind::Truncated => Self::Truncated,
            ReportKind::Refused => Self::Refused,
        }
    }

    /// The outcome when the model says that it is done. It is not, if a block could not be read.
    pub(super) fn and_end(self) -> Self {
        match self {
            Self::Malformed | Self::Truncated | Self::Refused => self,
            _ => Self::Ended,
        }
    }

    /// The outcome when the text was cut off.
    pub(super) fn and_cut(self) -> Self {
        match self {
            Self::Answered | Self::Malformed | Self::Truncated => Self::Truncated,
            _ => self,
        }
    }
}
