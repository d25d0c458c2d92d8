//! The calls of a block, while it is read.

use std::sync::Arc;

use super::super::call::Call;
use super::super::event::{Event, Note};
use super::super::limits::{Limits, Strictness};
use super::super::problem::{Problem, ProblemKind};
use super::super::tools::Tools;
use crate::dialect::Str;

/// What every reader of a block knows.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// What is too much.
    pub limits: Limits,
    /// How closely a block must keep to its dialect.
    pub strictness: Strictness,
    /// The tools and their schemas, which say of what type a raw value is.
    pub tools: Option<Arc<Tools>>,
    /// Whether the caller sees calls before they are complete.
    pub is_watched: bool,
    /// Whether the caller takes each call as soon as it is complete.
    pub starts_early: bool,
    /// How many calls of the batch came in blocks before this one.
    pub batch: usize,
}

/// The calls of a block.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// What the readers know.
    pub scope: Scope,
    /// Whether the text has ended here because the model stopped by itself.
    pub has_stopped: bool,
    /// Marks that may come after a call in a block; empty where they are not known.
    pub followers: Vec<Str>,
    /// Marks that open a block; the head of a call contains none of them.
    pub openers: Vec<Str>,
    events: Vec<Event>,
    count: usize,
    problem: Option<Problem>,
    notes: Vec<Note>,
    /// Calls that are complete, for callers that do not wait for the block.
    ready: Vec<Call>,
    /// The first byte of the open call's arguments that no note has.
    unseen: Option<usize>,
    /// Up to where the text is known to be that of arguments, where what is wrong with them does not show it.
    known: usize,
}

impl Calls {
    /// None yet.
    #[must_use]
    pub fn new(scope: Scope) -> Self {
        Self { scope, ..Self::default() }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// A call begins at this byte. More than the limits allow are refused.
    pub fn begin(&mut self, at: usize) {
        let most = self.scope.limits.max_calls;
        if self.scope.batch + self.count >= most {
            self.refuse(ProblemKind::TooManyCalls(most), at);
        }
        self.note(|| Note::Start);
    }

    /// The call that has begun has this name, a JSON string.
    pub fn name(&mut self, name: &str) {
        self.note(|| Note::Name(name.to_owned()));
    }

    /// The arguments of the call that has begun start at this byte.
    pub fn begin_args(&mut self, at: usize) {
        if self.problem.is_none() {
            self.unseen = Some(at).filter(|_| self.scope.is_watched);
            self.known = at;
        }
    }

    /// The arguments have been read up to this byte of `text`, which ends no character.
    pub fn read_args(&mut self, text: &[u8], to: usize) {
        if let Some(from) = self.unseen
            && from < to
            && self.problem.is_none()
        {
            self.unseen = Some(to);
            self.note(|| Note::Args(text[from..to].into()));
        }
    }

    /// The arguments end before this byte.
    pub fn end_args(&mut self, text: &[u8], at: usize) {
        if self.problem.is_none() {
            self.read_args(text, at);
            self.unseen = None;
        }
    }

    /// The arguments have been read up to this byte, although something before it turns out to be wrong with them.
    pub fn know_args(&mut self, to: usize) {
        if self.problem.is_none() {
            self.known = to;
        }
    }

    /// Something may have turned out to be wrong: this, or what was refused. Arguments that are open are shown up to there, as
    /// they are where the text arrives in smaller pieces.
    pub fn settle(&mut self, text: &[u8], wrong: Option<&Problem>) {
        let Some(problem) = self.problem.as_ref().or(wrong) else { return };
        let to = problem.at.max(self.known).min(text.len());
        if let Some(from) = self.unseen.take()
            && from < to
        {
            self.notes.push(Note::Args(text[from..to].into()));
        }
    }

    /// A call is complete.
    pub fn push(&mut self, call: Call) {
        if self.problem.is_none() {
            self.count += 1;
            if self.scope.starts_early {
                self.ready.push(call.clone());
            }
            self.events.push(Event::Call(call));
        }
    }

    /// The block says something other than a call.
    pub fn say(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Something is wrong with the block, which is still read to its end. Only the first such thing is kept.
    pub fn refuse(&mut self, kind: ProblemKind, at: usize) {
        self.problem.get_or_insert(Problem { kind, at });
        self.events.clear();
    }

    /// Whether something is wrong already, so that the block is read only to find its end.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.problem.is_some()
    }

    /// Whether [`Calls::notes`] or [`Calls::ready`] have something.
    #[must_use]
    pub fn has_news(&self) -> bool {
        !self.notes.is_empty() || !self.ready.is_empty()
    }

    /// What has been noted since the last time.
    pub fn notes(&mut self) -> std::vec::Drain<'_, Note> {
        self.notes.drain(..)
    }

    /// The calls that have become complete since the last time, where they are wanted before the block is.
    pub fn ready(&mut self) -> std::vec::Drain<'_, Call> {
        self.ready.drain(..)
    }

    /// What the whole block says.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn take(&mut self) -> Result<Vec<Event>, Problem> {
        let events = std::mem::take(&mut self.events);
        self.problem.take().map_or(Ok(events), Err)
    }

    fn note(&mut self, note: impl FnOnce() -> Note) {
        if self.scope.is_watched && self.problem.is_none() {
            self.notes.push(note());
        }
    }
}
