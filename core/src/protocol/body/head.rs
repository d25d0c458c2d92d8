//! Calls with the name in its own head: `open NAME end ARGS close`.

use super::super::call::Call;
use super::super::canonical::json_string;
use super::super::marks::{any_starts, find, starts_with};
use super::super::problem::{Problem, ProblemKind};
use super::super::recovery::Mistake;
use super::super::tools::Tools;
use super::attribute::attribute;
use super::braces::BracesReader;
use super::found::{problem, unexpected};
use super::json::ObjectReader;
use super::line::TextReader;
use super::opening::Forms;
use super::parameters::ParametersReader;
use super::{Calls, ItemReader, Scope, XmlArgs};
use crate::dialect::{Args, Head, HeadForm, Parameters, Str};
use crate::text::{leading_space, trim};

/// The longest head, in bytes: a name and an id.
const LONGEST: usize = 4096;

/// Reads one call.
#[derive(Clone, Debug)]
pub struct HeadReader {
    state: State,
    /// The quote that is open in a head of attributes.
    quote: Option<u8>,
    call: Named,
    end: CallEnd,
    /// The first byte after the mark that closes it, where that may be there twice.
    closed: Option<usize>,
}

/// Where a call ends that no mark of its own closes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CallEnd {
    /// With its arguments.
    Arguments,
    /// With the message that it is, which one of these marks ends: where nothing follows, the message was cut.
    Message(Vec<Str>),
}

/// What the head says.
#[derive(Clone, Debug, Default)]
struct Named {
    name: String,
    id: Option<String>,
}

#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a reader has one, and is in arguments most of the time"
)]
enum State {
    /// In the head, whose text begins at the first byte and has been searched up to the second.
    Head(usize, usize),
    Args(ArgsReader),
    /// After the arguments, before what closes the call.
    Close(usize, String),
}

#[derive(Clone, Debug)]
enum ArgsReader {
    Json(ObjectReader),
    Parameters(ParametersReader),
    Text(TextReader),
    Braces(BracesReader),
    Xml(XmlArgs),
}

impl ItemReader for HeadReader {
    type Form = Head;

    /// A reader of the call whose `open` begins at `start`; where a block's own mark is that `open`, its end is `start`.
    fn new(_: &Head, start: usize, _: &Scope) -> Self {
        let (state, call) = (State::Head(start, start), Named::default());
        Self { state, quote: None, call, end: CallEnd::Arguments, closed: None }
    }

    fn begins(form: &Head, text: &[u8]) -> Option<bool> {
        starts_with(&text[leading_space(text)..], &form.open)
    }

    /// One without a block has its own mark.
    fn begins_unmarked(form: &Head, text: &[u8]) -> Option<bool> {
        if form.bare { Some(false) } else { Self::begins(form, text) }
    }

