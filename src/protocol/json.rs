//! Reads JSON from text that is still growing.
//!
//! [`Scanner`] keeps a position and a small state; asked for the next [`Token`] it reads on from there, or says
//! that it needs more text. It accepts what Python's `json.loads` accepts, which is more than RFC 8259: `NaN`,
//! `Infinity`, numbers of any size, lone surrogates, and, as with `strict=False`, raw control characters.
//!
//! Invariant: no byte in front of the position is looked at again.

use std::ops::Range;

use thiserror::Error;

use super::text::{Text, leading_space};

/// What a bracket opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// `[…]`
    Array,
    /// `{…}`
    Object,
}

/// One unit of JSON. Ranges are bytes of the scanned text; commas and colons are implied by the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// An opening bracket.
    Open(Container),
    /// The matching closing bracket.
    Close(Container),
    /// An object's key, with its quotes.
    Key(Range<usize>),
    /// A string, with its quotes.
    String(Range<usize>),
    /// A number.
    Number(Range<usize>),
    /// `null`, `true`, `false`, `NaN`, `Infinity` or `-Infinity`.
    Word(&'static str),
}

/// Why the text is no JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FaultKind {
    /// Something else stands where a value must.
    #[error("expected a JSON value")]
    Value,
    /// Something else stands where an object's key must.
    #[error("expected a key in double quotes")]
    Key,
    /// Something else stands between a key and its value.
    #[error("expected ':' after the key")]
    Colon,
    /// Something else stands behind an array's item.
    #[error("expected ',' or ']' after the item")]
    ArrayComma,
    /// Something else stands behind an object's value.
    #[error("expected ',' or '}}' after the value")]
    ObjectComma,
    /// A sign, point or exponent without a digit.
    #[error("expected a digit")]
    Digit,
    /// A backslash before a character that it cannot escape.
    #[error("invalid escape in a string (a backslash is written \\\\)")]
    Escape,
    /// `\u` without four hexadecimal digits.
    #[error("expected four hexadecimal digits after \\u")]
    UnicodeEscape,
    /// A control character that is not escaped, under [`Controls::Escaped`].
    #[error("control character in a string must be escaped")]
    Control,
    /// Text behind the value.
    #[error("expected nothing more after the JSON value")]
    Trailing,
    /// The text ended inside a string.
    #[error("the text ended inside a string that was opened")]
    EndedInString,
    /// The text ended before the value did.
    #[error("the text ended before the JSON was complete")]
    Ended,
}

/// What is wrong, and at which byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What.
    pub kind: FaultKind,
    /// Where.
    pub at: usize,
}

/// Whether strings may hold raw control characters: `json.loads(strict=…)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Controls {
    /// `strict=False`
    #[default]
    Raw,
    /// `strict=True`
    Escaped,
}

/// Whether a comma may stand in front of a closing bracket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrailingCommas {
    /// As in JSON.
    #[default]
    Refused,
    /// As models write it.
    Allowed,
}

/// A reader of one JSON value.
#[derive(Clone, Debug)]
pub struct Scanner {
    at: usize,
    place: Place,
    unit: Unit,
    stack: Vec<Container>,
    controls: Controls,
    trailing_commas: TrailingCommas,
}

/// What may stand next between two units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Value,
    /// Directly behind `[`.
    ValueOrClose,
    /// Behind a comma in an object.
    Key,
    /// Directly behind `{`.
    KeyOrClose,
    Colon,
    CommaOrClose,
    End,
}

/// The unit that the position is inside of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    None,
    String { start: usize, role: Role },
    Number { start: usize, phase: Phase },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Key,
    Value,
}

/// How far a number has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Sign,
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

