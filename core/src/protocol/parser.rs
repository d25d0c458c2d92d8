//! Turns a model's text into events while it arrives.
//!
//! Two invariants:
//!
//! - What the parser does depends on the text alone, never on how it was cut. It decides only when the text that decides
//!   has arrived.
//! - `at` only moves forward, with one exception: a block that breaks is searched once more from its start, for the mark
//!   that ends it. How much is read again in this way is bounded by the length of the text (`Broke`).

mod before;
mod finish;
mod head;
mod mark;
mod reading;
mod runs;
mod start;
mod state;
mod unread;

use std::sync::Arc;

use super::Event;
use super::body::{Early, Scope};
use super::call::Call;
use super::event::Note;
use super::grammar::{Grammar, Opening};
use super::limits::{Limits, Strictness};
use super::notation::inert::{marks_of, may_be_broken_up};
use super::problem::Problem;
use super::run::TextRun;
use super::tools::Tools;
use super::unread::{Callable, Unread};
use super::values::Values;
use crate::dialect::{BatchEnd, Dialect, Inert};
use crate::text::is_blank;
use before::Before;
use state::{Broke, Lookahead, OpenBlock, OpenRun, Reported, Start, State, Written};

/// When text of reasoning and of the answer is handed out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stream {
    /// As one event, when its run is complete.
    #[default]
    Event,
    /// In pieces, each as soon as it cannot be the start of a mark.
    Token,
}

/// How a text is read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// When text is handed out.
    pub stream: Stream,
    /// Whether calls are shown before they are complete.
    pub calls: CallStream,
    /// Whether calls are handed out before their block is complete.
    pub start: CallStart,
    /// How much is read.
    pub limits: Limits,
    /// How closely a block must keep to its dialect.
    pub strictness: Strictness,
    /// What becomes of a block that gives no calls.
    pub unread: Unread,
    /// Whether the text begins inside reasoning, because the prompt ends with the mark that opens it.
    pub begins_in_think: bool,
    /// The tools; their schemas give the types of raw values.
    pub tools: Option<Arc<Tools>>,
}

/// Whether calls are shown before they are complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallStream {
    /// A call comes when its block is valid as a whole.
    #[default]
    Whole,
    /// Before that, its name and the values of its arguments come as they arrive, strings in pieces: for people.
    Values,
    /// Before that, its name and its arguments come as they arrive, as pieces of JSON: for programs.
    Json,
}

/// Whether calls are handed out before their block is complete, so that they can be started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallStart {
    /// They come when the block is valid as a whole.
    #[default]
    WithBlock,
    /// Each comes as soon as it is complete too, as [`Event::Ready`].
    Early,
}

/// The most bytes in the head of a message.
const LONGEST_HEAD: usize = 4096;

/// The parser.
///
/// # Complexity
/// O(text), for every input and every chunking. Memory is bounded by the longest open block.
///
/// ```
/// use cogency_rs::protocol::{Event, Grammar, Options, Parser, Stream};
///
/// let options = Options { stream: Stream::Token, ..Options::default() };
/// let mut parser = Parser::new(Grammar::cogency(), options);
/// let mut events = Vec::new();
/// parser.feed("Hello <thi", &mut events);
/// parser.feed("nk>hm</think>", &mut events);
/// assert_eq!(events, [Event::Respond("Hello ".into()), Event::Think("hm".into())]);
/// ```
#[derive(Debug)]
pub struct Parser {
    grammar: Arc<Grammar>,
    stream: Stream,
    unread: Unread,
    scope: Scope,
    state: State,
    /// How many bytes of text have come.
    fed: usize,
    /// Text that no event holds yet: the run or the block that is open.
    held: Vec<u8>,
    /// How much of `held` has been searched.
    at: usize,
    run: OpenRun,
    written: Written,
    start: Start,
    /// Whether the answer may begin by opening the reasoning again that the prompt has opened.
    may_reopen: bool,
    calls: CallStream,
    values: Values,
    /// How many calls were handed out.
    called: usize,
    /// How many calls of the open block have begun to be shown.
    begun: usize,
    /// How many calls of the open block were handed out as ready.
    ready_calls: usize,
    /// What is known of the text that is no longer held.
    before: Before,
    /// Whether there will be no more text.
    is_whole: bool,
    /// Whether reasoning that came apart from the text was the last of the answer.
    is_thought_apart: bool,
    broke: Broke,
    reported: Reported,
}

