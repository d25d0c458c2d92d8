//! Where text is written to, and whether all of it reads back as it was.

use super::Renderer;
use super::marks::Marks;

/// Text in the making.
#[derive(Debug)]
pub struct Sink<'a> {
    pub out: Vec<u8>,
    /// Whether something could not be written so that it reads back.
    pub is_altered: bool,
    renderer: &'a Renderer,
}

impl<'a> Sink<'a> {
    pub fn new(renderer: &'a Renderer) -> Self {
        Self { out: Vec::new(), is_altered: false, renderer }
    }

    /// The marks of the dialect.
    pub fn marks(&self) -> &'a Marks {
        self.renderer.marks()
    }

    pub fn push(&mut self, text: impl AsRef<[u8]>) {
        self.out.extend_from_slice(text.as_ref());
    }

    /// Adds text in which no mark stands: the first character of each is a character reference.
    pub fn push_referenced(&mut self, text: &[u8]) {
        self.marks().push_referenced(&mut self.out, text);
    }

    /// Adds text that only reads back where `is_carried`; elsewhere its marks are made harmless.
    pub fn push_raw(&mut self, text: &[u8], is_carried: bool) {
        if is_carried {
            self.push(text);
        } else {
            self.is_altered = true;
            self.push_referenced(text);
        }
    }
}
