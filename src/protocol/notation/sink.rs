//! The text in the making, and whether all of it is sure to read back as it was.

use super::super::stored::ShownCall;
use super::Notation;
use super::json::{Strings, Style, push_json};
use super::marks::DialectMarks;
use crate::dialect::JsonLayout;

/// Text in the making.
#[derive(Debug)]
pub struct Sink<'a> {
    pub out: Vec<u8>,
    notation: &'a Notation,
    /// Whether there is raw text that may read back as something else.
    is_doubtful: bool,
    /// The calls whose raw text has its marks made harmless. They are told apart by address: equal calls may differ in this.
    guarded: Vec<*const ShownCall>,
    is_guarded: bool,
}

impl<'a> Sink<'a> {
    pub fn new(notation: &'a Notation) -> Self {
        let (out, guarded) = (Vec::new(), Vec::new());
        Self { out, notation, is_doubtful: false, guarded, is_guarded: false }
    }

    pub fn notation(&self) -> &'a Notation {
        self.notation
    }

    /// The marks of the dialect.
    pub fn marks(&self) -> &'a DialectMarks {
        self.notation.marks()
    }

    /// Calls follow, of which these are guarded.
    pub fn begin_calls<'c>(&mut self, guarded: impl Iterator<Item = &'c ShownCall>) {
        self.is_doubtful = false;
        self.guarded = guarded.map(std::ptr::from_ref).collect();
    }

    /// The text of this call follows.
    pub fn begin_call(&mut self, call: &ShownCall) {
        self.is_guarded = self.guarded.contains(&std::ptr::from_ref(call));
    }

    /// Whether any text of these calls may read back as something else.
    pub fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }

    /// Notes that the text may read back as something else.
    pub fn doubt(&mut self) {
        self.is_doubtful = true;
    }

    /// Adds text as it is.
    pub fn push(&mut self, text: impl AsRef<[u8]>) {
        self.out.extend_from_slice(text.as_ref());
    }

    /// Adds text with its marks made harmless: the first character of each becomes a character reference.
    pub fn push_referenced(&mut self, text: &[u8]) {
        self.marks().push_referenced(&mut self.out, text, "");
    }

    /// Adds canonical JSON with the marks in its strings made harmless.
    pub fn push_json(&mut self, json: &str) {
        let strings = Strings::Readable(self.marks());
        push_json(&mut self.out, json, Style { layout: JsonLayout::Compact, strings }, 0);
    }

    /// Adds text in a form without escapes. `close` is the mark that ends it, or empty if the dialect's own marks do. In a guarded
    /// call the marks of text that is not sure to read back are made harmless.
    pub fn push_raw(&mut self, text: &[u8], is_sure: bool, close: &str) {
        self.is_doubtful |= !is_sure;
        if self.is_guarded && !is_sure {
            self.marks().push_referenced(&mut self.out, text, close);
        } else {
            self.push(text);
        }
    }
}
