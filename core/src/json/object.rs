//! Reads one JSON object while it arrives: it says at once where the object breaks, and hands out the strings under the object's own
//! keys piece by piece.

use std::ops::Range;

use thiserror::Error;

use super::scanner::Scanner;
use super::string::{Rest, unescape, unescaped};
use super::token::{Container, FaultKind, Token};
use crate::text::Text;

/// How many brackets may be open at once: as many as in a block of calls, by default.
const MAX_DEPTH: usize = 200;

/// Why a text is not a JSON object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ObjectFault {
    /// It does not begin with one.
    #[error("expected a JSON object")]
    Other,
    /// It is nested too deep.
    #[error("brackets are nested deeper than {MAX_DEPTH}")]
    Deep,
    /// It is not JSON.
    #[error(transparent)]
    Json(#[from] FaultKind),
}

/// The next piece of a string that is the value of one of the object's own keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldText {
    /// The key.
    pub key: Text,
    /// The piece, with its escapes read; may be empty.
    pub text: Text,
    /// Whether the string ends with this piece.
    pub is_whole: bool,
}

/// A JSON object that arrives. As models write them, its strings may have raw control characters; it has no `NaN` and no
/// `Infinity`.
///
/// # Complexity
/// O(text), however it is cut
#[derive(Clone, Debug, Default)]
pub struct GrowingObject {
    text: Vec<u8>,
    scanner: Scanner,
    fault: Option<(ObjectFault, usize)>,
    /// One of the object's own keys, whose value comes next.
    key: Option<Range<usize>>,
    /// Up to where the string under the key was handed out; 0 at its beginning.
    given: usize,
}

impl GrowingObject {
    /// All text that was fed, up to the piece with the fault.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// What is wrong, and at which byte; nothing is read after it.
    #[must_use]
    pub fn fault(&self) -> Option<(ObjectFault, usize)> {
        self.fault
    }

    /// The text of the object and what follows it; `None` until it is closed.
    #[must_use]
    pub fn whole(&self) -> Option<(&[u8], &[u8])> {
        self.scanner.is_complete().then(|| self.text.split_at(self.scanner.position()))
    }

    /// Whether there was only white space.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fault.is_none() && self.scanner.depth() == 0 && !self.scanner.is_complete()
    }

    /// Reads the next piece.
    pub fn feed(&mut self, piece: &[u8], fields: &mut Vec<FieldText>) {
        self.text.extend_from_slice(piece);
        if let Err(fault) = self.read(fields) {
            self.fault = Some(fault);
        }
        if self.scanner.depth() == 1
            && let (Some(key), Some(start)) = (&self.key, self.scanner.open_string())
        {
            let key = unescaped(&self.text[key.clone()]);
            let start = self.given.max(start + 1);
            let mut text = Vec::new();
            let read =
                unescape(&self.text[start..self.scanner.position()], &mut text, Rest::GoesOn);
            self.given = start + read;
            if !text.is_empty() {
                fields.push(FieldText { key, text: text.into(), is_whole: false });
            }
        }
    }

    /// Refuses text after the object, but for white space.
    pub fn end(&mut self) {
        if self.fault.is_none()
            && let Some((_, after)) = self.whole()
        {
            let (space, left) = (space(after), after.len());
            self.scanner.skip(space);
            if space < left {
                self.fault = Some((FaultKind::Trailing.into(), self.scanner.position()));
            }
        }
    }

    fn read(&mut self, fields: &mut Vec<FieldText>) -> Result<(), (ObjectFault, usize)> {
        if self.is_empty() {
            let before = self.scanner.position();
            let at = before + space(&self.text[before..]);
            if !matches!(self.text.get(at), None | Some(b'{')) {
                return Err((ObjectFault::Other, at));
            }
        }
        while !self.scanner.is_complete() {
            let token = match self.scanner.next(&self.text) {
                Ok(Some(token)) => token,
                Ok(None) => return Ok(()),
                Err(fault) => return Err((fault.kind.into(), fault.at)),
            };
            let end = self.scanner.position();
            match (token, self.scanner.depth()) {
                (Token::Open(_), depth) if depth > MAX_DEPTH => {
                    return Err((ObjectFault::Deep, end - 1));
                }
                (Token::Word(word @ ("NaN" | "Infinity" | "-Infinity")), _) => {
                    return Err((FaultKind::Value.into(), end - word.len()));
                }
                (Token::Key(key), 1) => (self.key, self.given) = (Some(key), 0),
                (Token::String(string), 1) => {
                    let Some(key) = self.key.take() else { continue };
                    let mut text = Vec::new();
                    let start = self.given.max(string.start + 1);
                    unescape(&self.text[start..string.end - 1], &mut text, Rest::Ends);
                    let key = unescaped(&self.text[key]);
                    fields.push(FieldText { key, text: text.into(), is_whole: true });
                }
                (Token::Open(Container::Array | Container::Object), 2)
                | (Token::Number(_) | Token::Word(_), 1) => self.key = None,
                _ => {}
            }
        }
        Ok(())
    }
}

/// How many bytes of JSON's white space come first.
fn space(text: &[u8]) -> usize {
    text.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count()
}
