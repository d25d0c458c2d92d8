//! Text of one kind, until it is saved.

use super::step::{Emission, RowKind};
use crate::protocol::Text;

/// Text of one kind that is one row of the log once it is complete.
#[derive(Clone, Debug)]
pub struct UnsavedRun {
    pub kind: RunKind,
    pub content: Text,
    /// When its first piece arrived, in seconds since the epoch.
    pub started: f64,
}

/// Whether a run is reasoning or text for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    Think,
    Respond,
}

impl RunKind {
    /// Its type in the log.
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
