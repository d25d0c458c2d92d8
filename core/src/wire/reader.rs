//! Reads an answer while it arrives.

use std::borrow::Cow;
use std::sync::Arc;

use super::completions::{Completion, Kind};
use super::delta::{Delta, Note};
use super::events::{Events, TooLong};
use super::fault::{Fault, FaultKind};
use super::messages::Message;
use super::not_stream::{self, Beginning, Shape};
use super::ollama;
use super::options::{Api, Options, Secret};
use super::sink::{Pending, Sink};
use crate::json::{NotJson, Raw};

/// A reader of one answer.
#[derive(Clone, Debug)]
pub struct Reader {
    options: Arc<Options>,
    answer: Answer,
    body: Body,
    events: Events,
    /// How many bytes have come.
    length: usize,
    /// The beginning of what came, as long as it may not be a stream.
    head: Vec<u8>,
    /// Whether a line was a field of an event, or a comment, or JSON.
    is_stream: bool,
    pending: Pending,
    state: State,
}

#[derive(Clone, Debug)]
enum Answer {
    Completion(Completion),
    Message(Message),
}

#[derive(Clone, Debug)]
enum Body {
    /// Only white space has come.
    Unknown(Beginning),
    Events,
    Page,
    /// JSON that is not read before its end, unless its first line is one of Ollama's.
    Json {
        text: Vec<u8>,
        line: Line,
    },
    /// Lines of JSON; this one is not complete.
    Lines(Vec<u8>),
}

/// Whether the first line of JSON is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    First,
    Later,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Reading,
    /// The answer has ended. What comes now is noted.
    Ended,
    /// Nothing more is read.
    Over,
}

/// How the bytes of an answer end.
#[derive(Clone, Copy, Debug)]
enum End<'a> {
    /// With the chunk that is the last.
    Done,
    /// With the stream.
    Stream,
    /// Before their end, for this reason.
    Broken(&'a str),
}

/// What the sentence of a fault may quote is in these bytes of an answer that is not a stream.
const HEAD: usize = 4096;

impl Reader {
    /// A reader of an answer of this API.
    #[must_use]
    pub fn new(api: Api, options: Options) -> Self {
        Self {
            answer: match api {
                Api::Completions => Answer::Completion(Completion::default()),
                Api::Messages => Answer::Message(Message::default()),
            },
            events: Events::new(options.max_bytes),
            body: Body::Unknown(Beginning::default()),
            length: 0,
            head: Vec::new(),
            is_stream: false,
            pending: Pending::default(),
            state: State::Reading,
            options: Arc::new(options),
        }
    }

    /// What must not be shown of what the server says.
    #[must_use]
    pub fn secrets(&self) -> &[Secret] {
        &self.options.secrets
    }

