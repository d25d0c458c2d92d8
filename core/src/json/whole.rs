//! JSON in a whole text, read once from its beginning to its end.
//!
//! [`Cursor`] reads what a caller asks for and passes over the rest; [`Raw`] is a value that has been passed over, as it is written
//! in the text. All of the text is checked.

use std::borrow::Cow;

use super::number::{NumberPhase, read_number};
use super::string::{read_string, unit};
use super::token::WORDS;

/// The text is not JSON, from this byte on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotJson {
    pub at: usize,
}

type Read<T> = Result<T, NotJson>;

/// A place in a text that should be JSON.
pub struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

/// A valid value, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw<'a>(&'a str);

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Whether an object comes next.
    pub fn is_at_object(&mut self) -> bool {
        self.peek() == Some(b'{')
    }

    /// Whether an array comes next.
    pub fn is_at_array(&mut self) -> bool {
        self.peek() == Some(b'[')
    }

    /// Reads an object; `each` is given every key, and reads its value.
    pub fn object(
        &mut self,
        mut each: impl FnMut(&mut Self, Cow<'a, str>) -> Read<()>,
    ) -> Read<()> {
        self.expect(b'{')?;
        if self.passed(b'}') {
            return Ok(());
        }
        loop {
            let key = self.key()?;
            each(self, key)?;
            if self.passed(b'}') {
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    /// Reads an array; `each` reads every item.
    pub fn array(&mut self, mut each: impl FnMut(&mut Self) -> Read<()>) -> Read<()> {
        self.expect(b'[')?;
        if self.passed(b']') {
            return Ok(());
        }
        loop {
            each(self)?;
            if self.passed(b']') {
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    /// Passes over a value.
    pub fn value(&mut self) -> Read<Raw<'a>> {
        let first = self.peek();
        let start = self.at;
        match first {
            Some(b'{' | b'[') => self.brackets()?,
            _ => self.scalar()?,
        }
        Ok(Raw(&self.text[start..self.at]))
    }

    /// Checks that nothing but white space is left.
    pub fn end(&mut self) -> Read<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => self.fault(),
        }
    }

    /// Passes over an object or an array. The brackets that are open are in a list, not on the stack of the thread.
    fn brackets(&mut self) -> Read<()> {
        let mut open = Vec::new();
        loop {
            match self.peek() {
                Some(b'{') => {
                    self.at += 1;
                    if !self.passed(b'}') {
                        open.push(b'}');
                        self.key()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    self.at += 1;
                    if !self.passed(b']') {
                        open.push(b']');
                        continue;
                    }
                }
                _ => self.scalar()?,
            }
            loop {
                let Some(&close) = open.last() else { return Ok(()) };
                if self.passed(close) {
                    open.pop();
                    continue;
                }
                self.expect(b',')?;
                if close == b'}' {
                    self.key()?;
                }
                break;
            }
        }
    }

    fn key(&mut self) -> Read<Cow<'a, str>> {
        if self.peek() != Some(b'"') {
            return self.fault();
        }
        let start = self.at;
        self.string()?;
        let key = Raw(&self.text[start..self.at]).inner();
        self.expect(b':')?;
        Ok(lossy(key))
    }

    fn scalar(&mut self) -> Read<()> {
        match self.peek() {
            Some(b'"') => return self.string(),
            Some(b'0'..=b'9') => return self.number(),
            Some(b'-') if self.text.as_bytes().get(self.at + 1) != Some(&b'I') => {
                return self.number();
            }
            _ => {}
        }
        let rest = &self.text[self.at..];
        match WORDS.iter().find(|word| rest.starts_with(**word)) {
            Some(word) => {
                self.at += word.len();
                Ok(())
            }
            None => self.fault(),
        }
    }

    fn number(&mut self) -> Read<()> {
        self.passed_byte(b'-');
        let phase = read_number(self.text.as_bytes(), &mut self.at, NumberPhase::Sign);
        if phase.is_complete() { Ok(()) } else { self.fault() }
    }

    fn string(&mut self) -> Read<()> {
        self.at += 1;
        match read_string(self.text.as_bytes(), &mut self.at) {
            Ok(true) => Ok(()),
            Ok(false) => Err(NotJson { at: self.text.len() }),
            Err(fault) => Err(NotJson { at: fault.at + 1 }),
        }
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    /// Passes over white space, and over `byte` if it follows.
    fn passed(&mut self, byte: u8) -> bool {
        self.peek();
        self.passed_byte(byte)
    }

    fn passed_byte(&mut self, byte: u8) -> bool {
        let is_next = self.text.as_bytes().get(self.at) == Some(&byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, byte: u8) -> Read<()> {
        if self.passed(byte) { Ok(()) } else { self.fault() }
    }

    fn fault<T>(&self) -> Read<T> {
        Err(NotJson { at: self.at })
    }
}

impl<'a> Raw<'a> {
    /// The text `error`.
    pub const ERROR: Raw<'static> = Raw("\"error\"");

    /// `null`
    pub const NULL: Raw<'static> = Raw("null");

    /// A whole text as one value.
    pub fn of(text: &'a str) -> Read<Self> {
        let mut cursor = Cursor::new(text);
        let value = cursor.value()?;
        cursor.end()?;
        Ok(value)
    }

    /// The value as it is written.
    pub fn json(self) -> &'a str {
        self.0
    }

    /// The characters of a string as they are written, without the quotes.
    pub fn quoted(self) -> Option<&'a str> {
        self.0.starts_with('"').then(|| self.inner())
    }

    fn inner(self) -> &'a str {
        &self.0[1..self.0.len() - 1]
    }

    /// A string that is not empty; a lone surrogate is U+FFFD.
    pub fn text(self) -> Option<String> {
        self.quoted().filter(|quoted| !quoted.is_empty()).map(|quoted| lossy(quoted).into_owned())
    }

    /// A whole number of at least 0.
    pub fn count(self) -> Option<u64> {
        self.0.parse().ok()
    }

    pub fn is_null(self) -> bool {
        self.0 == "null"
    }

    pub fn is_object(self) -> bool {
        self.0.starts_with('{')
    }

    /// Whether Python takes the value for false.
    pub fn is_falsy(self) -> bool {
        matches!(self.0, "null" | "false" | "\"\"")
            || self.0.parse() == Ok(0.0)
            || (self.fields().is_empty() && self.items().is_empty() && self.is_bracketed())
    }

    fn is_bracketed(self) -> bool {
        self.0.starts_with(['{', '['])
    }

    /// The fields of an object, in their order; none of another value.
    pub fn fields(self) -> Vec<(Cow<'a, str>, Raw<'a>)> {
        let mut fields = Vec::with_capacity(4);
        if self.is_object() {
            let read = Cursor::new(self.0).object(|cursor, key| {
                fields.push((key, cursor.value()?));
                Ok(())
            });
            debug_assert_eq!(read, Ok(()), "a raw value is valid");
        }
        fields
    }

    /// The items of an array; none of another value.
    pub fn items(self) -> Vec<Raw<'a>> {
        let mut items = Vec::new();
        if self.0.starts_with('[') {
            let read = Cursor::new(self.0).array(|cursor| {
                items.push(cursor.value()?);
                Ok(())
            });
            debug_assert_eq!(read, Ok(()), "a raw value is valid");
        }
        items
    }

    /// A field of an object, the last of that name; `None` if there is none, or it is `null`.
    pub fn field(self, name: &str) -> Option<Raw<'a>> {
        let fields = self.fields();
        let found = fields.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, value)| *value).filter(|value| !value.is_null())
    }
}

