//! Reads a block of calls: the items in it, and the marks around them.
//!
//! There are two kinds of problem, which end the block at different places. An item of the wrong shape is still read to its
//! end. Text that cannot be an item, is too long or was cut off has no end of its own ([`Progress::Broken`]).

use std::sync::Arc;

use super::body::{
    Calls, Early, OpenItem, Scope, closing_fence, item_begins_in_block, item_begins_unmarked,
    opening_fence, unexpected,
};
use super::call::Call;
use super::canonical::ESCAPED_JOINER;
use super::ending::Ending;
use super::event::{Event, Note};
use super::grammar::{Entry, may_be_empty};
use super::limits::Strictness;
use super::marks::starts_with;
use super::problem::{Problem, ProblemKind};
use super::recovery::Mistake;
use crate::dialect::{Body, Dialect, Inert, Str};
use crate::json::FaultKind;
use crate::text::{character_start, leading_space};

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
#[derive(Clone, Debug)]
pub struct BlockReader {
    dialect: Arc<Dialect>,
    calls: Calls,
    state: State,
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

#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each reader, which is in an item most of the time"
)]
enum State {
    /// Before the first item; the text has been read up to this byte.
    Start(usize),
    /// In an item of this body.
    Item(usize, OpenItem),
    /// After an item of this body.
    After(usize, usize),
}

impl BlockReader {
    /// A reader of a block of `dialect` that follows a mark of this kind.
    #[must_use]
    pub fn new(dialect: Arc<Dialect>, entry: Entry, scope: Scope) -> Self {
        let may_be_fenced = scope.forgives(Mistake::Fence);
        let fence = if may_be_fenced { Fence::Awaited } else { Fence::Refused };
        let mut calls = Calls::new(scope);
        calls.openers.extend_from_slice(&dialect.calls.open);
        calls.undecided = undecided(&dialect, &calls.scope);
        calls.is_unmarked = entry == Entry::None;
        let state = match entry {
            Entry::Block | Entry::None => State::Start(0),
            Entry::Call(body) => {
                calls.begin(0);
                State::Item(body, OpenItem::new(&dialect.calls.bodies[body], 0, &calls.scope))
            }
        };
        Self { dialect, calls, state, is_marked: entry == Entry::Block, fence, words: None }
    }

