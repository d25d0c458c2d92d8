//! Reads Python calls with literals as arguments: `[a(x=1), b()]`, or one call on each line.
//!
//! Nothing is evaluated, and nothing is left out: a call with an expression in it is refused. Strings may hold anything, the
//! marks around the block too. What is lenient: a single call without the list's brackets, JSON's `true`, `false` and `null`,
//! line breaks in any string, names with dashes, and quotes that a small model forgot to escape (see `quote`).

mod literal;
mod quote;
mod states;
mod units;
mod words;

use std::borrow::Cow;
use std::ops::Range;

use super::super::call::Call;
use super::super::canonical::{Writer, json_string};
use super::super::marks::any_starts;
use super::super::problem::{Problem, ProblemKind};
use super::advance::Advance;
use super::found::{character, expected, in_quotes, problem};
use super::{Calls, ItemReader, Scope};
use crate::dialect::Python;
use crate::json::Container;
use crate::text::leading_space;
use literal::whole_escapes;
use quote::Verdict;
use states::{Bracket, State, Unit};
use words::{MAX_WORD, Prefix, begins_word, word_end};

/// Reads one list of Python calls, or a run of calls on their own lines.
#[derive(Clone, Debug)]
pub struct PythonReader {
    /// The first byte that has not been read.
    at: usize,
    state: State,
    unit: Unit,
    /// The brackets that are open.
    open: Vec<Bracket>,
    /// The name of the call that is open, as JSON.
    name: String,
    /// Its arguments so far.
    args: Writer,
    /// What the string before the position says, to which another may be joined.
    string: Vec<u8>,
    /// Up to where the open string was taken.
    shown: Option<usize>,
    /// The byte after the last call.
    end: usize,
}

impl ItemReader for PythonReader {
    type Form = Python;

    fn new(_form: &Python, start: usize, _scope: &Scope) -> Self {
        Self {
            at: start,
            state: State::Start,
            unit: Unit::None,
            open: Vec::new(),
            name: String::new(),
            args: Writer::new(0),
            string: Vec::new(),
            shown: None,
            end: start,
        }
    }

    fn begins(form: &Python, text: &[u8]) -> Option<bool> {
        let mut rest = &text[leading_space(text)..];
        if let (Python::List, Some(behind)) = (form, rest.strip_prefix(b"[")) {
            rest = &behind[leading_space(behind)..];
        }
        if !begins_word(*rest.first()?) {
            return Some(false);
        }
        match word_end(&rest[..rest.len().min(MAX_WORD + 1)], 0) {
            end if end > MAX_WORD => Some(false),
            end => rest.get(end).map(|&next| next == b'('),
        }
    }

    /// A call without the list's bracket cannot be told from words.
    fn begins_unmarked(form: &Python, text: &[u8]) -> Option<bool> {
        match form {
            Python::List if *text.get(leading_space(text))? == b'[' => Self::begins(form, text),
            Python::List | Python::Lines => Some(false),
        }
    }

    fn read(
        &mut self,
        form: &Python,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<Option<usize>, Problem> {
        loop {
            match self.step(form, text, calls)? {
                Advance::On => {}
                Advance::More => {
                    if calls.shows() {
                        self.show(text);
                        calls.wrote(&self.args);
                    }
                    return Ok(None);
                }
                Advance::End(end) => return Ok(Some(end)),
            }
        }
    }

    fn cut_off(&mut self, _form: &Python, text: &[u8], _calls: &mut Calls) -> Result<(), Problem> {
        let (what, at) = match (&self.unit, self.open.last()) {
            (Unit::None, None) if self.state == State::NextLine => return Ok(()),
            (Unit::String(string), _) => {
                ("the end of the string that begins here".into(), string.start)
            }
            (_, Some(bracket)) => (in_quotes(&[bracket.close()]), text.len()),
            (_, None) => ("a call".into(), text.len()),
        };
        Err(Problem { kind: ProblemKind::Missing(what), at })
    }
}

impl PythonReader {
    /// Writes what is known of the string that is open, if it is a value.
    fn show(&mut self, text: &[u8]) {
        if self.state != (State::BehindString { is_key: false }) {
            return; // a key is written when it is whole
        }
        let (string, end) = match &self.unit {
            Unit::String(string) => (*string, self.at),
            Unit::Quote(string, look) => (*string, look.quote),
            _ => return,
        };
        let from = self.shown.unwrap_or(string.start);
        let end = match string.prefix {
            Prefix::Raw => end,
            _ => from + whole_escapes(&text[from..end]),
        };
        // An escape that is wrong is reported when the string ends.
        if let Err(problem) = self.take_string(text, string, end) {
            self.shown = Some(problem.at);
        }
    }