impl Parser {
    /// A parser at the start of a text.
    #[must_use]
    pub fn new(grammar: Arc<Grammar>, options: Options) -> Self {
        let Options {
            stream,
            calls,
            start: call_start,
            limits,
            strictness,
            unread,
            begins_in_think,
            tools,
        } = options;
        let state = match grammar.reasoning {
            Some(span) if begins_in_think => State::Inside(span, None),
            _ => State::Text,
        };
        let begins_anywhere = grammar.unmarked.is_empty() && grammar.heads.is_empty();
        let start =
            if begins_anywhere { Start::Past } else { Start::Space(0, Lookahead::default()) };
        let early = match calls {
            CallStream::Whole => Early::Nothing,
            CallStream::Values => Early::Shown,
            CallStream::Json => Early::Exact,
        };
        let starts_early = call_start == CallStart::Early;
        let (refuses_repeated, shown) = match &unread {
            Unread::Text(callable) => (true, callable.clone()),
            Unread::Reported if tools.is_some() => (false, Callable::Declared),
            Unread::Reported => (false, Callable::Any),
        };
        let scope = Scope {
            limits,
            strictness,
            tools,
            early,
            refuses_repeated,
            shown,
            starts_early,
            batch: 0,
        };
        Self {
            grammar,
            stream,
            unread,
            scope,
            calls,
            values: Values::default(),
            called: 0,
            fed: 0,
            held: Vec::new(),
            at: 0,
            run: OpenRun::Blank(0),
            written: Written::Nothing,
            start,
            may_reopen: matches!(state, State::Inside(..)),
            state,
            begun: 0,
            ready_calls: 0,
            before: Before::new(),
            is_whole: false,
            is_thought_apart: false,
            broke: Broke::default(),
            reported: Reported::default(),
        }
    }

    /// The dialect to write in: the first of those that are read.
    #[doc(hidden)]
    #[must_use]
    pub fn dialect(&self) -> &Arc<Dialect> {
        &self.grammar.dialects[0]
    }

    /// Whether there will be no more events: a batch is complete, or [`finish`](Self::finish) was called.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Reads the next `text`, and adds what it completes to `events`. Text after a complete batch is discarded.
    pub fn feed(&mut self, text: &str, events: &mut Vec<Event>) {
        self.feed_bytes(text.as_bytes(), events);
    }

    /// The same with `chunk`, generalised UTF-8 cut between characters.
    #[doc(hidden)]
    pub fn feed_bytes(&mut self, chunk: &[u8], events: &mut Vec<Event>) {
        match self.pass(chunk) {
            Some(run) => self.say(run.event(chunk), events),
            None => self.read(chunk, events),
        }
    }

