//! Arguments as a JSON object, or as text up to where the call ends.

use super::super::canonical::{Writer, json_string};
use super::super::marks::Marks;
use super::super::marks::Search;
use super::super::problem::{Problem, ProblemKind};
use super::super::tools::{Schema, Types, typed};
use super::Calls;
use super::json::ObjectReader;
use super::raw::RawText;
use crate::dialect::{Head, Trim, Untyped};
use crate::json::Container;
use crate::text::{leading_space, trim};

/// Reads the arguments of one call.
#[derive(Clone, Debug)]
pub struct TextReader {
    state: State,
    writer: Writer,
    /// What was written of the text, for callers that see it before it is complete.
    shown: Option<RawText>,
}

#[derive(Clone, Debug)]
enum State {
    Start(usize),
    Object(ObjectReader),
    /// Text from the first byte on, searched up to the second.
    Text(usize, usize, Marks),
    Done(usize),
}

impl TextReader {
    /// A reader of the arguments that begin at byte `start`.
    #[must_use]
    pub fn new(start: usize) -> Self {
        Self { state: State::Start(start), writer: Writer::new(0), shown: None }
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
                            calls.begin_args();
                            let marks = form.until.iter().map(|mark| mark.as_bytes());
                            State::Text(at, at, Marks::new(marks))
                        }
                    };
                }
                State::Object(reader) => return reader.read(&[], text, calls),
                State::Text(start, at, marks) => match marks.search(text, *at) {
                    Search::Found { start: end, .. } if text[end - 1] == b'\n' => {
                        let start = *start;
                        self.argument(start, &text[..end], key, tool, calls);
                        self.state = State::Done(end);
                        return Ok(Some(end));
                    }
                    Search::Found { end, .. } => *at = end,
                    search => {
                        *at = search.or_end(text);
                        let (start, at) = (*start, *at);
                        self.show(start, &text[..at], key, tool, calls);
                        return Ok(None);
                    }
                },
                State::Done(end) => return Ok(Some(*end)),
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
                let start = *start;
                self.argument(start, text, key, tool, calls);
                Ok(std::mem::replace(&mut self.writer, Writer::new(0)).finish())
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
            State::Done(_) => self.writer.finish(),
            State::Start(_) | State::Text(..) => "{}".into(),
        }
    }

    /// Writes what is sure of the text, which goes on after `text`, if it is a string whatever it says.
    fn show(&mut self, start: usize, text: &[u8], key: &str, tool: &str, calls: &mut Calls) {
        let (key, schema) = parameter(key, tool, calls);
        let types = schema.map(Schema::types).unwrap_or_default();
        if !calls.shows() || !(types.is_empty() || types == Types::STRING) {
            return;
        }
        if self.shown.is_none() {
            self.writer.open(Container::Object);
            self.writer.raw_key(&json_string(key.as_bytes()));
        }
        let shown = self.shown.get_or_insert_with(|| RawText::new(start));
        shown.write(Trim::Space, text, &mut self.writer);
        calls.wrote(&self.writer);
    }

    /// Writes the object of the tool's only parameter, or of `key`, whose value begins at byte `start` and is the rest of `text`.
    fn argument(&mut self, start: usize, text: &[u8], key: &str, tool: &str, calls: &Calls) {
        let (key, schema) = parameter(key, tool, calls);
        let max_depth = calls.scope.limits.max_depth.saturating_sub(1);
        let value = typed(trim(&text[start..]), schema, Untyped::Text, max_depth);
        if self.shown.is_none() {
            self.writer.open(Container::Object);
            self.writer.raw_key(&json_string(key.as_bytes()));
        }
        self.writer.end_parts(&value);
        self.writer.close();
    }
}

/// The tool's only parameter, or `key`, and what the tool takes for it.
fn parameter<'c>(key: &'c str, tool: &str, calls: &'c Calls) -> (&'c str, Option<Schema<'c>>) {
    let schema = calls.scope.tools.as_deref().and_then(|tools| tools.schema(tool));
    let key = schema.and_then(Schema::only_property).unwrap_or(key);
    (key, schema.and_then(|schema| schema.property(key)))
}
