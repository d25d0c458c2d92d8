//! Turns a model's text into events while it arrives.
//!
//! Two invariants carry everything that is promised of it:
//!
//! - What the parser does depends on the text alone, never on how it was cut. It decides nothing before the
//!   text that decides it is there.
//! - `at` only moves forward, but for one case: a block that breaks is searched once more from its start, for
//!   the tag that ends it. Two open strings cannot break the same text twice, so the cost stays linear.

use std::borrow::Cow;

use super::call::{CallReader, Problem, Progress};
use super::tag::{Kind, Search, TAGS, Tag, search};
use super::text::{is_blank, leading_space, prefix};
use super::{Event, Text};

/// When `think` and `respond` text is handed out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stream {
    /// As one event, when its run is complete.
    #[default]
    Event,
    /// In pieces, as soon as the text cannot be the start of a tag.
    Token,
}

/// Bounds that keep memory bounded, whatever the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes in the body of an execute block; longer runs of other text are handed out in pieces of this size.
    pub max_block_bytes: usize,
    /// Brackets open at once in an execute block.
    pub max_depth: usize,
    /// Calls in an execute block.
    pub max_calls: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_block_bytes: 10 << 20, max_depth: 200, max_calls: 1024 }
    }
}

/// The parser.
///
/// # Complexity
/// O(text), for every input and every chunking. Memory is bounded by the longest open block.
///
/// ```
/// use cogency_rs::protocol::{Event, Limits, Parser, Stream, Text};
///
/// let mut parser = Parser::new(Stream::Token, Limits::default());
/// let mut events = Vec::new();
/// parser.feed("Hello <thi".as_bytes(), &mut events);
/// parser.feed("nk>hm</think>".as_bytes(), &mut events);
/// assert_eq!(events, [Event::Respond("Hello ".into()), Event::Think("hm".into())]);
/// ```
#[derive(Debug)]
pub struct Parser {
    stream: Stream,
    limits: Limits,
    state: State,
    /// Text that no event holds yet: the run or the body that is open.
    held: Vec<u8>,
    /// How much of `held` has been searched.
    at: usize,
    /// What is known of the open run.
    run: Known,
}

