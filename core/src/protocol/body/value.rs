//! The raw value of a parameter: where it ends, and what it says.
//!
//! Such a value has no escapes. Text like its closing mark closes it only if the right thing follows: the next parameter, the end
//! of the call, or nothing at all. Models that write about markup write it in pairs: if a parameter is opened inside a value and
//! not closed there, the value's own closing mark is missing.

mod unclosed;

use super::super::canonical::{Writer, json_string};
use super::super::marks::{any_starts, find, starts_with};
use super::super::problem::ProblemKind;
use super::super::recovery::Mistake;
use super::super::tools::{JsonReader, Schema, Types, typed, typed_unless_text};
use super::fields::OTHER_ARGS;
use super::found::{expected, unexpected};
use super::opening::{Forms, is_begun};
use super::raw::{RawText, line_break};
use super::{Calls, Early};
use crate::dialect::{Parameters, Str, Trim, Untyped};
use crate::text::{leading_space, trim};
use unclosed::{Unclosed, ends_perhaps, first_word, without_last};

pub use unclosed::{ValueMarks, ends_without_mark};

/// A value that is being read.
#[derive(Clone, Debug)]
pub struct ValueReader {
    key: Str,
    /// Whether it is text, if an attribute says so.
    is_text: Option<bool>,
    close: String,
    start: usize,
    /// The byte up to which the value has been searched for its closing mark.
    at: usize,
    /// A mark that closes it if the right thing follows.
    end: Option<End>,
    json: Conversion,
    /// What was written of it, for callers that see it before it is complete.
    shown: Shown,
}

/// How a value is written before its end is known.
#[derive(Clone, Debug)]
enum Shown {
    /// It is not known yet.
    Unknown,
    /// Not at all: its end decides what it is.
    Not,
    /// It is text, up to where a parameter may be opened in it: there its own closing mark may be missing.
    Text(RawText, Option<usize>),
    /// It is JSON, unless that breaks.
    Json,
}

/// What has been read of a value that may be a list or an object in JSON. Its end must not have all of it to convert.
#[derive(Clone, Debug)]
enum Conversion {
    /// Nothing but space, up to this byte.
    Space(usize),
    /// It begins at this byte.
    Json(usize, Box<JsonReader>),
    /// It is something else, or short.
    No,
}

/// A mark that may close a value.
#[derive(Clone, Copy, Debug)]
struct End {
    at: usize,
    /// The first byte after it and after the space there, as far as the text is known.
    behind: usize,
    /// The first byte after the end of the call that follows it, and after the space there; 0 if the end of a call does not follow.
    beyond: usize,
    /// The first byte after what follows instead of that, and after the space there, as far as it was looked at.
    instead: usize,
}

impl ValueReader {
    /// The value of this parameter, which begins at byte `start`.
    pub fn new(form: &Parameters, key: Str, is_text: Option<bool>, start: usize) -> Self {
        let close = form.close.replace("{key}", &key);
        let (json, shown) = (Conversion::Space(start), Shown::Unknown);
        Self { key, is_text, close, start, at: start, end: None, json, shown }
    }

    /// The mark that closes it.
    pub fn close(&self) -> &str {
        &self.close
    }

    /// The end of the value and the beginning of what comes next, once they are known.
    pub fn end(
        &mut self,
        forms: Forms<'_>,
        tool: &str,
        text: &[u8],
        calls: &mut Calls,
    ) -> Option<(usize, usize)> {
        let Some(end) = self.closing(forms, text, calls) else {
            self.convert(forms.parameters, tool, text, calls);
            return None;
        };
        let tools = calls.scope.tools.as_deref();
        let schema = tools.and_then(|tools| tools.schema(tool));
        let marks = ValueMarks { forms, close: &self.close, followers: &calls.followers };
        let unclosed = marks.unclosed(&text[self.start..end], &self.key, schema);
        let is_described = schema.is_some();
        match unclosed {
            // Either the value holds a call or its own mark is missing: of these two readings neither is run.
            Some(Unclosed { at, runs_over: true }) => {
                let problem = unexpected(&[&self.close], text, self.start + at);
                calls.refuse(problem.kind, problem.at);
            }
            // The parameter that is opened there is one of the tool's.
            Some(Unclosed { at, .. })
                if is_described || calls.scope.forgives(Mistake::NoValueEndUnknown) =>
            {
                return Some((self.start + at, self.start + at));
            }
            _ => {}
        }
        if let Some(at) = self.doubled(forms, &text[..end]) {
            let problem = unexpected(&[&forms.parameters.open], text, at);
            calls.refuse(problem.kind, problem.at);
        }
        Some((end, end + self.close.len()))
    }

