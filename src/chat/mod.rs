//! A model's text to the messages of a chat API: what a server sends that speaks `OpenAI`'s chat completions.
//!
//! [`ChatReader`] drives a [`Parser`] that reports nothing: text that gives no call is text of the answer. Three invariants:
//!
//! - How the text is cut never matters: the deltas of a text, joined, are those of its pieces.
//! - A delta is final. A call is handed out when its block is valid as a whole, and text when it cannot begin a mark.
//! - Nothing is lost but what the dialect says is not part of the answer: marks, the results of tools that the model made up, and
//!   what follows the end of its turn.

mod arguments;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::protocol::characters::Characters;
use crate::protocol::{
    Call, Callable, Ending, Event, Grammar, Limits, Options, Parser, Stream, Strictness, Text,
    TextRun, Tools, Unread,
};

pub use arguments::strict_json;

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
/// reader.feed(b"Hello <tool_", &mut deltas);
/// reader.feed(br#"call>{"name": "add", "arguments": {"a": 1}}</tool_call>"#, &mut deltas);
/// assert_eq!(reader.finish(&Ending::Stopped, &mut deltas), FinishReason::ToolCalls);
/// let [Delta::Content(text), Delta::Call(0, call)] = &deltas[..] else { panic!("{deltas:?}") };
/// assert_eq!((text.to_str(), call.args_json()), (Some("Hello "), r#"{"a": 1}"#));
/// ```
#[derive(Debug)]
pub struct ChatReader {
    parser: Parser,
    characters: Characters,
    /// What was read and is not a delta yet.
    events: Vec<Event>,
    calls: usize,
}

impl ChatReader {
    /// A reader at the start of an answer.
    #[must_use]
    pub fn new(grammar: Arc<Grammar>, options: ChatOptions) -> Self {
        let ChatOptions { tools, callable, limits, strictness, begins_in_think } = options;
        let options = Options {
            stream: Stream::Token,
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
        }
    }

    /// Reads the next `chunk`, generalised UTF-8 cut between code points, if it is one delta just as it is. Otherwise
    /// nothing is read.
    pub fn pass(&mut self, chunk: &[u8]) -> Option<TextRun> {
        if self.characters.is_open() || std::str::from_utf8(chunk).is_err() {
            return None;
        }
        self.parser.pass(chunk)
    }

    /// Reads the next `chunk`, generalised UTF-8 cut between code points, and adds what it makes certain to `deltas`.
    pub fn feed(&mut self, chunk: &[u8], deltas: &mut Vec<Delta>) {
        let chunk = self.characters.whole(chunk);
        self.parser.feed(&chunk, &mut self.events);
        self.take(deltas);
    }

    /// The text has ended: adds what is still open to `deltas`.
    pub fn finish(&mut self, ending: &Ending, deltas: &mut Vec<Delta>) -> FinishReason {
        let rest = self.characters.end();
        self.parser.feed(rest.as_bytes(), &mut self.events);
        self.parser.finish(ending, &mut self.events);
        self.take(deltas);
        match ending {
            Ending::Refused(_) => FinishReason::ContentFilter,
            ending if ending.is_cut() => FinishReason::Length,
            _ if self.calls > 0 => FinishReason::ToolCalls,
            _ => FinishReason::Stop,
        }
    }

    fn take(&mut self, deltas: &mut Vec<Delta>) {
        for event in self.events.drain(..) {
            deltas.push(match event {
                Event::Respond(text) => Delta::Content(text),
                Event::Think(text) => Delta::Reasoning(text),
                Event::Call(call) => {
                    self.calls += 1;
                    Delta::Call(self.calls - 1, call)
                }
                _ => continue,
            });
        }
    }
}
