//! Reads the body of an execute block: a JSON array of `{"name": …, "args": {…}}`.

use std::borrow::Cow;

use super::call::Call;
use super::canonical::{Layout, Writer, canonical_string};
use super::json::{Container, Controls, Fault, FaultKind, Scanner, Token, TrailingCommas};
use super::limits::{Limits, Reading};
use super::problem::{Problem, ProblemKind};

/// How far a body has been read.
#[derive(Debug)]
pub enum Progress {
    /// The text ends before the block does.
    More,
    /// The closing tag was found.
    Complete {
        /// One past the closing tag's last byte.
        end: usize,
        /// All calls, or what was wrong with the first bad one.
        calls: Result<Vec<Call>, Problem>,
    },
    /// This can be no valid block, and it has no end of its own.
    Broken(Problem),
}

/// Reads one body while it arrives.
#[derive(Clone, Debug)]
pub struct CallReader {
    close: &'static str,
    limits: Limits,
    reading: Reading,
    scanner: Scanner,
    place: Place,
    /// How many brackets are open directly inside a call.
    call_depth: usize,
    calls: Vec<Call>,
    /// The first thing wrong with the shape; the rest is read for its end only.
    problem: Option<Problem>,
}

#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a reader has one, and is in a call most of the time"
)]
enum Place {
    /// In front of everything.
    Start,
    /// In front of the array, behind a fence that was opened.
    Opened,
    /// Between two calls, or behind the last one.
    Array,
    /// Behind a fence that was closed.
    Closed,
    /// Inside a call's object, which began at this byte.
    Call(usize, Fields),
}

/// How many backticks open or close a Markdown fence, at least and at most, and how long the language behind them is.
const FENCE: usize = 3;
const LONGEST_FENCE: usize = 16;
const LONGEST_LANGUAGE: usize = 32;

impl CallReader {
    /// A reader of a block that ends with the tag `close`.
    #[must_use]
    pub fn new(close: &'static str, limits: Limits, reading: Reading) -> Self {
        let trailing_commas = match reading {
            Reading::Strict => TrailingCommas::Refused,
            Reading::Lenient => TrailingCommas::Allowed,
        };
        Self {
            close,
            limits,
            reading,
            scanner: Scanner::default().with(trailing_commas),
            place: Place::Start,
            call_depth: 2, // the array's bracket and its own
            calls: Vec::new(),
            problem: None,
        }
    }

    /// Reads on in `body`, which is what it was at the last call, or longer.
    ///
    /// After anything but [`Progress::More`] the reader must not be asked again.
    pub fn read(&mut self, body: &[u8]) -> Progress {
        let most = self.limits.max_block_bytes.saturating_add(self.close.len());
        let body = &body[..body.len().min(most)];
        match self.read_within(body) {
            Progress::More if body.len() == most => Progress::Broken(self.too_long()),
            progress => progress,
        }
    }

    /// What a body is that ends here, before its closing tag: the calls of an array that is complete, since servers take
    /// stop strings away; or what is wrong with it.
    ///
    /// # Errors
    /// The array is not complete, or not one of calls.
    pub fn cut_off(&mut self, body: &[u8]) -> Result<Vec<Call>, Problem> {
        let most = self.limits.max_block_bytes;
        match self.scanner.end(body) {
            Err(_) if body.len() > most => Err(self.too_long()),
            Err(fault) => Err(fault.into()),
            // Behind the array stands a part of the closing tag at most.
            Ok(_) if self.scanner.position() > most => Err(self.too_long()),
            Ok(number) => {
                if let Some(number) = number {
                    self.token(body, &number);
                }
                self.take()
            }
        }
    }

    fn read_within(&mut self, body: &[u8]) -> Progress {
        if matches!(self.place, Place::Start) {
            self.scanner.skip_space(body);
            if self.reading == Reading::Lenient {
                match fence(&body[self.scanner.position()..]) {
                    Some(width) => self.scanner.skip(width),
                    None => return Progress::More,
                }
            }
            self.place = Place::Opened;
        }
        if matches!(self.place, Place::Opened) {
            self.scanner.skip_space(body);
        }
        while !self.scanner.is_complete() {
            match self.scanner.next(body) {
                Ok(Some(token)) => self.token(body, &token),
                Ok(None) => return Progress::More,
                Err(fault) => return Progress::Broken(fault.into()),
            }
        }
        self.scanner.skip_space(body);
        if self.reading == Reading::Lenient && !matches!(self.place, Place::Closed) {
            let rest = &body[self.scanner.position()..];
            match ticks(rest) {
                count if count == rest.len() => return Progress::More,
                count if count >= FENCE => {
                    self.place = Place::Closed;
                    self.scanner.skip(count);
                    self.scanner.skip_space(body);
                }
                _ => {}
            }
        }
        let at = self.scanner.position();
        let (rest, close) = (&body[at..], self.close.as_bytes());
        if rest.starts_with(close) {
            Progress::Complete { end: at + close.len(), calls: self.take() }
        } else if close.starts_with(rest) {
            Progress::More
        } else {
            Progress::Broken(Problem { kind: FaultKind::Trailing.into(), at })
        }
    }

