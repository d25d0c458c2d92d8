//! A call with its name in a head, and parameters with raw values.

use std::sync::Arc;

use cogency_rs::dialect::{Dialect, Head};
use cogency_rs::protocol::body::found::unexpected;
use cogency_rs::protocol::body::head::{head_end, is_name, named};
use cogency_rs::protocol::body::opening::{LONGEST, is_begun, key_of, runs_over, unended};
use cogency_rs::protocol::body::value::ends_without_mark;
use cogency_rs::protocol::body::{Calls, Forms, Scope};
use cogency_rs::protocol::marks::{any_starts, find, starts_with};
use cogency_rs::protocol::problem::{Problem, ProblemKind};
use cogency_rs::protocol::{Call, Strictness};
use cogency_rs::text::leading_space;

use crate::item::Item;
use crate::values::{Args, OpenValue, Within, forms, head_of};

/// The most values of a call whose closing marks may be missing: the rest of the text is read for each.
const MOST_UNCLOSED: usize = 32;

/// Where the parts of a call end.
#[derive(Clone, Debug)]
enum Extent {
    /// In the head, whose text begins at the first byte and has been searched up to the second.
    Head(usize, usize),
    /// Before a parameter, or before what ends them; whether one has begun.
    Between(usize, bool),
    /// In a key that begins at the first byte, searched up to the second.
    Key(usize, usize),
    /// In a value, which has been searched up to this byte, where perhaps it ends.
    Value(usize, Option<Closing>),
    /// Before the mark that closes the call, which perhaps was there once, up to the second byte.
    Close(usize, Option<usize>),
}

/// A mark that may close a value.
#[derive(Clone, Copy, Debug)]
struct Closing {
    /// The first byte after it and after the space there, as far as the text is known.
    behind: usize,
    /// Whether the end of the call follows it.
    has_ended: bool,
    /// Up to where it was looked at what follows instead.
    looked: usize,
}

/// A part of a call that is complete.
enum Part {
    /// The head between these bytes.
    Head(usize, usize),
    /// The mark that opens a parameter.
    Opening,
    /// A key between these bytes, and where its value begins.
    Key(usize, usize, usize),
    /// The end of the value, by its own mark.
    Value(usize),
    /// The end of all parameters.
    Args(usize),
    Call(usize),
}

fn is_lenient(calls: &Calls) -> bool {
    calls.scope.strictness == Strictness::Lenient
}

impl Extent {
    /// The next part, once it is complete.
    fn advance(
        &mut self,
        head: &Head,
        text: &[u8],
        calls: &Calls,
    ) -> Result<Option<Part>, Problem> {
        loop {
            let part = match self {
                Self::Head(start, searched) => {
                    match head_end(head, text, *start, *searched, calls)? {
                        Err(up_to) => {
                            *searched = up_to;
                            return Ok(None);
                        }
                        Ok((end, mark)) => {
                            let is_kept = *mark == forms(head).parameters.open;
                            let args = if is_kept { end } else { end + mark.len() };
                            let args = (*mark != head.close).then_some(args);
                            let part = Part::Head(*start, end);
                            *self =
                                args.map_or(Self::Close(end, None), |at| Self::Between(at, false));
                            part
                        }
                    }
                }
                Self::Between(at, has_begun) => {
                    *at += leading_space(&text[*at..]);
                    let (at, form) = (*at, forms(head).parameters);
                    match next(forms(head), text, at, *has_begun, calls)? {
                        None => return Ok(None),
                        Some(true) => {
                            *self = Self::Close(at, None);
                            Part::Args(at)
                        }
                        Some(false) => {
                            let key = at + form.open.len();
                            *self = Self::Key(key, key);
                            Part::Opening
                        }
                    }
                }
                Self::Key(start, searched) => {
                    let (start, form) = (*start, forms(head).parameters);
                    let within = &text[..text.len().min(start + LONGEST)];
                    match find(within, *searched, &form.key_end) {
                        Ok(end) => {
                            if let Some(at) = runs_over(forms(head), text, start, end) {
                                return Err(unexpected(&[&form.key_end], text, at));
                            }
                            let value = end + form.key_end.len();
                            *self = Self::Value(value, None);
                            Part::Key(start, end, value)
                        }
                        Err(_) if within.len() < text.len() => {
                            return Err(unended(&form.key_end, start));
                        }
                        Err(up_to) => {
                            *searched = up_to;
                            return Ok(None);
                        }
                    }
                }
                Self::Value(searched, Some(closing)) => {
                    match closing.is_end(forms(head), text, calls) {
                        None => return Ok(None),
                        Some(true) => Part::Value(*searched),
                        Some(false) => {
                            *self = Self::Value(*searched + 1, None);
                            continue;
                        }
                    }
                }
                Self::Value(searched, closing) => {
                    let close = &forms(head).parameters.close;
                    let found = find(text, *searched, close);
                    let (Ok(up_to) | Err(up_to)) = found;
                    *searched = up_to;
                    if found.is_err() {
                        return Ok(None);
                    }
                    let behind = up_to + close.len();
                    *closing = Some(Closing { behind, has_ended: false, looked: 0 });
                    continue;
                }
                Self::Close(at, closed) => {
                    *at += leading_space(&text[*at..]);
                    Part::Call(match starts_with(&text[*at..], &head.close) {
                        None => return Ok(None),
                        Some(true) if closed.is_none() && is_lenient(calls) => {
                            *at += head.close.len();
                            *closed = Some(*at);
                            continue;
                        }
                        Some(true) => *at + head.close.len(),
                        Some(false) if is_lenient(calls) => closed.unwrap_or(*at),
                        Some(false) => match any_starts(&text[*at..], &calls.followers) {
                            None => return Ok(None),
                            Some(true) => *at,
                            Some(false) => return Err(unexpected(&[&head.close], text, *at)),
                        },
                    })
                }
            };
            return Ok(Some(part));
        }
    }
}

