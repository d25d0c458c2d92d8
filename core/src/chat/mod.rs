//! A model's text to the messages of a chat API: what a server sends that speaks `OpenAI`'s chat completions.
//!
//! [`ChatReader`] drives a [`Parser`] that reports nothing: text that gives no call is text of the answer. Three invariants:
//!
//! - How the text is cut never matters: the deltas of a text, joined, are those of its pieces.
//! - A delta is final. A call is handed out when its block is valid as a whole, or in pieces that nothing can run before that
//!   ([`ChatCalls::Stream`]); text is when it cannot begin a mark.
//! - Nothing is lost but what the dialect says is not part of the answer: marks, the results of tools that the model made up, and
//!   what follows the end of its turn.

mod arguments;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::protocol::characters::Characters;
use crate::protocol::event::Note;
use crate::protocol::{
    Call, CallStream, Callable, Ending, Event, Grammar, Limits, Options, Parser, Stream,
    Strictness, Text, TextRun, Tools, Unread,
};

pub use arguments::{StrictJson, strict_json};

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delta {
    /// The next piece of what the user reads.
    Content(Text),
    /// The next piece of the reasoning.
    Reasoning(Text),
    /// A call; calls are numbered from 0, in their order.
    Call(usize, Call),
    /// A call begins, with [`ChatCalls::Stream`].
    Begin {
        /// Its number.
        index: usize,
        /// Its name, a JSON string.
        name: String,
        /// Its id, a JSON string, if the model has written one by now.
        id: Option<String>,
        /// The first piece of its arguments.
        args: String,
    },
    /// The next piece of the arguments of this call, as JSON. The last one has the bracket that closes all of them: it comes when
    /// the block of the call is valid.
    Args(usize, String),
    /// The call that began is not valid, or not complete, and must not be run; nothing follows.
    Broken,
}

/// When calls are handed out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChatCalls {
    /// Each when its block is valid as a whole. A block that is not is text.
    #[default]
    Whole,
    /// Each while it arrives. A call that has begun and is not valid ends the answer with [`Delta::Broken`].
    Stream,
}

/// Why a message ended, in the words of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FinishReason {
    /// The model ended its answer.
    Stop,
    /// The answer was cut: by its length, or since its source broke.
    Length,
    /// The model made calls.
    ToolCalls,
    /// The answer was refused, or withheld.
    ContentFilter,
}

impl FinishReason {
    /// Its word in the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
        }
    }
}

/// How a text is read.
#[derive(Clone, Debug, Default)]
pub struct ChatOptions {
    /// The tools; their schemas give the types of raw values.
    pub tools: Option<Arc<Tools>>,
    /// Which of them may be called. A block with any other call is text.
    pub callable: Callable,
    /// How much is read.
    pub limits: Limits,
    /// How closely a block must keep to its dialect.
    pub strictness: Strictness,
    /// Whether the text begins inside reasoning, because the prompt ends with the mark that opens it.
    pub begins_in_think: bool,
    /// When calls are handed out.
    pub calls: ChatCalls,
}

/// Reads one answer.
///
/// # Complexity
/// As [`Parser`].
///
/// ```
/// use cogency_rs::chat::{ChatOptions, ChatReader, Delta, FinishReason};
/// use cogency_rs::protocol::{Ending, Grammar};
///
/// let grammar = Grammar::preset("hermes").expect("a row of the table");
/// let mut reader = ChatReader::new(grammar, ChatOptions::default());
/// let mut deltas = Vec::new();
/// reader.feed("Hello <tool_", &mut deltas);
/// reader.feed(r#"call>{"name": "add", "arguments": {"a": 1}}</tool_call>"#, &mut deltas);
/// assert_eq!(reader.finish(&Ending::Stopped, &mut deltas), Some(FinishReason::ToolCalls));
/// let [Delta::Content(text), Delta::Call(0, call)] = &deltas[..] else { panic!("{deltas:?}") };
/// assert_eq!((&*text.as_str(), call.arguments()), ("Hello ", r#"{"a": 1}"#));
/// ```
#[derive(Debug)]
pub struct ChatReader {
    parser: Parser,
    characters: Characters,
    /// What was read and is not a delta yet.
    events: Vec<Event>,
    calls: usize,
    /// The calls that have begun, and wait for the end of their block.
    open: VecDeque<OpenCall>,
    is_broken: bool,
}

/// A call of which pieces were handed out.
#[derive(Debug)]
struct OpenCall {
    number: usize,
    name: String,
    /// Its id, if that was written; it and the name come with the first piece of its arguments.
    id: Option<String>,
    has_begun: bool,
    /// The pieces.
    args: String,
    strict: StrictJson,
}