    fn read(
        &mut self,
        form: &Head,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<Option<usize>, Problem> {
        loop {
            match &mut self.state {
                State::Head(start, at) => {
                    let (start, at) = (*start, *at);
                    let found = match form.form {
                        HeadForm::Attributes(_) => self.tag_end(form, text, start, at)?,
                        _ => head_end(form, text, start, at, calls)?,
                    };
                    let (end, mark) = match found {
                        Ok(found) => found,
                        Err(searched) => {
                            self.state = State::Head(start, searched);
                            return Ok(None);
                        }
                    };
                    self.call = named(&form.form, &text[start..end], calls.scope.tools.as_deref());
                    if self.call.name == "\"\"" || !is_name(&form.form, &self.call.name) {
                        calls.refuse(ProblemKind::NoName(calls.len()), start);
                    }
                    if let Some(id) = &self.call.id {
                        calls.id(id);
                    }
                    calls.name(&self.call.name);
                    let behind = if is_kept(form, mark) { end } else { end + mark.len() };
                    self.state = match &form.args {
                        _ if *mark == form.close => State::Close(end, "{}".into()),
                        args => {
                            if matches!(args, Args::Braces(_) | Args::Xml(_)) {
                                calls.begin_args();
                            }
                            State::Args(ArgsReader::new(args, behind, &calls.scope))
                        }
                    };
                }
                State::Args(args) => {
                    match args.read(form, &self.end, &self.call.name, text, calls)? {
                        None => return Ok(None),
                        Some(end) => {
                            let State::Args(args) =
                                std::mem::replace(&mut self.state, State::Head(0, 0))
                            else {
                                return Ok(None);
                            };
                            self.state = State::Close(end, args.take());
                        }
                    }
                }
                State::Close(at, _) => {
                    if !form.close.is_empty() || self.end != CallEnd::Arguments {
                        *at += leading_space(&text[*at..]);
                    }
                    if let CallEnd::Message(marks) = &self.end
                        && (*at == text.len() || any_starts(&text[*at..], marks).is_none())
                    {
                        return Ok(None);
                    }
                    if let CallEnd::Message(marks) = &self.end
                        && goes_on(&text[*at..])
                    {
                        return Err(unexpected(&[&marks[0]], text, *at));
                    }
                    let end = match starts_with(&text[*at..], &form.close) {
                        // No second mark follows the first.
                        None => match self.closed.filter(|_| calls.is_whole) {
                            Some(end) => end,
                            None => return Ok(None),
                        },
                        Some(true) if self.closed.is_none() && may_be_doubled(form, calls) => {
                            *at += form.close.len();
                            self.closed = Some(*at);
                            continue;
                        }
                        Some(true) => *at + form.close.len(),
                        Some(false)
                            if calls.scope.forgives(Mistake::NoCallEnd)
                                && (self.closed.is_some() || !goes_on(&text[*at..])) =>
                        {
                            self.closed.unwrap_or(*at)
                        }
                        // The block's end is the call's, too.
                        Some(false) if any_starts(&text[*at..], &calls.followers) == Some(true) => {
                            *at
                        }
                        Some(false) if any_starts(&text[*at..], &calls.followers).is_none() => {
                            return Ok(None);
                        }
                        Some(false) => {
                            return Err(unexpected(&[&form.close], text, *at));
                        }
                    };
                    self.push(calls);
                    return Ok(Some(end));
                }
            }
        }
    }

    fn cut_off(&mut self, form: &Head, text: &[u8], calls: &mut Calls) -> Result<(), Problem> {
        let missing =
            |what: String| Problem { kind: ProblemKind::Missing(what.into()), at: text.len() };
        match &mut self.state {
            State::Head(..) => Err(missing(format!("{:?}", form.ends[0]))),
            State::Args(args) => {
                let args = args.cut_off(form, &self.call.name, text, calls)?;
                self.state = State::Close(text.len(), args);
                self.push(calls);
                Ok(())
            }
            State::Close(..) => {
                self.push(calls);
                Ok(())
            }
        }
    }
}

impl HeadReader {
    /// A reader of a call that is a message, which any of `ends` ends. Its name (a JSON string) was in the message's
    /// head; its arguments begin at byte `start`.
    #[must_use]
    pub fn message(form: &Head, name: String, start: usize, ends: Vec<Str>, scope: &Scope) -> Self {
        let state = State::Args(ArgsReader::new(&form.args, start, scope));
        let (call, end) = (Named { name, id: None }, CallEnd::Message(ends));
        Self { state, quote: None, call, end, closed: None }
    }

    /// Where the head of attributes that begins at `start` ends, outside quotes, or up to where it is known not to end;
    /// it has been searched up to `at`.
    fn tag_end<'f>(
        &mut self,
        form: &'f Head,
        text: &[u8],
        start: usize,
        at: usize,
    ) -> Result<Result<(usize, &'f Str), usize>, Problem> {
        for (at, &byte) in text.iter().enumerate().skip(at) {
            if at - start > LONGEST {
                return Err(unended(form, start));
            }
            match (self.quote, byte) {
                (Some(quote), _) if byte == quote => self.quote = None,
                // Else the call would have the arguments of that one.
                (Some(_), _) => match starts_with(&text[at..], &form.open) {
                    None => return Ok(Err(at)),
                    Some(true) => return Err(unexpected(&["\""], text, at)),
                    Some(false) => {}
                },
                // A quote that stands for nothing opens nothing.
                (None, b'"' | b'\'') if text[..at].ends_with(b"=") => self.quote = Some(byte),
                (None, _) => {
                    let mut ends = form.ends.iter();
                    if let Some(end) = ends.find(|end| text[at..].starts_with(end.as_bytes())) {
                        return Ok(Ok((at, end)));
                    }
                    if any_starts(&text[at..], &form.ends).is_none() {
                        return Ok(Err(at));
                    }
                    match starts_with(&text[at..], &form.open) {
                        None => return Ok(Err(at)),
                        Some(true) => return Err(unexpected(&[&form.ends[0]], text, at)),
                        Some(false) => {}
                    }
                }
            }
        }
        Ok(Err(text.len()))
    }

    /// The call is complete.
    fn push(&mut self, calls: &mut Calls) {
        if let State::Close(_, args) = &self.state {
            let call = Call::of_json(&self.call.name, args);
            calls.push(match self.call.id.take() {
                Some(id) => call.with_id(id),
                None => call,
            });
        }
    }
}

/// Whether arguments go on that seem to have ended: neither a mark nor words begin like this.
fn goes_on(rest: &[u8]) -> bool {
    rest.first().is_some_and(|byte| b",:{}]\"'".contains(byte))
}

