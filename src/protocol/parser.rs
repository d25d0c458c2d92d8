//! Turns a model's text into events while it arrives.
//!
//! Two invariants carry everything that is promised of it:
//!
//! - What the parser does depends on the text alone, never on how it was cut. It decides nothing before the
//!   text that decides it is there.
//! - `at` only moves forward, but for one case: a block that breaks is searched once more from its start, for
//!   the tag that ends it. Two open strings cannot break the same text twice, so the cost stays linear.

use std::borrow::Cow;
use std::sync::Arc;

use super::block::{BlockReader, Progress};
use super::body::{Note, Scope};
use super::canonical::json_string;
use super::grammar::{Addressee, Entry, Grammar, Inner, Mark, Opening, Reopened, Span};
use super::json::{FaultKind, Scanner};
use super::limits::{Limits, Reading};
use super::marks::{Search, find, starts_with};
use super::problem::Problem;
use super::report::{Ending, Report};
use super::text::{is_blank, leading_space, prefix};
use super::tools::Tools;
use super::{Event, Text};
use crate::dialect::{Batch, Dialect, Unmarked};

/// When `think` and `respond` text is handed out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stream {
    /// As one event, when its run is complete.
    #[default]
    Event,
    /// In pieces, as soon as the text cannot be the start of a tag.
    Token,
}

/// How a text is read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// When text is handed out.
    pub stream: Stream,
    /// Whether calls are shown before they are complete.
    pub calls: CallStream,
    /// What is too much.
    pub limits: Limits,
    /// How closely a block must keep to its dialect.
    pub reading: Reading,
    /// Whether the text begins inside reasoning, which the prompt has opened already.
    pub begins_in_think: bool,
    /// The tools whose schemas say of what type a raw value is.
    pub tools: Option<Arc<Tools>>,
}

/// Whether calls are shown before they are complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallStream {
    /// A call comes when its block is valid as a whole.
    #[default]
    Whole,
    /// Before that, its name and its arguments come as they arrive.
    Pieces,
}

/// The longest head of a message, in bytes.
const LONGEST_HEAD: usize = 4096;

/// The parser.
///
/// # Complexity
/// O(text), for every input and every chunking. Memory is bounded by the longest open block.
///
/// ```
/// use cogency_rs::dialect::presets::cogency;
/// use cogency_rs::protocol::{Event, Options, Parser, Stream};
///
/// let options = Options { stream: Stream::Token, ..Options::default() };
/// let mut parser = Parser::new(cogency(), options);
/// let mut events = Vec::new();
/// parser.feed("Hello <thi".as_bytes(), &mut events);
/// parser.feed("nk>hm</think>".as_bytes(), &mut events);
/// assert_eq!(events, [Event::Respond("Hello ".into()), Event::Think("hm".into())]);
/// ```
#[derive(Debug)]
pub struct Parser {
    grammar: Arc<Grammar>,
    stream: Stream,
    scope: Scope,
    state: State,
    /// Text that no event holds yet: the run or the block that is open.
    held: Vec<u8>,
    /// How much of `held` has been searched.
    at: usize,
    /// What is known of the open run.
    run: Known,
    said: Said,
    start: Start,
    /// Whether the prompt has opened the reasoning, which the answer may begin by opening again.
    may_reopen: bool,
    /// How many calls have begun.
    begun: usize,
    /// Whether calls were handed out that wait for their execute event.
    is_batch_open: bool,
    /// Whether the last byte of what was read is a line break, or there is none.
    is_at_line_start: bool,
}

/// What a text said last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Nothing,
    Something,
    /// That it is done.
    End,
}

/// Whether the answer has begun, for dialects in which its first thing may be a block without a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// It has not: the open run is so many bytes of space, and something that may be more.
    Space(usize, Lookahead),
    /// It begins with something else, which may be reasoning.
    Else,
    /// It has begun.
    Past,
}

#[derive(Debug)]
enum State {
    /// Outside every block.
    Text,
    /// Behind a mark that is one only if the right thing follows. It stands at this byte of the open run.
    Perhaps(Perhaps, usize),
    /// In the head of a message, in the dialect of this number.
    Head(usize),
    /// In reasoning or results; in reasoning, whether what would open a block stands there at the start of a line.
    Inside(usize, Option<String>),
    /// In a block of calls.
    Block(OpenBlock, Box<BlockReader>),
    /// In a block that is broken, in search of its end; the problem is there until it is reported.
    Broken(OpenBlock, Option<Problem>),
    /// A batch is complete, or the text has ended.
    Done,
}

