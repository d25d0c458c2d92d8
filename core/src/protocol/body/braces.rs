//! Reads arguments in braces: `{key:value,…}`, keys without quotes and strings between marks.
//!
//! What is between two marks is the text itself, without escapes: it may hold anything but the mark. JSON strings are
//! read too. A value with neither is a literal, which its schema may say is text; bare words are text.

use std::ops::Range;

use super::super::canonical::{Writer, json_string};
use super::super::marks::{find, starts_with};
use super::super::problem::{Problem, ProblemKind};
use super::super::recovery::Mistake;
use super::super::tools::{Schema, SchemaPlace, Types, scalar, typed};
use super::Calls;
use super::advance::Advance;
use super::found::{character, expected, in_quotes, problem};
use crate::dialect::Untyped;
use crate::json::{Container, Fault, Scanner, Token, unescaped};
use crate::text::{leading_space, trim};

/// The most bytes that a key without quotes may have.
const MAX_KEY: usize = 256;

/// Reads the arguments of one call.
#[derive(Clone, Debug)]
pub struct BracesReader {
    /// The first byte that has not been read.
    at: usize,
    state: State,
    unit: Unit,
    /// The brackets that are open.
    open: Vec<Container>,
    /// For each of them what the tool's schema says of the next value in it.
    described: Vec<Option<SchemaPlace>>,
    args: Writer,
    /// Up to where the string between marks was written that is open.
    shown: Option<usize>,
}

/// What may come next between two units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In front of the first brace.
    Start,
    KeyOrClose,
    Colon,
    Value,
    ItemOrClose,
    BehindValue,
    /// Anything: the arguments have been refused, and are read only to find their end. Whether a value may come here.
    Refused(bool),
}

/// The unit that the position is inside of, with where it began.
#[derive(Clone, Debug)]
enum Unit {
    None,
    /// Without quotes: a key, or a value.
    Bare(usize),
    /// Between marks.
    Marked(usize),
    /// Between single quotes, see [`Mistake::SingleQuotes`].
    Single(usize),
    /// Between double quotes.
    Quoted(usize, Scanner),
    /// Between double quotes, in arguments that have been refused.
    PassedOver,
}

fn close_of(container: Container) -> u8 {
    match container {
        Container::Array => b']',
        Container::Object => b'}',
    }
}

/// The value of a literal without quotes. What may be text is what its schema says; what may not is what it says itself.
fn literal(raw: &[u8], schema: Option<Schema<'_>>) -> String {
    let types = schema.map(Schema::types).unwrap_or_default();
    let read = typed(raw, schema, Untyped::Scalar, 0);
    if types.has(Types::STRING) || !read.starts_with('"') {
        return read;
    }
    scalar(raw).unwrap_or(read)
}

impl BracesReader {
    /// A reader of arguments whose first brace is at byte `start`, or after space there.
    #[must_use]
    pub fn new(start: usize) -> Self {
        Self {
            at: start,
            state: State::Start,
            unit: Unit::None,
            open: Vec::new(),
            described: Vec::new(),
            args: Writer::new(0),
            shown: None,
        }
    }

    /// Reads on; gives the byte after the last brace once that has arrived. `text` is what it was at the last call, or
    /// longer. `mark` comes before and after strings, `close` after the call, and `schema` is that of the tool's arguments. Problems go to
    /// `calls` where the arguments still have their own end.
    ///
    /// # Errors
    /// These cannot be arguments, and they have no end of their own. The reader must not be called again.
    ///
    /// # Complexity
    /// O(new text)
    pub fn read(
        &mut self,
        (mark, close): (&str, &str),
        schema: Option<Schema<'_>>,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<Option<usize>, Problem> {
        loop {
            let step = match &mut self.unit {
                Unit::None => self.between(mark, schema, text, calls)?,
                Unit::Bare(start) => {
                    let start = *start;
                    self.bare(schema, text, calls, start)?
                }
                Unit::Marked(start) => {
                    let start = *start;
                    self.marked(mark, schema, text, start)
                }
                Unit::Single(start) => {
                    let start = *start;
                    self.single(close, schema, text, calls, start)?
                }
                Unit::Quoted(start, scanner) => {
                    let (start, said) = (*start, scanner.next(text));
                    self.quoted(schema, text, calls, start, said)
                }
                Unit::PassedOver => self.pass_over(text),
            };
            match step {
                Advance::On => {}
                Advance::More => {
                    if calls.shows() {
                        self.show(text);
                        calls.wrote(&self.args);
                    }
                    return Ok(None);
                }
                Advance::End(end) => {
                    calls.check_keys(&self.args, end - 1);
                    return Ok(Some(end));
                }
            }
        }
    }

