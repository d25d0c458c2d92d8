//! Names, numbers and strings in Python calls.

use memchr::memmem;

use super::super::super::problem::Problem;
use super::super::Calls;
use super::super::advance::Advance;
use super::super::found::{expected, in_quotes, problem};
use super::PythonReader;
use super::literal::{number, string_end, unescape};
use super::quote::QuoteLookahead;
use super::states::{Quoted, State, Unit};
use super::words::{MAX_WORD, Prefix, is_quote, word_end};

impl PythonReader {
    /// The name that ends at the position.
    pub(super) fn word(
        &mut self,
        text: &[u8],
        calls: &mut Calls,
        start: usize,
    ) -> Result<Advance, Problem> {
        self.at = word_end(text, self.at);
        let too_long = self.at - start > MAX_WORD;
        let (word, next) = match text.get(self.at) {
            _ if too_long => (&b""[..], 0),
            Some(&next) => (&text[start..self.at], next),
            None => return Ok(Advance::More),
        };
        let found = || {
            if too_long {
                format!("a name of more than {MAX_WORD} bytes").into()
            } else {
                in_quotes(word)
            }
        };
        match self.state.clone() {
            State::Start | State::CallOrClose | State::NextLine if next == b'(' => {
                self.unit = Unit::None;
                self.begin_call(calls, start, word);
                Ok(Advance::On)
            }
            State::NextLine => Ok(Advance::End(self.end)),
            State::Start => Err(problem("a call", found(), start)),
            State::CallOrClose => {
                self.refuse(calls, expected("a call", found()), start);
                Ok(Advance::On)
            }
            State::Argument if too_long => Ok(self.positional(calls, found(), start)),
            State::Argument => {
                self.unit = Unit::None;
                self.state = State::Equals(start..self.at);
                Ok(Advance::On)
            }
            _ if is_quote(next)
                && Prefix::of(word).is_some_and(|prefix| prefix != Prefix::Other) =>
            {
                Ok(self.open_string(text, Prefix::of(word).unwrap_or(Prefix::None)))
            }
            _ if is_quote(next) => {
                let found = format!("one with {} in front of it", in_quotes(word));
                self.refuse(calls, expected("a plain string", found.into()), start);
                Ok(Advance::On)
            }
            State::BehindString { .. } => {
                let wanted = self.open.last().map_or("nothing", |bracket| bracket.behind_value());
                self.refuse(calls, expected(wanted, found()), start);
                Ok(Advance::On)
            }
            _ => {
                let literal = match word {
                    b"True" | b"true" => "true",
                    b"False" | b"false" => "false",
                    b"None" | b"null" => "null",
                    _ => {
                        self.refuse(calls, expected("a literal value", found()), start);
                        return Ok(Advance::On);
                    }
                };
                self.scalar(literal);
                Ok(Advance::On)
            }
        }
    }

    pub(super) fn number(
        &mut self,
        text: &[u8],
        calls: &mut Calls,
        sign: Option<usize>,
        start: usize,
    ) -> Advance {
        let is_based = |at: usize| at > start && matches!(text[start..at], [b'0', b'x' | b'X', ..]);
        let goes_on = |at: usize| match text[at] {
            b'+' | b'-' => at > start && matches!(text[at - 1], b'e' | b'E') && !is_based(at),
            byte => byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_'),
        };
        while self.at < text.len() && goes_on(self.at) {
            self.at += 1;
        }
        if self.at == text.len() {
            return Advance::More;
        }
        let is_negative = sign.is_some_and(|sign| text[sign] == b'-');
        match number(is_negative, &text[start..self.at]) {
            Some(number) => self.scalar(&number),
            None => {
                let found = in_quotes(&text[start..self.at]);
                self.refuse(calls, expected("a number", found), start);
            }
        }
        Advance::On
    }

