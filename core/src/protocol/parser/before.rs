//! What is known of the text before the place that is read: its last byte, the fence and the quotation that it is in.

use super::super::grammar::{Fence, Quotations, is_quote};

/// What is known of the text before the place that is read.
#[derive(Debug)]
pub(super) struct Before {
    /// The last byte before the text that is held.
    last: u8,
    /// Whether the answer is in a fence.
    fence: Fence,
    /// What is quoted in the reasoning or the results.
    quotations: Quotations,
    /// How much of the text that is held these two have read.
    read: usize,
}

impl Before {
    /// At the start of a text, which is the start of a line.
    pub(super) fn new() -> Self {
        Self { last: b'\n', fence: Fence::default(), quotations: Quotations::default(), read: 0 }
    }

    /// The byte before byte `at`.
    pub(super) fn byte(&self, text: &[u8], at: usize) -> u8 {
        at.checked_sub(1).map_or(self.last, |at| text[at])
    }

    /// Whether byte `at` is the first of a line.
    pub(super) fn is_line(&self, text: &[u8], at: usize) -> bool {
        self.byte(text, at) == b'\n'
    }

    /// Whether a quote that ends a quotation comes before byte `at`, up to which reasoning or results were read.
    pub(super) fn ends_quotation(&self, text: &[u8], at: usize) -> bool {
        let quote = self.byte(text, at);
        is_quote(quote) && self.quotations.end_with(quote)
    }

    /// What is open goes on in `text`, all of which is handed out: a span, or text outside every one.
    #[inline]
    pub(super) fn pass(&mut self, text: &[u8], is_inside: bool) {
        if is_inside {
            self.quotations.read(text);
        } else {
            self.fence.read(text);
        }
        self.drop(text, text.len());
    }

    /// The first `length` bytes of `text` are no longer needed.
    #[inline]
    pub(super) fn drop(&mut self, text: &[u8], length: usize) {
        self.last = self.byte(text, length);
        self.read = self.read.saturating_sub(length);
    }

    /// Reads the text of the answer up to byte `at`.
    pub(super) fn read(&mut self, text: &[u8], at: usize) {
        if self.read < at {
            self.fence.read(&text[self.read..at]);
            self.read = at;
        }
    }

    /// Reads reasoning or results up to byte `at`.
    pub(super) fn read_inside(&mut self, text: &[u8], at: usize) {
        if self.read < at {
            self.quotations.read(&text[self.read..at]);
            self.read = at;
        }
    }

    /// Reads on up to byte `at`, or to where the fence closes, which is returned.
    pub(super) fn read_to_close(&mut self, text: &[u8], at: usize) -> Option<usize> {
        let rest = text.get(self.read..at)?;
        let end = self.fence.read_to_close(rest);
        self.quotations.read(&rest[..end.unwrap_or(rest.len())]);
        self.read += end.unwrap_or(rest.len());
        end.map(|_| self.read)
    }

    /// Whether a mark at the byte up to which the text was read is in a fence.
    pub(super) fn is_fenced(&self) -> bool {
        self.fence.is_around()
    }

    /// A mark that counts, and what belongs to it, end at byte `at`.
    pub(super) fn mark(&mut self, at: usize) {
        self.fence.mark();
        self.quotations = Quotations::default();
        self.read = at;
    }

    /// A mark in a fence, which would open reasoning or results elsewhere, ends at byte `at`.
    pub(super) fn quoted(&mut self, text: &[u8], at: usize) {
        self.read(text, at);
        self.quotations = Quotations::default();
    }

    /// A block of calls ends at byte `at`.
    pub(super) fn call(&mut self, at: usize) {
        self.fence.call();
        self.read = at;
    }

    /// The head of a message ends at byte `at`; no fence reaches into a message.
    pub(super) fn message(&mut self, at: usize) {
        self.fence = Fence::default();
        self.quotations = Quotations::default();
        self.read = at;
    }
}
