//! The core's reader of a block, copied but for the readers of its items.
//!
//! Reads a block of calls: the items in it, and the marks around them.
//!
//! There are two kinds of problem, which end the block at different places. An item of the wrong shape is still read to its
//! end. Text that cannot be an item, is too long or was cut off has no end of its own ([`Progress::Broken`]).

use std::sync::Arc;

use crate::item::Item;

use cogency_rs::dialect::{Body, Dialect, Inert, Str};
use cogency_rs::json::FaultKind;
use cogency_rs::protocol::body::{Calls, Early, Scope, closing_fence, opening_fence, unexpected};
use cogency_rs::protocol::call::Call;
use cogency_rs::protocol::canonical::ESCAPED_JOINER;
use cogency_rs::protocol::ending::Ending;
use cogency_rs::protocol::event::{Event, Note};
use cogency_rs::protocol::grammar::{Entry, body_begins, may_be_empty};
use cogency_rs::protocol::limits::Strictness;
use cogency_rs::protocol::marks::starts_with;
use cogency_rs::protocol::problem::{Problem, ProblemKind};
use cogency_rs::text::{character_start, leading_space};

/// How far a block has been read.
#[derive(Debug)]
pub enum Progress {
    /// The text ends before the block does.
    More,
    /// The block is complete.
    Complete {
        /// One past its last byte.
        end: usize,
        /// Its events, or its first problem.
        events: Result<Vec<Event>, Problem>,
    },
    /// The block cannot be valid, and it has no end of its own.
    Broken(Problem),
}

/// Reads one block while it arrives.
pub struct BlockReader<I> {
    dialect: Arc<Dialect>,
    calls: Calls,
    state: State<I>,
    /// Whether the block was opened by its own mark, so that another mark closes it.
    is_marked: bool,
    /// Whether a Markdown fence may still be opened or closed.
    fence: Fence,
    /// Where the words begin that were passed over after a call. They are allowed there only if another mark follows.
    words: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fence {
    /// No fence may open: the block is read strictly.
    Refused,
    /// A fence may open.
    Awaited,
    /// A fence may close, whether one was opened or not.
    Open,
    /// The fence was closed.
    Closed,
}

enum State<I> {
    /// Before the first item; the text has been read up to this byte.
    Start(usize),
    /// In an item of this body.
    Item(usize, I),
    /// After an item of this body.
    After(usize, usize),
}

impl<I: Item> BlockReader<I> {
    /// A reader of a block of `dialect` that follows a mark of this kind.
    #[must_use]
    pub fn new(dialect: Arc<Dialect>, entry: Entry, scope: Scope) -> Self {
        let fence = match scope.strictness {
            Strictness::Strict => Fence::Refused,
            _ => Fence::Awaited,
        };
        let mut calls = Calls::new(scope);
        calls.openers.extend_from_slice(&dialect.calls.open);
        calls.undecided = undecided(&dialect, &calls.scope);
        let state = match entry {
            Entry::Block | Entry::None => State::Start(0),
            Entry::Call(body) => {
                calls.begin(0);
                State::Item(body, I::new(&dialect, body, 0, &calls.scope))
            }
        };
        Self { dialect, calls, state, is_marked: entry == Entry::Block, fence, words: None }
    }

    /// Reads on in `text`: the text of the last call, with or without more at its end.
    ///
    /// After anything but [`Progress::More`] the reader must not be called again.
    pub fn read(&mut self, text: &[u8]) -> Progress {
        let most = self.calls.scope.limits.max_block_bytes.saturating_add(self.longest_close());
        let is_whole = text.len() < most;
        // What is shown of a call ends where this text does, so it must not end inside a character.
        let text = &text[..character_start(text, most)];
        match self.read_within(text) {
            Err(problem) => Progress::Broken(problem),
            Ok(None) if !is_whole => Progress::Broken(self.too_long()),
            Ok(None) => Progress::More,
            Ok(Some(end)) => Progress::Complete { end, events: self.calls.take() },
        }
    }

    /// Notes that nothing follows the text; tells whether that was not known.
    pub fn end_text(&mut self) -> bool {
        !std::mem::replace(&mut self.calls.is_whole, true)
    }

