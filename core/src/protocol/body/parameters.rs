//! Arguments, each between its own marks, with values as raw text.
//!
//! Nothing is escaped in such a value. What looks like its closing mark is one only if something follows that may: the
//! next parameter, the end of the call, or nothing at all.

use super::super::canonical::Writer;
use super::super::marks::{any_starts, find, starts_with};
use super::super::problem::{Problem, ProblemKind};
use super::super::recovery::Mistake;
use super::Calls;
use super::found::unexpected;
use super::json::ObjectReader;
use super::opening::{Forms, LONGEST, attributes, is_begun, key_of, runs_over, unended};
use super::value::{ValueReader, ends_without_mark};
use crate::dialect::{Parameters, Str};
use crate::json::Container;
use crate::text::leading_space;

/// The most values of a call whose closing marks may be missing: the rest of the text is read for each.
const MOST_UNCLOSED: usize = 32;

/// Reads the parameters of one call.
#[derive(Clone, Debug)]
pub struct ParametersReader {
    state: State,
    /// Whether a parameter has begun.
    has_begun: bool,
    /// All of them, where they are one JSON object.
    object: Option<String>,
    written: Written,
}

/// The parameters that are complete.
#[derive(Clone, Debug)]
struct Written {
    count: usize,
    writer: Writer,
    /// The only one, where it is an object that holds the arguments.
    only: Option<String>,
}

#[derive(Clone, Debug)]
enum State {
    /// Before the mark around all of them.
    Around(usize),
    /// Before a parameter, or before what ends them.
    Between(usize),
    /// In a key that begins at the first byte, searched up to the second.
    Key(usize, usize),
    /// After a key, before its value: what comes between begins at the first byte and has been read up to the second.
    Attributes(Str, usize, usize),
    Value(ValueReader),
    /// In a JSON object that stands for all of them, between its own marks or with none.
    Object(ObjectReader, bool),
    /// After such an object, before the mark that closes it.
    BehindObject(usize),
    /// After all of them, at this byte.
    Done(usize),
}

impl ParametersReader {
    /// A reader of the parameters that begin at byte `start`.
    #[must_use]
    pub fn new(form: &Parameters, start: usize) -> Self {
        let state = match form.around {
            Some(_) => State::Around(start),
            None => State::Between(start),
        };
        Self { state, has_begun: false, object: None, written: Written::new() }
    }