/// A piece of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Text that is not escaped.
    Plain(&'a str),
    /// An escaped unit of UTF-16, which may be a lone surrogate.
    Unit(u16),
}

/// The pieces of a valid string, which is given without its quotes.
pub fn pieces(quoted: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = quoted;
    std::iter::from_fn(move || {
        let bytes = rest.as_bytes();
        if bytes.first() != Some(&b'\\') {
            let end = memchr::memchr(b'\\', bytes).unwrap_or(rest.len());
            let (plain, after) = rest.split_at(end);
            rest = after;
            return (!plain.is_empty()).then_some(Piece::Plain(plain));
        }
        let (unit, width) = unit(bytes);
        rest = &rest[width..];
        Some(Piece::Unit(unit))
    })
}

/// The text of a valid string, which is given without its quotes; a lone surrogate is U+FFFD.
#[must_use]
pub fn lossy(quoted: &str) -> Cow<'_, str> {
    if memchr::memchr(b'\\', quoted.as_bytes()).is_none() {
        return Cow::Borrowed(quoted);
    }
    let (mut text, mut units) = (String::with_capacity(quoted.len()), Vec::new());
    for piece in pieces(quoted) {
        match piece {
            Piece::Unit(unit) => units.push(unit),
            Piece::Plain(plain) => {
                text.push_str(&String::from_utf16_lossy(&std::mem::take(&mut units)));
                text.push_str(plain);
            }
        }
    }
    Cow::Owned(text + &String::from_utf16_lossy(&units))
}
