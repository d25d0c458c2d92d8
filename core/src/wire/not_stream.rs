//! Answers that are not streams of events, although their status may say that all is well: pages, JSON, text.

use super::fault::{Fault, FaultKind};
use super::options::{Secret, without_begun_secret};
use crate::json::Raw;

/// What an answer is, by its first character that is neither white space nor a byte order mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Server-sent events, or text that will turn out not to be.
    Events,
    /// A page of HTML or XML.
    Page,
    /// One value of JSON, or a line of it each.
    Json,
}

/// The beginning of an answer, up to the byte that says what it is.
#[derive(Clone, Debug, Default)]
pub struct Beginning {
    /// How many bytes of a byte order mark are there, if it is not whole.
    of_mark: usize,
}

impl Beginning {
    /// The shape of an answer that goes on with these bytes, and the place of the byte that says so; `None` if there are only white
    /// space and byte order marks.
    pub fn shape(&mut self, bytes: &[u8]) -> Option<(Shape, usize)> {
        const MARK: &[u8] = "\u{feff}".as_bytes();
        for (place, &byte) in bytes.iter().enumerate() {
            if byte == MARK[self.of_mark] {
                self.of_mark = (self.of_mark + 1) % MARK.len();
            } else if self.of_mark > 0 {
                return Some((Shape::Events, place)); // a letter whose bytes begin like the mark's
            } else if !byte.is_ascii_whitespace() {
                let shape = match byte {
                    b'<' => Shape::Page,
                    b'{' | b'[' => Shape::Json,
                    _ => Shape::Events,
                };
                return Some((shape, place));
            }
        }
        None
    }
}

/// The fault of an answer of JSON: the error that it reports, or that it is not a stream.
pub fn json(body: &[u8], secrets: &[Secret]) -> Fault {
    let text = String::from_utf8_lossy(body);
    match Raw::of(&text).ok().filter(|value| is_error(*value)) {
        Some(value) => reported(value, secrets),
        None => not_stream("JSON", body, secrets),
    }
}

/// The fault of an answer of which this is the beginning.
pub fn not_stream(what: &str, body: &[u8], secrets: &[Secret]) -> Fault {
    let text = String::from_utf8_lossy(body);
    let text = without_begun_secret(&text, secrets);
    let what = if text.trim().is_empty() { "an empty body" } else { what };
    let sentence = format!("the answer is not a stream of events, but {what}");
    Fault::quoting(FaultKind::NotStream, &sentence, text, secrets)
}

/// The fault of an error that the server reports: the object that describes it, wrapped or not, or its words.
pub fn reported(error: Raw<'_>, secrets: &[Secret]) -> Fault {
    let inner = error.field("error").filter(|inner| inner.is_object()).unwrap_or(error);
    match inner.text() {
        Some(words) => Fault::reported(&words, &words, secrets),
        None => {
            let words = ["message", "detail", "error"].map(|name| inner.field(name)?.text());
            let words = words.into_iter().flatten().next();
            Fault::reported(words.as_deref().unwrap_or(inner.json()), inner.json(), secrets)
        }
    }
}

fn is_error(value: Raw<'_>) -> bool {
    let says_so = |name| value.field(name).is_some_and(|field| !field.is_falsy());
    let is_named = |name| value.field(name) == Some(Raw::ERROR);
    says_so("error") || says_so("detail") || is_named("type") || is_named("object")
}