#[derive(Debug)]
enum State {
    /// Outside every block.
    Text,
    /// Inside a block of text.
    Inside(&'static Tag),
    /// Inside an execute block.
    Calls(&'static Tag, Box<CallReader>),
    /// Inside an execute block that is reported as broken, in search of its end.
    Broken(&'static Tag),
    /// A batch is complete, or the text has ended.
    Done,
}

impl Parser {
    /// A parser at the start of a text.
    #[must_use]
    pub fn new(stream: Stream, limits: Limits) -> Self {
        Self { stream, limits, state: State::Text, held: Vec::new(), at: 0, run: Known::Blank(0) }
    }

    /// Whether nothing more will come: a batch is complete, or [`finish`](Self::finish) was called.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Reads the next `chunk`, generalised UTF-8 cut between characters, and adds what it completes to
    /// `events`. Text behind a complete batch is discarded.
    pub fn feed(&mut self, chunk: &[u8], events: &mut Vec<Event>) {
        if chunk.is_empty() {
            return;
        }
        if let Some(run) = self.pass(chunk) {
            events.push(run.event(chunk));
            return;
        }
        let fits = self.held.len() + chunk.len() <= self.limits.max_block_bytes;
        if self.stream == Stream::Event && fits && self.goes_on(chunk).is_some() {
            self.held.extend_from_slice(chunk);
            self.at = self.held.len();
            return;
        }
        if self.held.is_empty() {
            let used = self.advance(chunk, events);
            self.held.extend_from_slice(&chunk[used..]);
        } else {
            let mut text = std::mem::take(&mut self.held);
            text.extend_from_slice(chunk);
            let used = self.advance(&text, events);
            text.drain(..used);
            self.held = text;
        }
    }

    /// Whether the next `chunk` is one event just as it stands, and of which kind: text that is handed out as it
    /// arrives, with nothing of it held back. Then it has been read.
    ///
    /// [`feed`](Self::feed) asks this itself; who asks it first can hand on the chunk without a copy.
    pub fn pass(&mut self, chunk: &[u8]) -> Option<Run> {
        if self.stream == Stream::Event || !self.held.is_empty() || chunk.is_empty() {
            return None;
        }
        let run = self.goes_on(chunk).filter(|run| *run != Run::Result)?;
        if self.run != Known::Shown && is_blank(chunk) {
            return None;
        }
        self.run = Known::Shown;
        Some(run)
    }

    /// The open run, if all that `chunk` can do is to go on with it: no tag has begun, and none begins.
    fn goes_on(&self, chunk: &[u8]) -> Option<Run> {
        let run = match &self.state {
            State::Text => Run::Respond,
            State::Inside(tag) => Run::inside(tag.kind),
            State::Calls(..) | State::Broken(_) | State::Done => return None,
        };
        let is_text = self.at == self.held.len() && memchr::memchr(b'<', chunk).is_none();
        is_text.then_some(run)
    }

    /// The text has ended: hands out what is still open.
    ///
    /// An open `think` becomes a think event, an open `results` a result event, an open execute block one
    /// malformed error; no call of it is handed out.
    pub fn finish(&mut self, events: &mut Vec<Event>) {
        let mut text = std::mem::take(&mut self.held);
        loop {
            match &mut self.state {
                State::Text => {
                    let text = std::mem::take(&mut text).into();
                    self.end_run(Run::Respond, text, Blank::Shown, events);
                }
                State::Inside(tag) => {
                    let run = Run::inside(tag.kind);
                    let text = std::mem::take(&mut text).into();
                    self.end_run(run, text, Blank::Hidden, events);
                }
                State::Calls(tag, reader) => {
                    let problem = reader.cut_off(&text);
                    events.push(malformed(&problem, &text));
                    if problem.kind.may_hide_the_end() {
                        self.state = State::Broken(tag);
                        self.at = 0;
                        let used = self.advance(&text, events);
                        text.drain(..used);
                        continue;
                    }
                }
                State::Broken(_) | State::Done => {}
            }
            break;
        }
        self.state = State::Done;
        self.at = 0;
    }

    /// Reads on in `text`, whose first `self.at` bytes have been searched; returns how many of its bytes are
    /// no longer needed.
    fn advance(&mut self, text: &[u8], events: &mut Vec<Event>) -> usize {
        let mut start = 0;
        loop {
            match &mut self.state {
                State::Text => match search(text, self.at, &TAGS.iter().map(|tag| tag.open)) {
                    Search::Found { needle, start: end, end: behind } => {
                        self.end_run(Run::Respond, text[start..end].into(), Blank::Hidden, events);
                        self.enter(&TAGS[needle], events);
                        (start, self.at) = (behind, behind);
                    }
                    search => {
                        self.at = search.or_end(text);
                        start += self.stream_run(Run::Respond, &text[start..self.at], events);
                        break;
                    }
                },
                State::Inside(tag) => {
                    let run = Run::inside(tag.kind);
                    match search(text, self.at, &std::iter::once(tag.close)) {
                        Search::Found { start: end, end: behind, .. } => {
                            self.end_run(run, text[start..end].into(), Blank::Hidden, events);
                            self.state = State::Text;
                            (start, self.at) = (behind, behind);
                        }
                        search => {
                            self.at = search.or_end(text);
                            start += self.stream_run(run, &text[start..self.at], events);
                            break;
                        }
                    }
                }
                State::Calls(tag, reader) => match reader.read(&text[start..]) {
                    Progress::More => break,
                    Progress::Complete { calls: Ok(calls), .. } => {
                        events.extend(calls.into_iter().map(Event::Call));
                        events.push(Event::Execute);
                        self.state = State::Done;
                    }
                    Progress::Complete { end, calls: Err(problem) } => {
                        events.push(malformed(&problem, &text[start..]));
                        self.state = State::Text;
                        start += end;
                        self.at = start;
                    }
                    Progress::Broken(problem) => {
                        events.push(malformed(&problem, &text[start..]));
                        self.state = State::Broken(tag);
                        self.at = start;
                    }
                },
                State::Broken(tag) => match search(text, self.at, &std::iter::once(tag.close)) {
                    Search::Found { end, .. } => {
                        self.state = State::Text;
                        (start, self.at) = (end, end);
                    }
                    search => {
                        self.at = search.or_end(text);
                        start = self.at;
                        break;
                    }
                },
                State::Done => {
                    (start, self.at) = (text.len(), text.len());
                    break;
                }
            }
        }
        self.at = self.at.saturating_sub(start);
        start
    }

    fn enter(&mut self, tag: &'static Tag, events: &mut Vec<Event>) {
        match tag.kind {
            Kind::Think | Kind::Results => self.state = State::Inside(tag),
            Kind::Calls => {
                let reader = CallReader::new(tag.close, self.limits);
                self.state = State::Calls(tag, Box::new(reader));
            }
            Kind::End => events.push(Event::End),
        }
    }

    /// Hands out what can be handed out of a run that goes on; returns how many bytes of it that was.
    fn stream_run(&mut self, run: Run, text: &[u8], events: &mut Vec<Event>) -> usize {
        if self.stream == Stream::Event || run == Run::Result {
            return self.split_run(run, text, events);
        }
        if let Known::Blank(known) = self.run {
            let blank = known + leading_space(&text[known..]);
            if blank == text.len() {
                self.run = Known::Blank(blank);
                return self.split_run(run, text, events);
            }
        }
        if !text.is_empty() {
            self.run = Known::Shown;
            events.push(run.event(text));
        }
        text.len()
    }

    /// Hands out the pieces of a run that is longer than a run may be; returns how many bytes they hold.
    fn split_run(&mut self, run: Run, text: &[u8], events: &mut Vec<Event>) -> usize {
        let mut used = 0;
        while text.len() - used > self.limits.max_block_bytes {
            let piece = prefix(&text[used..], self.limits.max_block_bytes);
            self.run = Known::Shown;
            events.push(run.event(piece));
            used += piece.len();
        }
        used
    }

    /// Hands out the rest of a run.
    fn end_run(&mut self, run: Run, text: Cow<'_, [u8]>, blank: Blank, events: &mut Vec<Event>) {
        let used = self.split_run(run, &text, events);
        let rest = if used == 0 { text } else { Cow::Borrowed(&text[used..]) };
        let is_shown = self.run == Known::Shown || blank == Blank::Shown;
        if !rest.is_empty() && (is_shown || !is_blank(&rest)) {
            events.push(run.event(rest));
        }
        self.run = Known::Blank(0);
    }
}

/// What is known of a run before it is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// It begins with whitespace, at least this many bytes.
    Blank(usize),
    /// A piece of it was handed out already, so that the rest counts even if blank.
    Shown,
}

/// Text between two tags, by the event it becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// [`Event::Respond`]
    Respond,
    /// [`Event::Think`]
    Think,
    /// [`Event::Result`]
    Result,
}

impl Run {
    /// The run inside a block of this kind.
    fn inside(kind: Kind) -> Self {
        match kind {
            Kind::Think => Self::Think,
            Kind::Results => Self::Result,
            Kind::Calls | Kind::End => Self::Respond,
        }
    }