    /// Where the value's own mark is that a value ends with: either that is part of it, or it is there twice. Of these two readings
    /// neither is run. Markup that is written about has a mark that opens it, too.
    fn doubled(&self, forms: Forms<'_>, text: &[u8]) -> Option<usize> {
        let value = &text[self.start..];
        let end = self.start + leading_space(value) + trim(value).len();
        let at = text[..end].ends_with(self.close.as_bytes()).then(|| end - self.close.len())?;
        let count = |mark: &str| memchr::memmem::find_iter(value, mark).count();
        let is_paired = count(first_word(&forms.parameters.open)) >= count(&self.close);
        (!is_paired).then_some(at)
    }

    /// The first mark that closes the value: one that is followed by what may follow it.
    fn closing(&mut self, forms: Forms<'_>, text: &[u8], calls: &Calls) -> Option<usize> {
        let Forms { parameters: form, ends, .. } = forms;
        let around = form.around.as_ref().map_or(&ends[0], |around| &around.close);
        loop {
            let Some(end) = &mut self.end else {
                match find(text, self.at, &self.close) {
                    Ok(at) => {
                        self.at = at;
                        self.end =
                            Some(End { at, behind: at + self.close.len(), beyond: 0, instead: 0 });
                        continue;
                    }
                    Err(searched) => {
                        self.at = searched;
                        return None;
                    }
                }
            };
            end.behind += leading_space(&text[end.behind..]);
            let rest = &text[end.behind..];
            let is_end = match (starts_with(rest, &form.open), starts_with(rest, around)) {
                (Some(true), _) => Some(true),
                (_, Some(true)) if form.around.is_some() => Some(true),
                (None, _) | (_, None) => None,
                (Some(false), _) => end.closes_call(text, forms, calls),
            };
            match is_end {
                Some(true) => return Some(end.at),
                None => return None,
                Some(false) => {
                    self.at = end.at + 1;
                    self.end = None;
                }
            }
        }
    }

    /// The end of the value in a text that ends here; `may_end` says whether the marks that close the call may be missing.
    pub fn cut_off(
        &self,
        forms: Forms<'_>,
        tool: &str,
        text: &[u8],
        calls: &Calls,
        may_end: bool,
    ) -> Option<usize> {
        match self.end {
            Some(end) => {
                let is_closed =
                    end.beyond > 0 || (may_end && !is_begun(forms.parameters, &text[end.behind..]));
                let marks = ValueMarks { forms, close: &self.close, followers: &calls.followers };
                let schema = calls.scope.tools.as_deref().and_then(|tools| tools.schema(tool));
                let value = &text[self.start..end.at];
                let is_value = is_closed
                    && marks.unclosed(value, &self.key, schema).is_none()
                    && self.doubled(forms, &text[..end.at]).is_none();
                is_value.then_some(end.at)
            }
            None if calls.scope.forgives(Mistake::NoLastValueEnd) => {
                self.end_of_call(forms, tool, text, calls)
            }
            None => None,
        }
    }

