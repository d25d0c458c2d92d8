//! Text of one kind, until it is saved.

use super::step::{RowKind, Step};
use crate::protocol::{Event, Text};

/// Text of one kind that is one row of the log once it is complete.
#[derive(Clone, Debug)]
pub struct UnsavedRun {
    pub kind: RunKind,
    pub content: Text,
    /// When its first piece arrived, in seconds since the epoch.
    pub started: f64,
    /// Whether it was emitted before it is saved, since a piece of a call follows it. Then it is complete.
    pub is_shown: bool,
}

impl UnsavedRun {
    /// The step that emits it; `None` if it was emitted before, or is blank.
    pub fn shown(&mut self, edges: Edges, now: f64) -> Option<Step> {
        if std::mem::replace(&mut self.is_shown, true) || self.content.is_blank() {
            return None;
        }
        Some(Step::event(self.kind.event(edges.stripped(self.content.clone())), now))
    }
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
    pub fn event(self, content: Text) -> Event {
        match self {
            Self::Think => Event::Think(content),
            Self::Respond => Event::Respond(content),
        }
    }
}

/// At which of its ends a run was cut, so that the space there belongs to it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edges {
    pub start: bool,
    pub end: bool,
}

impl Edges {
    /// The text without the space at the ends where it was not cut.
    pub fn stripped(self, text: Text) -> Text {
        let text = if self.start { text } else { text.without_start_space() };
        if self.end { text } else { text.without_end_space() }
    }
}
