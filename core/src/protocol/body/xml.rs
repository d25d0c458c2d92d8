//! A call as XML elements: the name, the server and the arguments, in any order.
//!
//! The arguments are read into a flat list of elements first; the tool's schema makes values of them once all are
//! there. It is needed before that too, where an element is a string and what looks like a tag in it is text, so a name
//! after the arguments comes too late for such tags.

mod args;
mod string;
mod tag;
mod value;

#[cfg(test)]
mod tests;

use super::super::call::{Call, name_on_server};
use super::super::canonical::json_string;
use super::super::marks::starts_with;
use super::super::problem::{Problem, ProblemKind};
use super::found::problem;
use super::{Calls, ItemReader, Scope};
use crate::dialect::{Xml, XmlParts};
use crate::text::{leading_space, trim};
use string::{Comments, decoded};
use tag::{Lexed, Markup, TagReader, next_mark, shown};

pub use args::XmlArgs;

/// Reads one call.
#[derive(Clone, Debug)]
pub struct XmlReader {
    start: usize,
    state: State,
    has_begun: bool,
    /// The tool's name, a canonical JSON string.
    name: Option<String>,
    server: Option<String>,
    /// The name by which the schema of the tool on that server is found.
    tool: String,
    args: Option<XmlArgs>,
}

