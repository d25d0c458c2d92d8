//! The heads of messages.

use std::sync::Arc;

use super::super::block::BlockReader;
use super::super::canonical::json_string;
use super::super::grammar::{Addressee, Entry, Grammar, Opening};
use super::super::marks::find;
use super::super::problem::{Problem, ProblemKind};
use super::state::{OpenBlock, Start, State};
use super::{LONGEST_HEAD, Parser};

impl Parser {
    /// In the head of a message.
    pub(super) fn read_head(
        &mut self,
        grammar: &Grammar,
        number: usize,
        text: &[u8],
        start: &mut usize,
    ) -> bool {
        let headed = &grammar.heads[number];
        let dialect = &grammar.dialects[headed.dialect];
        let Some(heads) = &dialect.heads else { return true };
        let within = &text[..text.len().min(*start + LONGEST_HEAD)];
        let end = find(within, self.at, &heads.end);
        let other = if grammar.is_headless(number, &text[*start..]) {
            Err(within.len())
        } else {
            heads.other(within, (*start, self.at.max(*start + 1)))
        };
        let end = match (end, other) {
            (Ok(end), Ok(other)) if other < end => {
                self.end_head(grammar, number, text, start, other);
                return true;
            }
            (Err(_), Ok(other)) => {
                self.end_head(grammar, number, text, start, other);
                return true;
            }
            (Ok(end), _) => end,
            (Err(_), Err(_)) if within.len() < text.len() => {
                self.state = State::Text;
                return true;
            }
            (Err(searched), Err(others)) => {
                self.at = searched.min(others);
                return false;
            }
        };
        // Text without the mark of a head is not a head if another message begins in it.
        if grammar.is_headless(number, &text[*start..end]) && heads.stands_in(&text[*start..end]) {
            (self.state, self.at) = (State::Text, *start);
            return true;
        }
        let after = end + heads.end.len();
        self.at = after;
        self.before.message(after);
        let span = match heads.addressee(&text[*start..end]) {
            Addressee::Reasoning => headed.reasoning,
            Addressee::Answer => headed.answer,
            Addressee::Tool(name) if heads.names_call => {
                let opening = Opening { dialect: headed.dialect, entry: Entry::Call(0) };
                let block = OpenBlock { opening, mark: after - *start };
                let name = json_string(&name);
                let scope = self.scope_at(self.fed - text.len() + *start);
                let reader = BlockReader::named(Arc::clone(dialect), name, scope);
                self.start = Start::Past;
                self.state = State::Block(block, Box::new(reader));
                return true;
            }
            Addressee::Tool(_) => {
                *start = after;
                self.state = State::Text;
                return true;
            }
        };
        *start = after;
        self.state = State::Inside(span, None);
        true
    }

    /// Ends a head that has no mark of its own at its end: another mark begins at byte `at`, or the text ends there. The words behind
    /// the head are the message. A call is reported, since its arguments cannot be told from its head.
    pub(super) fn end_head(
        &mut self,
        grammar: &Grammar,
        number: usize,
        text: &[u8],
        start: &mut usize,
        at: usize,
    ) {
        let headed = &grammar.heads[number];
        let Some(heads) = &grammar.dialects[headed.dialect].heads else { return };
        let head = &text[*start..at];
        let body = heads.body(head).len();
        let state = match heads.addressee_without_end(head) {
            Addressee::Tool(_) if heads.names_call => {
                let mark = heads.mark(head);
                let opening = Opening { dialect: headed.dialect, entry: Entry::Call(0) };
                let kind = ProblemKind::Missing(format!("{:?}", heads.end).into());
                let problem = Problem { kind, at: head.len() - mark };
                let block = OpenBlock { opening, mark };
                self.break_block(block, problem, text, *start..at);
                self.at = at; // what is in a head was read
                return;
            }
            Addressee::Tool(_) => State::Text,
            Addressee::Reasoning => State::Inside(headed.reasoning, None),
            Addressee::Answer => State::Inside(headed.answer, None),
        };
        *start = at - body;
        (self.state, self.at) = (state, *start);
        self.before.message(*start);
    }
}