impl Phase {
    /// The phase after `byte`; `None` when the number does not go on with it.
    fn step(self, byte: u8) -> Option<Self> {
        use Phase::{Exponent, ExponentDigits, ExponentSign, Fraction, Integer, Point, Sign, Zero};
        match (self, byte) {
            (Sign, b'0') => Some(Zero),
            (Sign, b'1'..=b'9') | (Integer, b'0'..=b'9') => Some(Integer),
            (Zero | Integer, b'.') => Some(Point),
            (Point | Fraction, b'0'..=b'9') => Some(Fraction),
            (Zero | Integer | Fraction, b'e' | b'E') => Some(Exponent),
            (Exponent, b'+' | b'-') => Some(ExponentSign),
            (Exponent | ExponentSign | ExponentDigits, b'0'..=b'9') => Some(ExponentDigits),
            _ => None,
        }
    }

    /// Whether a number may end here.
    fn is_complete(self) -> bool {
        matches!(self, Phase::Zero | Phase::Integer | Phase::Fraction | Phase::ExponentDigits)
    }
}

const WORDS: [&str; 6] = ["null", "true", "false", "NaN", "Infinity", "-Infinity"];

impl Default for Scanner {
    fn default() -> Self {
        Self::new(Controls::Raw)
    }
}

impl Scanner {
    /// A scanner at the start of a value.
    #[must_use]
    pub fn new(controls: Controls) -> Self {
        Self {
            at: 0,
            place: Place::Value,
            unit: Unit::None,
            stack: Vec::new(),
            controls,
            trailing_commas: TrailingCommas::Refused,
        }
    }

    /// The same scanner, with or without commas in front of closing brackets.
    #[must_use]
    pub fn with(self, trailing_commas: TrailingCommas) -> Self {
        Self { trailing_commas, ..self }
    }

