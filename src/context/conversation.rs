//! Folds stored rows into messages, by the rules of cogency 3.3.0 or by ours.
//!
//! What the assistant thought, said and called since the last results becomes one assistant message; results go
//! back as a user message. How both are written is the dialect's. Two rules of cogency 3.3.0 may surprise: results that no
//! call precedes are placed before the assistant text still pending, and calls without results are dropped at the next user
//! message. See [`Rules`] for ours.

use std::borrow::Cow;
use std::sync::Arc;

use crate::dialect::{BatchEnd, ResultText};
use crate::protocol::Text;
use crate::protocol::stored::ShownCall;
use crate::protocol::text::leading_space;
use crate::protocol::write::{Renderer, TurnPart, returned};

use super::excerpt::excerpt;
use super::options::{FoldOptions, Rules};
use super::report::ShownReport;
use super::results;

/// Who speaks. Models know no others, so these are all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The user, and the system where it returns results.
    User,
    /// The model.
    Assistant,
}

/// One message of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Text,
}

/// The fold: rows go in, messages come out as soon as they are complete.
///
/// # Complexity
/// O(row) for each row; what is held is the assistant's open turn.
#[derive(Clone, Debug)]
pub struct Conversation {
    options: FoldOptions,
    renderer: Arc<Renderer>,
    /// What the turn said, one piece after the other, and which piece ends where.
    said: Vec<u8>,
    turn: Vec<TurnPiece>,
    /// The calls that have no results yet, and how many of them stand in the turn.
    calls: Vec<ShownCall>,
    placed: usize,
    /// How many calls came before these.
    called: usize,
    /// Those that nothing better has followed yet.
    reports: Vec<OpenReport>,
    /// Whether the last words were cut, so that the next go on with them.
    is_cut: bool,
}

/// A piece of a turn.
#[derive(Clone, Copy, Debug)]
enum TurnPiece {
    /// Reasoning, up to this byte of what was said.
    Thought(usize),
    /// Words, likewise.
    Words(usize),
    /// Words that go on with the words before them, which were cut.
    Rest(usize),
    /// Calls, up to the one of this number.
    Calls(usize),
}

/// A report, and how many pieces the turn had when it came.
#[derive(Clone, Debug)]
struct OpenReport {
    said: usize,
    report: ShownReport,
}

impl Default for Conversation {
    fn default() -> Self {
        Self::new(FoldOptions::default())
    }
}

impl Conversation {
    /// A conversation at its start.
    #[must_use]
    pub fn new(options: FoldOptions) -> Self {
        let renderer = Arc::new(Renderer::new(Arc::clone(&options.dialect)));
        let (said, turn, calls, reports) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { options, renderer, said, turn, calls, placed: 0, called: 0, reports, is_cut: false }
    }

