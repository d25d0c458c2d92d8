//! Collects the marks of several dialects and what each of them means.

use std::sync::Arc;

use super::super::marks::Marks;
use super::super::run::TextRun;
use super::heads::Headed;
use super::mark::{Entry, Inner, Mark, Opening, Span};
use crate::dialect::{Body, Dialect, Json, JsonShape, MessageHeads, Pair, Str, Unmarked};

/// What opens a block of calls, or a call outside blocks, in the dialect of this number.
fn openers(number: usize, dialect: &Dialect) -> Vec<(Str, Opening)> {
    let opening = |entry| Opening { dialect: number, entry };
    let blocks = dialect.calls.open.iter().map(|open| (open.clone(), opening(Entry::Block)));
    let is_named = dialect.heads.as_ref().is_some_and(|heads| heads.names_call);
    let calls = dialect.calls.bodies.iter().enumerate().filter_map(|(body, form)| match form {
        Body::Head(head) if (head.bare || dialect.calls.open.is_empty()) && !is_named => {
            Some((head.open.clone(), opening(Entry::Call(body))))
        }
        _ => None,
    });
    blocks.chain(calls).collect()
}

/// The marks of a grammar while it is being built, each with its meaning.
#[derive(Default)]
pub struct Table {
    /// What opens calls, in all dialects.
    openers: Vec<(Str, Opening)>,
    /// The marks.
    pub texts: Vec<Str>,
    /// What each of them means.
    pub marks: Vec<Mark>,
    /// The stretches of reasoning and of results.
    pub spans: Vec<Span>,
    /// The dialects with heads.
    pub heads: Vec<Headed>,
    /// The number of the span that a prompt may have opened.
    pub prompted: Option<usize>,
}

impl Table {
    /// The marks of these dialects.
    pub fn new(dialects: &[Arc<Dialect>]) -> Self {
        let each = || dialects.iter().enumerate();
        let openers = each().flat_map(|(number, dialect)| openers(number, dialect)).collect();
        let mut table = Self { openers, ..Self::default() };
        for (number, dialect) in each() {
            table.add(number, dialect);
        }
        table
    }

    fn add(&mut self, number: usize, dialect: &Dialect) {
        let first = self.spans.len();
        for pair in &dialect.reasoning {
            self.span(pair, TextRun::Think, false, dialect);
        }
        if self.prompted.is_none() && first < self.spans.len() {
            self.prompted = Some(self.prompted(first, dialect).unwrap_or(first));
        }
        for results in &dialect.results {
            let pair = Pair { open: results.open.clone(), close: results.close.clone() };
            self.span(&pair, TextRun::Result, results.array, dialect);
        }
        if let Some(heads) = &dialect.heads {
            self.heads(number, heads);
        }
        for (open, opening) in openers(number, dialect) {
            self.block(&open, opening);
        }
        for form in &dialect.calls.bodies {
            if dialect.unmarked == Unmarked::Anywhere {
                let byte = match form {
                    Body::Json(Json {
                        shape: JsonShape::Object | JsonShape::Objects(_), ..
                    }) => "{",
                    _ => "[",
                };
                self.mark(&byte.into(), Mark::Unmarked);
            }
        }
        for end in &dialect.end {
            self.mark(end, Mark::End);
        }
        for end in &dialect.turn_end {
            self.mark(end, Mark::TurnEnd);
        }
        let wrappers = dialect.answer.iter().flat_map(|pair| [&pair.open, &pair.close]);
        for mark in wrappers.chain(&dialect.ignored) {
            self.mark(mark, Mark::Ignored);
        }
    }

    /// Adds a mark. If it has a meaning already, that one counts.
    fn mark(&mut self, text: &Str, mark: Mark) {
        if !text.is_empty() && !self.texts.contains(text) {
            self.texts.push(text.clone());
            self.marks.push(mark);
        }
    }

    /// Adds a mark that opens blocks; it may open several.
    fn block(&mut self, text: &Str, opening: Opening) {
        let known = self.texts.iter().position(|known| known == text);
        match known.map(|known| &mut self.marks[known]) {
            Some(Mark::Block(openings)) => openings.push(opening),
            _ => self.mark(text, Mark::Block(vec![opening])),
        }
    }