/// Whether the parameters end at byte `at`, or else another one begins.
fn next(
    forms: Forms<'_>,
    text: &[u8],
    at: usize,
    has_begun: bool,
    calls: &Calls,
) -> Result<Option<bool>, Problem> {
    let is_end = any_starts(&text[at..], forms.ends);
    if is_end != Some(false) {
        return Ok(is_end);
    }
    if is_lenient(calls) && has_begun {
        let is_end = ends_without_mark(text, at, &mut 0, forms, calls);
        if is_end != Some(false) {
            return Ok(is_end);
        }
    }
    match starts_with(&text[at..], &forms.parameters.open) {
        Some(false) => Err(unexpected(&[&*forms.parameters.open, &forms.ends[0]], text, at)),
        begins => Ok(begins.map(|_| false)),
    }
}

impl Closing {
    /// Whether the mark closes the value: it does if what may follow follows.
    fn is_end(&mut self, forms: Forms<'_>, text: &[u8], calls: &Calls) -> Option<bool> {
        loop {
            self.behind += leading_space(&text[self.behind..]);
            let rest = &text[self.behind..];
            if !self.has_ended {
                match starts_with(rest, &forms.parameters.open) {
                    Some(false) => {}
                    opens => return opens,
                }
            }
            let may_end = !self.has_ended || is_lenient(calls);
            let is_end = if may_end { any_starts(rest, forms.ends) } else { Some(false) };
            if is_end == Some(true) {
                if calls.followers.is_empty() {
                    return Some(true);
                }
                let mark = forms.ends.iter().find(|mark| rest.starts_with(mark.as_bytes()));
                self.behind += mark.map_or(0, |mark| mark.len());
                self.has_ended = true;
                continue;
            }
            let follows = match self.has_ended {
                true => any_starts(rest, &calls.followers),
                false if is_lenient(calls) => {
                    ends_without_mark(text, self.behind, &mut self.looked, forms, calls)
                }
                false => Some(false),
            };
            return match (follows, is_end) {
                (Some(true), _) => Some(true),
                (None, _) | (_, None) => None,
                _ => Some(false),
            };
        }
    }
}

/// A call that is being read: its extent, and what is known of its parts.
#[derive(Clone, Debug)]
pub struct ParamsItem {
    extent: Extent,
    name: String,
    args: Args,
    value: Option<OpenValue>,
}

impl Item for ParamsItem {
    fn new(_: &Arc<Dialect>, _: usize, start: usize, _: &Scope) -> Self {
        Self {
            extent: Extent::Head(start, start),
            name: String::new(),
            args: Args::new(),
            value: None,
        }
    }

