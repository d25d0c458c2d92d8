//! Turns a model's text into events while it arrives.
//!
//! Two invariants carry everything that is promised of it:
//!
//! - What the parser does depends on the text alone, never on how it was cut. It decides nothing before the
//!   text that decides it is there.
//! - `at` only moves forward, but for one case: a block that breaks is searched once more from its start, for
//!   the tag that ends it. Two open strings cannot break the same text twice, so the cost stays linear.

use std::borrow::Cow;

use super::block::{CallReader, Progress};
use super::call::Call;
use super::json::{FaultKind, Scanner};
use super::limits::{Limits, Reading};
use super::problem::Problem;
use super::report::{Ending, Report};
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

impl Limits {
    /// As much of a block as is kept to show what is wrong with it: as long as a block and its tags may be.
    fn raw<'a>(&self, block: &'a [u8], tag: &Tag) -> &'a [u8] {
        let tags = tag.open.len() + tag.close.len();
        prefix(block, self.max_block_bytes.saturating_add(tags))
    }
}

/// How a text is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// When text is handed out.
    pub stream: Stream,
    /// What is too much.
    pub limits: Limits,
    /// How closely a block must keep to the protocol.
    pub reading: Reading,
    /// Whether the text begins inside reasoning, which the prompt has opened already.
    pub begins_in_think: bool,
}

/// The parser.
///
/// # Complexity
/// O(text), for every input and every chunking. Memory is bounded by the longest open block.
///
/// ```
/// use cogency_rs::protocol::{Event, Options, Parser, Stream};
///
/// let mut parser = Parser::new(Options { stream: Stream::Token, ..Options::default() });
/// let mut events = Vec::new();
/// parser.feed("Hello <thi".as_bytes(), &mut events);
/// parser.feed("nk>hm</think>".as_bytes(), &mut events);
/// assert_eq!(events, [Event::Respond("Hello ".into()), Event::Think("hm".into())]);
/// ```
#[derive(Debug)]
pub struct Parser {
    stream: Stream,
    limits: Limits,
    reading: Reading,
    state: State,
    /// Text that no event holds yet: the run or the body that is open.
    held: Vec<u8>,
    /// How much of `held` has been searched.
    at: usize,
    /// What is known of the open run.
    run: Known,
    said: Said,
}

/// What a text said last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Nothing,
    Something,
    /// That it is done.
    End,
}

