//! Raw text that is a string whatever it says, written while it arrives.

use super::super::canonical::Writer;
use crate::dialect::Trim;
use crate::text::{leading_space, trim_end};

/// How far such a text was written.
#[derive(Clone, Debug)]
pub struct RawText {
    /// The first byte that was not.
    from: usize,
    /// Up to where it was looked at, so that a long run of space is not looked at again for each of its chunks.
    looked: usize,
    /// One past the last byte before the space at its end.
    to: usize,
    /// Where it begins, once that is known.
    begin: Option<usize>,
}

impl RawText {
    /// A text that begins at byte `start`, of which nothing was written.
    #[must_use]
    pub fn new(start: usize) -> Self {
        Self { from: start, looked: start, to: start, begin: None }
    }

    /// Up to where it was looked at.
    #[must_use]
    pub fn looked(&self) -> usize {
        self.looked
    }

    /// Writes what is sure of it: all of `text`, but for what is left out if the text ends there. `text` is what it was at the last
    /// call, or longer.
    pub fn write(&mut self, trim: Trim, text: &[u8], writer: &mut Writer) {
        if self.begin(trim, text).is_none() {
            return;
        }
        let new = text.get(self.looked..).unwrap_or_default();
        let end = match trim {
            Trim::Nothing => text.len(),
            Trim::Space => match trim_end(new).len() {
                0 => self.to,
                more => self.looked + more,
            },
            Trim::Newline => self.from + without_break(&text[self.from..]).len(),
        };
        (self.looked, self.to) = (text.len(), end);
        if end > self.from {
            writer.text_part(&text[self.from..end]);
            self.from = end;
        }
    }

    /// Where the text begins, without what is left out there; `None` while that is not known.
    fn begin(&mut self, trim: Trim, text: &[u8]) -> Option<usize> {
        if self.begin.is_none() {
            let rest = text.get(self.from..)?;
            let left_out = match trim {
                Trim::Nothing => 0,
                Trim::Space => leading_space(rest),
                Trim::Newline if matches!(rest, b"" | b"\r") => return None,
                Trim::Newline => line_break(rest),
            };
            self.from += left_out;
            (self.looked, self.to) = (self.looked.max(self.from), self.from);
            if trim == Trim::Space && self.from == text.len() {
                return None;
            }
            self.begin = Some(self.from);
        }
        self.begin
    }

    /// The text is this range of `text`: writes the rest of it. `false` if something else was written, or more than there is.
    #[must_use]
    pub fn finish(&self, start: usize, end: usize, text: &[u8], writer: &mut Writer) -> bool {
        let from = if self.begin.is_some() { self.from } else { start };
        if self.begin.is_some_and(|begin| begin != start) || from > end {
            return false;
        }
        writer.text_part(&text[from..end]);
        writer.end_text();
        true
    }
}

/// The width of the line break that `text` begins with.
pub fn line_break(text: &[u8]) -> usize {
    if text.starts_with(b"\r\n") { 2 } else { usize::from(text.starts_with(b"\n")) }
}

/// `text` without what may be the line break that it ends with, or its beginning.
fn without_break(text: &[u8]) -> &[u8] {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.strip_suffix(b"\r").unwrap_or(text)
}
