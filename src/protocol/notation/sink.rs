//! Where text is written to, and whether all of it is sure to read back as it was.

use super::super::stored::ShownCall;
use super::Notation;
use super::marks::DialectMarks;

/// Text in the making.
#[derive(Debug)]
pub struct Sink<'a> {
    pub out: Vec<u8>,
    notation: &'a Notation,
    /// Whether there is raw text that may read back as something else.
    is_doubtful: bool,
    /// The calls whose raw text has its marks made harmless: those that are written, not others like them.
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

    /// This call follows.
    pub fn begin_call(&mut self, call: &ShownCall) {
        self.is_guarded = self.guarded.contains(&std::ptr::from_ref(call));
    }

    /// Whether anything of the calls may read back as something else.
    pub fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }

    pub fn doubt(&mut self) {
        self.is_doubtful = true;
    }

    pub fn push(&mut self, text: impl AsRef<[u8]>) {
        self.out.extend_from_slice(text.as_ref());
    }

    /// Adds text in which no mark stands: the first character of each is a character reference.
    pub fn push_referenced(&mut self, text: &[u8]) {
        self.marks().push_referenced(&mut self.out, text, "");
    }

    /// Adds text without escapes, which ends at the mark `close` if that is not a mark of the dialect already. Where the call is
    /// guarded and this text not sure to read back, its marks are made harmless.
    pub fn push_raw(&mut self, text: &[u8], is_sure: bool, close: &str) {
        self.is_doubtful |= !is_sure;
        if self.is_guarded && !is_sure {
            self.marks().push_referenced(&mut self.out, text, close);
        } else {
            self.push(text);
        }
    }
}