#[derive(Clone, Debug)]
enum State {
    /// After a part or a comment that ends before this byte, at what may be the next.
    Between(usize, TagReader),
    /// In the text of a name, which begins at this byte, at what may be a tag.
    Name(CallPart, usize, TagReader),
    Args(Box<XmlArgs>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallPart {
    Server,
    Name,
    Args,
}

impl CallPart {
    fn all(parts: &XmlParts) -> [(Self, &str); 3] {
        [(Self::Server, &parts.server), (Self::Name, &parts.name), (Self::Args, &parts.args)]
    }

    fn of(form: &Xml, name: &[u8]) -> Option<Self> {
        let mut all = Self::all(form.parts.as_ref()?).into_iter();
        all.find(|(_, part)| part.as_bytes() == name).map(|(part, _)| part)
    }

    fn name(self, form: &Xml) -> &str {
        let mut all = form.parts.iter().flat_map(Self::all);
        all.find(|(part, _)| *part == self).map_or("", |(_, name)| name)
    }
}

impl ItemReader for XmlReader {
    type Form = Xml;

    fn new(_: &Xml, start: usize, _: &Scope) -> Self {
        let state = State::Between(start, TagReader::new(start));
        let (name, server, tool, args) = (None, None, String::new(), None);
        Self { start, state, has_begun: false, name, server, tool, args }
    }

    fn begins(form: &Xml, text: &[u8]) -> Option<bool> {
        let rest = &text[leading_space(text)..];
        let parts = form.parts.iter().flat_map(CallPart::all).map(|(_, name)| (name, true));
        let comment = form.entities.then_some(("!--", false));
        let mut is_any = Some(false);
        for (opening, is_name) in parts.chain(comment) {
            let mark = [&form.prefix, "<", opening].concat();
            let known = starts_with(rest, &mark).and_then(|does_begin| match does_begin {
                true if is_name => rest.get(mark.len()).map(|byte| b" \t\r\n/>".contains(byte)),
                does_begin => Some(does_begin),
            });
            match known {
                Some(true) => return known,
                Some(false) => {}
                None => is_any = None,
            }
        }
        is_any
    }

    fn read(
        &mut self,
        form: &Xml,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<Option<usize>, Problem> {
        if !std::mem::replace(&mut self.has_begun, true) {
            calls.begin(self.start);
        }
        loop {
            match &mut self.state {
                State::Between(end, tag) => {
                    let end = *end;
                    let space = leading_space(&text[tag.start..]);
                    if space > 0 {
                        *tag = TagReader::new(tag.start + space);
                    }
                    let behind = match tag.read(form, text) {
                        Lexed::Unknown => return Ok(None),
                        Lexed::Markup(Markup::Comment, behind) => Some((None, false, behind)),
                        Lexed::Markup(Markup::Open(name), behind) => {
                            CallPart::of(form, &text[name]).map(|part| (Some(part), false, behind))
                        }
                        Lexed::Markup(Markup::Empty(name), behind) => {
                            CallPart::of(form, &text[name]).map(|part| (Some(part), true, behind))
                        }
                        Lexed::Text | Lexed::Markup(..) => None,
                    };
                    match behind {
                        None => {
                            self.push(form, text, calls);
                            return Ok(Some(end));
                        }
                        Some((Some(part), false, behind)) => self.enter(part, form, behind, calls),
                        Some((part, _, behind)) => {
                            if part == Some(CallPart::Args) {
                                if self.args.is_some() {
                                    self.refuse_second(CallPart::Args, form, calls);
                                }
                                self.args = Some(XmlArgs::new(behind));
                            }
                            self.state = State::Between(behind, TagReader::new(behind));
                        }
                    }
                }
                State::Name(part, start, tag) => {
                    let (part, start) = (*part, *start);
                    match next_mark(form, text, tag.start) {
                        Err(at) => {
                            *tag = TagReader::new(at);
                            return Ok(None);
                        }
                        Ok(at) if at > tag.start => *tag = TagReader::new(at),
                        Ok(_) => {}
                    }
                    let at = tag.start;
                    match tag.read(form, text) {
                        Lexed::Unknown => return Ok(None),
                        Lexed::Text => *tag = TagReader::new(at + 1),
                        Lexed::Markup(Markup::Cdata | Markup::Comment, end) => {
                            *tag = TagReader::new(end);
                        }
                        Lexed::Markup(Markup::Close(name), end)
                            if text[name.clone()] == *part.name(form).as_bytes() =>
                        {
                            self.named(part, form, &text[start..at], calls);
                            self.state = State::Between(end, TagReader::new(end));
                        }
                        Lexed::Markup(markup, _) => {
                            let (before, name) = match markup {
                                Markup::Close(name) => ("</", name),
                                Markup::Open(name) | Markup::Empty(name) => ("<", name),
                                Markup::Cdata | Markup::Comment => continue,
                            };
                            let missing = shown("</", part.name(form).as_bytes());
                            return Err(problem(missing, shown(before, &text[name]), at));
                        }
                    }
                }
                State::Args(args) => match args.scan(form, &self.tool, text, calls)? {
                    None => {
                        args.show(form, &self.tool, text, calls);
                        return Ok(None);
                    }
                    Some(close) => {
                        let end = match TagReader::new(close).read(form, text) {
                            Lexed::Markup(_, end) => end,
                            Lexed::Unknown | Lexed::Text => close,
                        };
                        let state = State::Between(end, TagReader::new(end));
                        if let State::Args(args) = std::mem::replace(&mut self.state, state) {
                            self.args = Some(*args);
                        }
                    }
                },
            }
        }
    }

    fn cut_off(&mut self, form: &Xml, text: &[u8], calls: &mut Calls) -> Result<(), Problem> {
        let missing = |before, part: CallPart| Problem {
            kind: ProblemKind::Missing(shown(before, part.name(form).as_bytes())),
            at: text.len(),
        };
        match &self.state {
            State::Name(part, ..) => Err(missing("</", *part)),
            State::Args(args) => Err(args.missing(form, text)),
            State::Between(end, _) => {
                let rest = &text[*end..];
                let rest = &rest[leading_space(rest)..];
                let closing = [&form.prefix, "</"].concat();
                let is_closing = starts_with(rest, &closing) == Some(true);
                // A call without arguments may be one whose arguments are missing.
                if self.args.is_none() && !calls.has_stopped {
                    return Err(missing("<", CallPart::Args));
                }
                if self.name.is_none() {
                    return Err(missing("<", CallPart::Name));
                }
                if !rest.is_empty() && !is_closing {
                    let what = "the end of a tag".into();
                    return Err(Problem { kind: ProblemKind::Missing(what), at: text.len() });
                }
                self.push(form, text, calls);
                Ok(())
            }
        }
    }
}

impl XmlReader {
    /// The byte after the last part, where the next may begin.
    #[must_use]
    pub fn end(&self) -> Option<usize> {
        match self.state {
            State::Between(end, _) => Some(end),
            State::Name(..) | State::Args(_) => None,
        }
    }

    /// A part begins; its text does at byte `start`.
    fn enter(&mut self, part: CallPart, form: &Xml, start: usize, calls: &mut Calls) {
        self.state = match part {
            CallPart::Args => {
                if self.args.is_some() {
                    self.refuse_second(part, form, calls);
                    calls.hold(); // only one of the two counts
                }
                calls.begin_args();
                State::Args(Box::new(XmlArgs::new(start)))
            }
            part => State::Name(part, start, TagReader::new(start)),
        };
    }

    /// A part is there again, which may not be where that is asked for.
    fn refuse_second(&self, part: CallPart, form: &Xml, calls: &mut Calls) {
        if calls.scope.refuses_repeated {
            let kind = ProblemKind::RepeatedKey(format!("{:?}", part.name(form)));
            calls.refuse(kind, self.start);
        }
    }

    /// The text of a name is complete.
    fn named(&mut self, part: CallPart, form: &Xml, text: &[u8], calls: &mut Calls) {
        let text = decoded(form, text, Comments::Dropped);
        let name = json_string(trim(&text));
        if part == CallPart::Server {
            self.server = Some(name);
        } else if name != "\"\"" {
            if self.name.as_ref().is_some_and(|known| *known != name) {
                self.refuse_second(part, form, calls);
            }
            calls.name(&name);
            self.name = Some(name);
        }
        let Some(name) = &self.name else { return };
        let on_server = self.server.as_deref().and_then(|server| name_on_server(server, name));
        let is_known = |name: &String| {
            calls.scope.tools.as_deref().is_some_and(|tools| tools.schema(name).is_some())
        };
        self.tool = on_server.filter(is_known).unwrap_or_else(|| name.clone());
    }

    /// The call is complete.
    fn push(&self, form: &Xml, text: &[u8], calls: &mut Calls) {
        let Some(name) = &self.name else {
            return calls.refuse(ProblemKind::NoName(calls.len()), self.start);
        };
        let args = match &self.args {
            Some(args) if !calls.is_refused() => args.json(form, &self.tool, text, calls),
            _ => "{}".into(),
        };
        let call = Call::of_json(name, &args);
        calls.push(match &self.server {
            Some(server) => call.with_server(server),
            None => call,
        });
    }
}