    /// Whether the answer has ended, or cannot be read: what comes now changes nothing.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.state != State::Reading
    }

    /// Reads the next bytes, cut anywhere, and adds their deltas to `deltas`. Neighbours of one kind are one delta.
    ///
    /// # Complexity
    /// O(bytes), and what is held of an event that is not complete.
    pub fn feed(&mut self, bytes: &[u8], deltas: &mut Vec<Delta>) {
        if self.state == State::Over || bytes.is_empty() {
            return;
        }
        let mut pending = std::mem::take(&mut self.pending);
        let options = Arc::clone(&self.options);
        let mut sink = Sink::new(deltas, &mut pending, &options);
        let room = self.options.max_stream - self.length;
        let bytes_read = &bytes[..bytes.len().min(room)];
        self.length += bytes_read.len();
        self.read(bytes_read, &mut sink);
        if bytes.len() > room && self.state != State::Over {
            self.fail(self.longer("the answer", self.options.max_stream), &mut sink);
        }
        self.pending = pending;
    }

    /// Says that all bytes have come, and adds the last deltas: a [`Finish`](Delta::Finish) or a [`Fault`](Delta::Fault), unless
    /// it came before. An event that lacks its empty line is read if its data is whole.
    pub fn finish(&mut self, deltas: &mut Vec<Delta>) {
        self.stop(None, deltas);
    }

    /// Says that no more bytes can come, and why. If the answer is complete, and only the end of the stream is missing, it ends
    /// like any other.
    pub fn break_off(&mut self, why: &str, deltas: &mut Vec<Delta>) {
        self.stop(Some(why), deltas);
    }

    fn stop(&mut self, why: Option<&str>, deltas: &mut Vec<Delta>) {
        let mut pending = std::mem::take(&mut self.pending);
        let options = Arc::clone(&self.options);
        let mut sink = Sink::new(deltas, &mut pending, &options);
        if self.state == State::Reading {
            self.read_rest(why, &mut sink);
        }
        self.state = State::Over;
        self.pending = pending;
    }

    fn read(&mut self, bytes: &[u8], sink: &mut Sink<'_>) {
        if !self.is_stream {
            let left = HEAD.saturating_sub(self.head.len()).min(bytes.len());
            self.head.extend_from_slice(&bytes[..left]);
        }
        let mut bytes = bytes;
        if let Body::Unknown(beginning) = &mut self.body {
            // White space may be empty lines between events.
            let shape = beginning.shape(bytes);
            let (space, rest) = bytes.split_at(shape.map_or(bytes.len(), |(_, start)| start));
            self.read_events(space, sink);
            bytes = rest;
            if let Some((shape, _)) = shape {
                self.body = match shape {
                    Shape::Events => Body::Events,
                    Shape::Page => Body::Page,
                    Shape::Json => Body::Json { text: Vec::new(), line: Line::First },
                };
            }
        }
        match &mut self.body {
            _ if self.state == State::Over => {}
            Body::Unknown(_) => {}
            Body::Events => self.read_events(bytes, sink),
            Body::Page if self.head.len() < HEAD => {}
            Body::Page => self.fail(self.page(), sink),
            Body::Json { .. } => self.read_json(bytes, sink),
            Body::Lines(_) => self.read_lines(bytes, sink),
        }
    }

    fn read_events(&mut self, mut bytes: &[u8], sink: &mut Sink<'_>) {
        // Taken out, so that the event that it lends can be read.
        let mut events = std::mem::replace(&mut self.events, Events::new(0));
        while self.state != State::Over {
            match events.next(&mut bytes) {
                Ok(Some(event)) => self.take(event.kind, event.data, sink),
                Ok(None) => break,
                Err(too_long) => self.fail(self.too_long(too_long), sink),
            }
        }
        self.is_stream |= events.has_begun();
        self.events = events;
    }

    fn read_json(&mut self, mut bytes: &[u8], sink: &mut Sink<'_>) {
        let limit = self.options.max_bytes;
        let Body::Json { text, line } = &mut self.body else { return };
        if *line == Line::First
            && let Some(end) = memchr::memchr(b'\n', bytes)
            && text.len() + end <= limit
        {
            *line = Line::Later;
            text.extend_from_slice(&bytes[..end]);
            bytes = &bytes[end..];
            if self.answer.has_lines() && is_line(text) {
                let first = std::mem::take(text);
                self.body = Body::Lines(Vec::new());
                self.take(b"", &first, sink);
                return self.read_lines(bytes, sink);
            }
        }
        let room = limit.saturating_sub(text.len());
        if bytes.len() <= room {
            return text.extend_from_slice(bytes);
        }
        text.extend_from_slice(&bytes[..room]);
        text.truncate(HEAD);
        let fault = not_stream::not_stream("JSON", text, &self.options.secrets);
        self.fail(fault, sink);
    }

    fn read_lines(&mut self, mut bytes: &[u8], sink: &mut Sink<'_>) {
        let limit = self.options.max_bytes;
        while self.state != State::Over && !bytes.is_empty() {
            let Body::Lines(line) = &mut self.body else { return };
            let end = memchr::memchr(b'\n', bytes);
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if line.len() + part.len() > limit {
                return self.fail(self.too_long(TooLong { limit }), sink);
            }
            line.extend_from_slice(part);
            let Some(end) = end else { return };
            bytes = &bytes[end + 1..];
            let line = std::mem::take(line);
            self.take(b"", &line, sink);
        }
    }

    /// Reads what is left once the stream has ended.
    fn read_rest(&mut self, why: Option<&str>, sink: &mut Sink<'_>) {
        match std::mem::replace(&mut self.body, Body::Events) {
            Body::Page => return self.fail(self.page(), sink),
            Body::Json { text, .. } => {
                if !(self.answer.has_lines() && is_line(&text)) {
                    let fault = match why {
                        Some(why) => self.broken_off(why),
                        None => not_stream::json(&text, &self.options.secrets),
                    };
                    return self.fail(fault, sink);
                }
                self.body = Body::Lines(Vec::new());
                self.take(b"", &text, sink);
            }
            Body::Lines(line) => {
                self.body = Body::Lines(Vec::new());
                self.take_last(b"", &line, sink);
            }
            Body::Unknown(_) | Body::Events => {
                let mut events = std::mem::replace(&mut self.events, Events::new(0));
                if let Some(event) = events.finish() {
                    self.take_last(event.kind, event.data, sink);
                }
                self.is_stream |= events.has_begun();
            }
        }
        if self.state == State::Reading {
            self.end(why.map_or(End::Stream, End::Broken), sink);
        }
    }

    /// Reads the last event, which may have been cut off.
    fn take_last(&mut self, kind: &[u8], data: &[u8], sink: &mut Sink<'_>) {
        let text = String::from_utf8_lossy(data.trim_ascii());
        if text.starts_with(DONE) || kind == b"error" || Raw::of(&text).is_ok() {
            self.take(kind, data, sink);
        }
    }

    /// Reads the data of an event, or a line.
    fn take(&mut self, kind: &[u8], data: &[u8], sink: &mut Sink<'_>) {
        self.is_stream = true;
        let data = data.trim_ascii();
        if data.is_empty() || kind == b"ping" {
            return;
        }
        if self.state == State::Ended {
            if !data.starts_with(DONE.as_bytes()) {
                sink.note(Note::AfterEnd);
                self.state = State::Over;
            }
            return;
        }
        if data.starts_with(DONE.as_bytes()) {
            return self.end(End::Done, sink);
        }
        let text = match std::str::from_utf8(data) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => {
                sink.note(Note::NotUtf8);
                String::from_utf8_lossy(data)
            }
        };
        let may_fail = !self.answer.is_whole();
        let read = match kind {
            b"error" => Ok(Kind::Error(Raw::of(&text).unwrap_or(Raw::NULL))),
            _ if matches!(self.body, Body::Lines(_)) => self.answer.read_line(&text, sink),
            _ => self.answer.read(&text, sink),
        };
        let secrets = &self.options.secrets;
        let fault = match read {
            Ok(Kind::Part) if self.answer.held() > self.options.max_bytes => {
                self.too_long(TooLong { limit: self.options.max_bytes })
            }
            Ok(Kind::Part) if sink.said() > self.options.max_answer => {
                self.longer("what the answer says", self.options.max_answer)
            }
            Ok(Kind::Part) => return,
            Ok(Kind::Last) => return self.end(End::Stream, sink),
            Ok(Kind::Error(error)) if error.is_null() => Fault::reported(&text, &text, secrets),
            Ok(Kind::Error(error)) => not_stream::reported(error, secrets),
            Err(NotJson { at }) => {
                let what = format!("an event of the stream is not JSON from byte {at} on");
                Fault::quoting(FaultKind::NotJson, &what, &text, secrets)
            }
        };
        if may_fail {
            self.fail(fault, sink);
        } else {
            self.end(End::Stream, sink); // the answer was complete before
        }
    }

    /// Ends the answer, whole or not.
    fn end(&mut self, end: End<'_>, sink: &mut Sink<'_>) {
        let is_refused = !matches!(end, End::Broken(_)) && self.answer.is_refused();
        if is_refused || self.answer.is_complete() {
            self.answer.finish(sink);
            self.state = State::Ended;
            return;
        }
        let secrets = &self.options.secrets;
        let fault = match end {
            End::Broken(why) => self.broken_off(why),
            _ if !self.is_stream => not_stream::not_stream("text", &self.head, secrets),
            End::Done | End::Stream => {
                let is_said =
                    matches!(end, End::Done) && sink.said() > 0 && !self.answer.ends_in_a_name();
                let kind = if is_said { FaultKind::NoReason } else { FaultKind::Incomplete };
                let message = format!("the stream ended without a {}", self.answer.reason());
                Fault::new(kind, &message, "", secrets)
            }
        };
        self.fail(fault, sink);
    }

    fn fail(&mut self, fault: Fault, sink: &mut Sink<'_>) {
        match (fault.kind, self.state) {
            (_, State::Ended) => {}
            (FaultKind::TooLong, _) if self.answer.is_complete() => self.answer.finish(sink),
            _ => sink.push(Delta::Fault(fault)),
        }
        self.state = State::Over;
    }

    fn page(&self) -> Fault {
        not_stream::not_stream("a page", &self.head, &self.options.secrets)
    }

    fn longer(&self, what: &str, limit: usize) -> Fault {
        let message = format!("{what} has more than {limit} bytes: the rest is not read");
        Fault::new(FaultKind::TooLong, &message, "", &self.options.secrets)
    }

    fn too_long(&self, too_long: TooLong) -> Fault {
        let message = format!("{too_long}: longer ones are not read");
        Fault::new(FaultKind::TooLong, &message, "", &self.options.secrets)
    }

    fn broken_off(&self, why: &str) -> Fault {
        let message = format!("the stream broke off: {why}");
        Fault::new(FaultKind::BrokenOff, &message, "", &self.options.secrets)
    }
}