    /// What a user said, as their message shows it.
    #[must_use]
    pub fn said_by_user<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        self.renderer.outside(text)
    }

    /// The user speaks: the assistant's turn is over. The user's own message is the caller's to add.
    pub fn user(&mut self) -> [Option<Message>; 2] {
        match self.options.rules {
            Rules::Installed | Rules::Own if !self.calls.is_empty() => {
                let turn = self.result(b"[]");
                self.forget_reports();
                turn
            }
            _ => {
                self.turn.retain(|piece| !matches!(piece, TurnPiece::Calls(_)));
                self.forget_reports();
                let turn = self.assistant(0, self.turn.len(), None);
                self.end_turn();
                [turn, None]
            }
        }
    }

    /// The model thought.
    pub fn think(&mut self, content: &[u8]) {
        self.place_calls();
        self.said.extend_from_slice(content);
        self.turn.push(TurnPiece::Thought(self.said.len()));
    }

    /// The model said something.
    pub fn respond(&mut self, content: &[u8]) {
        self.place_calls();
        self.said.extend_from_slice(content);
        let end = self.said.len();
        let goes_on = std::mem::take(&mut self.is_cut);
        self.turn.push(if goes_on { TurnPiece::Rest(end) } else { TurnPiece::Words(end) });
    }

    /// Where an answer may go on after its calls, they keep their place in it.
    fn place_calls(&mut self) {
        if self.options.dialect.batch == BatchEnd::Answer && self.placed < self.calls.len() {
            self.end_calls();
        }
    }

    /// The calls that stand nowhere yet stand here.
    fn end_calls(&mut self) {
        let here = &mut self.calls[self.placed..];
        self.renderer.give_ids(here, self.called);
        self.called += here.len();
        self.placed = self.calls.len();
        self.turn.push(TurnPiece::Calls(self.placed));
    }

    /// The model called a tool.
    pub fn call(&mut self, call: ShownCall) {
        self.forget_reports();
        self.calls.push(call);
    }

    /// The model wrote what could not be used. Only our own rules show that.
    pub fn report(&mut self, report: ShownReport) {
        if self.options.rules == Rules::Own {
            let is_of_words =
                matches!(self.turn.last(), Some(TurnPiece::Words(_) | TurnPiece::Rest(_)));
            self.is_cut |= report.is_of_cut_answer && is_of_words;
            self.reports.push(OpenReport { said: self.turn.len(), report });
        }
    }

    /// A batch returned: the assistant's message with its calls, and the results. Empty results make no message.
    pub fn result(&mut self, content: &[u8]) -> [Option<Message>; 2] {
        if self.calls.is_empty() {
            self.forget_reports();
        }
        // A report that came after the calls is of the same answer: it is shown after their results.
        self.reports.iter_mut().for_each(|report| report.said = 0);
        if self.placed < self.calls.len() {
            self.end_calls();
        }
        let (assistant, is_shown) = if self.calls.is_empty() {
            (None, self.options.rules != Rules::Own)
        } else {
            (self.assistant(0, self.turn.len(), None), true)
        };
        let calls = std::mem::take(&mut self.calls);
        if !calls.is_empty() {
            self.end_turn();
        }
        if !is_shown || content.is_empty() {
            return [assistant, None];
        }
        let shown = excerpt(content, &calls, &self.options.bounds);
        let pieces = match self.options.rules {
            Rules::Cogency => shown,
            Rules::Installed | Rules::Own => results::one_for_each(&calls, content, shown),
        };
        let content = match self.options.dialect.prompt.results.text {
            ResultText::Array => results::framed(&pieces, &self.renderer, self.options.tags),
            _ => self.renderer.results(&returned(&pieces.concat(), &calls)),
        };
        [assistant, Some(Message { role: Role::User, content })]
    }

    /// The assistant's turn as far as it has come, and the reports that nothing better has followed, if the log ended here.
    #[must_use]
    pub fn open(&self) -> Vec<Message> {
        let mut messages = Vec::new();
        let mut shown = 0;
        if !self.calls.is_empty() {
            // What was said up to the first report is the turn of the calls, as it is where results follow.
            let end = self.reports.first().map_or(self.turn.len(), |first| first.said);
            let mut turn = self.clone();
            turn.turn.truncate(end);
            turn.reports.clear();
            messages.extend(turn.user().into_iter().flatten());
            shown = end;
        }
        for OpenReport { said, report } in &self.reports {
            let raw = Some(report.raw.as_bytes()).filter(|raw| !raw.is_empty());
            messages.extend(self.assistant(shown, *said, raw));
            let content = self.renderer.written(report.content.as_bytes()).into();
            messages.push(Message { role: Role::User, content });
            shown = *said;
        }
        messages.extend(self.assistant(shown, self.turn.len(), None));
        messages
    }

    /// No report is shown any more, so words that were cut and those that go on with them are one text.
    fn forget_reports(&mut self) {
        self.reports.clear();
        self.is_cut = false;
        if self.turn.iter().any(|piece| matches!(piece, TurnPiece::Rest(_))) {
            self.join_words();
        }
    }

    /// Puts the words that were cut before those that go on with them, and after the thoughts between both. After a thought
    /// the words begin with the space that ends it, which is not theirs.
    fn join_words(&mut self) {
        let said = std::mem::take(&mut self.said);
        let mut pieces: Vec<(TurnPiece, Vec<u8>)> = Vec::with_capacity(self.turn.len());
        let mut start = 0;
        for piece in std::mem::take(&mut self.turn) {
            let text = match piece {
                TurnPiece::Thought(end) | TurnPiece::Words(end) | TurnPiece::Rest(end) => {
                    said[std::mem::replace(&mut start, end)..end].to_vec()
                }
                TurnPiece::Calls(_) => Vec::new(),
            };
            let is_words = |(piece, _): &(TurnPiece, _)| matches!(piece, TurnPiece::Words(_));
            let cut = match piece {
                TurnPiece::Rest(_) => pieces.iter().rposition(is_words),
                _ => None,
            };
            if let Some(cut) = cut {
                let follows_thought = cut + 1 < pieces.len();
                let (piece, mut words) = pieces.remove(cut);
                words.extend_from_slice(
                    &text[if follows_thought { leading_space(&text) } else { 0 }..],
                );
                pieces.push((piece, words));
            } else {
                pieces.push((piece, text));
            }
        }
        for (piece, text) in pieces {
            self.said.extend_from_slice(&text);
            let end = self.said.len();
            self.turn.push(match piece {
                TurnPiece::Thought(_) => TurnPiece::Thought(end),
                TurnPiece::Words(_) | TurnPiece::Rest(_) => TurnPiece::Words(end),
                TurnPiece::Calls(calls) => TurnPiece::Calls(calls),
            });
        }
    }

    /// Nothing of the turn is needed any more.
    fn end_turn(&mut self) {
        self.is_cut = false;
        self.said.clear();
        self.turn.clear();
        self.calls.clear();
        self.placed = 0;
    }

    /// The assistant's message of these pieces of the turn, and of `raw` after them; `None` where nothing of them is shown.
    fn assistant(&self, from: usize, to: usize, raw: Option<&[u8]>) -> Option<Message> {
        let (mut said, mut called) = (0, 0);
        let mut parts = Vec::with_capacity(to - from + 1);
        for (index, piece) in self.turn[..to].iter().enumerate() {
            let mut next = |end| std::mem::replace(&mut said, end)..end;
            let part = match *piece {
                TurnPiece::Thought(end) => TurnPart::Thought(&self.said[next(end)]),
                TurnPiece::Words(end) | TurnPiece::Rest(end) => {
                    TurnPart::Words(&self.said[next(end)])
                }
                TurnPiece::Calls(end) => {
                    TurnPart::Calls(&self.calls[std::mem::replace(&mut called, end)..end])
                }
            };
            parts.extend((index >= from).then_some(part));
        }
        parts.extend(raw.map(TurnPart::Raw));
        if parts.is_empty() {
            return None;
        }
        let content = self.renderer.turn(&parts)?;
        Some(Message { role: Role::Assistant, content })
    }
}

#[cfg(test)]
mod tests;