    fn read(
        &mut self,
        dialect: &Dialect,
        body: usize,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<Option<usize>, Problem> {
        let head = head_of(dialect, body);
        while let Some(part) = self.extent.advance(head, text, calls)? {
            if let Some(end) = self.take(head, &part, text, calls) {
                return Ok(Some(end));
            }
        }
        if let (Extent::Value(sure, _), Some(value)) = (&self.extent, &mut self.value) {
            value.show(forms(head), &self.name, &text[..*sure], calls, &mut self.args);
        }
        Ok(None)
    }

    fn cut_off(
        &mut self,
        dialect: &Dialect,
        body: usize,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<(), Problem> {
        let head = head_of(dialect, body);
        let forms = forms(head);
        for _ in 0..MOST_UNCLOSED {
            let (Extent::Value(_, None), Some(value)) = (&self.extent, &self.value) else { break };
            let Some(next) = self.within(forms, value).next(text, calls) else { break };
            self.end_value(forms, text, next, next, calls);
            if self.read(dialect, body, text, calls)?.is_some() {
                return Ok(());
            }
        }
        if let Some(missing) = self.missing(head, text, calls) {
            let kind = ProblemKind::Missing(format!("{missing:?}").into());
            return Err(Problem { kind, at: text.len() });
        }
        if let (Extent::Value(end, closing), Some(value)) = (&self.extent, &self.value) {
            let within = self.within(forms, value);
            let end = closing.map_or_else(|| within.end_of_call(text, calls), |_| Some(*end));
            self.end_value(forms, text, end.unwrap_or(text.len()), text.len(), calls);
        }
        if !matches!(self.extent, Extent::Close(..)) {
            calls.check_keys(&self.args.writer, text.len());
        }
        calls.push(Call::new(&self.name, &std::mem::replace(&mut self.args, Args::new()).take()));
        Ok(())
    }
}

impl ParamsItem {
    fn within<'a>(&'a self, forms: Forms<'a>, value: &'a OpenValue) -> Within<'a> {
        Within { forms, tool: &self.name, key: &value.key, start: value.start }
    }

    /// Decodes a part.
    fn take(&mut self, head: &Head, part: &Part, text: &[u8], calls: &mut Calls) -> Option<usize> {
        let forms = forms(head);
        match *part {
            Part::Head(start, end) => {
                let tools = calls.scope.tools.clone();
                self.name = named(&head.form, &text[start..end], tools.as_deref()).name;
                if self.name == "\"\"" || !is_name(&head.form, &self.name) {
                    calls.refuse(ProblemKind::NoName(calls.len()), start);
                }
                calls.name(&self.name);
            }
            Part::Opening => self.args.begin(calls),
            Part::Key(start, end, value) => {
                let key = key_of(forms.parameters, &text[start..end]);
                self.value = Some(OpenValue::new(key.into_owned(), value));
            }
            Part::Value(end) => {
                if let Some(value) = &self.value {
                    let (end, next) = self.within(forms, value).end(text, end, calls);
                    self.end_value(forms, text, end, next, calls);
                }
            }
            Part::Args(end) => calls.check_keys(&self.args.writer, end),
            Part::Call(end) => {
                let args = std::mem::replace(&mut self.args, Args::new()).take();
                calls.push(Call::new(&self.name, &args));
                return Some(end);
            }
        }
        None
    }

    fn end_value(
        &mut self,
        forms: Forms<'_>,
        text: &[u8],
        end: usize,
        next: usize,
        calls: &mut Calls,
    ) {
        if let Some(value) = self.value.take() {
            self.args.add(value, forms.parameters, &self.name, &text[..end], calls);
            self.extent = Extent::Between(next, true);
        }
    }

    /// What is missing of a call in which the text ends, if it cannot do without.
    fn missing<'h>(&self, head: &'h Head, text: &[u8], calls: &Calls) -> Option<&'h str> {
        let form = forms(head).parameters;
        let (mark, is_missing): (&str, bool) = match (&self.extent, &self.value) {
            (Extent::Value(end, closing), Some(value)) => {
                let within = self.within(forms(head), value);
                let is_end = match closing {
                    Some(closing) => {
                        let may_end = calls.has_stopped && !is_begun(form, &text[closing.behind..]);
                        (closing.has_ended || may_end) && within.is_whole(text, *end, calls)
                    }
                    None => within.end_of_call(text, calls).is_some(),
                };
                (&form.close, !is_end)
            }
            (Extent::Between(at, _), _) if is_begun(form, &text[*at..]) => (&form.open, true),
            (Extent::Between(..), _) => (&head.close, !calls.has_stopped),
            (Extent::Close(..), _) => (&head.close, false),
            (Extent::Head(..), _) => (&head.ends[0], true),
            (Extent::Key(..) | Extent::Value(..), _) => (&form.key_end, true),
        };
        is_missing.then_some(mark)
    }
}
