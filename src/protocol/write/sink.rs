//! Where text is written to, and whether all of it reads back as it was.

use super::marks::Marks;

/// Text in the making.
#[derive(Debug)]
pub struct Sink<'a> {
    pub out: Vec<u8>,
    pub marks: &'a Marks,
    /// Whether something could not be written so that it reads back.
    pub is_altered: bool,
}

impl<'a> Sink<'a> {
    pub fn new(marks: &'a Marks) -> Self {
        Self { out: Vec::new(), marks, is_altered: false }
    }

    pub fn push(&mut self, text: impl AsRef<[u8]>) {
        self.out.extend_from_slice(text.as_ref());
    }

    /// Adds text that only reads back where `is_carried`; elsewhere its marks are made harmless.
    pub fn push_raw(&mut self, text: &[u8], is_carried: bool) {
        if is_carried {
            self.push(text);
        } else {
            self.is_altered = true;
            self.marks.push_referenced(&mut self.out, text);
        }
    }
}