    /// Reads the next `chunk` as [`feed_bytes`](Self::feed_bytes) does, after [`pass`](Self::pass) has not read it.
    #[doc(hidden)]
    pub fn read(&mut self, chunk: &[u8], events: &mut Vec<Event>) {
        if chunk.is_empty() {
            return;
        }
        self.is_thought_apart = false;
        if self.written == Written::Nothing {
            self.written = Written::Something;
        }
        self.fed += chunk.len();
        let fits = self.held.len() + chunk.len() <= self.limits().max_block_bytes;
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

    /// Reads the next `chunk` if all of it is one event just as it is, and returns the kind: text that is handed out as
    /// it arrives. Otherwise nothing is read.
    ///
    /// [`feed`](Self::feed) does this itself; a caller that does it first can hand on the chunk without a copy.
    #[doc(hidden)]
    pub fn pass(&mut self, chunk: &[u8]) -> Option<TextRun> {
        if self.stream == Stream::Event || !self.held.is_empty() || chunk.is_empty() {
            return None;
        }
        let run = self.goes_on(chunk).filter(|run| *run != TextRun::Result)?;
        if self.run != OpenRun::Shown && is_blank(chunk) {
            return None;
        }
        self.fed += chunk.len();
        self.before.pass(chunk, matches!(self.state, State::Inside(..)));
        self.is_thought_apart = false;
        self.run = OpenRun::Shown;
        self.written = Written::Something;
        if run == TextRun::Respond && self.start != Start::Past && !is_blank(chunk) {
            self.start = Start::Past;
        }
        Some(run)
    }

    /// The open run, if `chunk` only continues it: no mark has begun, and none can begin in the chunk.
    fn goes_on(&self, chunk: &[u8]) -> Option<TextRun> {
        let (run, marks) = match &self.state {
            State::Text if matches!(self.start, Start::Space(..)) => return None,
            State::Text => (TextRun::Respond, &self.grammar.outside),
            State::Inside(..) if self.may_reopen => return None,
            State::Inside(span, _) => {
                let span = &self.grammar.spans[*span];
                (span.run, span.inside.as_ref().unwrap_or(&self.grammar.outside))
            }
            State::Perhaps(..)
            | State::Head(_)
            | State::Quoted(_)
            | State::Block(..)
            | State::Broken(..)
            | State::Done => return None,
        };
        let is_text = self.at == self.held.len() && !marks.may_begin_in(chunk);
        is_text.then_some(run)
    }

    fn limits(&self) -> &Limits {
        &self.scope.limits
    }

    /// How many bytes may be needed to know which block begins.
    fn longest_opening(&self) -> usize {
        self.limits().max_block_bytes.saturating_add(LONGEST_HEAD)
    }

    /// Hands out the events of a block.
    fn complete(&mut self, block: &OpenBlock, said: Vec<Event>, events: &mut Vec<Event>) {
        let is_batch = self.grammar.dialects[block.opening.dialect].batch == BatchEnd::Block;
        let count = said.iter().filter(|event| matches!(event, Event::Call(_))).count();
        self.ready_calls = 0;
        self.begun = self.begun.saturating_sub(count);
        self.withdraw(events);
        if is_batch {
            self.say_rest(events);
        }
        self.called += count;
        self.scope.batch += count;
        for event in said {
            let event = match event {
                Event::Call(call) => Event::Call(self.exact(&block.opening, call)),
                event => event,
            };
            self.say(event, events);
        }
        if is_batch {
            self.execute(events);
            self.state = State::Done;
        }
    }

    /// Asks that the calls that were handed out are run.
    fn execute(&mut self, events: &mut Vec<Event>) {
        self.scope.batch = 0;
        self.say(Event::Execute, events);
    }

    /// Whether calls were handed out that wait for their execute event.
    fn is_batch_open(&self) -> bool {
        self.scope.batch > 0
    }

    /// Ends the model's turn.
    fn end_turn(&mut self, events: &mut Vec<Event>) {
        self.say_rest(events);
        if self.is_batch_open() {
            self.execute(events);
        }
        self.state = State::Done;
    }

    /// Hands out a piece of a call that is not complete, the one with this number in its block.
    fn note(&mut self, number: usize, note: Note, events: &mut Vec<Event>) {
        let number = self.called + number;
        match note {
            Note::Start { .. } => {
                self.begun += 1;
                self.values = Values::default();
            }
            Note::Args(json) if self.calls == CallStream::Values => {
                let mut values = std::mem::take(&mut self.values);
                values.feed(json.as_bytes(), |path, text| {
                    self.say(Event::Piece(number, Note::Value(path, text)), events);
                });
                self.values = values;
                return;
            }
            _ => {}
        }
        self.say(Event::Piece(number, note), events);
    }

    /// Hands out a complete call of a block that is not complete.
    fn ready(&mut self, opening: &Opening, call: Call, events: &mut Vec<Event>) {
        self.ready_calls += 1;
        let call = self.exact(opening, call);
        self.say(Event::Ready(call), events);
    }

    /// A call of a block with this opening, as it is meant: what the model copied from a prompt may have its marks
    /// broken up.
    fn exact(&self, opening: &Opening, call: Call) -> Call {
        let dialect = &self.grammar.dialects[opening.dialect];
        if dialect.prompt.inert == Inert::Kept || !may_be_broken_up(call.json()) {
            return call;
        }
        let marks = marks_of(dialect);
        call.map(|json| marks.exact_json(json))
    }

    /// Takes back the ready calls of the open block, and those that have begun: it is not valid.
    fn withdraw(&mut self, events: &mut Vec<Event>) {
        let ready = std::mem::take(&mut self.ready_calls);
        if std::mem::take(&mut self.begun) + ready > 0 {
            self.say(Event::Withdrawn, events);
        }
    }

    /// Reports a malformed block, the first `length` bytes of `text`, or counts it; or hands it out as text.
    fn say_malformed(
        &mut self,
        grammar: &Grammar,
        block: &OpenBlock,
        problem: &Problem,
        (text, length): (&[u8], usize),
        events: &mut Vec<Event>,
    ) {
        if self.shows_unread() {
            self.say_unread(&text[..length], events);
        } else if let Some(report) =
            self.reported.malformed(grammar, block, problem, (text, length))
        {
            self.say(report.into(), events);
        }
    }

    /// Reports the malformed blocks that were only counted.
    fn say_rest(&mut self, events: &mut Vec<Event>) {
        if let Some(report) = self.reported.rest(&self.grammar) {
            self.say(report.into(), events);
        }
    }

    fn say(&mut self, event: Event, events: &mut Vec<Event>) {
        self.written = if event == Event::End { Written::End } else { Written::Something };
        if let Event::Respond(text) = &event
            && self.start != Start::Past
            && !text.is_blank()
        {
            self.start = Start::Past;
        }
        events.push(event);
    }
}

#[cfg(test)]
mod tests;
