//! Answers that are not streams of events, although their status may say that all is well: pages, JSON, text.

use super::fault::{Fault, FaultKind};
use super::json::Raw;
use super::options::{Secret, without_begun_secret};

/// What an answer is, by its first byte that is not white space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Server-sent events, or text that will turn out not to be.
    Events,
    /// A page of HTML or XML.
    Page,
    /// One value of JSON, or a line of it each.
    Json,
}

impl Shape {
    /// The shape of an answer that begins with these bytes, and where it begins; `None` if they are only white space.
    pub fn of(bytes: &[u8]) -> Option<(Self, usize)> {
        let start = bytes.iter().position(|&byte| !is_passed_over(byte))?;
        let shape = match bytes[start] {
            b'<' => Self::Page,
            b'{' | b'[' => Self::Json,
            _ => Self::Events,
        };
        Some((shape, start))
    }
}

/// Whether a byte is white space, or a part of a byte order mark.
fn is_passed_over(byte: u8) -> bool {
    byte.is_ascii_whitespace() || "\u{feff}".as_bytes().contains(&byte)
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