    fn heads(&mut self, dialect: usize, heads: &MessageHeads) {
        for open in &heads.open {
            self.mark(open, Mark::Head(self.heads.len()));
        }
        for close in &heads.close {
            self.mark(close, Mark::MessageEnd);
        }
        let first = self.spans.len();
        self.prompted.get_or_insert(first);
        for run in [TextRun::Think, TextRun::Respond] {
            let close = heads.close.iter().map(|mark| (mark, Inner::Close));
            let next = heads.open.iter().map(|mark| (mark, Inner::Next));
            let openers = self.openers.iter().map(|(mark, _)| (mark, Inner::Block));
            let openers = openers.filter(|_| run == TextRun::Think);
            // Without channels a recipient is all that a head needs.
            let recipient = Some(&heads.recipient).filter(|_| heads.channel.is_empty());
            let recipient = recipient.map(|mark| (mark, Inner::Recipient(self.heads.len())));
            let marks: Vec<_> = close.chain(next).chain(openers).chain(recipient).collect();
            self.spans.push(Span {
                run,
                open: Str::default(),
                close: heads.close.first().cloned().unwrap_or_default(),
                needs_array: false,
                inside: Some(Marks::new(marks.iter().map(|(mark, _)| mark.as_bytes()))),
                marks: marks.into_iter().map(|(_, inner)| inner).collect(),
            });
        }
        self.heads.push(Headed { dialect, reasoning: first, answer: first + 1 });
    }

    /// The span of reasoning that a prompt has opened, of which only the dialect is known: the closing mark of any pair ends it.
    /// A pair that is opened inside it has its own closing mark, so that only the first pair's ends it from there on. `None`
    /// if all pairs close alike; `first` is the first one's span.
    fn prompted(&mut self, first: usize, dialect: &Dialect) -> Option<usize> {
        let mut closes: Vec<&Str> = Vec::new();
        for pair in &dialect.reasoning {
            if !closes.contains(&&pair.close) {
                closes.push(&pair.close);
            }
        }
        if closes.len() == 1 || closes.iter().any(|close| close.is_empty()) {
            return None;
        }
        let opens = dialect.reasoning.iter().map(|pair| (&pair.open, Inner::Open(first)));
        let turn_ends = dialect.turn_end.iter().map(|mark| (mark, Inner::TurnEnd));
        let openers = self.openers.iter().map(|(mark, _)| (mark, Inner::Block));
        let closes = closes.into_iter().map(|close| (close, Inner::Close));
        let marks: Vec<_> = closes.chain(opens).chain(turn_ends).chain(openers).collect();
        self.spans.push(Span {
            run: TextRun::Think,
            open: Str::default(),
            close: dialect.reasoning[0].close.clone(),
            needs_array: false,
            inside: Some(Marks::new(marks.iter().map(|(mark, _)| mark.as_bytes()))),
            marks: marks.into_iter().map(|(_, inner)| inner).collect(),
        });
        Some(self.spans.len() - 1)
    }

    fn span(&mut self, pair: &Pair, run: TextRun, needs_array: bool, dialect: &Dialect) {
        let mut marks = vec![(&pair.close, Inner::Close)];
        marks.extend(dialect.turn_end.iter().map(|mark| (mark, Inner::TurnEnd)));
        if run == TextRun::Think {
            marks.extend(self.openers.iter().map(|(mark, _)| (mark, Inner::Block)));
        }
        let inside = Marks::new(
            marks.iter().map(|(text, _)| text.as_bytes()).filter(|text| !text.is_empty()),
        );
        let span = Span {
            run,
            open: pair.open.clone(),
            close: pair.close.clone(),
            needs_array,
            inside: Some(inside).filter(|_| !pair.close.is_empty()),
            marks: marks.into_iter().map(|(_, inner)| inner).collect(),
        };
        self.mark(&pair.open, Mark::Span(self.spans.len()));
        self.spans.push(span);
    }
}
