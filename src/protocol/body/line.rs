//! Arguments as a JSON object, or as text up to where the call ends.

use super::super::canonical::json_string;
use super::super::marks::Marks;
use super::super::marks::Search;
use super::super::problem::{Problem, ProblemKind};
use super::super::tools::{Schema, typed};
use super::Calls;
use super::json::ObjectReader;
use crate::dialect::{Head, Untyped};
use crate::text::{leading_space, trim};

/// Reads the arguments of one call.
#[derive(Clone, Debug)]
pub struct TextReader {
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Start(usize),
    Object(ObjectReader),
    /// Text from the first byte on, searched up to the second.
    Text(usize, usize, Marks),
    Done(String),
}

impl TextReader {
    /// A reader of the arguments that begin at byte `start`.
    #[must_use]
    pub fn new(start: usize) -> Self {
        Self { state: State::Start(start) }
    }

    /// Reads on; gives the byte after them once they are complete.
    ///
    /// # Errors
    /// They begin like JSON but are not JSON.
    pub fn read(
        &mut self,
        form: &Head,
        key: &str,
        tool: &str,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<Option<usize>, Problem> {
        loop {
            match &mut self.state {
                State::Start(at) => {
                    *at += leading_space(&text[*at..]);
                    let at = *at;
                    self.state = match text.get(at) {
                        None => return Ok(None),
                        Some(b'{') => State::Object(ObjectReader::new(at, calls.scope.strictness)),
                        Some(_) => {
                            calls.begin_args(at);
                            let marks = form.until.iter().map(|mark| mark.as_bytes());
                            State::Text(at, at, Marks::new(marks))
                        }
                    };
                }
                State::Object(reader) => return reader.read(text, calls),
                State::Text(start, at, marks) => match marks.search(text, *at) {
                    Search::Found { start: end, .. } if text[end - 1] == b'\n' => {
                        calls.end_args(text, end);
                        let raw = &text[*start..end];
                        self.state = State::Done(argument(raw, key, tool, calls));
                        return Ok(Some(end));
                    }
                    Search::Found { end, .. } => *at = end,
                    search => {
                        *at = search.or_end(text);
                        calls.read_args(text, *at);
                        return Ok(None);
                    }
                },
                State::Done(_) => return Ok(Some(text.len())),
            }
        }
    }

    /// The text ends here, and with it the arguments.
    ///
    /// # Errors
    /// They begin as JSON that is not complete.
    pub fn cut_off(
        &mut self,
        key: &str,
        tool: &str,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<String, Problem> {
        match &mut self.state {
            State::Object(reader) => Err(reader.missing(text)),
            State::Text(start, ..) => {
                calls.end_args(text, text.len());
                Ok(argument(&text[*start..], key, tool, calls))
            }
            State::Start(_) | State::Done(_) => {
                let kind = ProblemKind::Missing("the arguments".into());
                Err(Problem { kind, at: text.len() })
            }
        }
    }

    /// The arguments, a canonical JSON object.
    #[must_use]
    pub fn take(self) -> String {
        match self.state {
            State::Object(reader) => reader.take(),
            State::Done(args) => args,
            State::Start(_) | State::Text(..) => "{}".into(),
        }
    }
}

/// The object of the tool's only parameter, or of `key`, with this text as its value.
fn argument(raw: &[u8], key: &str, tool: &str, calls: &Calls) -> String {
    let schema = calls.scope.tools.as_deref().and_then(|tools| tools.schema(tool));
    let only = schema.and_then(Schema::only_property);
    let key = only.unwrap_or(key);
    let schema = schema.and_then(|schema| schema.property(key));
    let max_depth = calls.scope.limits.max_depth.saturating_sub(1);
    let value = typed(trim(raw), schema, Untyped::Text, max_depth);
    format!("{{{}: {value}}}", json_string(key.as_bytes()))
}
