//! A whole text that is read from its start, and how reading ends without calls.

use crate::text::{characters, leading_space};

/// Why there are no calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum No {
    /// This is not a block of calls, whatever follows.
    Call,
    /// It is not certain what this is.
    Certainty,
}

/// What a reference reads.
pub type Read<T> = Result<T, No>;

/// A whole text, and how far it has been read.
#[derive(Clone, Debug)]
pub struct Cursor<'t> {
    pub text: &'t [u8],
    pub at: usize,
}

impl<'t> Cursor<'t> {
    #[must_use]
    pub fn rest(&self) -> &'t [u8] {
        &self.text[self.at..]
    }

    pub fn skip_space(&mut self) {
        self.at += leading_space(self.rest());
    }

    /// The next byte.
    ///
    /// # Errors
    /// The text ends here.
    pub fn peek(&self) -> Read<u8> {
        self.text.get(self.at).copied().ok_or(No::Certainty)
    }

    /// Whether the text goes on with `mark`.
    ///
    /// # Errors
    /// The text ends in what may be the beginning of it.
    pub fn is_at(&self, mark: &str) -> Read<bool> {
        starts_with(self.rest(), mark).ok_or(No::Certainty)
    }

    /// Whether the text goes on with `mark`, which is then passed over.
    ///
    /// # Errors
    /// As [`is_at`](Self::is_at).
    pub fn take(&mut self, mark: &str) -> Read<bool> {
        let is_there = self.is_at(mark)?;
        self.at += if is_there { mark.len() } else { 0 };
        Ok(is_there)
    }

    /// The text up to the first `mark`, which is passed over too.
    ///
    /// # Errors
    /// The text does not have the mark.
    pub fn until(&mut self, mark: &str) -> Read<&'t [u8]> {
        let length = find(self.rest(), mark).ok_or(No::Certainty)?;
        let before = &self.rest()[..length];
        self.at += length + mark.len();
        Ok(before)
    }
}

/// Whether a text begins with `mark`; `None` if it ends too early to tell.
#[must_use]
pub fn starts_with(text: &[u8], mark: &str) -> Option<bool> {
    let mark = mark.as_bytes();
    if mark.len() > text.len() && mark.starts_with(text) {
        None
    } else {
        Some(text.starts_with(mark))
    }
}

/// The first place of `mark`.
#[must_use]
pub fn find(text: &[u8], mark: &str) -> Option<usize> {
    (0..text.len()).find(|at| text[*at..].starts_with(mark.as_bytes()))
}

/// A text without the whitespace at its ends.
#[must_use]
pub fn trimmed(text: &[u8]) -> &[u8] {
    let text = &text[leading_space(text)..];
    let is_end = |end: &usize| leading_space(&text[*end..]) == text.len() - end;
    let characters = characters(text).scan(0, |end, character| {
        let start = *end;
        *end += character.len();
        Some(start)
    });
    let end = characters.chain([text.len()]).find(is_end).unwrap_or(text.len());
    &text[..end]
}
