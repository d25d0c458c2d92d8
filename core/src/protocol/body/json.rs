//! Calls as JSON: an array of objects, one object, or several in a row.
//!
//! JSON of the wrong shape is still read to its end; text that cannot be JSON has no end of its own.

use super::super::canonical::Writer;
use super::super::limits::Strictness;
use super::super::marks::any_starts;
use super::super::problem::{Problem, ProblemKind};
use super::super::recovery::Mistake;
use super::fields::{Fields, name_of};
use super::found::{character, problem};
use super::{Calls, ItemReader, Scope};
use crate::dialect::{Json, JsonShape, Str};
use crate::json::{Container, Fault, FaultKind, Scanner, Token, TrailingCommas};
use crate::text::{leading_space, trim};

/// Reads one JSON value.
#[derive(Clone, Debug)]
pub struct JsonReader {
    scanner: Scanner,
    state: State,
    /// How many brackets are open directly inside a call.
    call_depth: usize,
}

#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a reader has one, and is in a call most of the time"
)]
enum State {
    /// In front of the value.
    Start,
    /// Between two calls of an array, or in a value that holds none.
    Between,
    /// Inside a call's object, which began at this byte.
    Call(usize, Fields),
    /// After one of several objects, before what may part it from the next: space is read up to here.
    After(usize),
    /// After what parts two objects, before the next: space is read up to here.
    Parted(usize),
}

impl ItemReader for JsonReader {
    type Form = Json;

    fn new(_: &Json, start: usize, scope: &Scope) -> Self {
        let call_depth = 1;
        Self { scanner: scanner(start, scope.strictness), state: State::Start, call_depth }
    }

    fn begins(form: &Json, text: &[u8]) -> Option<bool> {
        let first = text.get(leading_space(text))?;
        Some(match form.shape {
            JsonShape::Array => *first == b'[',
            JsonShape::Object | JsonShape::Objects(_) => *first == b'{',
        })
    }

    fn begins_in_block(form: &Json, text: &[u8], strictness: Strictness) -> Option<bool> {
        let mut rest = &text[leading_space(text)..];
        if Mistake::Fence.is_forgiven(strictness) {
            rest = &rest[opening_fence(rest)?..];
            rest = &rest[leading_space(rest)..];
        }
        match Self::begins(form, rest) {
            Some(false) if Mistake::Shape.is_forgiven(strictness) => {
                let inner: &[u8] = match rest.first()? {
                    b'[' => b"{",
                    b'{' => b"\"",
                    _ => return Some(false),
                };
                let first = rest[1..].get(leading_space(&rest[1..]))?;
                Some(inner.contains(first))
            }
            known => known,
        }
    }

    /// Its first key is one of a call, or its name and then the key of its arguments come soon, as in
    /// `{"type": "function", "name": …, "parameters": …}`. Other JSON is an answer, or a part of one.
    fn begins_unmarked(form: &Json, text: &[u8]) -> Option<bool> {
        match begins_with_key(form, text) {
            Some(false) => names_a_call(form, text),
            known => known,
        }
    }