#[derive(Debug)]
enum State {
    /// Outside every block.
    Text,
    /// Behind a tag that is one only if an array follows, or nothing at all. It stands at this byte of the open run.
    Perhaps(&'static Tag, usize, Box<Scanner>),
    /// Inside a block of text.
    Inside(&'static Tag),
    /// Inside an execute block.
    Calls(&'static Tag, Box<CallReader>),
    /// Inside an execute block that is broken, in search of its end; the problem is there until it is reported.
    Broken(&'static Tag, Option<Problem>),
    /// A batch is complete, or the text has ended.
    Done,
}

impl Parser {
    /// A parser at the start of a text.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let Options { stream, limits, reading, begins_in_think } = options;
        let state = match TAGS.iter().find(|tag| tag.kind == Kind::Think) {
            Some(think) if begins_in_think => State::Inside(think),
            _ => State::Text,
        };
        let (held, run) = (Vec::new(), Known::Blank(0));
        Self { stream, limits, reading, state, held, at: 0, run, said: Said::Nothing }
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
        self.said = Said::Something;
        Some(run)
    }

    /// The open run, if all that `chunk` can do is to go on with it: no tag has begun, and none begins.
    fn goes_on(&self, chunk: &[u8]) -> Option<Run> {
        let run = match &self.state {
            State::Text => Run::Respond,
            State::Inside(tag) => Run::inside(tag.kind),
            State::Perhaps(..) | State::Calls(..) | State::Broken(..) | State::Done => return None,
        };
        let is_text = self.at == self.held.len() && memchr::memchr(b'<', chunk).is_none();
        is_text.then_some(run)
    }

    /// The text has ended: hands out what is still open.
    ///
    /// An open `think` becomes a think event, an open `results` a result event. An open execute block runs if its array is
    /// complete, unless the text was cut; any other is an error, and no call of it is handed out. An answer that was cut
    /// elsewhere is an error behind it.
    pub fn finish(&mut self, ending: &Ending, events: &mut Vec<Event>) {
        let mut text = std::mem::take(&mut self.held);
        let mut report = None;
        loop {
            match &mut self.state {
                State::Text => {
                    report = self.cut_answer(ending, &text);
                    let text = std::mem::take(&mut text).into();
                    self.end_run(Run::Respond, text, Blank::Shown, events);
                }
                State::Perhaps(tag, at, scanner) => {
                    let (tag, at) = (*tag, *at);
                    if scanner.depth() == 0 {
                        self.state = State::Text;
                        continue;
                    }
                    // As for an array that is complete, the first closing tag ends it, also where it stands in a string.
                    self.end_run(Run::Respond, text[..at].into(), Blank::Hidden, events);
                    self.state = State::Inside(tag);
                    text.drain(..at + tag.open.len());
                    self.at = 0;
                    let used = self.advance(&text, events);
                    text.drain(..used);
                    continue;
                }
                State::Inside(tag) => {
                    let run = Run::inside(tag.kind);
                    report = self.cut_answer(ending, &text);
                    let text = std::mem::take(&mut text).into();
                    self.end_run(run, text, Blank::Hidden, events);
                }
                State::Calls(tag, reader) => match reader.cut_off(&text[tag.open.len()..]) {
                    Ok(calls) if !ending.is_cut() => self.complete(calls, events),
                    Ok(_) => {
                        let problem = Problem {
                            kind: FaultKind::Ended.into(),
                            at: text.len() - tag.open.len(),
                        };
                        report = Some(Report::cut_off(&problem, &text, tag.open, ending));
                    }
                    Err(problem) => {
                        // Of a text that was cut it is known why a string has no end.
                        let is_known = ending.is_cut() && problem.kind.is_the_end();
                        let hides_the_end = problem.kind.may_hide_the_end() && !is_known;
                        let tag = *tag;
                        self.state = State::Broken(tag, Some(problem));
                        if hides_the_end {
                            self.at = tag.open.len();
                            let used = self.advance(&text, events);
                            text.drain(..used);
                        }
                        continue;
                    }
                },
                State::Broken(tag, Some(problem)) if problem.kind.is_the_end() => {
                    let raw = self.limits.raw(&text, tag);
                    report = Some(Report::cut_off(problem, raw, tag.open, ending));
                }
                State::Broken(tag, Some(problem)) => {
                    let length = self.limits.raw(&text, tag).len();
                    report = Some(Report::malformed(problem, &text, length, tag.open));
                }
                State::Broken(_, None) | State::Done => {}
            }
            break;
        }
        if let Some(report) = report {
            self.say(report.into(), events);
        }
        self.state = State::Done;
        self.at = 0;
    }

    /// What is missing of a text that ends outside execute blocks, with `rest` that no event holds yet.
    fn cut_answer(&self, ending: &Ending, rest: &[u8]) -> Option<Report> {
        let is_whole = match self.said {
            Said::Nothing => *ending != Ending::Length, // then nobody has cut it
            Said::Something => false,
            Said::End => is_blank(rest),
        };
        if is_whole { None } else { Report::cut_answer(ending) }
    }

    /// Reads on in `text`, whose first `self.at` bytes have been searched; returns how many of its bytes are
    /// no longer needed.
    fn advance(&mut self, text: &[u8], events: &mut Vec<Event>) -> usize {
        let mut start = 0;
        while match self.state {
            State::Text => self.read_text(text, &mut start, events),
            State::Perhaps(..) => self.read_array(text, &mut start, events),
            State::Inside(tag) => self.read_inside(tag, text, &mut start, events),
            State::Calls(..) => self.read_calls(text, &mut start, events),
            State::Broken(tag, _) => self.read_broken(tag, text, &mut start, events),
            State::Done => {
                (start, self.at) = (text.len(), text.len());
                false
            }
        } {}
        self.at = self.at.saturating_sub(start);
        start
    }

    // Each of these reads on in one state. `start` is the first byte of `text` that is still needed. It tells whether there
    // is more to read.

    fn read_text(&mut self, text: &[u8], start: &mut usize, events: &mut Vec<Event>) -> bool {
        match search(text, self.at, &TAGS.iter().map(|tag| tag.open)) {
            Search::Found { needle, start: end, end: behind } => {
                let tag = &TAGS[needle];
                self.at = behind;
                if tag.kind == Kind::Results {
                    self.state = State::Perhaps(tag, end - *start, Box::default());
                    return true;
                }
                self.end_run(Run::Respond, text[*start..end].into(), Blank::Hidden, events);
                // What is said of a broken block holds the block, so its text is kept.
                *start = if tag.kind == Kind::Calls { end } else { behind };
                self.enter(tag, events);
                true
            }
            search => {
                self.at = search.or_end(text);
                *start += self.stream_run(Run::Respond, &text[*start..self.at], events);
                false
            }
        }
    }

    fn read_array(&mut self, text: &[u8], start: &mut usize, events: &mut Vec<Event>) -> bool {
        let State::Perhaps(tag, at, scanner) = &mut self.state else { return true };
        let (tag, end) = (*tag, *start + *at);
        let behind = end + tag.open.len();
        let (rest, most) = (&text[behind..], self.limits.max_block_bytes);
        let is_array = follows(scanner, &rest[..rest.len().min(most)], tag.close)
            .or_else(|| (rest.len() > most).then(|| scanner.depth() > 0));
        match is_array {
            Some(true) => {
                self.end_run(Run::Respond, text[*start..end].into(), Blank::Hidden, events);
                self.state = State::Inside(tag);
                (*start, self.at) = (behind, behind);
            }
            Some(false) => (self.state, self.at) = (State::Text, behind),
            None => {
                let used = self.stream_run(Run::Respond, &text[*start..end], events);
                if let State::Perhaps(_, at, _) = &mut self.state {
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
        tag: &'static Tag,
        text: &[u8],
        start: &mut usize,
        events: &mut Vec<Event>,
    ) -> bool {
        let run = Run::inside(tag.kind);
        match search(text, self.at, &std::iter::once(tag.close)) {
            Search::Found { start: end, end: behind, .. } => {
                self.end_run(run, text[*start..end].into(), Blank::Hidden, events);
                self.state = State::Text;
                (*start, self.at) = (behind, behind);
                true
            }
            search => {
                self.at = search.or_end(text);
                *start += self.stream_run(run, &text[*start..self.at], events);
                false
            }
        }
    }

    fn read_calls(&mut self, text: &[u8], start: &mut usize, events: &mut Vec<Event>) -> bool {
        let State::Calls(tag, reader) = &mut self.state else { return true };
        let (tag, body) = (*tag, *start + tag.open.len());
        match reader.read(&text[body..]) {
            Progress::More => return false,
            Progress::Complete { calls: Ok(calls), .. } => {
                self.complete(calls, events);
                self.state = State::Done;
            }
            Progress::Complete { end, calls: Err(problem) } => {
                let end = body + end;
                let report = Report::malformed(&problem, &text[*start..], end - *start, tag.open);
                self.say(report.into(), events);
                self.state = State::Text;
                (*start, self.at) = (end, end);
            }
            Progress::Broken(problem) => {
                self.state = State::Broken(tag, Some(problem));
                self.at = body;
            }
        }
        true
    }

    fn read_broken(
        &mut self,
        tag: &'static Tag,
        text: &[u8],
        start: &mut usize,
        events: &mut Vec<Event>,
    ) -> bool {
        let found = search(text, self.at, &std::iter::once(tag.close));
        let block = &text[*start..];
        let most = self.limits.raw(block, tag).len();
        let length = match found {
            Search::Found { end, .. } => Some(most.min(end - *start)),
            _ => (most < block.len()).then_some(most),
        };
        if let (Some(length), State::Broken(_, problem)) = (length, &mut self.state)
            && let Some(problem) = problem.take()
        {
            self.say(Report::malformed(&problem, block, length, tag.open).into(), events);
        }
        match found {
            Search::Found { end, .. } => {
                self.state = State::Text;
                (*start, self.at) = (end, end);
                true
            }
            search => {
                self.at = search.or_end(text);
                if let State::Broken(_, None) = self.state {
                    *start = self.at;
                }
                false
            }
        }
    }

    fn enter(&mut self, tag: &'static Tag, events: &mut Vec<Event>) {
        match tag.kind {
            Kind::Think | Kind::Results => self.state = State::Inside(tag),
            Kind::Calls => {
                let reader = CallReader::new(tag.close, self.limits, self.reading);
                self.state = State::Calls(tag, Box::new(reader));
            }
            Kind::End => self.say(Event::End, events),
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
        while text.len() - used > self.limits.max_block_bytes {
            let piece = prefix(&text[used..], self.limits.max_block_bytes);
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

    /// Hands out the calls of a block.
    fn complete(&mut self, calls: Vec<Call>, events: &mut Vec<Event>) {
        events.extend(calls.into_iter().map(Event::Call));
        self.say(Event::Execute, events);
    }

    fn say(&mut self, event: Event, events: &mut Vec<Event>) {
        self.said = if event == Event::End { Said::End } else { Said::Something };
        events.push(event);
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

/// Whether a JSON array stands at the start of `text`, or nothing but the tag `close`; `None` while that is not known.
fn follows(scanner: &mut Scanner, text: &[u8], close: &str) -> Option<bool> {
    if scanner.depth() == 0 {
        scanner.skip_space(text);
        let rest = &text[scanner.position()..];
        match rest.first() {
            Some(b'[') => {}
            _ if rest.starts_with(close.as_bytes()) => return Some(true),
            _ if close.as_bytes().starts_with(rest) => return None,
            _ => return Some(false),
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

    fn read(text: &str, options: Options, ending: &Ending) -> Vec<Event> {
        let (mut parser, mut events) = (Parser::new(options), Vec::new());
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

    /// Searched from its start for every chunk, this would take minutes.
    #[test]
    fn whitespace_that_is_held_is_searched_once() {
        const SIZE: usize = if cfg!(miri) { 100 } else { 1_000_000 };
        let (mut parser, mut events) =
            (Parser::new(Options { stream: Stream::Token, ..Options::default() }), Vec::new());
        for _ in 0..SIZE {
            parser.feed(b" ", &mut events);
        }
        assert_eq!(events, []);
        parser.feed(b"a", &mut events);
        assert_eq!(events, [Event::Respond([&b" ".repeat(SIZE)[..], b"a"].concat()[..].into())]);
    }
}