/// A mark that is one only if the right thing follows.
#[derive(Debug)]
enum Perhaps {
    /// Of a span of results, behind a mark of so many bytes: an array, or nothing at all.
    Array(usize, usize, Box<Scanner>),
    /// Of a block of calls: the number of the mark, and its length.
    Block(usize, usize, Lookahead),
}

/// How much of what follows a place has been looked at in vain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lookahead {
    /// Up to where; `None` before the first look.
    seen: Option<usize>,
    /// Whether the last of it was space, so that more space changes nothing. Without this a flood of it would be looked at
    /// again and again.
    ends_in_space: bool,
}

impl Lookahead {
    /// Whether what follows, all of which is `text`, may say more than it did.
    fn says_more(&mut self, text: &[u8]) -> bool {
        let seen = self.seen.replace(text.len());
        let new = &text[seen.unwrap_or(0)..];
        if new.is_empty() {
            return seen.is_none();
        }
        let was_space = std::mem::replace(&mut self.ends_in_space, is_blank(new));
        seen.is_none() || !was_space || !self.ends_in_space
    }
}

/// A block that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OpenBlock {
    opening: Opening,
    /// How long the mark is that opened it.
    mark: usize,
}

impl Parser {
    /// A parser at the start of a text.
    #[must_use]
    pub fn new(grammar: Arc<Grammar>, options: Options) -> Self {
        let Options { stream, calls, limits, reading, begins_in_think, tools } = options;
        let state = match grammar.reasoning {
            Some(span) if begins_in_think => State::Inside(span, None),
            _ => State::Text,
        };
        let begins_anywhere = grammar.unmarked.is_empty() && grammar.heads.is_empty();
        let start =
            if begins_anywhere { Start::Past } else { Start::Space(0, Lookahead::default()) };
        let is_watched = calls == CallStream::Pieces;
        Self {
            grammar,
            stream,
            scope: Scope { limits, reading, tools, is_watched },
            held: Vec::new(),
            at: 0,
            run: Known::Blank(0),
            said: Said::Nothing,
            start,
            may_reopen: matches!(state, State::Inside(..)),
            state,
            begun: 0,
            is_batch_open: false,
            is_at_line_start: true,
        }
    }

    /// The dialect that is written, the first of those that are read.
    #[must_use]
    pub fn dialect(&self) -> &Arc<Dialect> {
        &self.grammar.dialects[0]
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
        if self.said == Said::Nothing {
            self.said = Said::Something;
        }
        if let Some(run) = self.pass(chunk) {
            self.say(run.event(chunk), events);
            return;
        }
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
        self.is_at_line_start = chunk.ends_with(b"\n");
        self.run = Known::Shown;
        self.said = Said::Something;
        Some(run)
    }

