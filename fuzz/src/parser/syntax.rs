//! The tags of the protocol, what the text between them is, and whether it may go on.

use cogency_rs::protocol::{Ending, Event, Text};

/// Whether a text may still go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Open,
    Ended(Ending),
}

/// Text, by the event it becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextRun {
    Respond,
    Think,
    Result,
}

impl TextRun {
    pub(super) fn event(self, content: &[u8]) -> Event {
        match self {
            Self::Respond => Event::Respond(Text::from(content)),
            Self::Think => Event::Think(Text::from(content)),
            Self::Result => Event::Result(Text::from(content)),
        }
    }
}

pub(super) const OPENING: [&[u8]; 4] = [b"<think>", RESULTS, b"<end>", OPEN];
pub(super) const OPEN: &[u8] = b"<execute>";
pub(super) const CLOSE: &[u8] = b"</execute>";
pub(super) const RESULTS: &[u8] = b"<results>";
pub(super) const END_OF_RESULTS: &[u8] = b"</results>";

/// The tag that closes reasoning or results.
pub(super) fn closes(run: TextRun) -> &'static [u8] {
    if run == TextRun::Result { END_OF_RESULTS } else { b"</think>" }
}