    fn event(self, text: impl Into<Text>) -> Event {
        match self {
            Self::Respond => Event::Respond(text.into()),
            Self::Think => Event::Think(text.into()),
            Self::Result => Event::Result(text.into()),
        }
    }
}

/// Whether a run of nothing but whitespace is an event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Blank {
    Shown,
    Hidden,
}

impl Search {
    /// Up to where `text` has been searched, nothing having been found.
    fn or_end(self, text: &[u8]) -> usize {
        match self {
            Self::Pending(start) => start,
            _ => text.len(),
        }
    }
}

/// The report of a malformed block. Its first words are cogency 3.3.0's.
fn malformed(problem: &Problem, body: &[u8]) -> Event {
    Event::Respond(Text::from(format!(
        "Error: Malformed tool call syntax. In the execute block: {} No call was run. Write the whole block \
         again, as one JSON array: [{{\"name\": \"...\", \"args\": {{...}}}}].",
        problem.located(body)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searched from its start for every chunk, this would take minutes.
    #[test]
    fn whitespace_that_is_held_is_searched_once() {
        const SIZE: usize = if cfg!(miri) { 100 } else { 1_000_000 };
        let (mut parser, mut events) = (Parser::new(Stream::Token, Limits::default()), Vec::new());
        for _ in 0..SIZE {
            parser.feed(b" ", &mut events);
        }
        assert_eq!(events, []);
        parser.feed(b"a", &mut events);
        assert_eq!(events, [Event::Respond([&b" ".repeat(SIZE)[..], b"a"].concat()[..].into())]);
    }
}