    /// The open run, if all that `chunk` can do is to go on with it: no mark has begun, and none begins.
    fn goes_on(&self, chunk: &[u8]) -> Option<Run> {
        let (run, marks) = match &self.state {
            State::Text if matches!(self.start, Start::Space(..)) => return None,
            State::Text => (Run::Respond, &self.grammar.outside),
            State::Inside(..) if self.may_reopen => return None,
            State::Inside(span, _) => {
                let span = &self.grammar.spans[*span];
                (span.run, span.inside.as_ref().unwrap_or(&self.grammar.outside))
            }
            State::Perhaps(..)
            | State::Head(_)
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

    /// How much text may be needed to tell a block by how it begins.
    fn longest_opening(&self) -> usize {
        self.limits().max_block_bytes.saturating_add(LONGEST_HEAD)
    }

    /// The text has ended: hands out what is still open.
    ///
    /// Open reasoning becomes a think event, open results a result event. An open block runs if nothing is missing of it but
    /// marks that servers take away, unless the text was cut; any other is an error, and no call of it is handed out. An
    /// answer that was cut elsewhere is an error behind it. Calls that wait for the end of the answer are to be run now.
    pub fn finish(&mut self, ending: &Ending, events: &mut Vec<Event>) {
        let mut text = std::mem::take(&mut self.held);
        let report = self.finish_state(ending, &mut text, events);
        if let Some(report) = report {
            self.say(report.into(), events);
        }
        if self.is_batch_open && !matches!(ending, Ending::Broken(_)) {
            self.execute(events);
        }
        self.state = State::Done;
        self.at = 0;
    }

    fn finish_state(
        &mut self,
        ending: &Ending,
        text: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Option<Report> {
        loop {
            match &mut self.state {
                State::Text => {
                    let report = self.cut_answer(ending, text);
                    let rest = std::mem::take(text).into();
                    let blank = if self.is_batch_open { Blank::Hidden } else { Blank::Shown };
                    self.end_run(Run::Respond, rest, blank, events);
                    return report;
                }
                State::Perhaps(Perhaps::Block(..), _) => self.state = State::Text,
                State::Head(number) if self.grammar.is_headless(*number, text) => {
                    self.state = State::Text;
                }
                State::Head(_) => return self.cut_answer(ending, text),
                State::Perhaps(Perhaps::Array(span, mark, scanner), at) => {
                    let (span, mark, at) = (*span, *mark, *at);
                    if scanner.depth() == 0 {
                        self.state = State::Text;
                        continue;
                    }
                    // As for an array that is complete, the first closing mark ends it, also where it stands in a string.
                    self.end_run(Run::Respond, text[..at].into(), Blank::Hidden, events);
                    self.state = State::Inside(span, None);
                    text.drain(..at + mark);
                    self.at = 0;
                    self.read_on(text, events);
                }
                State::Inside(span, opened) => {
                    let opened = opened.take();
                    let span = &self.grammar.clone().spans[*span];
                    let report = match opened {
                        Some(mark) => Some(Report::in_reasoning(&mark, &span.close)),
                        None => self.cut_answer(ending, text),
                    };
                    self.end_run(span.run, std::mem::take(text).into(), Blank::Hidden, events);
                    return report;
                }
                State::Block(block, reader) => {
                    let (block, grammar) = (block.clone(), self.grammar.clone());
                    let said = reader.cut_off(&text[block.mark..], ending);
                    match said {
                        Ok(said) if !ending.is_cut() => {
                            self.complete(&block, said, events);
                            return None;
                        }
                        Ok(_) => {
                            let at = text.len() - block.mark;
                            let problem = Problem { kind: FaultKind::Ended.into(), at };
                            return Some(Report::cut_off(
                                &problem,
                                text,
                                block.of(&grammar),
                                ending,
                            ));
                        }
                        Err(problem) if block.is_only_text(&grammar, &problem) => {
                            self.state = State::Text
                        }
                        Err(problem) => {
                            // Of a text that was cut it is known why a string has no end.
                            let is_known = ending.is_cut() && problem.kind.is_the_end();
                            let hides_the_end = problem.kind.may_hide_the_end() && !is_known;
                            self.at = block.mark;
                            self.state = State::Broken(block, Some(problem));
                            if hides_the_end {
                                self.read_on(text, events);
                            }
                        }
                    }
                }
                State::Broken(block, Some(problem)) => {
                    let raw = raw(&self.scope.limits, &self.grammar, text, block);
                    let broken = block.of(&self.grammar);
                    return Some(if problem.kind.is_the_end() {
                        Report::cut_off(problem, raw, broken, ending)
                    } else {
                        Report::malformed(problem, text, raw.len(), broken)
                    });
                }
                State::Broken(_, None) | State::Done => return None,
            }
        }
    }

    /// What is missing of a text that ends outside blocks, with `rest` that no event holds yet.
    fn cut_answer(&self, ending: &Ending, rest: &[u8]) -> Option<Report> {
        let is_whole = match self.said {
            Said::Nothing => *ending != Ending::Length, // then nobody has cut it
            Said::Something => false,
            Said::End => is_blank(rest),
        };
        if is_whole { None } else { Report::cut_answer(ending) }
    }

    fn read_on(&mut self, text: &mut Vec<u8>, events: &mut Vec<Event>) {
        let used = self.advance(text, events);
        text.drain(..used);
    }

    /// Reads on in `text`, whose first `self.at` bytes have been searched; returns how many of its bytes are
    /// no longer needed.
    fn advance(&mut self, text: &[u8], events: &mut Vec<Event>) -> usize {
        let grammar = Arc::clone(&self.grammar);
        let mut start = 0;
        while match self.state {
            State::Text => self.read_text(&grammar, text, &mut start, events),
            State::Perhaps(Perhaps::Array(..), _) => {
                self.read_array(&grammar, text, &mut start, events)
            }
            State::Perhaps(Perhaps::Block(..), _) => {
                self.read_opening(&grammar, text, &mut start, events)
            }
            State::Head(number) => self.read_head(&grammar, number, text, &mut start),
            State::Inside(span, _) => {
                self.read_inside((span, &grammar.spans[span]), &grammar, text, &mut start, events)
            }
            State::Block(..) => self.read_block(&grammar, text, &mut start, events),
            State::Broken(..) => self.read_broken(&grammar, text, &mut start, events),
            State::Done => {
                (start, self.at) = (text.len(), text.len());
                false
            }
        } {}
        self.at = self.at.saturating_sub(start);
        if start > 0 {
            self.is_at_line_start = text[start - 1] == b'\n';
        }
        start
    }

    // Each of these reads on in one state. `start` is the first byte of `text` that is still needed. It tells whether there
    // is more to read.

    fn read_text(
        &mut self,
        grammar: &Grammar,
        text: &[u8],
        start: &mut usize,
        events: &mut Vec<Event>,
    ) -> bool {
        if let Start::Space(known, mut ahead) = self.start {
            let at = *start + known;
            let at = at + leading_space(&text[at..]);
            let says_more = ahead.says_more(&text[at..]);
            self.start = Start::Space(at - *start, ahead);
            if at < text.len() {
                let rest = &text[at..text.len().min(at.saturating_add(self.longest_opening()))];
                if !says_more && at + rest.len() == text.len() {
                    self.at = at;
                    return false;
                }
                match grammar.headless(rest) {
                    Ok(None) => {}
                    Ok(Some(head)) => {
                        self.end_run(Run::Respond, text[*start..at].into(), Blank::Hidden, events);
                        (*start, self.at) = (at, at);
                        self.start = Start::Past;
                        self.state = State::Head(head);
                        return true;
                    }
                    Err(()) => {
                        self.at = at;
                        return false;
                    }
                }
                match grammar.opening(&grammar.unmarked, rest) {
                    Ok(Some(opening)) => {
                        let block = OpenBlock { opening: opening.clone(), mark: 0 };
                        self.open_block(grammar, block, text, (start, at), events);
                        return true;
                    }
                    Ok(None) => self.start = Start::Else,
                    Err(()) if text.len() - at > rest.len() => self.start = Start::Else,
                    Err(()) => {
                        self.at = at;
                        return false;
                    }
                }
            }
        }
        let search = grammar.outside.search(text, self.at);
        let Search::Found { mark, start: at, end } = search else {
            self.at = search.or_end(text);
            let used = self.stream_run(Run::Respond, &text[*start..self.at], events);
            *start += used;
            if let Start::Space(known, _) = &mut self.start {
                *known -= used;
            }
            return false;
        };
        self.at = end;
        if grammar.at_line_start && !self.is_line_start(text, at) {
            return true;
        }
        match &grammar.marks[mark] {
            Mark::Span(number) if grammar.spans[*number].needs_array => {
                let perhaps = Perhaps::Array(*number, end - at, Box::default());
                self.state = State::Perhaps(perhaps, at - *start);
            }
            Mark::Block(_) => {
                self.state = State::Perhaps(
                    Perhaps::Block(mark, end - at, Lookahead::default()),
                    at - *start,
                );
            }
            Mark::Head(number) => {
                self.end_run(Run::Respond, text[*start..at].into(), Blank::Hidden, events);
                *start = at;
                self.state = State::Head(*number);
            }
            Mark::Unmarked => {
                self.state =
                    State::Perhaps(Perhaps::Block(mark, 0, Lookahead::default()), at - *start);
            }
            meaning => {
                self.end_run(Run::Respond, text[*start..at].into(), Blank::Hidden, events);
                *start = end;
                match meaning {
                    Mark::Span(span) => self.state = State::Inside(*span, None),
                    Mark::End => self.say(Event::End, events),
                    Mark::TurnEnd => self.end_turn(events),
                    Mark::Ignored | Mark::Head(_) | Mark::Block(_) | Mark::Unmarked => {}
                }
            }
        }
        true
    }

    fn is_line_start(&self, text: &[u8], at: usize) -> bool {
        match at.checked_sub(1) {
            Some(before) => text[before] == b'\n',
            None => self.is_at_line_start,
        }
    }

    /// In the head of a message.
    fn read_head(
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
        let end = match find(within, self.at, &heads.end) {
            Ok(end) => end,
            Err(_) if within.len() < text.len() => {
                self.state = State::Text;
                return true;
            }
            Err(searched) => {
                self.at = searched;
                return false;
            }
        };
        let behind = end + heads.end.len();
        self.at = behind;
        let span = match heads.addressee(&text[*start..end]) {
            Addressee::Reasoning => headed.reasoning,
            Addressee::Answer => headed.answer,
            Addressee::Tool(name) if heads.names_call => {
                let opening = Opening { dialect: headed.dialect, entry: Entry::Call(0) };
                let block = OpenBlock { opening, mark: behind - *start };
                let name = json_string(&name);
                let reader = BlockReader::named(Arc::clone(dialect), name, self.scope.clone());
                self.start = Start::Past;
                self.state = State::Block(block, Box::new(reader));
                return true;
            }
            Addressee::Tool(_) => {
                *start = behind;
                self.state = State::Text;
                return true;
            }
        };
        *start = behind;
        self.state = State::Inside(span, None);
        true
    }

    /// Behind a mark that may open a block.
    fn read_opening(
        &mut self,
        grammar: &Grammar,
        text: &[u8],
        start: &mut usize,
        events: &mut Vec<Event>,
    ) -> bool {
        let State::Perhaps(Perhaps::Block(mark, length, mut ahead), at) = self.state else {
            return true;
        };
        let openings = match &grammar.marks[mark] {
            Mark::Block(openings) => openings,
            _ => &grammar.unmarked,
        };
        let at = *start + at;
        let rest = &text[at + length..];
        let says_more = ahead.says_more(rest);
        let most = self.longest_opening();
        let opening = match says_more {
            true => grammar.opening(openings, &rest[..rest.len().min(most)]),
            false => Err(()),
        };
        match opening {
            Ok(Some(opening)) => {
                let block = OpenBlock { opening: opening.clone(), mark: length };
                self.open_block(grammar, block, text, (start, at), events);
                true
            }
            Err(()) if rest.len() <= most => {
                let used = self.stream_run(Run::Respond, &text[*start..at], events);
                *start += used;
                self.state = State::Perhaps(Perhaps::Block(mark, length, ahead), at - *start);
                self.at = text.len();
                false
            }
            Ok(None) | Err(()) => {
                (self.state, self.at) = (State::Text, at + length.max(1));
                if grammar.leaves_out(openings) {
                    self.end_run(Run::Respond, text[*start..at].into(), Blank::Hidden, events);
                    *start = self.at;
                }
                true
            }
        }
    }

    /// A block begins at byte `at`, and the open run ends there.
    fn open_block(
        &mut self,
        grammar: &Grammar,
        block: OpenBlock,
        text: &[u8],
        (start, at): (&mut usize, usize),
        events: &mut Vec<Event>,
    ) {
        self.end_run(Run::Respond, text[*start..at].into(), Blank::Hidden, events);
        // What is said of a broken block holds the block, so its text is kept.
        (*start, self.at) = (at, at + block.mark);
        let dialect = Arc::clone(&grammar.dialects[block.opening.dialect]);
        let reader = BlockReader::new(dialect, block.opening.entry, self.scope.clone());
        self.start = Start::Past;
        self.state = State::Block(block, Box::new(reader));
    }

    fn read_array(
        &mut self,
        grammar: &Grammar,
        text: &[u8],
        start: &mut usize,
        events: &mut Vec<Event>,
    ) -> bool {
        let most = self.limits().max_block_bytes;
        let State::Perhaps(Perhaps::Array(span, mark, scanner), at) = &mut self.state else {
            return true;
        };
        let (span, end) = (*span, *start + *at);
        let behind = end + *mark;
        let rest = &text[behind..];
        let is_array = follows(scanner, &rest[..rest.len().min(most)], &grammar.spans[span].close)
            .or_else(|| (rest.len() > most).then(|| scanner.depth() > 0));
        match is_array {
            Some(true) => {
                self.end_run(Run::Respond, text[*start..end].into(), Blank::Hidden, events);
                self.state = State::Inside(span, None);
                (*start, self.at) = (behind, behind);
            }
            Some(false) => (self.state, self.at) = (State::Text, behind),
            None => {
                let used = self.stream_run(Run::Respond, &text[*start..end], events);
                if let State::Perhaps(_, at) = &mut self.state {
                    *at -= used;
                }
                *start += used;
                self.at = text.len();
            }
        }
        is_array.is_some()
    }

    fn read_inside(
        &mut self,
        (number, span): (usize, &Span),
        grammar: &Grammar,
        text: &[u8],
        start: &mut usize,
        events: &mut Vec<Event>,
    ) -> bool {
        if self.may_reopen {
            // Up to `self.at` there is nothing but space.
            let at = self.at + leading_space(&text[self.at..]);
            let reopened = match at < text.len() {
                _ if at - *start > self.limits().max_block_bytes => Ok(None),
                true => grammar.reopened(&text[at..]),
                false => Err(()),
            };
            let Ok(reopened) = reopened else {
                self.at = at;
                return false;
            };
            self.may_reopen = false;
            match reopened {
                None => self.at = *start,
                Some(Reopened::Mark(width)) => (*start, self.at) = (at + width, at + width),
                Some(Reopened::Head) => {
                    (*start, self.at) = (at, at);
                    self.state = State::Text;
                    return true;
                }
            }
        }
        let marks = span.inside.as_ref().unwrap_or(&grammar.outside);
        let search = marks.search(text, self.at);
        let Search::Found { mark, start: end, end: behind } = search else {
            self.at = search.or_end(text);
            *start += self.stream_run(span.run, &text[*start..self.at], events);
            return false;
        };
        let inner = if span.inside.is_some() { Some(span.marks[mark]) } else { None };
        if inner.is_none() && grammar.at_line_start && !self.is_line_start(text, end) {
            self.at = behind;
            return true;
        }
        if inner == Some(Inner::Block) {
            let is_line_start = self.is_line_start(text, end);
            if let State::Inside(_, opened @ None) = &mut self.state
                && is_line_start
            {
                *opened = Some(String::from_utf8_lossy(&text[end..behind]).into_owned());
            }
            self.at = behind;
            return true;
        }
        self.end_run(span.run, text[*start..end].into(), Blank::Hidden, events);
        self.state = State::Text;
        (*start, self.at) = match inner {
            Some(Inner::Close | Inner::TurnEnd | Inner::Block) => (behind, behind),
            Some(Inner::Next) | None => (end, end), // the mark begins something else
        };
        if grammar.spans[number].run == Run::Think && self.start == Start::Else {
            self.start = Start::Space(0, Lookahead::default());
        }
        if inner == Some(Inner::TurnEnd) {
            self.end_turn(events);
        }
        true
    }

    fn read_block(
        &mut self,
        grammar: &Grammar,
        text: &[u8],
        start: &mut usize,
        events: &mut Vec<Event>,
    ) -> bool {
        let State::Block(block, reader) = &mut self.state else { return true };
        let body = *start + block.mark;
        let progress = reader.read(&text[body..]);
        let (block, notes) = (block.clone(), reader.notes().collect::<Vec<_>>());
        for note in notes {
            self.note(note, events);
        }
        match progress {
            Progress::More => return false,
            Progress::Complete { end, events: Ok(said) } => {
                (*start, self.at) = (body + end, body + end);
                self.state = State::Text;
                self.complete(&block, said, events);
            }
            Progress::Complete { end, events: Err(problem) }
                if block.is_only_text(grammar, &problem) =>
            {
                (self.state, self.at) = (State::Text, body + end);
            }
            Progress::Complete { end, events: Err(problem) } => {
                let end = body + end;
                let text = &text[*start..];
                let report = Report::malformed(&problem, text, end - *start, block.of(grammar));
                self.say(report.into(), events);
                self.state = State::Text;
                (*start, self.at) = (end, end);
            }
            Progress::Broken(problem) if block.is_only_text(grammar, &problem) => {
                (self.state, self.at) = (State::Text, body + problem.at.max(1));
            }
            Progress::Broken(problem) => {
                self.state = State::Broken(block, Some(problem));
                self.at = body;
            }
        }
        true
    }

    fn read_broken(
        &mut self,
        grammar: &Grammar,
        text: &[u8],
        start: &mut usize,
        events: &mut Vec<Event>,
    ) -> bool {
        let State::Broken(block, problem) = &mut self.state else { return true };
        let recovery = &grammar.recovery[block.opening.dialect];
        let search = recovery.marks.search(text, self.at);
        let found = match search {
            Search::Found { mark, start: begin, end } => {
                Some(if recovery.closes(mark) { end } else { begin })
            }
            _ => None,
        };
        let held = &text[*start..];
        let most = raw(&self.scope.limits, grammar, held, block).len();
        let length = match found {
            Some(end) => Some(most.min(end - *start)),
            // A mark that has begun may end the block earlier.
            None => (most < search.or_end(text) - *start).then_some(most),
        };
        let report = length.and_then(|length| {
            let problem = problem.take()?;
            Some(Report::malformed(&problem, held, length, block.of(grammar)))
        });
        if let Some(report) = report {
            self.say(report.into(), events);
        }
        match found {
            Some(end) => {
                self.state = State::Text;
                (*start, self.at) = (end, end);
                true
            }
            None => {
                self.at = search.or_end(text);
                if let State::Broken(_, None) = self.state {
                    *start = self.at;
                }
                false
            }
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
            self.say(run.event(text), events);
        }
        text.len()
    }

    /// Hands out the pieces of a run that is longer than a run may be; returns how many bytes they hold.
    fn split_run(&mut self, run: Run, text: &[u8], events: &mut Vec<Event>) -> usize {
        let mut used = 0;
        while text.len() - used > self.scope.limits.max_block_bytes {
            let piece = prefix(&text[used..], self.scope.limits.max_block_bytes);
            self.run = Known::Shown;
            self.say(run.event(piece), events);
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
            self.say(run.event(rest), events);
        }
        self.run = Known::Blank(0);
    }

    /// Hands out what a block says.
    fn complete(&mut self, block: &OpenBlock, said: Vec<Event>, events: &mut Vec<Event>) {
        let is_batch = self.grammar.dialects[block.opening.dialect].batch == Batch::Block;
        self.is_batch_open |= said.iter().any(|event| matches!(event, Event::Call(_)));
        for event in said {
            self.say(event, events);
        }
        if is_batch {
            self.execute(events);
            self.state = State::Done;
        }
    }

    /// The calls that were handed out are to be run.
    fn execute(&mut self, events: &mut Vec<Event>) {
        self.is_batch_open = false;
        self.say(Event::Execute, events);
    }

    /// The model's turn is over.
    fn end_turn(&mut self, events: &mut Vec<Event>) {
        if self.is_batch_open {
            self.execute(events);
        }
        self.state = State::Done;
    }

    /// Hands out what is known of a call that is not complete.
    fn note(&mut self, note: Note, events: &mut Vec<Event>) {
        self.begun += usize::from(note == Note::Start);
        self.say(Event::Piece(self.begun.saturating_sub(1), note), events);
    }

    fn say(&mut self, event: Event, events: &mut Vec<Event>) {
        self.said = if event == Event::End { Said::End } else { Said::Something };
        if let Event::Respond(text) = &event
            && self.start != Start::Past
            && !text.is_blank()
        {
            self.start = Start::Past;
        }
        events.push(event);
    }
}

impl OpenBlock {
    /// The dialect it is written in.
    fn of<'g>(&self, grammar: &'g Grammar) -> (&'g Dialect, usize) {
        (&grammar.dialects[self.opening.dialect], self.mark)
    }

    /// Whether nothing but a bracket says that it is a block, so that it is text with such a problem.
    fn is_only_text(&self, grammar: &Grammar, problem: &Problem) -> bool {
        let unmarked = grammar.dialects[self.opening.dialect].unmarked;
        self.opening.entry.is_none()
            && (unmarked == Unmarked::Anywhere || problem.kind.is_of_shape())
    }
}

/// As much of a block as is kept to show what is wrong with it: as long as a block and its marks may be.
fn raw<'t>(limits: &Limits, grammar: &Grammar, text: &'t [u8], block: &OpenBlock) -> &'t [u8] {
    let close = grammar.recovery[block.opening.dialect].longest;
    prefix(text, limits.max_block_bytes.saturating_add(block.mark + close))
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

/// Whether a JSON array stands at the start of `text`, or nothing but the tag `close`; `None` while that is not known.
fn follows(scanner: &mut Scanner, text: &[u8], close: &str) -> Option<bool> {
    if scanner.depth() == 0 {
        scanner.skip_space(text);
        let rest = &text[scanner.position()..];
        match rest.first() {
            Some(b'[') => {}
            _ => return starts_with(rest, close),
        }
    }
    loop {
        match scanner.next(text) {
            Ok(Some(_)) if scanner.depth() > 0 => {}
            Ok(Some(_)) => return Some(true),
            Ok(None) => return None,
            Err(_) => return Some(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::presets::cogency;

    fn read(text: &str, options: Options, ending: &Ending) -> Vec<Event> {
        let (mut parser, mut events) = (Parser::new(cogency(), options), Vec::new());
        parser.feed(text.as_bytes(), &mut events);
        parser.finish(ending, &mut events);
        events
    }

    fn respond(text: &str) -> Event {
        Event::Respond(text.into())
    }

    #[test]
    fn an_array_of_results_that_the_text_ends_in_ends_at_its_closing_tag_if_there_is_one() {
        for (text, expected) in [
            ("<results>[\"a", vec![Event::Result("[\"a".into())]),
            (
                "<results>[\"a</results>4.<end>",
                vec![Event::Result("[\"a".into()), respond("4."), Event::End],
            ),
            (
                "<results>[\"a</results>b<results>[1",
                vec![Event::Result("[\"a".into()), respond("b"), Event::Result("[1".into())],
            ),
        ] {
            assert_eq!(read(text, Options::default(), &Ending::Unknown), expected, "{text}");
        }
    }

    #[test]
    fn an_array_of_results_begins_within_the_limit() {
        let limits = Limits { max_block_bytes: 4, ..Limits::default() };
        for (text, kind, pieces) in [
            ("<results>   [12", Run::Result, vec!["   [", "12"]),
            ("<results>    [1", Run::Respond, vec!["<res", "ults", ">   ", " [1"]),
            ("<results> \u{3000}[1", Run::Respond, vec!["<res", "ults", "> ", "\u{3000}[", "1"]),
        ] {
            let options = Options { limits, ..Options::default() };
            let expected: Vec<_> =
                pieces.into_iter().map(|piece| kind.event(piece.as_bytes())).collect();
            assert_eq!(read(text, options, &Ending::Unknown), expected, "{text}");
        }
    }

    #[test]
    fn a_value_without_its_closing_tag_is_read_to_its_end() {
        let array = "[{\"name\": \"t\", \"args\": {}}]";
        let limits = Limits { max_block_bytes: array.len(), ..Limits::default() };
        let kinds = |body: &str| {
            let options = Options { limits, ..Options::default() };
            let kind = |event: Event| match event {
                Event::Call(_) => "call".to_owned(),
                Event::Execute => "execute".to_owned(),
                Event::Error(report) => report.content.to_string(),
                event => format!("{event:?}"),
            };
            let events = read(&format!("<execute>{body}"), options, &Ending::Unknown);
            events.into_iter().map(kind).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(kinds(array), "call execute");
        assert_eq!(kinds(&format!("{array}</execute")), "call execute");
        assert!(kinds(&format!("{array} </execute")).contains("longer than"));
        assert!(kinds("12").contains("expected a JSON array of calls, found a number"));
    }

    #[test]
    fn an_answer_behind_the_end_may_be_cut_too() {
        let kinds = |text: &str, stream| {
            let events = read(text, Options { stream, ..Options::default() }, &Ending::Length);
            events.iter().filter(|event| matches!(event, Event::Error(_))).count()
        };
        for (text, errors) in [
            ("", 1),
            ("a", 1),
            ("a<end>", 0),
            ("a<end> <think> </think>\n", 0),
            ("<end>a", 1),
            ("<end>a<think>b</think>", 1),
            ("<end>a<end>", 0),
        ] {
            assert_eq!(kinds(text, Stream::Event), errors, "{text}");
            assert_eq!(kinds(text, Stream::Token), errors, "{text}");
        }
    }

    #[test]
    fn space_before_reasoning_that_is_opened_again_is_within_the_limit() {
        let limits = Limits { max_block_bytes: 4, ..Limits::default() };
        let think = |text: &str| Event::Think(text.into());
        for (text, expected) in [
            ("    <think>a", vec![think("a")]),
            ("     <think>", vec![think("    "), think(" <th"), think("ink>")]),
        ] {
            let options = Options { limits, begins_in_think: true, ..Options::default() };
            assert_eq!(read(text, options.clone(), &Ending::Unknown), expected, "{text}");
            let (mut parser, mut events) = (Parser::new(cogency(), options), Vec::new());
            for character in text.split_inclusive(|_| true) {
                parser.feed(character.as_bytes(), &mut events);
                assert!(parser.held.len() <= 8 + "<think".len(), "what is held is bounded");
            }
            parser.finish(&Ending::Unknown, &mut events);
            assert_eq!(events, expected, "{text} in characters");
        }
    }

    #[test]
    fn space_in_front_of_reasoning_is_searched_once() {
        const SIZE: usize = if cfg!(miri) { 100 } else { 1_000_000 };
        let options = Options { begins_in_think: true, ..Options::default() };
        let (mut parser, mut events) = (Parser::new(cogency(), options), Vec::new());
        for _ in 0..SIZE {
            parser.feed(b" ", &mut events);
        }
        assert_eq!(events, []);
        parser.feed(b"a</think>", &mut events);
        assert_eq!(events, [Event::Think([&b" ".repeat(SIZE)[..], b"a"].concat()[..].into())]);
    }

    /// Searched from its start for every chunk, this would take minutes.
    #[test]
    fn whitespace_that_is_held_is_searched_once() {
        const SIZE: usize = if cfg!(miri) { 100 } else { 1_000_000 };
        let (mut parser, mut events) = (
            Parser::new(cogency(), Options { stream: Stream::Token, ..Options::default() }),
            Vec::new(),
        );
        for _ in 0..SIZE {
            parser.feed(b" ", &mut events);
        }
        assert_eq!(events, []);
        parser.feed(b"a", &mut events);
        assert_eq!(events, [Event::Respond([&b" ".repeat(SIZE)[..], b"a"].concat()[..].into())]);
    }
}