    /// A reader of the arguments of a call whose name (a JSON string) was in a message's head.
    #[must_use]
    pub fn named(dialect: Arc<Dialect>, name: String, scope: Scope) -> Self {
        let mut calls = Calls::new(scope);
        let heads = dialect.heads.iter();
        let ends = heads.flat_map(|heads| heads.close.iter().chain(&heads.open)).cloned().collect();
        calls.undecided = undecided(&dialect, &calls.scope);
        calls.begin(0);
        calls.name(&name);
        let body = dialect.calls.bodies.first();
        let item = body.and_then(|body| OpenItem::message(body, name, ends, &calls.scope));
        let state = item.map_or(State::Start(0), |item| State::Item(0, item));
        Self { dialect, calls, state, is_marked: false, fence: Fence::Refused, words: None }
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
            State::Item(body, item) => {
                item.cut_off(&self.dialect.calls.bodies[*body], text, &mut self.calls)
            }
            State::After(_, at) if *at > most => Err(self.too_long()),
            State::After(body, at) if begins_another(&self.dialect, *body, &within[*at..]) => {
                Err(Problem { kind: FaultKind::Ended.into(), at: text.len() })
            }
            State::After(body, _) => {
                let body = *body;
                self.words.map_or(Ok(()), |at| Err(self.unexpected(body, text, at)))
            }
        };
        let result = result.and_then(|()| self.check_rest(text));
        match result {
            Err(_) if text.len() > within.len() => Err(self.too_long()),
            Err(problem) => Err(problem),
            Ok(()) => self.calls.take(),
        }
    }

    /// Checks that an item which may go on is followed by nothing, or by the beginning of a mark that closes the block.
    fn check_rest(&self, text: &[u8]) -> Result<(), Problem> {
        let State::Item(body, item) = &self.state else { return Ok(()) };
        let Some(end) = item.may_end().filter(|_| self.is_marked) else { return Ok(()) };
        let at = end + leading_space(&text[end..]);
        let mut marks = self.dialect.calls.close.iter().chain(&self.dialect.turn_end);
        if at == text.len() || marks.any(|mark| mark.as_bytes().starts_with(&text[at..])) {
            return Ok(());
        }
        Err(self.unexpected(*body, text, at))
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
                        Next::Close(_) | Next::Other => match self.dialect.calls.bodies[0].head() {
                            Some(head) => return Err(unexpected(&[&head.open], text, at)),
                            None => self.enter(0, at),
                        },
                    }
                }
                State::Item(body, item) => {
                    let form = &self.dialect.calls.bodies[*body];
                    match item.read(form, text, &mut self.calls)? {
                        None => return Ok(None),
                        Some(end) => self.state = State::After(*body, end),
                    }
                }
                State::After(body, at) => {
                    let (body, after) = (*body, *at);
                    if !self.is_marked || self.dialect.calls.close.is_empty() {
                        return match self.goes_on(body, text, after) {
                            Some(true) => Err(self.unexpected(body, text, after)),
                            Some(false) => Ok(Some(after)),
                            None => Ok(None),
                        };
                    }
                    *at += leading_space(&text[*at..]);
                    if self.fence == Fence::Open {
                        let Some(width) = closing_fence(&text[*at..]) else { return Ok(None) };
                        *at += width;
                        *at += leading_space(&text[*at..]);
                        self.fence = Fence::Closed;
                    }
                    let is_row = self.dialect.calls.bodies[body].head().is_some();
                    if is_row && self.calls.scope.forgives(Mistake::WordsBetween) {
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

    /// Whether arguments follow a call without any, whose object was closed too early, where no mark closes the block; `None` while
    /// that is not known.
    fn goes_on(&self, body: usize, text: &[u8], at: usize) -> Option<bool> {
        let rest = &text[at + leading_space(&text[at..])..];
        match rest.first() {
            _ if !self.calls.lacks_args => Some(false),
            None => self.calls.is_whole.then_some(false),
            Some(b',' | b':') => Some(true),
            Some(b'{') => match item_begins_unmarked(&self.dialect.calls.bodies[body], rest) {
                None if self.calls.is_whole => Some(true),
                begins => begins.map(|begins| !begins),
            },
            Some(_) => Some(false),
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
        // What has no mistake comes first: an array is read as one where there is a body for it.
        for strictness in [Strictness::Strict, self.calls.scope.strictness] {
            for body in bodies.clone() {
                match item_begins_in_block(&self.dialect.calls.bodies[body], rest, strictness) {
                    Some(true) => return Next::Item(body),
                    Some(false) => {}
                    None => is_known = false,
                }
            }
            if !is_known {
                break;
            }
        }
        if is_known { Next::Other } else { Next::Unknown }
    }

    fn enter(&mut self, body: usize, at: usize) {
        self.words = None;
        let form = &self.dialect.calls.bodies[body];
        if self.is_marked && self.calls.followers.is_empty() {
            let followers = self.dialect.calls.close.iter().chain(&self.dialect.turn_end);
            let followers = followers.chain(form.head().map(|head| &head.open));
            self.calls.followers.extend(followers.cloned());
        }
        let start = match form.head() {
            Some(head) => {
                self.calls.begin(at);
                at + head.open.len()
            }
            None => at,
        };
        self.state = State::Item(body, OpenItem::new(form, start, &self.calls.scope));
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
    let Some(head) = dialect.calls.bodies[body].head() else { return false };
    let rest = &rest[leading_space(rest)..];
    let is_cut = |mark: &Str| mark.as_bytes().starts_with(rest);
    !rest.is_empty() && is_cut(&head.open) && !dialect.calls.close.iter().any(is_cut)
}

/// How many bytes of words come before the next mark of a block: what a model says between two calls, which lenient
/// reading passes over.
fn words(dialect: &Dialect, body: usize, text: &[u8]) -> usize {
    let Some(head) = dialect.calls.bodies[body].head() else { return 0 };
    let marks =
        dialect.calls.close.iter().chain(&dialect.turn_end).chain([&head.open, &head.close]);
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

#[cfg(test)]
mod tests {
    use super::super::limits::Limits;
    use super::*;
    use crate::dialect::presets;

    fn reader(limits: Limits) -> BlockReader {
        let dialect = presets::preset("cogency").expect("a row of the table");
        BlockReader::new(dialect, Entry::Block, Scope { limits, ..Scope::default() })
    }

    fn read(body: &str) -> Progress {
        reader(Limits::default()).read(body.as_bytes())
    }

    fn calls(body: &str) -> Vec<String> {
        match read(body) {
            Progress::Complete { events: Ok(said), .. } => said
                .into_iter()
                .map(|event| match event {
                    Event::Call(call) => call.into_json(),
                    other => panic!("{other:?} is not a call"),
                })
                .collect(),
            other => panic!("{body}: {other:?}"),
        }
    }

    fn problem(body: &str) -> String {
        let problem = match read(body) {
            Progress::Complete { events: Err(problem), .. } | Progress::Broken(problem) => problem,
            other => panic!("{body}: {other:?}"),
        };
        problem.located(body.as_bytes()).to_string()
    }

    #[test]
    fn a_call_is_its_name_and_its_arguments() {
        assert_eq!(calls("[]</execute>"), [""; 0]);
        assert_eq!(
            calls(
                "\u{a0}[{\"args\":{\"x\":\"</execute>\"},\"id\":[{}],\"n\\u0061me\":\"a\"}]\u{2028}</execute>"
            ),
            ["{\"name\": \"a\", \"args\": {\"x\": \"</execute>\"}}"]
        );
        assert_eq!(
            calls("[{\"name\":\"a\",\"args\":1,\"name\":\"b\",\"args\":{}}]</execute>"),
            ["{\"name\": \"b\", \"args\": {}}"]
        );
        let call = Call::of_json("\"a\"", "{\"b\": 1}");
        assert_eq!((call.name_json(), call.arguments()), ("\"a\"", "{\"b\": 1}"));
    }

    #[test]
    fn a_problem_says_what_and_where() {
        for (body, expected) in [
            (
                "{}</execute>",
                "expected a JSON array of calls, found an object at line 1, column 1.",
            ),
            ("[\n 7]</execute>", "call 0 must be an object, found a number at line 2, column 2."),
            (
                "[{\"args\":{}}]</execute>",
                "call 0 needs a \"name\" that is a string, found nothing at line 1, column 2.",
            ),
            (
                "[{\"name\":null,\"args\":{}}]</execute>",
                "call 0 needs a \"name\" that is a string, found null at line 1, column 2.",
            ),
            (
                "[{\"name\":\"a\",\"args\":[1]}]</execute>",
                "call 0 needs \"args\" that are an object, found an array at line 1, column 2.",
            ),
            ("[1,]</execute>", "expected a JSON value at line 1, column 4."),
            ("</execute>", "expected a JSON value at line 1, column 1."),
            ("[]]</execute>", "expected nothing more after the JSON value at line 1, column 3."),
        ] {
            assert_eq!(problem(body), expected);
        }
    }

    #[test]
    fn what_is_no_call_is_told_in_a_block_of_calls_with_heads() {
        let dialect = presets::preset("qwen3-coder").expect("a row of the table");
        for text in ["x>", "</parameter>\n</function>"] {
            let mut reader = BlockReader::new(Arc::clone(&dialect), Entry::Block, Scope::default());
            let ends = (1..=text.len()).map(|end| reader.read(&text.as_bytes()[..end]));
            let problem = ends.into_iter().find_map(|progress| match progress {
                Progress::Broken(problem) => Some(problem.kind.to_string()),
                _ => None,
            });
            let found = &text[..1];
            assert_eq!(problem, Some(format!("expected \"<function=\", found {found:?}")));
        }
    }

    #[test]
    fn limits_hold_at_their_bound() {
        let limits = Limits { max_block_bytes: 20, max_depth: 3, max_calls: 1 };
        let read = |body: &str| reader(limits).read(body.as_bytes());
        let outcome = |body: &str| match read(body) {
            Progress::More => "more".to_owned(),
            Progress::Complete { events: Ok(said), .. } => format!("{} calls", said.len()),
            Progress::Complete { events: Err(problem), .. } | Progress::Broken(problem) => {
                problem.kind.to_string()
            }
        };
        assert_eq!(outcome("[]                  </execute>"), "0 calls");
        assert_eq!(outcome("[]                   </execute>"), "the block is longer than 20 bytes");
        assert_eq!(outcome("[[[]]]</execute>"), "call 0 must be an object, found an array");
        assert_eq!(outcome("[{\"a\":[[]]}]</execute>"), "brackets are nested deeper than 3");
    }
}
