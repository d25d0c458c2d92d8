//! Text of one kind, until it is saved.

use super::step::{Emission, RowKind};
use crate::protocol::Text;

/// Text of one kind that is one row of the log once it is complete.
#[derive(Clone, Debug)]
pub struct UnsavedRun {
    pub kind: RunKind,
    pub content: Text,
    /// When its first piece came, in seconds since the epoch.
    pub started: f64,
}

/// Which kind of text a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    Think,
    Respond,
}

impl RunKind {
    /// What it is in the log.
    pub fn row(self) -> RowKind {
        match self {
            Self::Think => RowKind::Think,
            Self::Respond => RowKind::Respond,
        }
    }

    /// This text, as the consumer sees it.
    pub fn emission(self, content: Text) -> Emission {
        match self {
            Self::Think => Emission::Think(content),
            Self::Respond => Emission::Respond(content),
        }
    }
}
