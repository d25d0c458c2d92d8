//! Folds stored rows into passages, by the rules of cogency 3.3.0 or by ours.
//!
//! What the assistant thought, said and called since the last results is one passage. How it is written is the caller's: as text
//! of a dialect, or in a provider's own form. Two rules of cogency 3.3.0 may surprise: results that no call precedes are placed
//! before the assistant text still pending, and calls without results are dropped at the next user message. See [`Rules`] for
//! ours.

use std::sync::Arc;

use crate::dialect::BatchEnd;
use crate::protocol::stored::ShownCall;
use crate::protocol::write::{Renderer, TurnPart};
use crate::text::leading_space;

use super::options::{FoldOptions, Form, Rules};
use super::report::ShownReport;

/// What the model wrote, and what came of it. The questions between are the caller's.
#[derive(Clone, Copy, Debug)]
pub struct Passage<'a> {
    /// What the model thought, said and called, in this order; calls that are dropped are not in it.
    pub parts: &'a [TurnPart<'a>],
    /// What follows it.
    pub end: PassageEnd<'a>,
}

/// What follows the model's output.
#[derive(Clone, Copy, Debug)]
pub enum PassageEnd<'a> {
    /// A question, or nothing.
    Nothing,
    /// The results of its calls, as the log has them: `[]` for calls that never got any. By other rules than our own there may be
    /// results without calls.
    Results(&'a [ShownCall], &'a [u8]),
    /// A report on what it wrote last.
    Report(&'a ShownReport),
    /// What was found out later about a call whose results the model has read.
    Settled(&'a [u8]),
}

/// The fold: rows go in, passages come out as soon as they are complete.
///
/// # Complexity
/// O(row) for each row; what is held is the assistant's open turn.
#[derive(Clone, Debug)]
pub struct Passages {
    form: Form,
    rules: Rules,
    renderer: Arc<Renderer>,
    /// What the turn said, one piece after the other, and which piece ends where.
    said: Vec<u8>,
    turn: Vec<TurnPiece>,
    /// The calls that have no results yet.
    calls: Vec<ShownCall>,
    /// How many of these calls are already among the pieces of the turn.
    placed: usize,
    /// How many calls came before these.
    called: usize,
    /// Those that nothing better has followed yet.
    reports: Vec<OpenReport>,
    /// Whether the last words were cut, so that the next go on with them.
    is_cut: bool,
    /// What was found out about earlier calls while these calls have no results: it is shown after them.
    settled: Vec<Vec<u8>>,
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

impl Passages {
    /// The passages of a conversation at its start. The renderer is one of the options' dialect.
    #[must_use]
    pub fn new(options: &FoldOptions, renderer: Arc<Renderer>) -> Self {
        Self {
            form: options.form,
            rules: if options.form == Form::Text { options.rules } else { Rules::Own },
            renderer,
            said: Vec::new(),
            turn: Vec::new(),
            calls: Vec::new(),
            placed: 0,
            called: 0,
            reports: Vec::new(),
            is_cut: false,
            settled: Vec::new(),
        }
    }

    /// The user speaks: the assistant's turn is over. The user's own message is the caller's to add.
    pub fn user(&mut self, show: impl FnMut(Passage<'_>)) {
        match self.rules {
            Rules::Installed | Rules::Own if !self.calls.is_empty() => {
                self.result(b"[]", show);
                self.forget_reports();
            }
            _ => {
                self.turn.retain(|piece| !matches!(piece, TurnPiece::Calls(_)));
                self.forget_reports();
                self.show(0, self.turn.len(), PassageEnd::Nothing, show);
                self.end_turn();
            }
        }
    }

    /// The model thought.
    pub fn think(&mut self, content: impl AsRef<[u8]>) {
        self.place_calls();
        self.said.extend_from_slice(content.as_ref());
        self.turn.push(TurnPiece::Thought(self.said.len()));
    }

    /// The model said something.
    pub fn respond(&mut self, content: impl AsRef<[u8]>) {
        self.place_calls();
        self.said.extend_from_slice(content.as_ref());
        let end = self.said.len();
        let goes_on = std::mem::take(&mut self.is_cut);
        self.turn.push(if goes_on { TurnPiece::Rest(end) } else { TurnPiece::Words(end) });
    }

    /// Where an answer may go on after its calls, they keep their place in it.
    fn place_calls(&mut self) {
        if self.renderer.dialect().batch == BatchEnd::Answer && self.placed < self.calls.len() {
            self.end_calls();
        }
    }

    /// The calls that have no place yet come here.
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

    /// The model wrote something that could not be used. Only our own rules show that.
    pub fn report(&mut self, report: ShownReport) {
        if self.rules == Rules::Own {
            let is_of_words =
                matches!(self.turn.last(), Some(TurnPiece::Words(_) | TurnPiece::Rest(_)));
            self.is_cut |= report.is_of_cut_answer && is_of_words;
            self.reports.push(OpenReport { said: self.turn.len(), report });
        }
    }

    /// A batch returned.
    pub fn result(&mut self, content: impl AsRef<[u8]>, mut show: impl FnMut(Passage<'_>)) {
        let content = content.as_ref();
        if self.calls.is_empty() {
            self.forget_reports();
            if self.rules != Rules::Own {
                show(Passage { parts: &[], end: PassageEnd::Results(&[], content) });
            }
            return;
        }
        if self.form != Form::Text {
            // In text, words after a call stay where they are until the report that cut them is no longer shown.
            self.join_words();
        }
        // A report that came after the calls is of the same answer: it is shown after their results.
        self.reports.iter_mut().for_each(|report| report.said = 0);
        if self.placed < self.calls.len() {
            self.end_calls();
        }
        self.show(0, self.turn.len(), PassageEnd::Results(&self.calls, content), &mut show);
        self.end_turn();
        for text in std::mem::take(&mut self.settled) {
            show(Passage { parts: &[], end: PassageEnd::Settled(&text) });
        }
    }

    /// Somebody found out what became of a call whose results the model has read. It waits for the results of open calls, which
    /// must follow them; else it comes after all that was said, and after the reports on that. Only our own rules show it.
    pub fn settled(&mut self, content: impl AsRef<[u8]>, mut show: impl FnMut(Passage<'_>)) {
        let content = content.as_ref();
        if self.rules != Rules::Own {
            return;
        }
        if !self.calls.is_empty() {
            self.settled.push(content.to_vec());
            return;
        }
        let mut shown = 0;
        for OpenReport { said, report } in std::mem::take(&mut self.reports) {
            self.show(shown, said, PassageEnd::Report(&report), &mut show);
            shown = said;
        }
        self.show(shown, self.turn.len(), PassageEnd::Settled(content), show);
        self.end_turn();
    }

    /// The assistant's turn as far as it has come, and the reports that nothing better has followed, if the log ended here.
    pub fn open(&self, mut show: impl FnMut(Passage<'_>)) {
        let mut shown = 0;
        if !self.calls.is_empty() {
            // What was said up to the first report is the turn of the calls, as it is where results follow.
            let end = self.reports.first().map_or(self.turn.len(), |first| first.said);
            let mut turn = self.clone();
            turn.turn.truncate(end);
            turn.reports.clear();
            turn.user(&mut show);
            shown = end;
        }
        for OpenReport { said, report } in &self.reports {
            self.show(shown, *said, PassageEnd::Report(report), &mut show);
            shown = *said;
        }
        self.show(shown, self.turn.len(), PassageEnd::Nothing, show);
    }

    /// Reports are no longer shown, so words that were cut and those that continue them are one text.
    fn forget_reports(&mut self) {
        self.reports.clear();
        self.is_cut = false;
        self.join_words();
    }

    /// Puts the words that were cut before those that continue them, and after the thoughts between both. After a
    /// thought the words begin with the space that ends it, which is not theirs, unless the dialect keeps both apart.
    fn join_words(&mut self) {
        if !self.turn.iter().any(|piece| matches!(piece, TurnPiece::Rest(_))) {
            return;
        }
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
                let is_thought =
                    |(piece, _): &(TurnPiece, _)| matches!(piece, TurnPiece::Thought(_));
                let is_exact = self.form.joins_exactly() || !pieces[cut..].iter().any(is_thought);
                let (piece, mut words) = pieces.remove(cut);
                words.extend_from_slice(&text[if is_exact { 0 } else { leading_space(&text) }..]);
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

    /// Nothing of the turn is needed any longer.
    fn end_turn(&mut self) {
        self.is_cut = false;
        self.said.clear();
        self.turn.clear();
        self.calls.clear();
        self.placed = 0;
    }

    /// Shows these pieces of the turn, unless there is nothing to show.
    fn show(&self, from: usize, to: usize, end: PassageEnd<'_>, show: impl FnOnce(Passage<'_>)) {
        if from == to && matches!(end, PassageEnd::Nothing) {
            return;
        }
        let (mut said, mut called) = (0, 0);
        let mut parts = Vec::with_capacity(to - from);
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
        show(Passage { parts: &parts, end });
    }
}
