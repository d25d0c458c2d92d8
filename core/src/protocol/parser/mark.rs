//! Whether a mark in the text counts. A quoted mark does not.

use super::super::Event;
use super::super::grammar::{Grammar, Inner, Span, is_quote};
use super::super::marks::{Search, Undecided};
use super::super::run::TextRun;
use super::Parser;
use super::runs::BlankRun;
use super::state::State;

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
        let quote = self.before.byte(text, start);
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
        if inner == Inner::Close && self.before.ends_quotation(text, start) {
            return Ok(false);
        }
        self.quote_around(text, start, end).map(|quote| quote.is_some())
    }

    /// In a span that is text of the answer, because the mark that opens it is in a fence: up to the mark that closes
    /// it, or to the end of the fence.
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