    /// The calls of a whole array, or what is wrong with it.
    fn take(&mut self) -> Result<Vec<Call>, Problem> {
        let calls = std::mem::take(&mut self.calls);
        self.problem.take().map_or(Ok(calls), Err)
    }

    fn token(&mut self, body: &[u8], token: &Token) {
        if self.problem.is_some() {
            return;
        }
        let depth = self.scanner.depth();
        let at = self.scanner.position() - 1;
        if depth > self.limits.max_depth {
            return self.refuse(ProblemKind::TooDeep(self.limits.max_depth), at);
        }
        let index = self.calls.len();
        self.place = match (std::mem::replace(&mut self.place, Place::Array), token) {
            (Place::Opened, Token::Open(Container::Array)) | (Place::Array, Token::Close(_)) => {
                Place::Array
            }
            (Place::Opened, Token::Open(Container::Object)) if self.reading == Reading::Lenient => {
                self.call_depth = 1;
                Place::Call(at, self.fields())
            }
            (Place::Start | Place::Opened | Place::Closed, token) => {
                return self.refuse(
                    ProblemKind::Expected {
                        expected: "a JSON array of calls".into(),
                        found: name_of(token).into(),
                    },
                    start_of(token, at),
                );
            }
            (Place::Array, Token::Open(Container::Object)) => {
                if index == self.limits.max_calls {
                    return self.refuse(ProblemKind::TooManyCalls(self.limits.max_calls), at);
                }
                Place::Call(at, self.fields())
            }
            (Place::Array, token) => {
                let found = name_of(token);
                return self.refuse(ProblemKind::NotAnObject { index, found }, start_of(token, at));
            }
            (Place::Call(start, fields), _) if depth < self.call_depth => {
                match fields.into_parts() {
                    Ok((name, args)) => self.calls.push(Call::new(&name, &args)),
                    Err(Missing::Name(found)) => {
                        return self
                            .refuse(ProblemKind::Name { index, key: "name".into(), found }, start);
                    }
                    Err(Missing::Args(found)) => {
                        return self
                            .refuse(ProblemKind::Args { index, key: "args".into(), found }, start);
                    }
                }
                Place::Array
            }
            (Place::Call(start, mut fields), token) => {
                fields.token(body, token, depth);
                Place::Call(start, fields)
            }
        };
    }

    fn fields(&self) -> Fields {
        Fields::new(self.call_depth, Err(NOTHING), Layout::Compact, self.reading)
    }

    fn too_long(&self) -> Problem {
        let most = self.limits.max_block_bytes;
        Problem { kind: ProblemKind::TooLong(most), at: most }
    }

    fn refuse(&mut self, kind: ProblemKind, at: usize) {
        self.calls = Vec::new();
        self.place = Place::Array;
        self.problem = Some(Problem { kind, at });
    }
}

/// How many backticks `text` begins with, as far as they may be a fence.
fn ticks(text: &[u8]) -> usize {
    text.iter().take(LONGEST_FENCE).take_while(|&&byte| byte == b'`').count()
}

/// How many bytes at the start of `body` open a Markdown fence; 0 where none does, `None` where that is not known yet.
fn fence(body: &[u8]) -> Option<usize> {
    let ticks = ticks(body);
    if ticks < FENCE {
        return (body.len() > ticks).then_some(0);
    }
    let is_word = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-+.".contains(byte);
    let width = ticks + body[ticks..].iter().take(LONGEST_LANGUAGE).take_while(is_word).count();
    (body.len() > width).then_some(width)
}

/// The fields of one call's object, while it is read.
#[derive(Clone, Debug)]
struct Fields {
    /// How many brackets are open directly inside the object.
    depth: usize,
    /// How the arguments are written.
    layout: Layout,
    reading: Reading,
    name: Slot,
    args: Slot,
    /// Arguments under another name.
    other_args: Slot,
    /// The field whose value is being read.
    open: Option<Field>,
}

/// What a field holds: its JSON, or what was found instead of the right type.
type Slot = Result<String, &'static str>;

/// What is found in the place of a field that is not there.
const NOTHING: &str = "nothing";

