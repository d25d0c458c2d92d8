//! What is known of the text before the place that is read: its last bytes, and the fence that it is in.

use super::super::grammar::Fence;
use super::super::run::TextRun;

/// What is known of the text before the place that is read.
#[derive(Debug)]
pub(super) struct Before {
    /// The last two bytes before the text that is held.
    last: [u8; 2],
    /// Whether the answer is in a fence.
    fence: Fence,
    /// How much of the text that is held the fence has read.
    read: usize,
}

impl Before {
    /// At the start of a text, which is the start of a line.
    pub(super) fn new() -> Self {
        Self { last: *b"\n\n", fence: Fence::default(), read: 0 }
    }

    /// The byte that is this many bytes before byte `at`: one or two.
    pub(super) fn byte(&self, text: &[u8], at: usize, distance: usize) -> u8 {
        at.checked_sub(distance).map_or_else(|| self.last[2 + at - distance], |at| text[at])
    }

    /// Whether byte `at` is the first of a line.
    pub(super) fn is_line(&self, text: &[u8], at: usize) -> bool {
        self.byte(text, at, 1) == b'\n'
    }

    /// The answer goes on in `text`, all of which is handed out.
    #[inline]
    pub(super) fn pass(&mut self, text: &[u8], run: TextRun) {
        if run == TextRun::Respond {
            self.fence.read(text);
        }
        self.drop(text, text.len());
    }

    /// The first `length` bytes of `text` are no longer needed.
    #[inline]
    pub(super) fn drop(&mut self, text: &[u8], length: usize) {
        self.last = match text[..length] {
            [] => self.last,
            [last] => [self.last[1], last],
            [.., before, last] => [before, last],
        };
        self.read = self.read.saturating_sub(length);
    }

    /// Reads the text of the answer up to byte `at`.
    pub(super) fn read(&mut self, text: &[u8], at: usize) {
        if self.read < at {
            self.fence.read(&text[self.read..at]);
            self.read = at;
        }
    }

    /// Reads on up to byte `at`, or to where the fence closes, which is returned.
    pub(super) fn read_to_close(&mut self, text: &[u8], at: usize) -> Option<usize> {
        let rest = text.get(self.read..at)?;
        let end = self.fence.read_to_close(rest);
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
        self.read = at;
    }

    /// A block of calls ends at byte `at`.
    pub(super) fn call(&mut self, at: usize) {
        self.fence.call();
        self.read = at;
    }

    /// The head of a message ends at byte `at`; no fence reaches into a message.
    pub(super) fn message(&mut self, at: usize) {
        self.fence = Fence::default();
        self.read = at;
    }
}