    /// Reads on; gives the byte after the last of them, before what closes the call.
    ///
    /// # Errors
    /// Something there is not a parameter.
    pub fn read(
        &mut self,
        forms: Forms<'_>,
        tool: &str,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<Option<usize>, Problem> {
        let Forms { parameters: form, ends, .. } = forms;
        loop {
            self.state = match &mut self.state {
                State::Around(at) => {
                    *at += leading_space(&text[*at..]);
                    let (at, rest) = (*at, &text[*at..]);
                    let open = form.around.as_ref().map_or("", |around| &around.open);
                    match (starts_with(rest, open), any_starts(rest, ends)) {
                        (Some(true), _) => State::Between(at + open.len()),
                        (_, Some(true)) => {
                            self.state = State::Done(at);
                            return Ok(Some(at));
                        }
                        (None, _) | (_, None) => return Ok(None),
                        (Some(false), Some(false)) => return Err(unexpected(&[open], text, at)),
                    }
                }
                State::Between(at) => {
                    *at += leading_space(&text[*at..]);
                    let at = *at;
                    match self.next(forms, text, at, calls)? {
                        Some(State::Done(end)) => {
                            calls.check_keys(&self.written.writer, at);
                            self.state = State::Done(end);
                            return Ok(Some(end));
                        }
                        Some(state) => state,
                        None => return Ok(None),
                    }
                }
                State::Key(start, at) => {
                    let start = *start;
                    let within = &text[..text.len().min(start + LONGEST)];
                    match find(within, *at, &form.key_end) {
                        Ok(end) => {
                            if let Some(at) = runs_over(forms, text, start, end) {
                                return Err(unexpected(&[&form.key_end], text, at));
                            }
                            let key = key_of(form, &text[start..end]);
                            let start = end + form.key_end.len();
                            State::Attributes(key, start, start)
                        }
                        Err(_) if within.len() < text.len() => {
                            return Err(unended(&form.key_end, start));
                        }
                        Err(searched) => {
                            *at = searched;
                            return Ok(None);
                        }
                    }
                }
                State::Attributes(key, start, at) => match attributes(form, text, *start, at)? {
                    None => return Ok(None),
                    Some((behind, is_text)) => {
                        State::Value(ValueReader::new(form, std::mem::take(key), is_text, behind))
                    }
                },
                State::Object(reader, is_marked) => {
                    let Some(end) = reader.read(&[], text, calls)? else { return Ok(None) };
                    self.object = Some(reader.clone().take());
                    if *is_marked { State::BehindObject(end) } else { State::Between(end) }
                }
                State::BehindObject(at) => {
                    *at += leading_space(&text[*at..]);
                    let close = form.whole.as_ref().map_or("", |whole| &whole.close);
                    match starts_with(&text[*at..], close) {
                        None => return Ok(None),
                        Some(true) => State::Between(*at + close.len()),
                        Some(false) => return Err(unexpected(&[close], text, *at)),
                    }
                }
                State::Value(value) => match value.end(forms, tool, text, calls) {
                    None => {
                        if calls.shows() {
                            let Written { count, writer, only } = &mut self.written;
                            value.show(forms, tool, text, calls, *count == 0, writer);
                            if only.is_none() {
                                calls.wrote(writer);
                            }
                        }
                        return Ok(None);
                    }
                    Some((end, next)) => {
                        self.written.add(value, form, tool, &text[..end], calls);
                        State::Between(next)
                    }
                },
                State::Done(end) => return Ok(Some(*end)),
            };
            if self.written.only.is_none() {
                calls.wrote(&self.written.writer);
            }
        }
    }

    /// What is at byte `at`, where a parameter or what ends them may begin; `None` while that is not known.
    fn next(
        &mut self,
        forms: Forms<'_>,
        text: &[u8],
        at: usize,
        calls: &mut Calls,
    ) -> Result<Option<State>, Problem> {
        let Forms { parameters: form, ends, .. } = forms;
        let rest = &text[at..];
        let around = form.around.as_ref().map(|around| &*around.close);
        let is_around = around.map_or(Some(false), |close| starts_with(rest, close));
        match (is_around, any_starts(rest, ends)) {
            (Some(true), _) => return Ok(Some(State::Done(at + around.map_or(0, str::len)))),
            (_, Some(true)) => return Ok(Some(State::Done(at))),
            (None, _) | (_, None) => return Ok(None),
            (Some(false), Some(false)) => {}
        }
        if calls.scope.forgives(Mistake::NoCallEnd) && self.has_begun {
            match ends_without_mark(text, at, &mut 0, forms, calls) {
                Some(true) => return Ok(Some(State::Done(at))),
                None => return Ok(None),
                Some(false) => {}
            }
        }
        let whole = form.whole.as_ref().map(|whole| &*whole.open);
        match whole.map_or(Some(false), |open| starts_with(rest, open)) {
            _ if self.has_begun => {}
            None => return Ok(None),
            Some(is_marked) if is_marked || rest.starts_with(b"{") => {
                self.has_begun = true;
                let start = at + if is_marked { whole.map_or(0, str::len) } else { 0 };
                let reader = ObjectReader::new(start, calls.scope.strictness);
                return Ok(Some(State::Object(reader, is_marked)));
            }
            Some(_) => {}
        }
        match starts_with(rest, &form.open) {
            None => Ok(None),
            Some(true) if self.object.is_some() => {
                Err(unexpected(&[around.unwrap_or(&ends[0])], text, at))
            }
            Some(true) => {
                if !self.has_begun {
                    self.has_begun = true;
                    calls.begin_args();
                }
                let start = at + form.open.len();
                Ok(Some(State::Key(start, start)))
            }
            Some(false) => Err(unexpected(&[&*form.open, around.unwrap_or(&ends[0])], text, at)),
        }
    }

    /// The text ends here: the parameters, if none of them can be missing; a call that is bare has no mark that closes it.
    ///
    /// # Errors
    /// One may be.
    pub fn cut_off(
        &mut self,
        forms: Forms<'_>,
        tool: &str,
        text: &[u8],
        calls: &mut Calls,
        is_bare: bool,
    ) -> Result<String, Problem> {
        let missing = |what: &str| Problem {
            kind: ProblemKind::Missing(format!("{what:?}").into()),
            at: text.len(),
        };
        let Forms { parameters: form, ends, .. } = forms;
        // See `Mistake::NoBlockEnd`.
        let may_end = calls.has_stopped || is_bare;
        for _ in 0..MOST_UNCLOSED {
            let State::Value(value) = &mut self.state else { break };
            let Some(next) = value.next(forms, tool, text, calls) else { break };
            self.written.add(value, form, tool, &text[..next], calls);
            self.state = State::Between(next);
            if self.read(forms, tool, text, calls)?.is_some() {
                break;
            }
        }
        match &mut self.state {
            State::Value(value) => match value.cut_off(forms, tool, text, calls, may_end) {
                Some(end) => self.written.add(value, form, tool, &text[..end], calls),
                None => return Err(missing(value.close())),
            },
            State::Between(at) if is_begun(form, &text[*at..]) => return Err(missing(&form.open)),
            State::Between(_) | State::BehindObject(_) if may_end => {}
            State::Done(_) => {}
            State::Object(reader, _) => return Err(reader.missing(text)),
            State::Around(_) | State::Between(_) | State::BehindObject(_) => {
                return Err(missing(&ends[0]));
            }
            State::Key(..) => return Err(missing(&form.key_end)),
            State::Attributes(..) => return Err(missing(&form.value_open)),
        }
        calls.check_keys(&self.written.writer, text.len());
        Ok(self.clone().take())
    }

    /// The arguments, a canonical JSON object.
    #[must_use]
    pub fn take(self) -> String {
        let Self { object, written, .. } = self;
        object.unwrap_or_else(|| written.take())
    }
}

impl Written {
    fn new() -> Self {
        let mut writer = Writer::new(0);
        writer.open(Container::Object);
        Self { count: 0, writer, only: None }
    }

    /// Adds a value, which ends where `text` does.
    fn add(
        &mut self,
        value: &mut ValueReader,
        form: &Parameters,
        tool: &str,
        text: &[u8],
        calls: &mut Calls,
    ) {
        self.only = match self.count {
            0 => value.as_args(form, tool, text, calls),
            _ => None,
        };
        self.count += 1;
        value.write(form, tool, text, calls, &mut self.writer);
    }

    fn take(mut self) -> String {
        self.only.unwrap_or_else(|| {
            self.writer.close();
            self.writer.finish()
        })
    }
}