    fn step(&mut self, form: &Python, text: &[u8], calls: &mut Calls) -> Result<Advance, Problem> {
        match self.unit {
            Unit::None if self.state == State::Refused => self.refused(form, text, calls),
            Unit::None => self.between(form, text, calls),
            Unit::Word(start) => self.word(text, calls, start),
            Unit::Sign(sign) => {
                self.at += leading_space(&text[self.at..]);
                Ok(match text.get(self.at) {
                    None => Advance::More,
                    Some(b'0'..=b'9' | b'.') => {
                        self.unit = Unit::Number { sign: Some(sign), start: self.at };
                        Advance::On
                    }
                    Some(_) => self.unexpected(text, calls, "a number after the sign"),
                })
            }
            Unit::Number { sign, start } => Ok(self.number(text, calls, sign, start)),
            Unit::String(string) => self.string(text, calls, string),
            Unit::Quote(string, mut look) => {
                let in_list = self.open == [Bracket::Calls, Bracket::Call];
                let verdict = look.verdict(text, in_list);
                self.unit = Unit::Quote(string, look);
                Ok(match verdict {
                    None => Advance::More,
                    Some(verdict) => {
                        self.at = look.quote + 1;
                        self.unit = Unit::String(string);
                        if verdict == Verdict::Closes {
                            self.piece(text, calls, string, look.quote)?;
                        }
                        Advance::On
                    }
                })
            }
        }
    }

