//! The scanner: a position, and a small state.

use std::ops::Range;

use super::number::{NumberPhase, read_number};
use super::string::read_string;
use super::token::{Container, Fault, FaultKind, Token, WORDS};
use crate::text::{is_blank, leading_space};

/// Whether strings may hold raw control characters: `json.loads(strict=…)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Controls {
    /// `strict=False`
    #[default]
    Raw,
    /// `strict=True`
    Escaped,
}

/// Whether a comma may come before a closing bracket.
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
    state: State,
    unit: Unit,
    stack: Vec<Container>,
    controls: Controls,
    trailing_commas: TrailingCommas,
}

/// What may come next between two units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Value,
    /// Directly after `[`.
    ValueOrClose,
    /// After a comma in an object.
    Key,
    /// Directly after `{`.
    KeyOrClose,
    Colon,
    CommaOrClose,
    End,
}

/// The unit that the position is inside of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    None,
    String { start: usize, role: StringRole },
    Number { start: usize, phase: NumberPhase },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StringRole {
    Key,
    Value,
}

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
            state: State::Value,
            unit: Unit::None,
            stack: Vec::new(),
            controls,
            trailing_commas: TrailingCommas::Refused,
        }
    }

    /// The same scanner, with or without commas before closing brackets.
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
        self.state == State::End
    }

    /// Where the string begins, a value and not a key, that the position is inside of.
    #[must_use]
    pub fn open_string(&self) -> Option<usize> {
        match self.unit {
            Unit::String { start, role: StringRole::Value } => Some(start),
            _ => None,
        }
    }

    /// Passes over this many bytes. The position must be between two tokens.
    pub fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Passes over whitespace of any kind. The position must be between two tokens.
    pub fn skip_space(&mut self, text: &[u8]) {
        if self.unit == Unit::None {
            self.at += leading_space(&text[self.at..]);
        }
    }

    /// The next token of `text`: the text of the last call, with or without more at its end. `None` if the token is not
    /// complete yet, or the value is.
    ///
    /// # Errors
    /// No continuation of the text can be JSON. The scanner must not be called again.
    pub fn next(&mut self, text: &[u8]) -> Result<Option<Token>, Fault> {
        match self.unit {
            Unit::String { start, role } => self.string(text, start, role),
            Unit::Number { start, phase } => self.number(text, start, phase),
            Unit::None => self.between(text),
        }
    }

    /// The last token of a complete text, if only the end of the text completes it: a bare number.
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

    /// Gives `take` each further token of a complete text, and the scanner after it. `None` where `take` gives that, or the text is
    /// not one JSON value; `take` has then seen the tokens before that.
    ///
    /// # Complexity
    /// O(text)
    pub fn rest(
        mut self,
        text: &[u8],
        mut take: impl FnMut(&Self, Token) -> Option<()>,
    ) -> Option<()> {
        while let Some(token) = self.next(text).ok()? {
            take(&self, token)?;
        }
        if let Some(token) = self.end(text).ok()? {
            take(&self, token)?;
        }
        is_blank(&text[self.at..]).then_some(())
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
            match (self.state, byte) {
                (State::End, _) => return Ok(None),
                (State::Value | State::ValueOrClose, b'[') => {
                    self.state = State::ValueOrClose;
                    return Ok(Some(self.open(Container::Array)));
                }
                (State::Value | State::ValueOrClose, b'{') => {
                    self.state = State::KeyOrClose;
                    return Ok(Some(self.open(Container::Object)));
                }
                (State::Value | State::ValueOrClose, b'"') => {
                    return self.string_from(text, StringRole::Value);
                }
                (State::Key | State::KeyOrClose, b'"') => {
                    return self.string_from(text, StringRole::Key);
                }
                (State::ValueOrClose | State::CommaOrClose, b']')
                    if self.stack.last() == Some(&Container::Array) =>
                {
                    return Ok(Some(self.close(Container::Array)));
                }
                (State::KeyOrClose | State::CommaOrClose, b'}')
                    if self.stack.last() == Some(&Container::Object) =>
                {
                    return Ok(Some(self.close(Container::Object)));
                }
                (State::CommaOrClose, b',') => {
                    self.at += 1;
                    self.state = match (self.stack.last(), self.trailing_commas) {
                        (Some(Container::Object), TrailingCommas::Refused) => State::Key,
                        (Some(Container::Object), TrailingCommas::Allowed) => State::KeyOrClose,
                        (_, TrailingCommas::Refused) => State::Value,
                        (_, TrailingCommas::Allowed) => State::ValueOrClose,
                    };
                }
                (State::Colon, b':') => {
                    self.at += 1;
                    self.state = State::Value;
                }
                (State::Value | State::ValueOrClose, _) => return self.scalar(text, byte),
                _ => return Err(self.unexpected()),
            }
        }
    }

    fn unexpected(&self) -> Fault {
        let kind = match (self.state, self.stack.last()) {
            (State::Key | State::KeyOrClose, _) => FaultKind::Key,
            (State::Colon, _) => FaultKind::Colon,
            (State::CommaOrClose, Some(Container::Object)) => FaultKind::ObjectComma,
            (State::CommaOrClose, _) => FaultKind::ArrayComma,
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

    /// Notes that a value is complete: the bracket that it is in decides what may follow.
    fn value(&mut self, token: Token) -> Token {
        self.unit = Unit::None;
        self.state = if self.stack.is_empty() { State::End } else { State::CommaOrClose };
        token
    }

    fn scalar(&mut self, text: &[u8], first: u8) -> Result<Option<Token>, Fault> {
        let rest = &text[self.at..];
        let phase = match first {
            b'-' if rest.get(1) == Some(&b'I') => None,
            b'-' => Some(NumberPhase::Sign),
            _ => NumberPhase::Sign.step(first),
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

    fn number(
        &mut self,
        text: &[u8],
        start: usize,
        phase: NumberPhase,
    ) -> Result<Option<Token>, Fault> {
        let phase = read_number(text, &mut self.at, phase);
        if self.at == text.len() {
            self.unit = Unit::Number { start, phase };
            return Ok(None);
        }
        if phase.is_complete() {
            return Ok(Some(self.value(Token::Number(start..self.at))));
        }
        Err(Fault { kind: FaultKind::Digit, at: self.at })
    }

    fn string_from(&mut self, text: &[u8], role: StringRole) -> Result<Option<Token>, Fault> {
        let start = self.at;
        self.at += 1;
        self.unit = Unit::String { start, role };
        self.string(text, start, role)
    }

    fn string(
        &mut self,
        text: &[u8],
        start: usize,
        role: StringRole,
    ) -> Result<Option<Token>, Fault> {
        if !read_string(text, &mut self.at)? {
            return Ok(None);
        }
        self.string_done(text, start..self.at, role).map(Some)
    }

    fn string_done(
        &mut self,
        text: &[u8],
        range: Range<usize>,
        role: StringRole,
    ) -> Result<Token, Fault> {
        if self.controls == Controls::Escaped
            && let Some(control) = text[range.clone()].iter().position(|&byte| byte < 0x20)
        {
            return Err(Fault { kind: FaultKind::Control, at: range.start + control });
        }
        Ok(match role {
            StringRole::Key => {
                self.unit = Unit::None;
                self.state = State::Colon;
                Token::Key(range)
            }
            StringRole::Value => self.value(Token::String(range)),
        })
    }
}