impl ChatReader {
    /// A reader at the start of an answer.
    #[must_use]
    pub fn new(grammar: Arc<Grammar>, options: ChatOptions) -> Self {
        let ChatOptions { tools, callable, limits, strictness, begins_in_think, calls } = options;
        let options = Options {
            stream: Stream::Token,
            calls: match calls {
                ChatCalls::Whole => CallStream::Whole,
                ChatCalls::Stream => CallStream::Json,
            },
            unread: Unread::Text(callable),
            limits,
            strictness,
            begins_in_think,
            tools,
            ..Options::default()
        };
        Self {
            parser: Parser::new(grammar, options),
            characters: Characters::default(),
            events: Vec::new(),
            calls: 0,
            open: VecDeque::new(),
            is_broken: false,
        }
    }

    /// Reads the next `chunk`, generalised UTF-8 cut between code points, if it is one delta just as it is. Otherwise
    /// nothing is read.
    #[doc(hidden)]
    pub fn pass(&mut self, chunk: &[u8]) -> Option<TextRun> {
        if self.is_broken || self.characters.is_open() || std::str::from_utf8(chunk).is_err() {
            return None;
        }
        self.parser.pass(chunk)
    }

    /// Reads the next `text`, and adds what it makes certain to `deltas`.
    pub fn feed(&mut self, text: &str, deltas: &mut Vec<Delta>) {
        self.feed_bytes(text.as_bytes(), deltas);
    }

    /// The same with `chunk`, generalised UTF-8 cut between code points.
    #[doc(hidden)]
    pub fn feed_bytes(&mut self, chunk: &[u8], deltas: &mut Vec<Delta>) {
        let chunk = self.characters.whole(chunk);
        self.parser.feed_bytes(&chunk, &mut self.events);
        self.take(deltas);
    }

    /// The text has ended: adds what is still open to `deltas`. `None` if the answer has no end of its own, since a call that
    /// had begun is not valid.
    pub fn finish(&mut self, ending: &Ending, deltas: &mut Vec<Delta>) -> Option<FinishReason> {
        let rest = self.characters.end();
        self.parser.feed(rest, &mut self.events);
        self.parser.finish(ending, &mut self.events);
        self.take(deltas);
        if !self.open.is_empty() {
            self.break_off(deltas);
        }
        if self.is_broken {
            return None;
        }
        Some(match ending {
            Ending::Refused(_) => FinishReason::ContentFilter,
            ending if ending.is_cut() => FinishReason::Length,
            _ if self.calls > 0 => FinishReason::ToolCalls,
            _ => FinishReason::Stop,
        })
    }

    fn take(&mut self, deltas: &mut Vec<Delta>) {
        for event in std::mem::take(&mut self.events) {
            if self.is_broken {
                return;
            }
            match event {
                Event::Respond(text) => deltas.push(Delta::Content(text)),
                Event::Think(text) => deltas.push(Delta::Reasoning(text)),
                Event::Piece(number, Note::Start { name, id }) => {
                    let (args, strict) = (String::new(), StrictJson::default());
                    let has_begun = false;
                    self.open.push_back(OpenCall { number, name, id, has_begun, args, strict });
                }
                Event::Piece(_, Note::Args(piece)) => {
                    if let Some(open) = self.open.back_mut() {
                        open.args.push_str(&piece);
                        deltas.push(open.delta(&piece));
                    }
                }
                Event::Call(call) => self.call(call, deltas),
                Event::Withdrawn if !self.open.is_empty() => self.break_off(deltas),
                _ => {}
            }
        }
    }

    /// A call is valid: hands it out, or what is missing of it.
    fn call(&mut self, call: Call, deltas: &mut Vec<Delta>) {
        let number = self.calls;
        self.calls += 1;
        if self.open.front().is_none_or(|open| open.number != number) {
            return deltas.push(Delta::Call(number, call));
        }
        let Some(mut open) = self.open.pop_front() else { return };
        match call.arguments().strip_prefix(&*open.args) {
            Some(rest) if call.name_json() == open.name => deltas.push(open.delta(rest)),
            // It is other than its beginning said.
            _ => self.break_off(deltas),
        }
    }

    fn break_off(&mut self, deltas: &mut Vec<Delta>) {
        self.open.clear();
        self.is_broken = true;
        deltas.push(Delta::Broken);
    }
}

impl OpenCall {
    /// The delta of a piece.
    fn delta(&mut self, piece: &str) -> Delta {
        let args = self.strict.read(piece).into_owned();
        if std::mem::replace(&mut self.has_begun, true) {
            return Delta::Args(self.number, args);
        }
        Delta::Begin { index: self.number, name: self.name.clone(), id: self.id.take(), args }
    }
}