/// What ends a call, any of these.
fn ends(form: &Head) -> &[Str] {
    if form.close.is_empty() { &form.until } else { std::slice::from_ref(&form.close) }
}

fn forms<'f>(form: &'f Head, parameters: &'f Parameters) -> Forms<'f> {
    // Where the marks that end a call are those of messages, so are those that begin one.
    let call = if form.close.is_empty() { "" } else { &form.open };
    Forms { parameters, ends: ends(form), call }
}

/// Whether the mark that closes a call may be there twice: models write it so.
fn may_be_doubled(form: &Head, calls: &Calls) -> bool {
    calls.scope.forgives(Mistake::TwoCallEnds) && !form.close.is_empty()
}

/// Where the head that begins at `start` ends, and with which mark, or up to where it is known not to end; it has been
/// searched up to `at`. What opens or closes something else is not part of a head.
fn head_end<'f>(
    form: &'f Head,
    text: &[u8],
    start: usize,
    at: usize,
    calls: &Calls,
) -> Result<Result<(usize, &'f Str), usize>, Problem> {
    let within = &text[..text.len().min(start + LONGEST)];
    let at = at.min(within.len());
    let mut first: Option<(usize, &Str)> = None;
    let mut pending = within.len();
    let others = [&form.open, &form.close].into_iter().chain(&form.until);
    let others = others.chain(&calls.followers).chain(&calls.openers);
    let others = others.filter(|mark| !mark.is_empty() && !form.ends.contains(mark));
    let first_of = |mark: &Str| match find(within, at, mark) {
        Ok(found) => (Some(found), found),
        Err(begins) => (None, begins),
    };
    for mark in &form.ends {
        match first_of(mark) {
            (Some(found), _) if first.is_none_or(|(least, _)| found < least) => {
                first = Some((found, mark));
            }
            (Some(_), _) => {}
            (None, begins) => pending = pending.min(begins),
        }
    }
    let mut other: Option<usize> = None;
    for mark in others {
        match first_of(mark) {
            (Some(found), _) => other = Some(other.map_or(found, |least| least.min(found))),
            (None, begins) => pending = pending.min(begins),
        }
    }
    match (first, other) {
        (Some((found, _)), Some(other)) if other < found && other <= pending => {
            Err(unexpected(&[&form.ends[0]], text, other))
        }
        (None, Some(other)) if other <= pending => Err(unexpected(&[&form.ends[0]], text, other)),
        (Some((found, mark)), _) if found <= pending => Ok(Ok((found, mark))),
        _ if within.len() < text.len() => Err(unended(form, start)),
        _ => Ok(Err(pending.max(at))),
    }
}

fn unended(form: &Head, start: usize) -> Problem {
    let expected = format!("{:?} after the name", form.ends[0]);
    problem(expected, "a name without an end".into(), start)
}

/// Whether the mark that ends the head is also what follows it.
fn is_kept(form: &Head, mark: &Str) -> bool {
    *mark == form.close
        || match &form.args {
            Args::Json | Args::Braces(_) => mark == "{",
            Args::Parameters(parameters) => {
                *mark == parameters.open
                    || parameters.around.as_ref().is_some_and(|around| around.open == *mark)
            }
            Args::Text(_) | Args::Xml(_) => false,
        }
}

fn named(form: &HeadForm, head: &[u8], tools: Option<&Tools>) -> Named {
    let name = |name: &[u8]| json_string(trim(name));
    match form {
        HeadForm::Name => Named { name: name(head), id: None },
        HeadForm::Id(mark) => match find(head, 0, mark) {
            Ok(at) => Named { name: name(&head[..at]), id: Some(name(&head[at + mark.len()..])) },
            Err(_) => Named { name: name(head), id: None },
        },
        HeadForm::Behind(mark) => {
            let head = trim(head);
            Named { name: name(head.strip_prefix(mark.as_bytes()).unwrap_or_default()), id: None }
        }
        HeadForm::Numbered => {
            let head = trim(head);
            let bare = head.strip_prefix(b"functions.").unwrap_or(head);
            let end = bare.iter().rposition(|&byte| byte == b':').filter(|&colon| {
                colon + 1 < bare.len() && bare[colon + 1..].iter().all(u8::is_ascii_digit)
            });
            Named { name: name(&bare[..end.unwrap_or(bare.len())]), id: end.map(|_| name(head)) }
        }
        HeadForm::Attributes(key) => Named {
            name: attribute(head, key).map_or_else(
                || "\"\"".into(),
                |text| single(json_string(trim(text.as_bytes())), tools),
            ),
            id: None,
        },
    }
}