    /// The byte at which the next parameter begins, in a text that ends without the mark that closes this value: leniently, where
    /// the tool has a parameter of that name.
    pub fn next(&self, forms: Forms<'_>, tool: &str, text: &[u8], calls: &Calls) -> Option<usize> {
        // Of a call that is a message nothing shows where the next one begins.
        let is_message = forms.call.is_empty();
        if self.end.is_some() || is_message || !calls.scope.forgives(Mistake::NoValueEnd) {
            return None;
        }
        let schema = calls.scope.tools.as_deref()?.schema(tool)?;
        let marks = ValueMarks { forms, close: &self.close, followers: &calls.followers };
        let unclosed = marks.unclosed(&text[self.start..], &self.key, Some(schema))?;
        (!unclosed.runs_over).then_some(self.start + unclosed.at)
    }

    /// The byte at which the marks that close the call begin, if the text ends with these.
    fn end_of_call(
        &self,
        forms: Forms<'_>,
        tool: &str,
        text: &[u8],
        calls: &Calls,
    ) -> Option<usize> {
        let value = &text[self.start..];
        let call = without_last(value, &calls.followers);
        let mut before = without_last(call, forms.ends);
        if before.len() == call.len() {
            return None;
        }
        if let Some(around) = &forms.parameters.around {
            before = without_last(before, std::slice::from_ref(&around.close));
        }
        let count = |mark: &str| memchr::memmem::find_iter(before, mark).count();
        let is_own = count(&self.close) <= count(first_word(&forms.parameters.open));
        let is_message = forms.call.is_empty() && forms.ends.iter().any(|mark| count(mark) > 0);
        let at = self.start + before.len();
        (is_own && !is_message && self.is_one(forms, tool, before, calls)).then_some(at)
    }

    /// Whether all of `value` may be the value: it runs over no other parameter, and no other call.
    fn is_one(&self, forms: Forms<'_>, tool: &str, value: &[u8], calls: &Calls) -> bool {
        let marks = ValueMarks { forms, close: &self.close, followers: &calls.followers };
        let schema = calls.scope.tools.as_deref().and_then(|tools| tools.schema(tool));
        marks.unclosed(value, &self.key, schema).is_none() && !marks.has_calls(value)
    }

    /// Converts what was searched, if it is JSON.
    fn convert(&mut self, form: &Parameters, tool: &str, text: &[u8], calls: &Calls) {
        if let Conversion::Space(at) = &mut self.json {
            *at += leading_space(&text[*at..self.at]);
            let at = *at;
            let schema = self.schema(tool, calls);
            let may_be_json = match (self.is_text, schema) {
                (is_text, None) => {
                    is_text.map_or(form.untyped == Untyped::Json, |is_text| !is_text)
                }
                (is_text, Some(schema)) => is_text != Some(true) && schema.types() != Types::STRING,
            };
            self.json = match text[..self.at].get(at) {
                None => return,
                Some(b'[' | b'{') if may_be_json => {
                    Conversion::Json(at, Box::new(JsonReader::new(depth_left(calls))))
                }
                Some(_) => Conversion::No,
            };
        }
        if let Conversion::Json(at, reader) = &mut self.json {
            reader.read(&text[*at..self.at], calls.shows());
        }
    }