    /// The events of a block that the text ends in, before the mark that closes it. Servers take stop strings away, so it is
    /// valid if no more calls can be missing.
    ///
    /// # Errors
    /// The block is not complete, or its items are not calls.
    pub fn cut_off(&mut self, text: &[u8], ending: &Ending) -> Result<Vec<Event>, Problem> {
        let most = self.calls.scope.limits.max_block_bytes;
        self.calls.has_stopped = *ending == Ending::Stopped;
        let within = &text[..text.len().min(most)];
        let result = match &mut self.state {
            State::Start(_) => Err(Problem { kind: FaultKind::Ended.into(), at: text.len() }),
            State::Item(body, item) => item.cut_off(&self.dialect, *body, text, &mut self.calls),
            State::After(_, at) if *at > most => Err(self.too_long()),
            State::After(body, at) if begins_another(&self.dialect, *body, &within[*at..]) => {
                Err(Problem { kind: FaultKind::Ended.into(), at: text.len() })
            }
            State::After(body, _) => {
                let body = *body;
                self.words.map_or(Ok(()), |at| Err(self.unexpected(body, text, at)))
            }
        };
        match result {
            Err(_) if text.len() > within.len() => Err(self.too_long()),
            Err(problem) => Err(problem),
            Ok(()) => self.calls.take(),
        }
    }

    /// Whether [`BlockReader::notes`] or [`BlockReader::ready`] have something.
    #[must_use]
    pub fn has_news(&self) -> bool {
        self.calls.has_news()
    }

    /// The pieces of calls that have become known since the last time, each with the number of its call in the block.
    pub fn notes(&mut self) -> impl Iterator<Item = (usize, Note)> {
        self.calls.notes()
    }

    /// The calls that have become complete since the last time.
    pub fn ready(&mut self) -> impl Iterator<Item = Call> {
        self.calls.ready()
    }

    fn read_within(&mut self, text: &[u8]) -> Result<Option<usize>, Problem> {
        loop {
            match &mut self.state {
                State::Start(at) => {
                    *at += leading_space(&text[*at..]);
                    if self.fence == Fence::Awaited {
                        let Some(width) = opening_fence(&text[*at..]) else { return Ok(None) };
                        *at += width;
                        *at += leading_space(&text[*at..]);
                        self.fence = Fence::Open;
                    }
                    let at = *at;
                    match self.next(text, at, 0..self.dialect.calls.bodies.len()) {
                        Next::Unknown => return Ok(None),
                        Next::Close(end) if may_be_empty(&self.dialect) => return Ok(Some(end)),
                        Next::Item(body) => self.enter(body, at),
                        // The problem is put in the words of the first body.
                        Next::Close(_) | Next::Other => self.enter(0, at),
                    }
                }
                State::Item(body, item) => {
                    match item.read(&self.dialect, *body, text, &mut self.calls)? {
                        None => return Ok(None),
                        Some(end) => self.state = State::After(*body, end),
                    }
                }
                State::After(body, at) => {
                    let (body, after) = (*body, *at);
                    if !self.is_marked || self.dialect.calls.close.is_empty() {
                        return Ok(Some(after));
                    }
                    *at += leading_space(&text[*at..]);
                    if self.fence == Fence::Open {
                        let Some(width) = closing_fence(&text[*at..]) else { return Ok(None) };
                        *at += width;
                        *at += leading_space(&text[*at..]);
                        self.fence = Fence::Closed;
                    }
                    let is_row = matches!(self.dialect.calls.bodies[body], Body::Head(_));
                    if is_row && self.fence != Fence::Refused {
                        let passed = words(&self.dialect, body, &text[*at..]);
                        if passed > 0 {
                            self.words.get_or_insert(*at);
                        }
                        *at += passed;
                    }
                    let at = *at;
                    match self.next(text, at, body..body + usize::from(is_row)) {
                        Next::Unknown => return Ok(None),
                        Next::Close(end) => return Ok(Some(end)),
                        Next::Item(body) => self.enter(body, at),
                        Next::Other => return Err(self.unexpected(body, text, at)),
                    }
                }
            }
        }
    }