    /// Reads what is between two units, or begins one.
    fn between(
        &mut self,
        form: &Python,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<Advance, Problem> {
        self.at += leading_space(&text[self.at..]);
        let Some(&byte) = text.get(self.at) else {
            return Ok(Advance::More);
        };
        let closes = self.open.last().is_some_and(|bracket| bracket.close() == byte);
        match (&self.state, byte) {
            (State::Start, b'[') if *form == Python::List => {
                self.at += 1;
                self.open.push(Bracket::Calls);
                self.state = State::CallOrClose;
            }
            (State::Start | State::CallOrClose | State::NextLine | State::Argument, _)
                if begins_word(byte) =>
            {
                self.unit = Unit::Word(self.at);
            }
            (State::Start, _) => return Err(problem("a call", character(text, self.at), self.at)),
            (State::NextLine, _) => return Ok(Advance::End(self.end)),
            (State::CallOrClose | State::BehindCall, b']') => return Ok(Advance::End(self.at + 1)),
            (State::CallOrClose, _) => return Ok(self.unexpected(text, calls, "a call")),
            (State::BehindCall, b',') => {
                self.at += 1;
                self.state = State::CallOrClose;
            }
            // Another call has its own end, and so does the list. Anything else may follow an unclosed list.
            (State::BehindCall, _) if begins_word(byte) => {
                return Ok(self.unexpected(text, calls, Bracket::Calls.behind_value()));
            }
            (State::BehindCall, _) => {
                let expected = Bracket::Calls.behind_value();
                return Err(problem(expected, character(text, self.at), self.at));
            }
            (State::Argument, b')') => return Ok(self.end_call(form, calls)),
            (State::Argument, _) => {
                let found = character(text, self.at);
                return Ok(self.positional(calls, found, self.at));
            }
            (State::Equals(keyword), b'=') => {
                let keyword = keyword.clone();
                match text.get(self.at + 1) {
                    None => return Ok(Advance::More),
                    Some(b'=') => return Ok(self.no_keyword(text, calls, keyword)),
                    Some(_) => {
                        self.at += 1;
                        self.args.raw_key(&json_string(&text[keyword]));
                        self.state = State::Value;
                    }
                }
            }
            (State::Equals(keyword), _) => {
                let keyword = keyword.clone();
                return Ok(self.no_keyword(text, calls, keyword));
            }
            (
                State::Value | State::ItemOrClose | State::KeyOrClose | State::BehindString { .. },
                b'"' | b'\'',
            ) => return Ok(self.open_string(text, Prefix::None)),
            (State::BehindString { .. }, _) if begins_word(byte) => self.unit = Unit::Word(self.at),
            (State::BehindString { is_key: true }, _) => {
                let said = json_string(&std::mem::take(&mut self.string));
                self.scalar(&said);
            }
            (State::BehindString { is_key: false }, _) => {
                self.args.end_text();
                self.state = State::BehindValue;
            }
            (State::ItemOrClose | State::KeyOrClose | State::BehindValue, _) if closes => {
                return Ok(self.close(form, calls));
            }
            (State::Colon, b':') => {
                self.at += 1;
                self.state = State::Value;
            }
            (State::Colon, _) => {
                let expected = "\":\" after the key (sets are not allowed)";
                return Ok(self.unexpected(text, calls, expected));
            }
            (State::BehindValue, b',') => self.comma(),
            (State::BehindValue, _) => {
                let expected = self.open.last().map_or("nothing", |bracket| bracket.behind_value());
                return Ok(self.unexpected(text, calls, expected));
            }
            (State::Value | State::ItemOrClose | State::KeyOrClose, _) => {
                return Ok(self.begin_value(text, calls, byte));
            }
            (State::Refused, _) => {}
        }
        Ok(Advance::On)
    }

    /// Begins a value, or a key that is not a string.
    fn begin_value(&mut self, text: &[u8], calls: &mut Calls, byte: u8) -> Advance {
        let is_key = self.state == State::KeyOrClose;
        match byte {
            b'[' | b'(' | b'{' if !is_key => {
                let (bracket, container, state) = match byte {
                    b'[' => (Bracket::List, Container::Array, State::ItemOrClose),
                    b'(' => (Bracket::Group, Container::Array, State::ItemOrClose),
                    _ => (Bracket::Dict, Container::Object, State::KeyOrClose),
                };
                if bracket == Bracket::Group {
                    self.args.open_perhaps();
                } else {
                    self.args.open(container);
                }
                self.state = state;
                self.push(calls, bracket);
            }
            b'0'..=b'9' | b'.' => self.unit = Unit::Number { sign: None, start: self.at },
            b'+' | b'-' => {
                self.unit = Unit::Sign(self.at);
                self.at += 1;
            }
            _ if begins_word(byte) => self.unit = Unit::Word(self.at),
            _ => return self.unexpected(text, calls, if is_key { "a key" } else { "a value" }),
        }
        Advance::On
    }

    /// Opens the bracket at the position.
    fn push(&mut self, calls: &mut Calls, bracket: Bracket) {
        self.open.push(bracket);
        self.at += 1;
        let most = calls.scope.limits.max_depth;
        if self.open.len() > most {
            self.refuse(calls, ProblemKind::TooDeep(most), self.at - 1);
        }
    }

    /// Closes the bracket that was opened last.
    fn close(&mut self, form: &Python, calls: &mut Calls) -> Advance {
        match self.open.last() {
            Some(Bracket::Call) => return self.end_call(form, calls),
            // Brackets around one value, without a comma: not a tuple.
            Some(Bracket::Group) if self.state == State::BehindValue => self.args.close_around(),
            Some(Bracket::Group) => {
                self.args.keep();
                self.args.close();
            }
            _ => self.args.close(),
        }
        self.open.pop();
        self.at += 1;
        self.state = State::BehindValue;
        Advance::On
    }

    fn comma(&mut self) {
        self.at += 1;
        self.state = match self.open.last_mut() {
            Some(Bracket::Call) => State::Argument,
            Some(Bracket::Dict) => State::KeyOrClose,
            Some(bracket @ Bracket::Group) => {
                *bracket = Bracket::Tuple;
                self.args.keep();
                State::ItemOrClose
            }
            _ => State::ItemOrClose,
        };
    }

    /// Begins the call of this name, whose bracket is at the position.
    fn begin_call(&mut self, calls: &mut Calls, start: usize, name: &[u8]) {
        self.name = json_string(name);
        self.args = Writer::new(0);
        self.args.open(Container::Object);
        self.state = State::Argument;
        calls.begin(start);
        calls.name(&self.name);
        calls.begin_args();
        self.push(calls, Bracket::Call);
        if calls.is_refused() {
            self.state = State::Refused;
        }
    }

    /// Ends the call, whose closing bracket is at the position.
    fn end_call(&mut self, form: &Python, calls: &mut Calls) -> Advance {
        calls.check_keys(&self.args, self.at);
        self.args.close();
        let args = std::mem::replace(&mut self.args, Writer::new(0)).finish();
        calls.push(Call::of_json(&self.name, &args));
        self.open.pop();
        self.at += 1;
        self.behind_call(form)
    }

    fn behind_call(&mut self, form: &Python) -> Advance {
        match (self.open.is_empty(), form) {
            (false, _) => self.state = State::BehindCall,
            (true, Python::List) => return Advance::End(self.at),
            (true, Python::Lines) => {
                self.end = self.at;
                self.state = State::NextLine;
            }
        }
        Advance::On
    }

    /// Reads an item that has been refused to its end.
    ///
    /// Outside a string a mark of the block ends it too: else a block that lacks a bracket would be read to the end of the text,
    /// and so would each after it.
    fn refused(&mut self, form: &Python, text: &[u8], calls: &Calls) -> Result<Advance, Problem> {
        while let Some(&byte) = text.get(self.at) {
            if calls.followers.iter().any(|mark| mark.as_bytes()[0] == byte) {
                match any_starts(&text[self.at..], &calls.followers) {
                    Some(true) => return Ok(Advance::End(self.at)),
                    None => return Ok(Advance::More),
                    Some(false) => {}
                }
            }
            match (byte, self.open.last()) {
                (b'"' | b'\'', _) => return Ok(self.open_string(text, Prefix::None)),
                (b'[', _) => self.open.push(Bracket::List),
                (b'(', _) => self.open.push(Bracket::Group),
                (b'{', _) => self.open.push(Bracket::Dict),
                (b']' | b')' | b'}', Some(bracket)) if bracket.close() == byte => {
                    self.open.pop();
                    if self.open.is_empty() {
                        self.at += 1;
                        return Ok(self.behind_call(form));
                    }
                }
                (b']' | b')' | b'}', bracket) => {
                    let wanted =
                        bracket.map_or("nothing".into(), |open| in_quotes(&[open.close()]));
                    return Err(problem(wanted, character(text, self.at), self.at));
                }
                _ => {}
            }
            self.at += 1;
        }
        Ok(Advance::More)
    }

    fn refuse(&mut self, calls: &mut Calls, kind: ProblemKind, at: usize) {
        calls.refuse(kind, at);
        self.state = State::Refused;
        self.unit = Unit::None;
    }

    /// Refuses the character at the position.
    fn unexpected(&mut self, text: &[u8], calls: &mut Calls, wanted: &'static str) -> Advance {
        self.refuse(calls, expected(wanted, character(text, self.at)), self.at);
        Advance::On
    }

    /// Refuses an argument without its name.
    fn positional(&mut self, calls: &mut Calls, found: Cow<'static, str>, at: usize) -> Advance {
        let wanted = format!("each argument of {} as name=value", self.name);
        self.refuse(calls, expected(wanted, found), at);
        Advance::On
    }

    fn no_keyword(&mut self, text: &[u8], calls: &mut Calls, word: Range<usize>) -> Advance {
        let at = word.start;
        self.positional(calls, in_quotes(&text[word]), at)
    }
}

#[cfg(test)]
mod tests;
