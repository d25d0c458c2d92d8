//! One item of any shape: the one place that lists the readers. A new one is a line of each list.

use super::super::limits::Strictness;
use super::super::problem::Problem;
use super::head::HeadReader;
use super::json::JsonReader;
use super::python::PythonReader;
use super::xml::XmlReader;
use super::{Calls, ItemReader, Scope};
use crate::dialect::{Body, Str};

/// A reader of the item that is open.
#[derive(Clone, Debug)]
pub enum OpenItem {
    /// A JSON value.
    Json(JsonReader),
    /// A call with its head.
    Head(HeadReader),
    /// Python calls.
    Python(PythonReader),
    /// An XML element.
    Xml(XmlReader),
}

/// Calls a function of the reader of a body, with the body's form and what else it takes.
macro_rules! of_reader {
    ($body:expr, $function:ident, $($argument:expr),+) => {
        match $body {
            Body::Json(form) => JsonReader::$function(form, $($argument),+),
            Body::Head(form) => HeadReader::$function(form, $($argument),+),
            Body::Python(form) => PythonReader::$function(form, $($argument),+),
            Body::Xml(form) => XmlReader::$function(form, $($argument),+),
        }
    };
}

/// Whether an item of `body` begins at the start of `text`; `None` while that is not known.
#[must_use]
pub fn item_begins(body: &Body, text: &[u8]) -> Option<bool> {
    of_reader!(body, begins, text)
}

/// The same, with a [mistake](super::super::recovery::Mistake) that this reading forgives, too.
///
/// # Complexity
/// O(space at the start of `text`)
#[must_use]
pub fn item_begins_in_block(body: &Body, text: &[u8], strictness: Strictness) -> Option<bool> {
    of_reader!(body, begins_in_block, text, strictness)
}

/// The same where no mark opens a block.
#[must_use]
pub fn item_begins_unmarked(body: &Body, text: &[u8]) -> Option<bool> {
    of_reader!(body, begins_unmarked, text)
}

impl OpenItem {
    /// A reader of the item that begins at byte `start`.
    #[must_use]
    pub fn new(body: &Body, start: usize, scope: &Scope) -> Self {
        match body {
            Body::Json(form) => Self::Json(JsonReader::new(form, start, scope)),
            Body::Head(form) => Self::Head(HeadReader::new(form, start, scope)),
            Body::Python(form) => Self::Python(PythonReader::new(form, start, scope)),
            Body::Xml(form) => Self::Xml(XmlReader::new(form, start, scope)),
        }
    }

    /// A reader of a call that is a message: see [`HeadReader::message`]. Only calls with heads can be.
    #[must_use]
    pub fn message(body: &Body, name: String, ends: Vec<Str>, scope: &Scope) -> Option<Self> {
        let head = body.head()?;
        Some(Self::Head(HeadReader::message(head, name, 0, ends, scope)))
    }

    /// See [`ItemReader::read`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// `body` is not what the reader was made for.
    pub fn read(
        &mut self,
        body: &Body,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<Option<usize>, Problem> {
        match (self, body) {
            (Self::Json(reader), Body::Json(form)) => reader.read(form, text, calls),
            (Self::Head(reader), Body::Head(form)) => reader.read(form, text, calls),
            (Self::Python(reader), Body::Python(form)) => reader.read(form, text, calls),
            (Self::Xml(reader), Body::Xml(form)) => reader.read(form, text, calls),
            _ => unreachable!("an item is read by the body it was made for"),
        }
    }

    /// See [`ItemReader::cut_off`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// `body` is not what the reader was made for.
    pub fn cut_off(&mut self, body: &Body, text: &[u8], calls: &mut Calls) -> Result<(), Problem> {
        match (self, body) {
            (Self::Json(reader), Body::Json(form)) => reader.cut_off(form, text, calls),
            (Self::Head(reader), Body::Head(form)) => reader.cut_off(form, text, calls),
            (Self::Python(reader), Body::Python(form)) => reader.cut_off(form, text, calls),
            (Self::Xml(reader), Body::Xml(form)) => reader.cut_off(form, text, calls),
            _ => unreachable!("an item is read by the body it was made for"),
        }
    }

    /// Where the item ends if nothing more of it follows; `None` if it cannot end here, or has an end of its own.
    #[must_use]
    pub fn may_end(&self) -> Option<usize> {
        match self {
            Self::Xml(reader) => reader.end(),
            _ => None,
        }
    }
}