    /// Writes what is known of the string that is open, if it is a value.
    fn show(&mut self, text: &[u8]) {
        if !matches!(self.state, State::Value | State::ItemOrClose) {
            return;
        }
        match &self.unit {
            Unit::Marked(start) | Unit::Single(start) => {
                let from = self.shown.unwrap_or(*start);
                self.args.text_part(&text[from..self.at]);
                self.shown = Some(self.at);
            }
            Unit::Quoted(_, scanner) => self.args.string_up_to(text, scanner),
            _ => {}
        }
    }

    /// The arguments that have been read, a canonical JSON object.
    #[must_use]
    pub fn take(self) -> String {
        self.args.finish()
    }

    /// What is missing of arguments that the end of `text` cut off.
    #[must_use]
    pub fn missing(&self, text: &[u8]) -> Problem {
        let (what, at) = match (&self.unit, self.open.last()) {
            (Unit::Marked(start) | Unit::Single(start) | Unit::Quoted(start, _), _) => {
                ("the end of the string that begins here".into(), *start)
            }
            (_, Some(container)) => (in_quotes(&[close_of(*container)]), text.len()),
            (_, None) => ("\"{\"".into(), text.len()),
        };
        Problem { kind: ProblemKind::Missing(what), at }
    }

    /// What the schema of all arguments says of the next value in the bracket with this number, or of all of them.
    fn described<'a>(
        &self,
        whole: Option<Schema<'a>>,
        bracket: Option<usize>,
    ) -> Option<Schema<'a>> {
        match bracket.and_then(|bracket| self.described.get(bracket)) {
            Some(place) => Some(whole?.at((*place)?)),
            None => whole,
        }
    }

    fn between(
        &mut self,
        mark: &str,
        schema: Option<Schema<'_>>,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<Advance, Problem> {
        self.at += leading_space(&text[self.at..]);
        let Some(&byte) = text.get(self.at) else {
            return Ok(Advance::More);
        };
        let takes_string = matches!(
            self.state,
            State::KeyOrClose | State::Value | State::ItemOrClose | State::Refused(_)
        );
        if takes_string && !mark.is_empty() {
            match starts_with(&text[self.at..], mark) {
                Some(true) => {
                    self.at += mark.len();
                    self.unit = Unit::Marked(self.at);
                    return Ok(Advance::On);
                }
                Some(false) => {}
                None => return Ok(Advance::More),
            }
        }
        let closes = self.open.last().is_some_and(|open| close_of(*open) == byte);
        match (self.state, byte) {
            (State::Start, b'{') => self.push(Container::Object, schema, calls),
            (State::Start, _) => return Err(problem("\"{\"", character(text, self.at), self.at)),
            (State::Refused(takes_value), _) => return self.refused(text, byte, takes_value),
            (State::KeyOrClose | State::ItemOrClose | State::BehindValue, _) if closes => {
                self.args.close();
                return Ok(self.pop());
            }
            (State::KeyOrClose | State::Value | State::ItemOrClose, b'"') => {
                let mut scanner = Scanner::default();
                scanner.skip(self.at);
                self.unit = Unit::Quoted(self.at, scanner);
            }
            (State::Value | State::ItemOrClose, b'{' | b'[') => {
                let container = if byte == b'{' { Container::Object } else { Container::Array };
                self.push(container, schema, calls);
            }
            (State::KeyOrClose | State::Value | State::ItemOrClose, b'\'')
                if calls.scope.forgives(Mistake::SingleQuotes) =>
            {
                self.at += 1;
                self.unit = Unit::Single(self.at);
            }
            (State::Value | State::ItemOrClose, b'\'') => self.unexpected(text, calls, "a value"),
            (State::KeyOrClose | State::Value | State::ItemOrClose, _) => {
                self.unit = Unit::Bare(self.at);
            }
            (State::Colon, b':') => {
                self.at += 1;
                self.state = State::Value;
            }
            (State::Colon, _) => self.unexpected(text, calls, "\":\" after the key"),
            (State::BehindValue, b',') => {
                self.at += 1;
                self.state = match self.open.last() {
                    Some(Container::Object) => State::KeyOrClose,
                    _ => State::ItemOrClose,
                };
            }
            (State::BehindValue, _) => self.unexpected(text, calls, self.behind_value()),
        }
        Ok(Advance::On)
    }

    /// Opens the bracket at the position.
    fn push(&mut self, container: Container, schema: Option<Schema<'_>>, calls: &mut Calls) {
        let (state, item) = match container {
            Container::Object => (State::KeyOrClose, None),
            Container::Array => {
                let array = self.described(schema, self.open.len().checked_sub(1));
                (State::ItemOrClose, array.and_then(Schema::items))
            }
        };
        self.described.push(item.map(Schema::place));
        self.state = state;
        self.args.open(container);
        self.open.push(container);
        self.at += 1;
        let most = calls.scope.limits.max_depth;
        if self.open.len() > most {
            self.refuse(calls, ProblemKind::TooDeep(most), self.at - 1);
        }
    }

    /// Leaves the bracket that was opened last; its closing one is at the position.
    fn pop(&mut self) -> Advance {
        self.at += 1;
        self.open.pop();
        self.described.pop();
        if self.open.is_empty() {
            return Advance::End(self.at);
        }
        self.state = State::BehindValue;
        Advance::On
    }

    /// Reads on in a key or value without quotes.
    fn bare(
        &mut self,
        schema: Option<Schema<'_>>,
        text: &[u8],
        calls: &mut Calls,
        start: usize,
    ) -> Result<Advance, Problem> {
        let is_key = self.state == State::KeyOrClose;
        let ends = |&byte: &u8| match byte {
            b',' | b'{' | b'}' | b'[' | b']' | b'"' | b'<' => true,
            _ => is_key && matches!(byte, b':' | b'\n' | b'\''),
        };
        let end = text[self.at..].iter().position(ends).map(|width| self.at + width);
        self.at = end.unwrap_or(text.len());
        if is_key && self.at - start > MAX_KEY {
            let found = format!("one of more than {MAX_KEY} bytes").into();
            self.refuse(calls, expected("a key", found), start);
            self.at = start;
            return Ok(Advance::On);
        }
        let Some(end) = end else {
            return Ok(Advance::More);
        };
        let raw = trim(&text[start..end]);
        let wanted = match (is_key, raw.is_empty()) {
            (true, true) => "a key",
            (true, false) => "\":\" after the key",
            (false, true) => "a value",
            (false, false) => self.behind_value(),
        };
        match text[end] {
            b':' if is_key && !raw.is_empty() => self.key(schema, raw),
            b',' | b'}' | b']' if !is_key && !raw.is_empty() => {
                if let Some(line) = memchr::memchr(b'\n', raw) {
                    let kind = expected(self.behind_value(), "a line break".into());
                    self.refuse(calls, kind, start + line);
                } else {
                    let schema = self.described(schema, self.open.len().checked_sub(1));
                    let value = literal(raw, schema);
                    self.value(&value);
                }
            }
            // Probably the mark after the call, whose braces were not closed.
            b'<' => return Err(problem(wanted, character(text, end), end)),
            _ => self.unexpected(text, calls, wanted),
        }
        Ok(Advance::On)
    }

    /// Reads on in a string between marks.
    fn marked(
        &mut self,
        mark: &str,
        schema: Option<Schema<'_>>,
        text: &[u8],
        start: usize,
    ) -> Advance {
        let end = match find(text, self.at, mark) {
            Ok(end) => end,
            Err(held) => {
                self.at = held;
                return Advance::More;
            }
        };
        self.at = end + mark.len();
        match self.state {
            State::Refused(_) => {
                self.unit = Unit::None;
                self.state = State::Refused(false);
            }
            _ => self.string(schema, text, start..end),
        }
        Advance::On
    }

    /// Takes a string that is the text itself.
    fn string(&mut self, schema: Option<Schema<'_>>, text: &[u8], said: Range<usize>) {
        if self.state == State::KeyOrClose {
            return self.key(schema, &text[said]);
        }
        let from = self.shown.take().unwrap_or(said.start);
        self.args.text_part(&text[from..said.end]);
        self.args.end_text();
        self.behind();
    }

    /// Reads on in a string between single quotes. A quote ends it if something follows that may follow a string, and is part of it
    /// between two letters. Any other has two readings, and so has a backslash.
    ///
    /// # Errors
    /// The mark that closes the call comes first.
    fn single(
        &mut self,
        close: &str,
        schema: Option<Schema<'_>>,
        text: &[u8],
        calls: &mut Calls,
        start: usize,
    ) -> Result<Advance, Problem> {
        const WANTED: &str = "\"'\" after the string";
        let first = close.as_bytes().first().copied().unwrap_or(b'\\');
        while let Some(width) = memchr::memchr3(b'\'', b'\\', first, &text[self.at..]) {
            self.at += width;
            let (at, behind) = (self.at, &text[self.at + 1..]);
            match text[at] {
                b'\'' => {}
                byte if byte == first && !close.is_empty() => {
                    match starts_with(&text[at..], close) {
                        Some(true) => return Err(problem(WANTED, character(text, at), at)),
                        Some(false) => self.at += 1,
                        None => return Ok(Advance::More),
                    }
                    continue;
                }
                _ => {
                    self.unexpected(text, calls, WANTED);
                    return Ok(Advance::On);
                }
            }
            let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
            match (behind.get(leading_space(behind)), self.state == State::KeyOrClose) {
                (None, _) => return Ok(Advance::More),
                (Some(b':'), true) | (Some(b',' | b'}' | b']'), false) => {
                    self.at += 1;
                    self.string(schema, text, start..at);
                    return Ok(Advance::On);
                }
                _ if at > start && is_letter(&text[at - 1]) && is_letter(&behind[0]) => {
                    self.at += 1;
                }
                _ => {
                    self.unexpected(text, calls, WANTED);
                    return Ok(Advance::On);
                }
            }
        }
        self.at = text.len();
        Ok(Advance::More)
    }

    /// Takes what the scanner found of a string between double quotes.
    fn quoted(
        &mut self,
        schema: Option<Schema<'_>>,
        text: &[u8],
        calls: &mut Calls,
        start: usize,
        said: Result<Option<Token>, Fault>,
    ) -> Advance {
        match said {
            Ok(Some(Token::String(range))) => {
                self.at = range.end;
                if self.state == State::KeyOrClose {
                    self.key(schema, unescaped(&text[range]).as_bytes());
                } else {
                    self.args.token(text, &Token::String(range));
                    self.behind();
                }
                Advance::On
            }
            Ok(_) => {
                if let Unit::Quoted(_, scanner) = &self.unit {
                    self.at = scanner.position();
                }
                Advance::More
            }
            Err(fault) => {
                self.refuse(calls, fault.kind.into(), fault.at);
                self.at = start;
                Advance::On
            }
        }
    }

    fn key(&mut self, schema: Option<Schema<'_>>, key: &[u8]) {
        self.unit = Unit::None;
        self.state = State::Colon;
        self.args.raw_key(&json_string(key));
        let key = String::from_utf8_lossy(key);
        let object = self.described(schema, self.open.len().checked_sub(2));
        if let Some(next) = self.described.last_mut() {
            *next = object.and_then(|object| object.property(&key)).map(Schema::place);
        }
    }

    fn value(&mut self, json: &str) {
        self.args.raw_scalar(json);
        self.behind();
    }

    /// A value has been written.
    fn behind(&mut self) {
        self.unit = Unit::None;
        self.state = State::BehindValue;
    }

    fn behind_value(&self) -> &'static str {
        match self.open.last() {
            Some(Container::Array) => "\",\" or \"]\"",
            _ => "\",\" or \"}\"",
        }
    }

    /// Passes over one byte of arguments that have been refused, or over a string in them.
    fn refused(&mut self, text: &[u8], byte: u8, takes_value: bool) -> Result<Advance, Problem> {
        if takes_value && byte == b'"' {
            self.at += 1;
            self.unit = Unit::PassedOver;
            return Ok(Advance::On);
        }
        if byte == b'<' {
            // As in `bare`.
            return Err(problem(self.behind_value(), character(text, self.at), self.at));
        }
        let container = match byte {
            b'{' => Some(Container::Object),
            b'[' => Some(Container::Array),
            _ => None,
        };
        if let Some(container) = container {
            self.open.push(container);
        }
        if matches!(byte, b'}' | b']') {
            let close = self.open.pop().map_or(b'}', close_of);
            if close != byte {
                return Err(problem(in_quotes(&[close]), character(text, self.at), self.at));
            }
        }
        self.at += 1;
        self.state = State::Refused(matches!(byte, b'{' | b'[' | b',' | b':'));
        Ok(if self.open.is_empty() { Advance::End(self.at) } else { Advance::On })
    }

    /// Passes over the rest of a string between double quotes.
    fn pass_over(&mut self, text: &[u8]) -> Advance {
        while let Some(width) = memchr::memchr2(b'"', b'\\', &text[self.at..]) {
            self.at += width;
            if text[self.at] == b'"' {
                self.at += 1;
                self.unit = Unit::None;
                self.state = State::Refused(false);
                return Advance::On;
            }
            if self.at + 1 == text.len() {
                return Advance::More;
            }
            self.at += 2;
        }
        self.at = text.len();
        Advance::More
    }

    fn refuse(&mut self, calls: &mut Calls, kind: ProblemKind, at: usize) {
        calls.refuse(kind, at);
        self.described = Vec::new();
        self.unit = Unit::None;
        self.state = State::Refused(true);
    }

    /// Refuses the character at the position.
    fn unexpected(&mut self, text: &[u8], calls: &mut Calls, wanted: &'static str) {
        self.refuse(calls, expected(wanted, character(text, self.at)), self.at);
    }
}

#[cfg(test)]
mod tests;
