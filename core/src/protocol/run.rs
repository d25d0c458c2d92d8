//! The kinds of text between two marks.

use super::{Event, Text};

/// Text between two marks, by the event it becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextRun {
    /// [`Event::Respond`]
    Respond,
    /// [`Event::Think`]
    Think,
    /// [`Event::Result`]
    Result,
}

impl TextRun {
    /// Its event.
    #[must_use]
    pub fn event(self, text: impl Into<Text>) -> Event {
        match self {
            Self::Respond => Event::Respond(text.into()),
            Self::Think => Event::Think(text.into()),
            Self::Result => Event::Result(text.into()),
        }
    }
}