    /// The first byte that has not been read.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// How many brackets are open.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.stack.len()
    }

    /// Whether the whole value has been read.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.place == Place::End
    }

    /// Passes over so many bytes, where the position is between two tokens.
    pub fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Passes over whitespace of any kind, where the position is between two tokens.
    pub fn skip_space(&mut self, text: &[u8]) {
        if self.unit == Unit::None {
            self.at += leading_space(&text[self.at..]);
        }
    }

    /// The next token of `text`, which is what it was at the last call, or longer. `None` when the text
    /// does not hold it yet, and when the value is complete.
    ///
    /// # Errors
    /// Where no continuation of the text can be JSON. The scanner must not be asked again.
    pub fn next(&mut self, text: &[u8]) -> Result<Option<Token>, Fault> {
        match self.unit {
            Unit::String { start, role } => self.string(text, start, role),
            Unit::Number { start, phase } => self.number(text, start, phase),
            Unit::None => self.between(text),
        }
    }

    /// The last token of a text that is complete, where only its end completes it: a bare number.
    ///
    /// # Errors
    /// The text ended too early.
    pub fn end(&mut self, text: &[u8]) -> Result<Option<Token>, Fault> {
        match self.unit {
            Unit::Number { start, phase } if phase.is_complete() && self.stack.is_empty() => {
                Ok(Some(self.value(Token::Number(start..self.at))))
            }
            Unit::String { start, .. } => Err(Fault { kind: FaultKind::EndedInString, at: start }),
            _ if self.is_complete() => Ok(None),
            _ => Err(Fault { kind: FaultKind::Ended, at: text.len() }),
        }
    }

    fn between(&mut self, text: &[u8]) -> Result<Option<Token>, Fault> {
        loop {
            let Some(&byte) = text.get(self.at) else {
                return Ok(None);
            };
            if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                self.at += 1;
                continue;
            }
            match (self.place, byte) {
                (Place::End, _) => return Ok(None),
                (Place::Value | Place::ValueOrClose, b'[') => {
                    self.place = Place::ValueOrClose;
                    return Ok(Some(self.open(Container::Array)));
                }
                (Place::Value | Place::ValueOrClose, b'{') => {
                    self.place = Place::KeyOrClose;
                    return Ok(Some(self.open(Container::Object)));
                }
                (Place::Value | Place::ValueOrClose, b'"') => {
                    return self.string_from(text, Role::Value);
                }
                (Place::Key | Place::KeyOrClose, b'"') => return self.string_from(text, Role::Key),
                (Place::ValueOrClose | Place::CommaOrClose, b']')
                    if self.stack.last() == Some(&Container::Array) =>
                {
                    return Ok(Some(self.close(Container::Array)));
                }
                (Place::KeyOrClose | Place::CommaOrClose, b'}')
                    if self.stack.last() == Some(&Container::Object) =>
                {
                    return Ok(Some(self.close(Container::Object)));
                }
                (Place::CommaOrClose, b',') => {
                    self.at += 1;
                    self.place = match (self.stack.last(), self.trailing_commas) {
                        (Some(Container::Object), TrailingCommas::Refused) => Place::Key,
                        (Some(Container::Object), TrailingCommas::Allowed) => Place::KeyOrClose,
                        (_, TrailingCommas::Refused) => Place::Value,
                        (_, TrailingCommas::Allowed) => Place::ValueOrClose,
                    };
                }
                (Place::Colon, b':') => {
                    self.at += 1;
                    self.place = Place::Value;
                }
                (Place::Value | Place::ValueOrClose, _) => return self.scalar(text, byte),
                _ => return Err(self.unexpected()),
            }
        }
    }

    fn unexpected(&self) -> Fault {
        let kind = match (self.place, self.stack.last()) {
            (Place::Key | Place::KeyOrClose, _) => FaultKind::Key,
            (Place::Colon, _) => FaultKind::Colon,
            (Place::CommaOrClose, Some(Container::Object)) => FaultKind::ObjectComma,
            (Place::CommaOrClose, _) => FaultKind::ArrayComma,
            _ => FaultKind::Value,
        };
        Fault { kind, at: self.at }
    }

    fn open(&mut self, container: Container) -> Token {
        self.at += 1;
        self.stack.push(container);
        Token::Open(container)
    }

    fn close(&mut self, container: Container) -> Token {
        self.at += 1;
        self.stack.pop();
        self.value(Token::Close(container))
    }

    /// A value is complete: what may stand behind it depends on what it stands in.
    fn value(&mut self, token: Token) -> Token {
        self.unit = Unit::None;
        self.place = if self.stack.is_empty() { Place::End } else { Place::CommaOrClose };
        token
    }

    fn scalar(&mut self, text: &[u8], first: u8) -> Result<Option<Token>, Fault> {
        let rest = &text[self.at..];
        let phase = match first {
            b'-' if rest.get(1) == Some(&b'I') => None,
            b'-' => Some(Phase::Sign),
            _ => Phase::Sign.step(first),
        };
        if let Some(phase) = phase {
            if rest == b"-" {
                return Ok(None);
            }
            let start = self.at;
            self.at += 1;
            return self.number(text, start, phase);
        }
        for word in WORDS {
            if rest.starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(Some(self.value(Token::Word(word))));
            }
            if word.as_bytes().starts_with(rest) {
                return Ok(None);
            }
        }
        Err(Fault { kind: FaultKind::Value, at: self.at })
    }

    fn number(&mut self, text: &[u8], start: usize, phase: Phase) -> Result<Option<Token>, Fault> {
        let mut phase = phase;
        while let Some(&byte) = text.get(self.at) {
            let Some(next) = phase.step(byte) else {
                return if phase.is_complete() {
                    Ok(Some(self.value(Token::Number(start..self.at))))
                } else {
                    Err(Fault { kind: FaultKind::Digit, at: self.at })
                };
            };
            phase = next;
            self.at += 1;
        }
        self.unit = Unit::Number { start, phase };
        Ok(None)
    }

    fn string_from(&mut self, text: &[u8], role: Role) -> Result<Option<Token>, Fault> {
        let start = self.at;
        self.at += 1;
        self.unit = Unit::String { start, role };
        self.string(text, start, role)
    }

    fn string(&mut self, text: &[u8], start: usize, role: Role) -> Result<Option<Token>, Fault> {
        loop {
            let Some(found) = memchr::memchr2(b'"', b'\\', &text[self.at..]) else {
                self.at = text.len();
                return Ok(None);
            };
            self.at += found;
            if text[self.at] == b'"' {
                self.at += 1;
                return self.string_done(text, start..self.at, role).map(Some);
            }
            let Some(width) =
                escape_width(&text[self.at..]).map_err(|kind| Fault { kind, at: self.at })?
            else {
                return Ok(None);
            };
            self.at += width;
        }
    }

    fn string_done(
        &mut self,
        text: &[u8],
        range: Range<usize>,
        role: Role,
    ) -> Result<Token, Fault> {
        if self.controls == Controls::Escaped
            && let Some(control) = first_control(&text[range.clone()])
        {
            return Err(Fault { kind: FaultKind::Control, at: range.start + control });
        }
        Ok(match role {
            Role::Key => {
                self.unit = Unit::None;
                self.place = Place::Colon;
                Token::Key(range)
            }
            Role::Value => self.value(Token::String(range)),
        })
    }
}