    fn read(
        &mut self,
        form: &Json,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<Option<usize>, Problem> {
        loop {
            if let JsonShape::Objects(separator) = &form.shape
                && let Some(next) = self.between(form, separator, text, calls.is_whole)
            {
                match next {
                    Between::Unknown => return Ok(None),
                    Between::Object(at) => {
                        self.scanner = scanner(at, calls.scope.strictness);
                        self.state = State::Start;
                    }
                    Between::Other => return Ok(Some(self.scanner.position())),
                }
            }
            // In a block that is refused the state stays what it was, whatever is read.
            if matches!(self.state, State::Start) && self.scanner.depth() == 0 {
                self.scanner.skip_space(text);
            }
            while !self.scanner.is_complete() {
                match self.scanner.next(text) {
                    Ok(Some(token)) => self.token(form, text, &token, calls),
                    Ok(None) => {
                        if let State::Call(_, fields) = &mut self.state {
                            fields.string_so_far(text, &self.scanner, calls);
                        }
                        return Ok(None);
                    }
                    Err(fault) => return Err(fault.into()),
                }
            }
            match form.shape {
                JsonShape::Objects(_) => {
                    self.state = State::After(self.scanner.position());
                }
                _ => return Ok(Some(self.scanner.position())),
            }
        }
    }

    fn cut_off(&mut self, form: &Json, text: &[u8], calls: &mut Calls) -> Result<(), Problem> {
        if let State::After(_) | State::Parted(_) = self.state {
            return Ok(());
        }
        if let Some(number) = self.scanner.end(text)? {
            self.token(form, text, &number, calls);
        }
        Ok(())
    }
}

/// What follows one of several objects.
enum Between {
    /// It is not known yet.
    Unknown,
    /// Another object, from this byte on.
    Object(usize),
    /// Neither.
    Other,
}

fn scanner(start: usize, strictness: Strictness) -> Scanner {
    let mut scanner = Scanner::default();
    if Mistake::ExtraComma.is_forgiven(strictness) {
        scanner = scanner.with(TrailingCommas::Allowed);
    }
    scanner.skip(start);
    scanner
}

impl JsonReader {
    /// What follows the object that was read last; `None` in an object. Space is passed over once, however it arrives.
    fn between(
        &mut self,
        form: &Json,
        separator: &str,
        text: &[u8],
        is_whole: bool,
    ) -> Option<Between> {
        let separator = trim(separator.as_bytes());
        if let State::After(at) = &mut self.state {
            *at += leading_space(&text[*at..]);
            let rest = &text[*at..];
            if rest.is_empty() || !rest.starts_with(separator) {
                // See `Mistake::NoSeparator`.
                return Some(match names_a_call(form, rest) {
                    Some(true) => Between::Object(*at),
                    None if !is_whole => Between::Unknown,
                    _ if separator.starts_with(rest) => Between::Unknown,
                    _ => Between::Other,
                });
            }
            self.state = State::Parted(*at + separator.len());
        }
        let State::Parted(at) = &mut self.state else { return None };
        *at += leading_space(&text[*at..]);
        Some(match text.get(*at) {
            None => Between::Unknown,
            Some(b'{') => Between::Object(*at),
            Some(_) => Between::Other,
        })
    }

    fn token(&mut self, form: &Json, text: &[u8], token: &Token, calls: &mut Calls) {
        if calls.is_refused() {
            return;
        }
        let depth = self.scanner.depth();
        let at = self.scanner.position() - 1;
        let most = calls.scope.limits.max_depth;
        if depth > most {
            return calls.refuse(ProblemKind::TooDeep(most), at);
        }
        self.state = match (std::mem::replace(&mut self.state, State::Between), token) {
            (State::Start, Token::Open(Container::Array)) if may_be_array(form, calls) => {
                self.call_depth = 2; // the array's bracket and its own
                State::Between
            }
            (State::Start, Token::Open(Container::Object)) if may_be_object(form, calls) => {
                self.begin(form, at, calls)
            }
            (State::Start, token) => {
                let expected = match form.shape {
                    JsonShape::Array => "a JSON array of calls",
                    JsonShape::Object | JsonShape::Objects(_) => "a JSON object of a call",
                };
                let found = name_of(token).into();
                let kind = ProblemKind::Expected { expected: expected.into(), found };
                return calls.refuse(kind, start_of(token, at));
            }
            (State::Between, Token::Open(Container::Object)) => self.begin(form, at, calls),
            (State::Between | State::After(_) | State::Parted(_), Token::Close(_)) => {
                State::Between
            }
            (State::Between | State::After(_) | State::Parted(_), token) => {
                let kind = ProblemKind::NotAnObject { index: calls.len(), found: name_of(token) };
                return calls.refuse(kind, start_of(token, at));
            }
            (State::Call(_, fields), _)
                if depth < self.call_depth && form.skips_others && !fields.has_name() =>
            {
                State::Between
            }
            (State::Call(start, fields), _) if depth < self.call_depth => {
                fields.finish(form, start, calls);
                State::Between
            }
            (State::Call(start, mut fields), token) => {
                fields.token(form, text, token, (depth, at), calls);
                State::Call(start, fields)
            }
        };
    }