    /// What the tool takes for this key, if that says anything of its type.
    fn schema<'c>(&self, tool: &str, calls: &'c Calls) -> Option<Schema<'c>> {
        let tools = calls.scope.tools.as_deref();
        let schema = tools.and_then(|tools| tools.schema(tool)?.property(&self.key));
        schema.filter(|schema| !schema.types().is_empty())
    }

    /// Writes what is sure of the key and the value. `may_be_all` says whether the value may still be the object of all arguments.
    pub fn show(
        &mut self,
        forms: Forms<'_>,
        tool: &str,
        text: &[u8],
        calls: &Calls,
        may_be_all: bool,
        writer: &mut Writer,
    ) {
        let form = forms.parameters;
        if let Shown::Unknown = self.shown {
            self.shown = self.shown_as(form, tool, &text[..self.at], calls, may_be_all);
            if let Shown::Text(..) | Shown::Json = self.shown {
                writer.raw_key(&json_string(self.key.as_bytes()));
            }
        }
        match (&mut self.shown, &self.json) {
            (Shown::Text(raw, opened), _) => {
                let end = match opened {
                    Some(at) => *at,
                    None => match ends_perhaps(forms, &text[..self.at], raw.looked(), calls) {
                        Ok(at) => *opened.insert(at),
                        Err(sure) => sure,
                    },
                };
                raw.write(form.trim, &text[..end], writer);
            }
            (Shown::Json, Conversion::Json(_, reader)) => {
                let json = reader.settled();
                if let Some(new) = json.get(writer.parts()..) {
                    writer.raw_part(new);
                }
            }
            _ => {}
        }
    }

    /// How the value is written before its end is known, by its beginning, which is all of `text`.
    fn shown_as(
        &self,
        form: &Parameters,
        tool: &str,
        text: &[u8],
        calls: &Calls,
        may_be_all: bool,
    ) -> Shown {
        let schema = self.schema(tool, calls);
        let types = schema.map(Schema::types).unwrap_or_default();
        let first = text[self.start..].get(leading_space(&text[self.start..]));
        let has_parts = has_parts(types);
        let is_text = match self.is_text {
            Some(is_text) => is_text,
            None if types == Types::STRING => match (form.untyped, first) {
                (Untyped::Json, None) => return Shown::Unknown,
                (Untyped::Json, Some(first)) => *first != b'"',
                (Untyped::Text | Untyped::Scalar, _) => true,
            },
            None => {
                let may_be_all = may_be_all && OTHER_ARGS.contains(&&*self.key);
                types.is_empty() && form.untyped == Untyped::Text && !may_be_all
            }
        };
        match (&self.json, first) {
            _ if is_text => Shown::Text(RawText::new(self.start), None),
            (_, None) if has_parts => Shown::Unknown,
            (Conversion::Json(..), _) if has_parts => Shown::Json,
            _ => Shown::Not,
        }
    }

    /// Writes the key and the value, which ends where `text` does.
    pub fn write(
        &mut self,
        form: &Parameters,
        tool: &str,
        text: &[u8],
        calls: &mut Calls,
        writer: &mut Writer,
    ) {
        let raw = trimmed(&text[self.start..], form.trim);
        let schema = self.schema(tool, calls);
        let takes_text = schema.is_none_or(|schema| schema.types().has(Types::STRING));
        let types = schema.map(Schema::types).unwrap_or_default();
        let mut json = match std::mem::replace(&mut self.json, Conversion::No) {
            Conversion::Json(_, reader) => *reader,
            Conversion::Space(_) | Conversion::No => JsonReader::new(depth_left(calls)),
        };
        let has_brackets = matches!(trim(raw).first(), Some(b'{' | b'['));
        let mut repeated = None;
        if calls.scope.refuses_repeated && has_brackets && types != Types::STRING {
            json.read(trim(raw), false);
            repeated = json.repeated().map(str::to_owned);
        }
        let value = match self.is_text {
            // What the model says of the type counts, whatever the tool takes.
            Some(true) => None,
            Some(false) if takes_text => typed_unless_text(raw, None, Untyped::Json, json),
            _ => typed_unless_text(raw, schema, form.untyped, json),
        };
        if let (Some(key), Some(_)) = (repeated, &value) {
            calls.refuse(ProblemKind::RepeatedKey(key), self.start);
        }
        // Of a value that must be an object or an array the beginning is shown while it is JSON.
        let is_shown = self.is_text != Some(true) && has_brackets && has_parts(types);
        if calls.scope.early == Early::Exact && value.is_none() && is_shown {
            calls.refuse(expected("a JSON value", "other text".into()), self.start);
        }
        let start = self.start + trimmed_at(&text[self.start..], form.trim);
        match (&self.shown, value) {
            (Shown::Unknown | Shown::Not, value) => {
                writer.raw_key(&json_string(self.key.as_bytes()));
                match value {
                    Some(value) => writer.raw_scalar(&value),
                    None => writer.text(raw),
                }
            }
            (Shown::Text(shown, _), None)
                if shown.finish(start, start + raw.len(), text, writer) => {}
            (_, value) => writer.end_parts(&value.unwrap_or_else(|| json_string(raw))),
        }
    }
}

