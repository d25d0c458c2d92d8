//! The calls of a block, while it is read.

use std::sync::Arc;

use super::super::call::Call;
use super::super::canonical::Writer;
use super::super::event::{Event, Note};
use super::super::limits::{Limits, Strictness};
use super::super::problem::{Problem, ProblemKind};
use super::super::recovery::Mistake;
use super::super::tools::Tools;
use super::super::unread::Callable;
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
    /// What the caller sees of a call before it is complete.
    pub early: Early,
    /// Whether a call with a key that is there twice is refused. Else the last value counts, as in Python's `dict`.
    pub refuses_repeated: bool,
    /// Which tools' calls are shown before they are complete.
    pub shown: Callable,
    /// Whether the caller takes each call as soon as it is complete.
    pub starts_early: bool,
    /// How many calls of the batch came in blocks before this one.
    pub batch: usize,
}

/// What the caller sees of a call before it is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Early {
    /// Nothing.
    #[default]
    Nothing,
    /// What people read.
    Shown,
    /// The beginning of the call, letter for letter.
    Exact,
}

/// The calls of a block.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact about the block")]
pub struct Calls {
    /// What the readers know.
    pub scope: Scope,
    /// Whether the text has ended here because the model stopped by itself.
    pub has_stopped: bool,
    /// Whether nothing follows the text that is read.
    pub is_whole: bool,
    /// Whether no mark opened the block.
    pub is_unmarked: bool,
    /// Whether the last call has no arguments, since nothing was in their place.
    pub lacks_args: bool,
    /// Marks that may come after a call in a block; empty where they are not known.
    pub followers: Vec<Str>,
    /// Marks that open a block; the head of a call contains none of them.
    pub openers: Vec<Str>,
    /// A part of canonical JSON from which on the whole call decides what it says; none if this is empty.
    pub undecided: &'static str,
    events: Vec<Event>,
    count: usize,
    problem: Option<Problem>,
    notes: Vec<(usize, Note)>,
    /// Calls that are complete, for callers that do not wait for the block.
    ready: Vec<Call>,
    open: OpenCall,
    /// Whether a call has a name that may not be called, so that the block is text for who wants exact calls.
    is_text: bool,
}

/// What is known of the call that is read, for callers that see it before it is complete.
#[derive(Clone, Debug, Default)]
struct OpenCall {
    name: Option<String>,
    id: Option<String>,
    has_args: bool,
    is_shown: bool,
    /// Whether the rest comes with the call.
    is_held: bool,
    /// How many bytes of its arguments were shown, counted with the writer's holes and without.
    written: usize,
    bytes: usize,
}

impl Scope {
    /// Whether this mistake is read as it was meant.
    #[must_use]
    pub fn forgives(&self, mistake: Mistake) -> bool {
        mistake.is_forgiven(self.strictness)
    }
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
        self.open = OpenCall::default();
    }

    /// The call that has begun has this id, a JSON string.
    pub fn id(&mut self, id: &str) {
        if self.shows() {
            self.open.id = Some(id.to_owned());
        }
    }

    /// The call that has begun has this name, a JSON string.
    pub fn name(&mut self, name: &str) {
        if self.shows() && !self.open.is_shown {
            self.open.name = Some(name.to_owned());
            self.show();
        }
    }

    /// What is written of the arguments from here on is shown with the call, and not before.
    pub fn hold(&mut self) {
        self.open.is_held = true;
    }

    /// The object of arguments of the call that has begun has begun too.
    pub fn begin_args(&mut self) {
        self.open.has_args = true;
        self.show();
    }

    /// So much of the arguments has been written.
    pub fn wrote(&mut self, args: &Writer) {
        self.open.is_held |= args.has_changed();
        if !self.open.is_shown || self.open.is_held || !self.shows() {
            return;
        }
        let settled = args.settled();
        let Some(new) = settled.get(self.open.written..).filter(|new| !new.is_empty()) else {
            return;
        };
        let kept: Vec<u8> = new.iter().copied().filter(|&byte| byte != Writer::HOLE).collect();
        self.open.written = settled.len();
        self.say_args(&String::from_utf8_lossy(&kept));
    }

    /// Shows the next piece of the arguments.
    fn say_args(&mut self, json: &str) {
        if self.open.is_held {
            return;
        }
        let held = memchr::memmem::find(json.as_bytes(), self.undecided.as_bytes());
        let held = held.filter(|_| !self.undecided.is_empty());
        self.open.is_held = held.is_some();
        let shown = &json[..held.unwrap_or(json.len())];
        if !shown.is_empty() {
            self.open.bytes += shown.len();
            self.note(Note::Args(shown.to_owned()));
        }
    }

    /// All arguments have been written, which end at this byte: no key may be there twice, where that is asked for. What was shown
    /// of them before may no longer be their beginning.
    pub fn check_keys(&mut self, args: &Writer, at: usize) {
        self.open.is_held |= args.has_changed() && self.open.bytes > 0;
        if self.scope.refuses_repeated
            && let Some(key) = args.repeated()
        {
            self.refuse(ProblemKind::RepeatedKey(key.to_owned()), at);
        }
    }

    /// Whether the call that has begun is shown, as far as it is known.
    #[must_use]
    pub fn shows(&self) -> bool {
        self.scope.early != Early::Nothing && self.problem.is_none() && !self.is_text
    }

    /// Shows that a call begins, once its name and its arguments have.
    fn show(&mut self) {
        if self.open.is_shown || !self.open.has_args || !self.shows() {
            return;
        }
        let Some(name) = &self.open.name else { return };
        if self.scope.shown.allows(name, self.scope.tools.as_deref()) {
            self.open.is_shown = true;
            let note = Note::Start { name: name.clone(), id: self.open.id.take() };
            self.note(note);
        } else {
            self.is_text = self.scope.early == Early::Exact;
        }
    }

    /// Shows what was not shown of a call that is complete, but for the bracket that closes its arguments.
    fn show_rest(&mut self, call: &Call) {
        self.open.name.get_or_insert_with(|| call.name_json().to_owned());
        self.open.has_args = true;
        if let (None, Some(id)) = (&self.open.id, call.id_json()) {
            self.open.id = Some(id.to_owned());
        }
        self.show();
        let args = call.arguments();
        if self.open.is_shown
            && let Some(rest) = args.get(self.open.bytes..args.len() - 1)
        {
            self.say_args(rest);
        }
    }

    /// A call is complete.
    pub fn push(&mut self, call: Call) {
        if self.problem.is_none() {
            if self.scope.early != Early::Nothing {
                self.show_rest(&call);
            }
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

    /// What has been noted since the last time, each with the number of its call in the block.
    pub fn notes(&mut self) -> std::vec::Drain<'_, (usize, Note)> {
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

    fn note(&mut self, note: Note) {
        self.notes.push((self.count, note));
    }
}
