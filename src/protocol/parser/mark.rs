//! Whether a mark that stands in the text counts: not if it is quoted.

use super::super::Event;
use super::super::grammar::{Fence, Grammar, Inner, Span, ends_quotation, is_quote};
use super::super::marks::{Search, Undecided};
use super::super::run::TextRun;
use super::Parser;
use super::runs::BlankRun;
use super::state::State;

/// What is known of the text before the place that is read.
#[derive(Debug)]
pub(super) struct Before {
    /// The two last bytes before the text that is held.
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

    /// The byte that stands this many bytes before byte `at`: one or two.
    fn byte(&self, text: &[u8], at: usize, distance: usize) -> u8 {
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

    /// The first `length` bytes of `text` are not needed any more.
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
    fn read_to_close(&mut self, text: &[u8], at: usize) -> Option<usize> {
        let rest = text.get(self.read..at)?;
        let end = self.fence.read_to_close(rest);
        self.read += end.unwrap_or(rest.len());
        end.map(|_| self.read)
    }

    /// Whether a mark that stands where the text was read up to is in a fence.
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

impl Parser {
    /// The quote on both sides of the mark at `start..end`; `None` if there is not one. At the end of the whole text no quote
    /// follows.
    ///
    /// # Errors
    /// It is not known before there is more text.
    pub(super) fn quote_around(
        &self,
        text: &[u8],
        start: usize,
        end: usize,
    ) -> Result<Option<u8>, Undecided> {
        let quote = self.before.byte(text, start, 1);
        match text.get(end) {
            _ if !is_quote(quote) => Ok(None),
            None if !self.is_whole => Err(Undecided),
            after => Ok(Some(quote).filter(|quote| after == Some(quote))),
        }
    }

    /// Whether the mark at `start..end`, outside every span, is only mentioned.
    ///
    /// # Errors
    /// It is not known before there is more text.
    pub(super) fn is_mentioned(
        &self,
        grammar: &Grammar,
        mark: usize,
        text: &[u8],
        (start, end): (usize, usize),
    ) -> Result<bool, Undecided> {
        let quote = self.quote_around(text, start, end)?;
        Ok(quote.is_some_and(|quote| grammar.may_be_mentioned(mark, quote)))
    }

    /// Whether the mark at `start..end`, inside a span, is only mentioned. What closes the span is not, where the quote before
    /// it ends a quotation: then the span ends with a quotation, and what follows begins with one.
    ///
    /// # Errors
    /// It is not known before there is more text.
    pub(super) fn is_mentioned_inside(
        &self,
        inner: Inner,
        text: &[u8],
        (start, end): (usize, usize),
    ) -> Result<bool, Undecided> {
        if inner == Inner::Block {
            return Ok(false); // it decides nothing there
        }
        if inner == Inner::Close && ends_quotation(self.before.byte(text, start, 2)) {
            return Ok(false);
        }
        self.quote_around(text, start, end).map(|quote| quote.is_some())
    }

    /// In a span that is text of the answer, because the mark that opens it stands in a fence: up to the mark that closes it,
    /// or to the end of the fence.
    pub(super) fn read_quoted(
        &mut self,
        span: &Span,
        grammar: &Grammar,
        text: &[u8],
        start: &mut usize,
        events: &mut Vec<Event>,
    ) -> bool {
        let marks = span.inside.as_ref().unwrap_or(&grammar.outside);
        let search = marks.search(text, self.at);
        let (found, searched) = match search {
            Search::Found { mark, start, end } => (Some((mark, start, end)), start),
            _ => (None, search.or_end(text)),
        };
        if let Some(end) = self.before.read_to_close(text, searched) {
            (self.state, self.at) = (State::Text, self.at.max(end));
            return true;
        }
        let Some((mark, begin, end)) = found else {
            self.at = searched;
            *start += self.stream_run(TextRun::Respond, &text[*start..searched], events);
            return false;
        };
        if span.inside.is_none() {
            let counts = !grammar.at_line_start || self.before.is_line(text, begin);
            let is_mentioned = match self.is_mentioned(grammar, mark, text, (begin, end)) {
                Ok(is_mentioned) => is_mentioned,
                Err(Undecided) => {
                    return self.wait_at(TextRun::Respond, begin, text, start, events);
                }
            };
            if counts && !is_mentioned {
                (self.state, self.at) = (State::Text, begin);
            } else {
                self.at = end;
            }
            return true;
        }
        let inner = span.marks[mark];
        match self.is_mentioned_inside(inner, text, (begin, end)) {
            Err(Undecided) => return self.wait_at(TextRun::Respond, begin, text, start, events),
            Ok(false) if inner == Inner::TurnEnd => {
                let run = text[*start..begin].into();
                self.end_run(TextRun::Respond, run, BlankRun::Hidden, events);
                (*start, self.at) = (end, end);
                self.end_turn(events);
            }
            Ok(false) if inner == Inner::Close => (self.state, self.at) = (State::Text, end),
            Ok(_) => self.at = end,
        }
        true
    }

    /// Waits for the character after the mark at byte `at` of a run; there is nothing more to read.
    pub(super) fn wait_at(
        &mut self,
        run: TextRun,
        at: usize,
        text: &[u8],
        start: &mut usize,
        events: &mut Vec<Event>,
    ) -> bool {
        self.at = at;
        *start += self.stream_run(run, &text[*start..at], events);
        false
    }
}