/// Where the first control character stands.
fn first_control(text: &[u8]) -> Option<usize> {
    // Without a way out in the middle the compiler compares many bytes at once; and mostly there is none.
    let any = text.iter().fold(0, |any, &byte| any | u8::from(byte < 0x20));
    if any > 0 { text.iter().position(|&byte| byte < 0x20) } else { None }
}

/// How many bytes the escape at the start of `rest` takes; `None` when `rest` ends inside it.
fn escape_width(rest: &[u8]) -> Result<Option<usize>, FaultKind> {
    match rest.get(1) {
        None => Ok(None),
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(Some(2)),
        Some(b'u') => {
            let digits = &rest[2..rest.len().min(6)];
            if !digits.iter().all(u8::is_ascii_hexdigit) {
                return Err(FaultKind::UnicodeEscape);
            }
            Ok((digits.len() == 4).then_some(6))
        }
        Some(_) => Err(FaultKind::Escape),
    }
}

/// What a valid JSON string, given with its quotes, says. A lone surrogate stays one.
///
/// # Complexity
/// O(quoted)
#[must_use]
pub fn unescaped(quoted: &[u8]) -> Text {
    let mut rest = &quoted[1..quoted.len() - 1];
    let mut text = Text::default();
    text.reserve(rest.len());
    while let Some(backslash) = memchr::memchr(b'\\', rest) {
        text.push(&rest[..backslash]);
        rest = &rest[backslash + 1..];
        let (code, width) = match rest[0] {
            b'u' => escaped_code_point(rest),
            b'b' => (0x08, 1),
            b'f' => (0x0c, 1),
            b'n' => (u32::from(b'\n'), 1),
            b'r' => (u32::from(b'\r'), 1),
            b't' => (u32::from(b'\t'), 1),
            itself => (u32::from(itself), 1),
        };
        push_code_point(&mut text, code);
        rest = &rest[width..];
    }
    text.push(rest);
    text
}

/// The code point that `rest` begins with, from its `u` on, and the bytes it takes: two escapes where they are a surrogate
/// pair.
fn escaped_code_point(rest: &[u8]) -> (u32, usize) {
    let unit = |digits: &[u8]| {
        let digits = digits.iter().map(|&digit| char::from(digit).to_digit(16).unwrap_or(0));
        digits.fold(0, |unit, digit| unit << 4 | digit)
    };
    let first = unit(&rest[1..5]);
    if let (0xd800..0xdc00, [b'\\', b'u', digits @ ..]) = (first, &rest[5..]) {
        let second = unit(&digits[..4]);
        if let 0xdc00..0xe000 = second {
            return (0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00), 11);
        }
    }
    (first, 5)
}