impl ValueReader {
    /// The value itself, if it is an object that holds all arguments: the tool does not have a parameter of this key, but has one
    /// for each key of the object.
    ///
    /// # Complexity
    /// O(value) for a few keys, O(1) for all others.
    pub fn as_args(
        &self,
        form: &Parameters,
        tool: &str,
        text: &[u8],
        calls: &Calls,
    ) -> Option<String> {
        let key = &*self.key;
        if !OTHER_ARGS.contains(&key) || self.is_text == Some(true) {
            return None;
        }
        let schema = calls.scope.tools.as_deref()?.schema(tool)?;
        if schema.property(key).is_some() {
            return None;
        }
        let raw = trimmed(&text[self.start..], form.trim);
        let object = typed(raw, None, Untyped::Json, depth_left(calls));
        let members: serde_json::Map<_, _> = serde_json::from_str(&object).ok()?;
        let are_args =
            !members.is_empty() && members.keys().all(|member| schema.declared(member).is_some());
        are_args.then_some(object)
    }
}

/// Whether a value of these types is an object or an array.
fn has_parts(types: Types) -> bool {
    !types.is_empty() && types.without(Types::OBJECT.or(Types::ARRAY)).is_empty()
}

/// How many brackets may be open in a value: one more is open around it.
fn depth_left(calls: &Calls) -> usize {
    calls.scope.limits.max_depth.saturating_sub(1)
}

impl End {
    /// Whether the end of a call follows it, and then what may follow a call; `None` while that is not known. Leniently that end may
    /// be missing, or there more than once.
    fn closes_call(&mut self, text: &[u8], forms: Forms<'_>, calls: &Calls) -> Option<bool> {
        let ends = forms.ends;
        let may_be_doubled = calls.scope.forgives(Mistake::TwoCallEnds);
        let may_be_missing = calls.scope.forgives(Mistake::NoCallEnd);
        loop {
            let is_first = self.beyond == 0;
            if !is_first {
                self.beyond += leading_space(&text[self.beyond..]);
            }
            let at = if is_first { self.behind } else { self.beyond };
            let rest = &text[at..];
            let is_end =
                if is_first || may_be_doubled { any_starts(rest, ends) } else { Some(false) };
            if is_end == Some(true) {
                if calls.followers.is_empty() {
                    return Some(true);
                }
                let here = |mark: &&Str| starts_with(rest, mark) == Some(true);
                self.beyond = at + ends.iter().find(here).map_or(0, |mark| mark.len());
                continue;
            }
            let follows = match (is_first, may_be_missing) {
                (false, _) => any_starts(rest, &calls.followers),
                (true, true) => ends_without_mark(text, at, &mut self.instead, forms, calls),
                (true, false) => Some(false),
            };
            return match (follows, is_end) {
                (Some(true), _) => Some(true),
                (None, _) | (_, None) => None,
                _ => Some(false),
            };
        }
    }
}

/// How many bytes at the start of `raw` are left out.
fn trimmed_at(raw: &[u8], trim_of: Trim) -> usize {
    match trim_of {
        Trim::Nothing => 0,
        Trim::Space => leading_space(raw),
        Trim::Newline => line_break(raw),
    }
}

fn trimmed(raw: &[u8], trim_of: Trim) -> &[u8] {
    match trim_of {
        Trim::Nothing => raw,
        Trim::Space => trim(raw),
        Trim::Newline => {
            let raw = raw.strip_prefix(b"\r\n").or_else(|| raw.strip_prefix(b"\n")).unwrap_or(raw);
            raw.strip_suffix(b"\r\n").or_else(|| raw.strip_suffix(b"\n")).unwrap_or(raw)
        }
    }
}

#[cfg(test)]
mod tests;
