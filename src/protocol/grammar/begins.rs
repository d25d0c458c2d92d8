//! Whether a block, or the body of one, begins in a text.

use super::super::body::{HeadReader, ItemReader, JsonReader, PythonReader, XmlReader};
use super::super::marks::starts_with;
use crate::dialect::{Body, Dialect, Json, JsonShape, Python};
use crate::text::leading_space;

/// Whether any of these is true; `None` if none is true and one is not known.
pub fn any(known: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut is_any = Some(false);
    for each in known {
        match each {
            Some(true) => return Some(true),
            Some(false) => {}
            None => is_any = None,
        }
    }
    is_any
}

/// Whether a block of this dialect may be empty.
#[must_use]
pub fn may_be_empty(dialect: &Dialect) -> bool {
    let mut bodies = dialect.bodies.iter();
    bodies.any(|body| matches!(body, Body::Head(_)) && !opens_itself(dialect, body))
}

/// Whether the mark of a block is the mark of a call of this body: then the block has no mark of its own.
#[must_use]
pub fn opens_itself(dialect: &Dialect, body: &Body) -> bool {
    matches!(body, Body::Head(head) if dialect.open.contains(&head.open))
}

/// Whether `body` begins at the start of `text`; `None` while that is not known.
#[must_use]
pub fn body_begins(body: &Body, text: &[u8]) -> Option<bool> {
    match body {
        Body::Json(form) => JsonReader::begins(form, text),
        Body::Head(form) => HeadReader::begins(form, text),
        Body::Python(form) => PythonReader::begins(form, text),
        Body::Xml(form) => XmlReader::begins(form, text),
    }
}

/// Whether a body without a mark begins at the start of `text`: JSON whose first key is a key of a call, or a list of Python
/// calls. A Python call without the list's bracket cannot be told from words, and a head without a block has its own mark.
#[must_use]
pub fn unmarked_begins(body: &Body, text: &[u8]) -> Option<bool> {
    match body {
        Body::Json(form) => json_begins(form, text),
        Body::Python(Python::Lines) => Some(false),
        Body::Python(Python::List) if *text.get(leading_space(text))? != b'[' => Some(false),
        Body::Head(head) if head.bare => Some(false),
        body => body_begins(body, text),
    }
}

/// Whether JSON begins whose first key is a key of a call.
fn json_begins(form: &Json, text: &[u8]) -> Option<bool> {
    let mut rest = &text[leading_space(text)..];
    let opening: &[u8] = if form.shape == JsonShape::Array { b"[{" } else { b"{" };
    for &bracket in opening {
        rest = &rest[leading_space(rest)..];
        match rest.first() {
            None => return None,
            Some(&byte) if byte == bracket => rest = &rest[1..],
            Some(_) => return Some(false),
        }
    }
    rest = &rest[leading_space(rest)..];
    match rest.first() {
        None => return None,
        Some(b'"') => rest = &rest[1..],
        Some(_) => return Some(false),
    }
    let decision = form.decision.iter();
    let others = decision.flat_map(|decision| [&decision.key, &decision.thought_key]);
    let keys = form.name.iter().chain(&form.args).chain(&form.id).chain(&form.server).chain(others);
    any(keys.map(|key| starts_with(rest, &format!("{key}\""))))
}
