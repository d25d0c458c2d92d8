//! Whether a block, or the body of one, begins in a text.

use super::super::body::{
    HeadReader, ItemReader, JsonReader, PythonReader, XmlReader, opening_fence,
};
use super::super::limits::Strictness;
use super::super::recovery::Mistake;
use crate::dialect::{Body, Dialect, Python};
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
    let mut bodies = dialect.calls.bodies.iter();
    bodies.any(|body| matches!(body, Body::Head(_)) && !opens_itself(dialect, body))
}

/// Whether the mark of a block is the mark of a call of this body: then the block has no mark of its own.
#[must_use]
pub fn opens_itself(dialect: &Dialect, body: &Body) -> bool {
    matches!(body, Body::Head(head) if dialect.calls.open.contains(&head.open))
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

/// Whether what a block may hold begins at the start of `text`, with a [mistake](Mistake) that this reading forgives, too; `None`
/// while that is not known.
///
/// # Complexity
/// O(space at the start of `text`)
#[must_use]
pub fn block_begins(body: &Body, text: &[u8], strictness: Strictness) -> Option<bool> {
    let Body::Json(_) = body else { return body_begins(body, text) };
    let mut rest = &text[leading_space(text)..];
    if Mistake::Fence.is_forgiven(strictness) {
        rest = &rest[opening_fence(rest)?..];
        rest = &rest[leading_space(rest)..];
    }
    match body_begins(body, rest) {
        Some(false) if Mistake::Shape.is_forgiven(strictness) => {
            let inner: &[u8] = match rest.first()? {
                b'[' => b"{",
                b'{' => b"\"",
                _ => return Some(false),
            };
            let first = rest[1..].get(leading_space(&rest[1..]))?;
            Some(inner.contains(first))
        }
        known => known,
    }
}

/// Whether a body without a mark begins at the start of `text`: JSON with the keys of a call, or a list of Python calls. A Python
/// call without the list's bracket cannot be told from words, and a head without a block has its own mark.
#[must_use]
pub fn unmarked_begins(body: &Body, text: &[u8]) -> Option<bool> {
    match body {
        Body::Json(form) => JsonReader::begins_bare(form, text),
        Body::Python(Python::Lines) => Some(false),
        Body::Python(Python::List) if *text.get(leading_space(text))? != b'[' => Some(false),
        Body::Head(head) if head.bare => Some(false),
        body => body_begins(body, text),
    }
}