/// Adds a code point, which may be a surrogate.
fn push_code_point(text: &mut Text, code: u32) {
    match char::from_u32(code) {
        Some(character) => text.push(character.encode_utf8(&mut [0; 4]).as_bytes()),
        None => {
            let six_bits = |shift: u32| (code >> shift & 0x3f).to_le_bytes()[0] | 0x80;
            text.push(&[0xed, six_bits(6), six_bits(0)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every token of a complete text.
    fn tokens(text: &str) -> Result<Vec<Token>, Fault> {
        let text = text.as_bytes();
        let mut scanner = Scanner::default();
        let mut tokens = Vec::new();
        while let Some(token) = scanner.next(text)? {
            tokens.push(token);
        }
        tokens.extend(scanner.end(text)?);
        Ok(tokens)
    }

    /// The same, the text growing by one byte at a time.
    fn tokens_by_byte(text: &str) -> Result<Vec<Token>, Fault> {
        let text = text.as_bytes();
        let mut scanner = Scanner::default();
        let mut tokens = Vec::new();
        for end in 0..=text.len() {
            while let Some(token) = scanner.next(&text[..end])? {
                tokens.push(token);
            }
        }
        tokens.extend(scanner.end(text)?);
        Ok(tokens)
    }

    #[test]
    fn accepted_and_refused_as_python_does() {
        for text in [
            "[]",
            "{}",
            "0",
            "-0",
            "1.5e+10",
            "\"\\u00e9\\ud800\"",
            "NaN",
            "-Infinity",
            "[1,2,{\"a\":null}]",
            "\"raw \n control\"",
            " [ true , false ] ",
            "1E5",
            "123456789012345678901234567890",
        ] {
            let all = tokens(text);
            assert!(all.is_ok(), "{text}: {all:?}");
            assert_eq!(all, tokens_by_byte(text), "{text}");
        }
        for (text, kind, at) in [
            ("", FaultKind::Ended, 0),
            ("[1,]", FaultKind::Value, 3),
            ("{,}", FaultKind::Key, 1),
            ("{\"a\" 1}", FaultKind::Colon, 5),
            ("[1 2]", FaultKind::ArrayComma, 3),
            ("{\"a\":1]", FaultKind::ObjectComma, 6),
            ("[01]", FaultKind::ArrayComma, 2),
            ("[1.]", FaultKind::Digit, 3),
            ("[-]", FaultKind::Digit, 2),
            ("[1e+]", FaultKind::Digit, 4),
            ("\"\\x\"", FaultKind::Escape, 1),
            ("\"\\u12g4\"", FaultKind::UnicodeEscape, 1),
            ("[\"abc", FaultKind::EndedInString, 1),
            ("[1", FaultKind::Ended, 2),
            ("1.", FaultKind::Ended, 2),
            ("nul", FaultKind::Ended, 3),
            ("nulk", FaultKind::Value, 0),
            ("+1", FaultKind::Value, 0),
        ] {
            assert_eq!(tokens(text), Err(Fault { kind, at }), "{text}");
            assert_eq!(tokens_by_byte(text), Err(Fault { kind, at }), "{text}");
        }
    }

    #[test]
    fn strict_strings_refuse_raw_control_characters() {
        let mut scanner = Scanner::new(Controls::Escaped);
        assert_eq!(scanner.next(b"\"a\nb\""), Err(Fault { kind: FaultKind::Control, at: 2 }));
    }

    #[test]
    fn a_string_says_what_its_escapes_stand_for() {
        for (quoted, said) in [
            (r#""""#, &b""[..]),
            (r#""a\"\\\/b""#, b"a\"\\/b"),
            (r#""\b\f\n\r\t""#, b"\x08\x0c\n\r\t"),
            (r#""\u00e9\u20AC""#, "é€".as_bytes()),
            (r#""\ud83d\ude00""#, "😀".as_bytes()),
            (r#""\ud83d\ud83d\ude00""#, b"\xed\xa0\xbd\xf0\x9f\x98\x80"),
            (r#""\ude00\ud83d""#, b"\xed\xb8\x80\xed\xa0\xbd"),
            (r#""\ud83d\n""#, b"\xed\xa0\xbd\n"),
            (r#""é\\u00e9""#, "é\\u00e9".as_bytes()),
        ] {
            assert_eq!(unescaped(quoted.as_bytes()).as_bytes(), said, "{quoted}");
        }
    }
}