    fn begin(&mut self, form: &Json, at: usize, calls: &mut Calls) -> State {
        calls.begin(at);
        State::Call(at, Fields::new(form, self.call_depth, calls.scope.strictness))
    }
}

/// Whether the value may be an array of calls.
fn may_be_array(form: &Json, calls: &Calls) -> bool {
    form.shape == JsonShape::Array || calls.scope.forgives(Mistake::Shape)
}

/// Whether the value may be the object of a call.
fn may_be_object(form: &Json, calls: &Calls) -> bool {
    form.shape != JsonShape::Array || calls.scope.forgives(Mistake::Shape)
}

/// Whether JSON begins whose first key is a key of a call.
fn begins_with_key(form: &Json, text: &[u8]) -> Option<bool> {
    let mut rest = &text[leading_space(text)..];
    let opening: &[u8] = if form.shape == JsonShape::Array { b"[{" } else { b"{" };
    for &bracket in opening {
        rest = &rest[leading_space(rest)..];
        match rest.first() {
            None => return None,
            Some(&byte) if byte == bracket => rest = &rest[1..],
            Some(_) => return Some(false),
        }
    }
    rest = &rest[leading_space(rest)..];
    match rest.first() {
        None => return None,
        Some(b'"') => rest = &rest[1..],
        Some(_) => return Some(false),
    }
    let decision = form.decision.iter();
    let others = decision.flat_map(|decision| [&decision.key, &decision.thought_key]);
    let keys = form.name.iter().chain(&form.args).chain(&form.id).chain(&form.server).chain(others);
    let keys: Vec<Str> = keys.map(|key| format!("{key}\"").into()).collect();
    any_starts(rest, &keys)
}

/// Whether JSON begins with an object whose name, a string, and the key of its arguments come before long, and nothing but texts,
/// numbers and words before them.
fn names_a_call(form: &Json, text: &[u8]) -> Option<bool> {
    if form.decision.is_some() {
        return Some(false); // it says so with a key of its own
    }
    let within = &text[..text.len().min(LONGEST_BEFORE)];
    let inside = if form.shape == JsonShape::Array { 2 } else { 1 };
    let mut scanner = Scanner::default();
    scanner.skip_space(within);
    if within.get(scanner.position()).is_some_and(|first| !b"[{".contains(first)) {
        return Some(false);
    }
    let (mut is_name, mut has_name) = (false, false);
    loop {
        match scanner.next(within) {
            Ok(Some(Token::Open(container))) if scanner.depth() <= inside => {
                if (container == Container::Object) != (scanner.depth() == inside) {
                    return Some(false);
                }
            }
            Ok(Some(Token::Key(key))) => {
                let key = &within[key];
                let is_one =
                    |keys: &[Str]| keys.iter().any(|one| *key == *format!("\"{one}\"").as_bytes());
                if has_name && is_one(&form.args) {
                    return Some(true);
                }
                is_name = is_one(&form.name);
            }
            Ok(Some(Token::String(_))) => has_name |= is_name,
            Ok(Some(Token::Number(_) | Token::Word(_))) => {}
            Ok(None) if within.len() == text.len() => return None,
            Ok(Some(Token::Open(_) | Token::Close(_)) | None) | Err(_) => return Some(false),
        }
    }
}

/// The first byte of a token whose last byte is `last`.
fn start_of(token: &Token, last: usize) -> usize {
    match token {
        Token::Open(_) | Token::Close(_) => last,
        Token::Key(range) | Token::String(range) | Token::Number(range) => range.start,
        Token::Word(word) => last + 1 - word.len(),
    }
}

/// How far into a call that no mark opens the key of its arguments is looked for, in bytes.
const LONGEST_BEFORE: usize = 128;

/// The fewest and the most backticks of a Markdown fence, and the longest language after them.
const FENCE: usize = 3;
const LONGEST_FENCE: usize = 16;
const LONGEST_LANGUAGE: usize = 32;

/// How many bytes at the start of `text` open a Markdown fence; 0 where none does, `None` where that is not known yet.
#[must_use]
pub fn opening_fence(text: &[u8]) -> Option<usize> {
    let ticks = ticks(text);
    if ticks < FENCE {
        return (text.len() > ticks).then_some(0);
    }
    let is_word = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-+.".contains(byte);
    let width = ticks + text[ticks..].iter().take(LONGEST_LANGUAGE).take_while(is_word).count();
    (text.len() > width).then_some(width)
}

/// Likewise of one that is closed.
#[must_use]
pub fn closing_fence(text: &[u8]) -> Option<usize> {
    match ticks(text) {
        ticks if ticks == text.len() => None,
        ticks if ticks < FENCE => Some(0),
        ticks => Some(ticks),
    }
}

/// How many backticks `text` begins with, as far as they may be a fence.
fn ticks(text: &[u8]) -> usize {
    text.iter().take(LONGEST_FENCE).take_while(|&&byte| byte == b'`').count()
}

/// Reads one JSON object, as the arguments of a call whose name is in a head.
#[derive(Clone, Debug)]
pub struct ObjectReader {
    scanner: Scanner,
    writer: Writer,
    is_object: bool,
}

impl ObjectReader {
    /// A reader of the object that begins at byte `start`, space before it passed over.
    #[must_use]
    pub fn new(start: usize, strictness: Strictness) -> Self {
        let writer = Writer::new(0);
        Self { scanner: scanner(start, strictness), writer, is_object: false }
    }