    /// Begins the string whose quotes are at the position, with `prefix` before them.
    pub(super) fn open_string(&mut self, text: &[u8], prefix: Prefix) -> Advance {
        let quote = text[self.at];
        let (is_triple, width) = match text[self.at..] {
            [_] => return Advance::More,
            [_, second] if second == quote => return Advance::More,
            [_, second, third, ..] if [second, third] == [quote; 2] => (true, 3),
            _ => (false, 1),
        };
        let is_joined = matches!(self.state, State::BehindString { .. });
        if self.state == State::KeyOrClose {
            self.state = State::BehindString { is_key: true };
        } else if self.state != State::Refused && !is_joined {
            self.state = State::BehindString { is_key: false };
        }
        self.at += width;
        self.unit = Unit::String(Quoted { start: self.at, quote, is_triple, is_joined, prefix });
        Advance::On
    }

    pub(super) fn string(
        &mut self,
        text: &[u8],
        calls: &mut Calls,
        string: Quoted,
    ) -> Result<Advance, Problem> {
        Ok(match string_end(text, self.at, string.quote, string.is_triple) {
            Err(go_on) => {
                self.at = go_on;
                Advance::More
            }
            Ok(end) if string.is_triple || self.state == State::Refused => {
                self.at = end + if string.is_triple { 3 } else { 1 };
                self.piece(text, calls, string, end)?;
                Advance::On
            }
            Ok(end) => {
                self.at = end;
                self.unit = Unit::Quote(string, QuoteLookahead::new(end));
                Advance::On
            }
        })
    }

    /// A string is complete, up to its closing quotes at `end`; more may be joined to it.
    ///
    /// # Errors
    /// It is joined to another one, and another block begins in it: then it is a quote that is missing. Else a block without
    /// its end could be read to the end of the text by such strings, and so could each after it.
    pub(super) fn piece(
        &mut self,
        text: &[u8],
        calls: &mut Calls,
        string: Quoted,
        end: usize,
    ) -> Result<(), Problem> {
        self.unit = Unit::None;
        if self.state == State::Refused {
            return Ok(());
        }
        let characters = &text[string.start..end];
        let mut openers = calls.openers.iter().filter(|_| string.is_joined);
        let opener = openers.find(|mark| memmem::find(characters, mark.as_bytes()).is_some());
        if let Some(opener) = opener {
            let wanted = self.open.last().map_or("nothing", |bracket| bracket.behind_value());
            let found = format!("a string that holds {opener:?}");
            return Err(problem(wanted, found.into(), string.start));
        }
        if let Err(Problem { kind, at }) = self.take_string(text, string, end) {
            self.refuse(calls, kind, at);
        }
        self.shown = None;
        Ok(())
    }

    /// Takes what an open string says up to byte `end`: of a value, into the arguments.
    ///
    /// # Errors
    /// An escape is wrong.
    pub(super) fn take_string(
        &mut self,
        text: &[u8],
        string: Quoted,
        end: usize,
    ) -> Result<(), Problem> {
        let from = self.shown.unwrap_or(string.start);
        let characters = &text[from..end];
        if string.prefix == Prefix::Raw {
            self.string.extend_from_slice(characters);
        } else {
            unescape(characters, from, &mut self.string)?;
        }
        if self.state == (State::BehindString { is_key: false }) {
            self.args.text_part(&self.string);
            self.string.clear();
        }
        self.shown = Some(end);
        Ok(())
    }

    /// A value that has no brackets, or a key, is complete.
    pub(super) fn scalar(&mut self, json: &str) {
        self.unit = Unit::None;
        match self.state {
            State::KeyOrClose | State::BehindString { is_key: true } => {
                self.state = State::Colon;
                if json.starts_with('"') {
                    self.args.raw_key(json);
                } else {
                    self.args.raw_key(&format!("\"{json}\""));
                }
            }
            _ => {
                self.state = State::BehindValue;
                self.args.raw_scalar(json);
            }
        }
    }
}