    /// What is at byte `at`: a mark that closes the block, or an item of one of these bodies.
    fn next(&self, text: &[u8], at: usize, bodies: std::ops::Range<usize>) -> Next {
        let rest = &text[at..];
        let mut is_known = true;
        let closing = self.closing().iter().map(|mark| (mark, mark.len()));
        // The end of the turn closes the block too, since a server may have taken the block's mark away.
        for (mark, width) in closing.chain(self.dialect.turn_end.iter().map(|mark| (mark, 0))) {
            match starts_with(rest, mark) {
                Some(true) => return Next::Close(at + width),
                Some(false) => {}
                None => is_known = false,
            }
        }
        for body in bodies {
            match body_begins(&self.dialect.calls.bodies[body], rest) {
                Some(true) => return Next::Item(body),
                Some(false) => {}
                None => is_known = false,
            }
        }
        if is_known { Next::Other } else { Next::Unknown }
    }

    fn enter(&mut self, body: usize, at: usize) {
        self.words = None;
        let form = &self.dialect.calls.bodies[body];
        let start = match form {
            Body::Head(head) => {
                if self.is_marked && self.calls.followers.is_empty() {
                    self.calls.followers.extend_from_slice(&self.dialect.calls.close);
                    self.calls.followers.extend_from_slice(&self.dialect.turn_end);
                    self.calls.followers.push(head.open.clone());
                }
                self.calls.begin(at);
                at + head.open.len()
            }
            Body::Python(_) => {
                if self.is_marked && self.calls.followers.is_empty() {
                    self.calls.followers.extend_from_slice(&self.dialect.calls.close);
                    self.calls.followers.extend_from_slice(&self.dialect.turn_end);
                }
                at
            }
            _ => at,
        };
        self.state = State::Item(body, I::new(&self.dialect, body, start, &self.calls.scope));
    }

    /// What closes the block.
    fn closing(&self) -> &[Str] {
        if self.is_marked { &self.dialect.calls.close } else { &[] }
    }

    fn longest_close(&self) -> usize {
        self.dialect.calls.close.iter().map(|close| close.len()).max().unwrap_or(0)
    }

    fn unexpected(&self, body: usize, text: &[u8], at: usize) -> Problem {
        match (&self.dialect.calls.bodies[body], self.dialect.calls.close.first()) {
            (Body::Json(_), _) | (_, None) => Problem { kind: FaultKind::Trailing.into(), at },
            (_, Some(close)) => unexpected(&[close], text, at),
        }
    }

    fn too_long(&self) -> Problem {
        let most = self.calls.scope.limits.max_block_bytes;
        Problem { kind: ProblemKind::TooLong(most), at: most }
    }
}

/// Whether `rest`, the end of the text, is the beginning of another call, which the batch would lack.
fn begins_another(dialect: &Dialect, body: usize, rest: &[u8]) -> bool {
    let Body::Head(head) = &dialect.calls.bodies[body] else { return false };
    let rest = &rest[leading_space(rest)..];
    let is_cut = |mark: &Str| mark.as_bytes().starts_with(rest);
    !rest.is_empty() && is_cut(&head.open) && !dialect.calls.close.iter().any(is_cut)
}

/// How many bytes of words come before the next mark of a block: what a model says between two calls, which lenient
/// reading passes over.
fn words(dialect: &Dialect, body: usize, text: &[u8]) -> usize {
    let Body::Head(head) = &dialect.calls.bodies[body] else { return 0 };
    let marks = dialect.calls.close.iter().chain(&dialect.turn_end).chain([&head.open]);
    let firsts: Vec<u8> = marks.filter_map(|mark| mark.bytes().next()).collect();
    text.iter().position(|byte| firsts.contains(byte)).unwrap_or(text.len())
}

/// From where on only a whole call says what its arguments are: a joiner may be there to break up a mark that a prompt shows, and
/// is then no part of them.
fn undecided(dialect: &Dialect, scope: &Scope) -> &'static str {
    if scope.early == Early::Exact && dialect.prompt.inert != Inert::Kept {
        ESCAPED_JOINER
    } else {
        ""
    }
}

/// What comes next in a block.
enum Next {
    /// It is not known yet.
    Unknown,
    /// The end of the block, at this byte.
    Close(usize),
    /// An item of this body.
    Item(usize),
    /// Something else.
    Other,
}