/// Which field is missing, and what was found in its place.
enum Missing {
    Name(&'static str),
    Args(&'static str),
}

#[derive(Clone, Debug)]
enum Field {
    Name,
    Args(Writer),
    OtherArgs(Writer),
    Other,
}

impl Fields {
    fn new(depth: usize, args: Slot, layout: Layout, reading: Reading) -> Self {
        let (name, other_args) = (Err(NOTHING), Err(NOTHING));
        Self { depth, layout, reading, name, args, other_args, open: None }
    }

    /// Takes one token from inside the object. `depth` is the number of open brackets behind it.
    fn token(&mut self, text: &[u8], token: &Token, depth: usize) {
        let is_last = depth == self.depth;
        match &mut self.open {
            None => {
                if let Token::Key(range) = token {
                    let rest = &text[range.end..];
                    let key = &text[range.clone()];
                    self.open = Some(Field::of(key, self.layout, self.reading, rest.len()));
                }
                return;
            }
            Some(Field::Args(writer) | Field::OtherArgs(writer)) => writer.token(text, token),
            Some(Field::Name | Field::Other) => {}
        }
        if !is_last {
            return;
        }
        match (self.open.take(), token) {
            (Some(Field::Name), Token::String(range)) => {
                self.name = Ok(canonical_string(&text[range.clone()]));
            }
            (Some(Field::Name), token) => self.name = Err(name_of(token)),
            (Some(Field::Args(writer)), token) => self.args = args_of(writer, token),
            (Some(Field::OtherArgs(writer)), token) => self.other_args = args_of(writer, token),
            (Some(Field::Other) | None, _) => {}
        }
    }

    fn into_parts(self) -> Result<(String, String), Missing> {
        let args = match (self.args, self.other_args) {
            (Err(NOTHING), other) | (Err(_), other @ Ok(_)) => other,
            (args, _) => args,
        };
        Ok((self.name.map_err(Missing::Name)?, args.map_err(Missing::Args)?))
    }
}

/// The arguments that end with `token`.
fn args_of(writer: Writer, token: &Token) -> Slot {
    match token {
        Token::Close(Container::Object) => Ok(writer.finish()),
        token => Err(name_of(token)),
    }
}

/// Bytes of room for arguments; longer ones make more.
const ROOM: usize = 512;

impl Field {
    /// The field that a quoted key names. It may be written with escapes; what counts is what it says.
    /// `length` is how much text is known to follow.
    fn of(key: &[u8], layout: Layout, reading: Reading, length: usize) -> Self {
        let key = if key.contains(&b'\\') {
            Cow::Owned(canonical_string(key).into_bytes())
        } else {
            Cow::Borrowed(key)
        };
        match &*key {
            b"\"name\"" => Self::Name,
            b"\"args\"" => Self::Args(Writer::new(layout, length.min(ROOM))),
            b"\"arguments\"" | b"\"parameters\"" | b"\"input\"" if reading == Reading::Lenient => {
                Self::OtherArgs(Writer::new(layout, length.min(ROOM)))
            }
            _ => Self::Other,
        }
    }
}

/// One tool call as the model is shown it, in an indented array of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownCall {
    /// Its name, a JSON string with its quotes.
    pub name: String,
    /// Its arguments, a JSON object.
    pub args: String,
}

/// Reads one call as the log stores it. Without `args` it has none.
///
/// # Errors
/// The text is no JSON by the rules of `json.loads(text)`. JSON that is no call gives `None`.
pub fn stored_call(text: &[u8]) -> Result<Option<Call>, Fault> {
    let fields = stored_fields(text, Layout::Compact)?;
    Ok(fields.map(|(name, args)| Call::new(&name, &args)))
}

/// Likewise, to be shown.
///
/// # Errors
/// As [`stored_call`].
pub fn shown_call(text: &[u8]) -> Result<Option<ShownCall>, Fault> {
    let fields = stored_fields(text, Layout::Indented(2))?;
    Ok(fields.map(|(name, args)| ShownCall { name, args }))
}

/// The name and the arguments of a stored call.
fn stored_fields(text: &[u8], layout: Layout) -> Result<Option<(String, String)>, Fault> {
    let mut scanner = Scanner::new(Controls::Escaped);
    let mut fields = Fields::new(1, Ok("{}".into()), layout, Reading::Strict);
    let mut is_object = false;
    while let Some(token) = scanner.next(text)? {
        match (scanner.depth(), &token) {
            (1, Token::Open(Container::Object)) if fields.open.is_none() => is_object = true,
            (0, _) => {}
            (depth, token) => fields.token(text, token, depth),
        }
    }
    scanner.end(text)?;
    let rest = &text[scanner.position()..];
    match rest.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
        Some(at) => Err(Fault { kind: FaultKind::Trailing, at: scanner.position() + at }),
        None => Ok(is_object.then(|| fields.into_parts().ok()).flatten()),
    }
}

