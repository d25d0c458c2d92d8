//! The start of an answer, which may lack a mark: of a block, of a head, or of the reasoning that its prompt has opened.

use super::super::Event;
use super::super::grammar::{Grammar, Reopened};
use super::super::marks::Undecided;
use super::super::run::TextRun;
use super::Parser;
use super::runs::BlankRun;
use super::state::{Lookahead, OpenBlock, Start, State};
use crate::text::leading_space;

impl Parser {
    // Each of these methods returns whether there is more to read; `None` if the text is read on in the same state.

    /// At the start of an answer, after `known` bytes of space.
    pub(super) fn read_start(
        &mut self,
        grammar: &Grammar,
        text: &[u8],
        start: &mut usize,
        (known, mut ahead): (usize, Lookahead),
        events: &mut Vec<Event>,
    ) -> Option<bool> {
        let at = *start + known;
        let at = at + leading_space(&text[at..]);
        let may_decide = ahead.may_decide(&text[at..]);
        self.start = Start::Space(at - *start, ahead);
        if at == text.len() {
            return None;
        }
        let rest = &text[at..text.len().min(at.saturating_add(self.longest_opening()))];
        if !may_decide && at + rest.len() == text.len() {
            self.at = at;
            return Some(false);
        }
        match grammar.headless(rest) {
            Ok(None) => {}
            Ok(Some(head)) => {
                self.end_run(TextRun::Respond, text[*start..at].into(), BlankRun::Hidden, events);
                (*start, self.at) = (at, at);
                self.start = Start::Past;
                self.state = State::Head(head);
                return Some(true);
            }
            Err(Undecided) => {
                self.at = at;
                return Some(false);
            }
        }
        match grammar.opening(&grammar.unmarked, rest, self.scope.strictness) {
            Ok(Some(opening)) => {
                let block = OpenBlock { opening: opening.clone(), mark: 0 };
                self.open_block(grammar, block, text, (start, at), events);
                return Some(true);
            }
            Ok(None) => self.start = Start::Else,
            Err(Undecided) if text.len() - at > rest.len() => self.start = Start::Else,
            Err(Undecided) => {
                self.at = at;
                return Some(false);
            }
        }
        None
    }

    /// In reasoning that the prompt has opened, before anything but space: the answer may open it again.
    pub(super) fn read_reopened(
        &mut self,
        grammar: &Grammar,
        text: &[u8],
        start: &mut usize,
    ) -> Option<bool> {
        // Up to `self.at` there is only space.
        let at = self.at + leading_space(&text[self.at..]);
        let reopened = match at < text.len() {
            _ if at - *start > self.limits().max_block_bytes => Ok(None),
            true => grammar.reopened(&text[at..]),
            false => Err(Undecided),
        };
        let Ok(reopened) = reopened else {
            self.at = at;
            return Some(false);
        };
        self.may_reopen = false;
        match reopened {
            None => self.at = *start,
            Some(Reopened::Span(number)) => {
                let after = at + grammar.spans[number].open.len();
                (*start, self.at) = (after, after);
                self.state = State::Inside(number, None);
                return Some(true);
            }
            Some(Reopened::Mark(width)) => (*start, self.at) = (at + width, at + width),
            Some(Reopened::Head) => {
                (*start, self.at) = (at, at);
                self.state = State::Text;
                return Some(true);
            }
        }
        None
    }
}