    /// Reads on; gives the byte after the value once it is complete. Where any of `ends`, which end the call, is in its place,
    /// the call has no arguments.
    ///
    /// # Errors
    /// It is not JSON.
    pub fn read(
        &mut self,
        ends: &[Str],
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<Option<usize>, Problem> {
        if self.scanner.depth() == 0 && !self.scanner.is_complete() {
            self.scanner.skip_space(text);
            match text.get(self.scanner.position()) {
                None => return Ok(None),
                Some(b'{') => {}
                Some(_) => {
                    let at = self.scanner.position();
                    return match any_starts(&text[at..], ends) {
                        None => Ok(None),
                        Some(true) => Ok(Some(at)),
                        Some(false) => {
                            Err(problem("a JSON object of arguments", character(text, at), at))
                        }
                    };
                }
            }
        }
        while !self.scanner.is_complete() {
            let Some(token) = self.scanner.next(text)? else {
                if calls.shows() {
                    self.writer.string_up_to(text, &self.scanner);
                    calls.wrote(&self.writer);
                } else if !calls.is_refused() {
                    self.writer.string_so_far(text, &self.scanner);
                }
                return Ok(None);
            };
            if calls.is_refused() {
                continue;
            }
            let most = calls.scope.limits.max_depth;
            let at = self.scanner.position() - 1;
            if self.scanner.depth() > most {
                calls.refuse(ProblemKind::TooDeep(most), at);
                continue;
            }
            if !self.is_object {
                self.is_object = true;
                calls.begin_args();
            }
            self.writer.token(text, &token);
        }
        calls.check_keys(&self.writer, self.scanner.position() - 1);
        Ok(Some(self.scanner.position()))
    }

    /// The object, canonical.
    #[must_use]
    pub fn take(self) -> String {
        if self.is_object { self.writer.finish() } else { "{}".into() }
    }

    /// What is missing of a text that ends here.
    #[must_use]
    pub fn missing(&mut self, text: &[u8]) -> Problem {
        match self.scanner.end(text) {
            Err(fault) => fault.into(),
            Ok(_) => Fault { kind: FaultKind::Ended, at: text.len() }.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{Body, presets};

    /// A byte that was passed over is not looked at again, or a long run of space would be read once for each of its chunks.
    #[test]
    fn space_between_objects_is_passed_over_once() {
        let dialect = presets::preset("llama3-json").expect("a preset");
        let Body::Json(form) = &dialect.calls.bodies[0] else { panic!("calls are JSON") };
        let mut calls = Calls::new(Scope::default());
        let mut reader = JsonReader::new(form, 0, &calls.scope);
        let mut text = b"{\"name\": \"a\", \"parameters\": {}}".to_vec();
        for (more, is_after) in [("  ", true), (" ", true), (" ; ", false), ("\n", false)] {
            text.extend_from_slice(more.as_bytes());
            assert_eq!(reader.read(form, &text, &mut calls), Ok(None), "{more:?}");
            let passed = match reader.state {
                State::After(at) if is_after => at,
                State::Parted(at) if !is_after => at,
                ref state => panic!("{more:?} leads to {state:?}"),
            };
            assert_eq!(passed, text.len(), "{more:?}");
        }
        text.extend_from_slice(b"{\"name\": \"b\", \"parameters\": {}} x");
        let end = reader.read(form, &text, &mut calls);
        assert_eq!(end, Ok(Some(text.len() - 2)));
        assert_eq!(calls.len(), 2);
    }
}