/// What a value is called, told by its first or last token.
fn name_of(token: &Token) -> &'static str {
    match token {
        Token::Open(Container::Array) | Token::Close(Container::Array) => "an array",
        Token::Open(Container::Object) | Token::Close(Container::Object) => "an object",
        Token::Key(_) | Token::String(_) => "a string",
        Token::Word("null") => "null",
        Token::Word("true" | "false") => "a boolean",
        Token::Number(_) | Token::Word(_) => "a number",
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Progress {
        CallReader::new("</execute>", Limits::default(), Reading::Strict).read(body.as_bytes())
    }

    fn calls(body: &str) -> Vec<String> {
        match read(body) {
            Progress::Complete { calls: Ok(calls), .. } => {
                calls.into_iter().map(Call::into_json).collect()
            }
            other => panic!("{body}: {other:?}"),
        }
    }

    fn problem(body: &str) -> String {
        let problem = match read(body) {
            Progress::Complete { calls: Err(problem), .. } | Progress::Broken(problem) => problem,
            other => panic!("{body}: {other:?}"),
        };
        problem.located(body.as_bytes()).to_string()
    }

    #[test]
    fn a_call_is_its_name_and_its_arguments() {
        assert_eq!(calls("[]</execute>"), [""; 0]);
        assert_eq!(
            calls(
                "\u{a0}[{\"args\":{\"x\":\"</execute>\"},\"id\":[{}],\"n\\u0061me\":\"a\"}]\u{2028}</execute>"
            ),
            ["{\"name\": \"a\", \"args\": {\"x\": \"</execute>\"}}"]
        );
        assert_eq!(
            calls("[{\"name\":\"a\",\"args\":1,\"name\":\"b\",\"args\":{}}]</execute>"),
            ["{\"name\": \"b\", \"args\": {}}"]
        );
        let call = Call::new("\"a\"", "{\"b\": 1}");
        assert_eq!((call.name_json(), call.args_json()), ("\"a\"", "{\"b\": 1}"));
    }

    #[test]
    fn a_problem_says_what_and_where() {
        for (body, expected) in [
            (
                "{}</execute>",
                "expected a JSON array of calls, found an object at line 1, column 1.",
            ),
            ("[\n 7]</execute>", "call 0 must be an object, found a number at line 2, column 2."),
            (
                "[{\"args\":{}}]</execute>",
                "call 0 needs a \"name\" that is a string, found nothing at line 1, column 2.",
            ),
            (
                "[{\"name\":null,\"args\":{}}]</execute>",
                "call 0 needs a \"name\" that is a string, found null at line 1, column 2.",
            ),
            (
                "[{\"name\":\"a\",\"args\":[1]}]</execute>",
                "call 0 needs \"args\" that are an object, found an array at line 1, column 2.",
            ),
            ("[1,]</execute>", "expected a JSON value at line 1, column 4."),
            ("</execute>", "expected a JSON value at line 1, column 1."),
            ("[]]</execute>", "expected nothing more after the JSON value at line 1, column 3."),
        ] {
            assert_eq!(problem(body), expected);
        }
    }

    #[test]
    fn a_stored_call_is_read_leniently_but_must_be_json() {
        let stored = |text: &str| {
            stored_call(text.as_bytes())
                .map(|call| call.map(Call::into_json))
                .map_err(|fault| fault.at)
        };
        let bare = Some("{\"name\": \"a\", \"args\": {}}".to_owned());
        assert_eq!(stored(" {\"name\":\"a\"} \n"), Ok(bare));
        for text in ["1", "null", "[{\"name\":\"a\"}]", "{}", "{\"name\":\"a\",\"args\":null}"] {
            assert_eq!(stored(text), Ok(None), "{text}");
        }
        for (text, at) in [("", 0), ("{}x", 2), ("{\"name\":\"a\nb\"}", 10)] {
            assert_eq!(stored(text), Err(at), "{text}");
        }
    }

    #[test]
    fn limits_hold_at_their_bound() {
        let limits = Limits { max_block_bytes: 20, max_depth: 3, max_calls: 1 };
        let read = |body: &str| {
            CallReader::new("</execute>", limits, Reading::Strict).read(body.as_bytes())
        };
        let outcome = |body: &str| match read(body) {
            Progress::More => "more".to_owned(),
            Progress::Complete { calls: Ok(calls), .. } => format!("{} calls", calls.len()),
            Progress::Complete { calls: Err(problem), .. } | Progress::Broken(problem) => {
                problem.kind.to_string()
            }
        };
        assert_eq!(outcome("[]                  </execute>"), "0 calls");
        assert_eq!(outcome("[]                   </execute>"), "the block is longer than 20 bytes");
        assert_eq!(outcome("[[[]]]</execute>"), "call 0 must be an object, found an array");
        assert_eq!(outcome("[{\"a\":[[]]}]</execute>"), "brackets are nested deeper than 3");
    }
}