/// The data after the last chunk.
const DONE: &str = "[DONE]";

fn is_line(line: &[u8]) -> bool {
    ollama::is_line(&String::from_utf8_lossy(line))
}

impl Answer {
    fn read<'a>(&mut self, text: &'a str, sink: &mut Sink<'_>) -> Result<Kind<'a>, NotJson> {
        match self {
            Self::Completion(answer) => answer.read(text, sink),
            Self::Message(answer) => answer.read(text, sink),
        }
    }

    fn read_line<'a>(&mut self, text: &'a str, sink: &mut Sink<'_>) -> Result<Kind<'a>, NotJson> {
        match self {
            Self::Completion(answer) => ollama::read(answer, text, sink),
            Self::Message(answer) => answer.read(text, sink),
        }
    }

    /// Whether the end of the answer has come.
    fn is_complete(&self) -> bool {
        match self {
            Self::Completion(answer) => answer.is_complete(),
            Self::Message(answer) => answer.is_complete(),
        }
    }

    /// Whether no arguments of its last call have come.
    fn ends_in_a_name(&self) -> bool {
        match self {
            Self::Completion(answer) => answer.ends_in_a_name(),
            Self::Message(_) => false,
        }
    }

    fn is_refused(&self) -> bool {
        match self {
            Self::Completion(answer) => answer.is_refused(),
            Self::Message(_) => false,
        }
    }

    /// Whether it is complete, and not because of an error that may still be reported.
    fn is_whole(&self) -> bool {
        let gave_up = match self {
            Self::Completion(answer) => answer.reason.as_deref() == Some("error"),
            Self::Message(_) => false,
        };
        self.is_complete() && !gave_up
    }

    fn held(&self) -> usize {
        match self {
            Self::Completion(answer) => answer.held(),
            Self::Message(answer) => answer.held(),
        }
    }

    fn finish(&mut self, sink: &mut Sink<'_>) {
        match self {
            Self::Completion(answer) => answer.finish(sink),
            Self::Message(answer) => answer.finish(sink),
        }
    }

    /// Whether it may also come as lines of JSON.
    fn has_lines(&self) -> bool {
        matches!(self, Self::Completion(_))
    }

    /// The field that says why the answer ended.
    fn reason(&self) -> &'static str {
        match self {
            Self::Completion(_) => "finish_reason",
            Self::Message(_) => "stop_reason",
        }
    }
}