/// Whether this JSON string may be a name: a bare name in a head is a single line without markup.
fn is_name(form: &HeadForm, name: &str) -> bool {
    let is_odd = |byte: &u8| matches!(byte, b'<' | b'{' | b'\n' | b'\r');
    matches!(form, HeadForm::Attributes(_))
        || !crate::json::unescaped(name.as_bytes()).as_bytes().iter().any(is_odd)
}

/// A name that is a tool's twice over is that tool's.
fn single(name: String, tools: Option<&Tools>) -> String {
    let bare = &name[1..name.len() - 1];
    let half = bare.len() / 2;
    let halves = bare.split_at_checked(half).map(|(first, rest)| (first, rest.strip_prefix('.')));
    match (halves, tools) {
        (Some((first, Some(second))), Some(tools)) if first == second => {
            let single = format!("\"{first}\"");
            if tools.schema(&single).is_some() { single } else { name }
        }
        _ => name,
    }
}

impl ArgsReader {
    fn new(args: &Args, start: usize, scope: &Scope) -> Self {
        match args {
            Args::Braces(_) => Self::Braces(BracesReader::new(start)),
            Args::Xml(_) => Self::Xml(XmlArgs::new(start)),
            Args::Json => Self::Json(ObjectReader::new(start, scope.strictness)),
            Args::Parameters(form) => Self::Parameters(ParametersReader::new(form, start)),
            Args::Text(_) => Self::Text(TextReader::new(start)),
        }
    }

    fn read(
        &mut self,
        form: &Head,
        end: &CallEnd,
        name: &str,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<Option<usize>, Problem> {
        match (self, &form.args) {
            (Self::Parameters(reader), Args::Parameters(parameters)) => {
                reader.read(forms(form, parameters), name, text, calls)
            }
            (Self::Text(reader), Args::Text(key)) => reader.read(form, key, name, text, calls),
            (Self::Xml(reader), Args::Xml(xml)) => reader.read(xml, name, text, calls),
            (Self::Braces(reader), Args::Braces(mark)) => {
                let tools = calls.scope.tools.clone();
                let schema = tools.as_deref().and_then(|tools| tools.schema(name));
                reader.read((mark, &form.close), schema, text, calls)
            }
            (Self::Json(reader), _) => {
                let ends = match end {
                    CallEnd::Message(marks) => marks,
                    CallEnd::Arguments if form.close.is_empty() => &[][..],
                    CallEnd::Arguments => std::slice::from_ref(&form.close),
                };
                reader.read(ends, text, calls)
            }
            _ => Ok(None),
        }
    }

    fn cut_off(
        &mut self,
        form: &Head,
        name: &str,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<String, Problem> {
        match (self, &form.args) {
            (Self::Parameters(reader), Args::Parameters(parameters)) => {
                let is_bare = form.close.is_empty();
                reader.cut_off(forms(form, parameters), name, text, calls, is_bare)
            }
            (Self::Text(reader), Args::Text(key)) => reader.cut_off(key, name, text, calls),
            (Self::Xml(reader), Args::Xml(xml)) => {
                let args = reader.cut_off(xml, name, text, calls)?;
                if calls.has_stopped || form.close.is_empty() {
                    return Ok(args);
                }
                let kind = ProblemKind::Missing(format!("{:?}", form.close).into());
                Err(Problem { kind, at: text.len() })
            }
            (Self::Json(reader), _) => Err(reader.missing(text)),
            (Self::Braces(reader), _) => Err(reader.missing(text)),
            (Self::Parameters(_) | Self::Text(_) | Self::Xml(_), _) => Ok("{}".into()),
        }
    }

    fn take(self) -> String {
        match self {
            Self::Json(reader) => reader.take(),
            Self::Parameters(reader) => reader.take(),
            Self::Text(reader) => reader.take(),
            Self::Xml(reader) => reader.take(),
            Self::Braces(reader) => reader.take(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::limits::{Limits, Strictness};
    use super::*;
    use crate::dialect::{Body, presets};

    #[test]
    fn a_call_without_a_closing_mark_ends_with_its_arguments_however_much_follows() {
        let row = presets::preset("react").expect("a preset");
        let Some(Body::Head(form)) = row.calls.bodies.first() else { panic!("calls with heads") };
        let scope =
            Scope { limits: Limits::default(), strictness: Strictness::Strict, ..Scope::default() };
        for behind in ["", "\n", "\n\nAction:"] {
            let text = format!(" tool\nAction Input: {{}}{behind}");
            let mut calls = Calls::new(scope.clone());
            let end = HeadReader::new(form, 0, &scope).read(form, text.as_bytes(), &mut calls);
            assert_eq!(end, Ok(Some(text.len() - behind.len())), "{text:?}");
        }
    }
}
