//! The arguments of one call as elements, while they arrive.

use memchr::memmem::find;

use super::super::super::canonical::{Writer, json_string};
use super::super::super::limits::MAX_ELEMENTS;
use super::super::super::problem::{Problem, ProblemKind};
use super::super::super::tools::{Schema, SchemaPlace, Tools, Types};
use super::super::Calls;
use super::super::found::{character, expected, problem};
use super::string::{Comments, SECTION_END, StringReader, decoded, whole_entities};
use super::tag::{Lexed, Markup, SECTIONS, TagReader, next_mark, shown};
use super::value::{Arguments, Content, Element, content, part};
use crate::dialect::Xml;
use crate::json::Container;
use crate::text::{is_blank, leading_space};

/// Reads arguments up to the closing tag of what is around them.
///
/// # Complexity
/// O(text), however it is cut.
#[derive(Clone, Debug)]
pub struct XmlArgs {
    /// The first holds all others.
    elements: Vec<Element>,
    open: Vec<OpenElement>,
    /// How many stretches of text the elements have.
    texts: usize,
    state: State,
    has_begun: bool,
    json: String,
    shown: ShownArgs,
}

/// What was written of arguments that are not complete, for callers that see them before.
#[derive(Clone, Debug, Default)]
struct ShownArgs {
    writer: Writer,
    /// The last of them that was written whole.
    last: Option<usize>,
    /// The argument that is open, of whose text so much was written.
    open: Option<(usize, usize)>,
    /// Whether that ends in an open section of CDATA.
    in_section: bool,
    /// Whether no more can be written before the end of all: an element may yet become one of several.
    is_held: bool,
}

/// An element that is open.
#[derive(Clone, Debug)]
struct OpenElement {
    element: usize,
    /// The last element in it.
    last: Option<usize>,
    /// What the tool's schema says of it; not used of the first, which is all arguments.
    described: Option<SchemaPlace>,
}

#[derive(Clone, Debug)]
enum State {
    /// Between tags: the text from the first byte on has no tag up to the second.
    Text(usize, usize),
    /// At what may be a tag, after text that begins at this byte.
    Tag(usize, TagReader),
    /// At the beginning of an element that may be a string or have elements in it.
    Either(TagReader),
    String(StringReader),
    /// All have been read, up to this byte.
    Done(usize),
}

impl XmlArgs {
    /// A reader of the arguments that begin at byte `start`.
    #[must_use]
    pub fn new(start: usize) -> Self {
        let root = Element { content: start..start, ..Element::default() };
        let level = OpenElement { element: 0, last: None, described: None };
        let state = State::Text(start, start);
        let (elements, open) = (vec![root], vec![level]);
        let (json, shown) = (String::new(), ShownArgs::default());
        Self { elements, open, texts: 0, state, has_begun: false, json, shown }
    }

    /// Reads on; gives the first byte of the closing tag that closes none of them. `tool` is the call's name, a canonical
    /// JSON string: its schema says of what types they are.
    ///
    /// # Errors
    /// A closing tag closes nothing, or elements are nested too deep: their end cannot be known.
    pub fn read(
        &mut self,
        form: &Xml,
        tool: &str,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<Option<usize>, Problem> {
        if !std::mem::replace(&mut self.has_begun, true) {
            calls.begin_args();
        }
        let end = self.scan(form, tool, text, calls)?;
        match end {
            None => self.show(form, tool, text, calls),
            Some(_) => {
                self.json = self.json(form, tool, text, calls);
            }
        }
        Ok(end)
    }

    /// The arguments, a canonical JSON object, once all have been read.
    #[must_use]
    pub fn take(self) -> String {
        self.json
    }

    /// The text ends here, before what is around the arguments: those that are complete, if nothing of one is missing.
    /// Whether further ones may be missing is for the caller to know.
    ///
    /// # Errors
    /// An argument is not complete.
    pub fn cut_off(
        &mut self,
        form: &Xml,
        tool: &str,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<String, Problem> {
        if let (State::String(reader), [_, _]) = (&self.state, &self.open[..])
            && let Some(tag) = reader.last(text)
        {
            self.close_element(tag.start, tag.end);
        }
        let rest = match &self.state {
            State::Text(from, _) | State::Tag(from, _) => &text[*from..],
            _ => b"?",
        };
        let rest = &rest[leading_space(rest)..];
        let is_closing =
            rest.strip_prefix(form.prefix.as_bytes()).is_some_and(|tag| tag.starts_with(b"</"));
        if self.open.len() == 1 && (rest.is_empty() || is_closing) {
            return Ok(self.json(form, tool, text, calls));
        }
        Err(self.missing(form, text))
    }

    /// As [`XmlArgs::read`], without a value yet: the tool may become known later.
    pub(super) fn scan(
        &mut self,
        form: &Xml,
        tool: &str,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<Option<usize>, Problem> {
        loop {
            match &mut self.state {
                State::Text(from, at) => match next_mark(form, text, *at) {
                    Ok(found) => self.state = State::Tag(*from, TagReader::new(found)),
                    Err(end) => {
                        *at = end;
                        return Ok(None);
                    }
                },
                State::Tag(from, tag) => {
                    let (from, start) = (*from, tag.start);
                    match tag.read(form, text) {
                        Lexed::Unknown => return Ok(None),
                        Lexed::Text => self.state = State::Text(from, start + 1),
                        Lexed::Markup(markup, end) => {
                            self.text(text, from, start, calls);
                            self.state = State::Text(end, end);
                            let tools = calls.scope.tools.clone();
                            let root =
                                tools.as_deref().and_then(|tools: &Tools| tools.schema(tool));
                            self.markup(form, root, text, start, (markup, end), calls)?;
                        }
                    }
                }
                State::Either(tag) => {
                    let space = leading_space(&text[tag.start..]);
                    if space > 0 {
                        *tag = TagReader::new(tag.start + space);
                    }
                    let start = tag.start;
                    match tag.read(form, text) {
                        Lexed::Unknown => return Ok(None),
                        Lexed::Markup(Markup::Open(_) | Markup::Empty(_), _) => {
                            self.state = State::Tag(start, TagReader::new(start));
                        }
                        // It was opened and never closed.
                        Lexed::Markup(Markup::Close(name), _)
                            if text[name.clone()] != *self.key(text) =>
                        {
                            self.state = State::Tag(start, TagReader::new(start));
                        }
                        _ => self.state = self.string(),
                    }
                }
                State::String(reader) => {
                    let around = match &self.open[..] {
                        [_, _] => form.parts.as_ref().map(|parts| parts.args.as_bytes()),
                        [.., around, _] => Some(&text[self.elements[around.element].key.clone()]),
                        _ => None,
                    };
                    match reader.read(form, around, text) {
                        Some(tag) => self.close_element(tag.start, tag.end),
                        None => return Ok(None),
                    }
                }
                State::Done(end) => return Ok(Some(*end)),
            }
        }
    }

    /// The value of what has been read, a canonical JSON object.
    pub(super) fn json(&self, form: &Xml, tool: &str, text: &[u8], calls: &mut Calls) -> String {
        let tools = calls.scope.tools.clone();
        let schema = tools.as_deref().and_then(|tools: &Tools| tools.schema(tool));
        let max_depth = calls.scope.limits.max_depth;
        let all = Arguments { form, text, elements: &self.elements, max_depth };
        calls.check_keys(&self.shown.writer, self.elements[0].content.start);
        if calls.scope.refuses_repeated
            && let Some(key) = schema.and_then(|schema| all.repeated(schema))
        {
            let at = self.elements[0].content.start;
            calls.refuse(ProblemKind::RepeatedKey(json_string(key)), at);
        }
        let json = all.json(schema);
        json.unwrap_or_else(|| {
            calls.refuse(ProblemKind::TooDeep(max_depth), self.elements[0].content.start);
            "{}".into()
        })
    }

    /// Writes the arguments that are complete and of one element each, in their order, and what is known of the next, if it is a
    /// string.
    pub(super) fn show(&mut self, form: &Xml, tool: &str, text: &[u8], calls: &mut Calls) {
        let tools = calls.scope.tools.clone();
        let schema = tools.as_deref().and_then(|tools: &Tools| tools.schema(tool));
        let (Some(schema), true) = (schema, calls.shows() && !self.shown.is_held) else { return };
        if self.shown.writer.settled().is_empty() {
            self.shown.writer.open(Container::Object);
        }
        let max_depth = calls.scope.limits.max_depth;
        loop {
            let next = match self.shown.last {
                None => self.elements[0].first,
                Some(last) => self.elements[last].next,
            };
            let Some(at) = next else { break };
            let described = part(schema, &text[self.elements[at].key.clone()]);
            let types = described.map(Schema::types).unwrap_or_default();
            let key = json_string(&text[self.elements[at].key.clone()]);
            if types.is_empty() || types.has(Types::ARRAY) {
                self.shown.is_held = true;
                break;
            }
            let is_open = self.open.get(1).is_some_and(|open| open.element == at);
            let started = self.shown.open.filter(|(open, _)| *open == at).map(|(_, from)| from);
            if is_open {
                let State::String(reader) = &self.state else { break };
                if types != Types::STRING || self.open.len() != 2 {
                    break;
                }
                if started.is_none() {
                    self.shown.writer.raw_key(&key);
                }
                let mut from = started.unwrap_or(self.elements[at].content.start);
                let mut said = Vec::new();
                if std::mem::take(&mut self.shown.in_section)
                    && let Some(end) = find(&text[from..], SECTION_END)
                {
                    said.extend_from_slice(&text[from..from + end]);
                    from += end + SECTION_END.len();
                }
                let end = from.max(whole_entities(form, text, from, reader.position()));
                said.extend_from_slice(&decoded(form, &text[from..end], Comments::Kept));
                from = end;
                if let Some(inside) = reader.section() {
                    from = from.max(inside);
                    let open = text[from..].strip_suffix(b"]]").or(text[from..].strip_suffix(b"]"));
                    let open = open.unwrap_or(&text[from..]);
                    said.extend_from_slice(open);
                    from += open.len();
                    self.shown.in_section = true;
                }
                self.shown.writer.text_part(&said);
                self.shown.open = Some((at, from));
                break;
            }
            let all = Arguments { form, text, elements: &self.elements, max_depth };
            let Some(value) = all.value_of(at, described) else { break };
            if started.is_none() {
                self.shown.writer.raw_key(&key);
            }
            self.shown.writer.end_parts(&value);
            self.shown.last = Some(at);
            self.shown.in_section = false;
        }
        calls.wrote(&self.shown.writer);
    }

    /// What is missing where the text ends in an argument, or before what closes all of them.
    pub(super) fn missing(&self, form: &Xml, text: &[u8]) -> Problem {
        let missing = |what| Problem { kind: ProblemKind::Missing(what), at: text.len() };
        let closing = |open: &[OpenElement]| match open {
            [_, .., level] => shown("</", &text[self.elements[level.element].key.clone()]),
            _ => form.parts.as_ref().map_or("the end of the arguments".into(), |parts| {
                shown("</", parts.args.as_bytes())
            }),
        };
        match &self.state {
            State::String(reader) if reader.is_in_cdata() => missing("\"]]>\"".into()),
            State::String(reader) if reader.last(text).is_some() => {
                missing(closing(&self.open[..self.open.len() - 1]))
            }
            State::String(_) => match self.stray(form, text) {
                Some((found, at)) => {
                    let expected = closing(&self.open);
                    Problem { kind: ProblemKind::Unclosed { expected, found }, at }
                }
                None => missing(closing(&self.open)),
            },
            _ => missing(closing(&self.open)),
        }
    }

    /// The closing tag in an open string that was probably meant to close it: what is around it is closed after that.
    fn stray(&self, form: &Xml, text: &[u8]) -> Option<(std::borrow::Cow<'static, str>, usize)> {
        let (inner, around) = self.open.split_last()?;
        let closes_around = |name: &[u8]| {
            let args = form.parts.as_ref().map(|parts| parts.args.as_bytes());
            let mut keys =
                around[1..].iter().map(|level| &text[self.elements[level.element].key.clone()]);
            args == Some(name) || keys.any(|key| key == name)
        };
        let mut first = None;
        let mut open = Vec::new();
        let mut at = self.elements[inner.element].content.start;
        // What is searched for its end in vain once, need not be again.
        let mut may_end = [true; SECTIONS.len()];
        while let Ok(start) = next_mark(form, text, at) {
            at = start + 1;
            let inside = &text[start + form.prefix.len()..];
            let section =
                SECTIONS.iter().position(|open| form.entities && inside.starts_with(open));
            if section.is_some_and(|section| !may_end[section]) {
                continue;
            }
            let (markup, end) = match (TagReader::new(start).read(form, text), section) {
                (Lexed::Markup(markup, end), _) => (markup, end),
                (Lexed::Unknown, Some(section)) => {
                    may_end[section] = false;
                    continue;
                }
                // A marked name goes on to the next `>`, and there is none.
                (Lexed::Unknown, None) if !form.prefix.is_empty() => break,
                (Lexed::Unknown | Lexed::Text, _) => continue,
            };
            at = end;
            match markup {
                Markup::Open(name) => open.push(name),
                Markup::Close(name) => {
                    let is_paired =
                        open.last().is_some_and(|last| text[last.clone()] == text[name.clone()]);
                    if is_paired {
                        open.pop();
                        continue;
                    }
                    let name = &text[name];
                    let stray = first.get_or_insert_with(|| (shown("</", name), start));
                    if closes_around(name) {
                        return Some(stray.clone());
                    }
                }
                _ => {}
            }
        }
        None
    }

    fn key<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        let level = self.open.last().map_or(0, |level| level.element);
        &text[self.elements[level].key.clone()]
    }

    /// There is text directly in the innermost element.
    fn text(&mut self, text: &[u8], from: usize, to: usize, calls: &mut Calls) {
        if is_blank(&text[from..to]) {
            return;
        }
        if let [_] = self.open[..] {
            let at = from + leading_space(&text[from..to]);
            calls.refuse(expected("an argument", character(text, at)), at);
        }
        self.texts += 1;
        self.innermost().texts.push(from..to);
    }

    fn innermost(&mut self) -> &mut Element {
        let at = self.open.last().map_or(0, |level| level.element);
        &mut self.elements[at]
    }

    /// The text of the innermost element is a string.
    fn string(&mut self) -> State {
        let element = self.innermost();
        element.is_string = true;
        State::String(StringReader::new(element.key.clone(), element.content.start))
    }

    fn markup(
        &mut self,
        form: &Xml,
        root: Option<Schema<'_>>,
        text: &[u8],
        start: usize,
        (markup, end): (Markup, usize),
        calls: &mut Calls,
    ) -> Result<(), Problem> {
        if !matches!(markup, Markup::Close(_)) && self.elements.len() + self.texts > MAX_ELEMENTS {
            let kind = ProblemKind::TooManyElements(MAX_ELEMENTS);
            return Err(Problem { kind, at: start });
        }
        match markup {
            Markup::Comment => {}
            Markup::Cdata => {
                self.text(text, start, end, calls);
                self.innermost().has_cdata = true;
            }
            Markup::Open(name) => {
                let max_depth = calls.scope.limits.max_depth;
                if self.open.len() > max_depth {
                    return Err(Problem { kind: ProblemKind::TooDeep(max_depth), at: start });
                }
                let schema = self.schema(root).and_then(|schema| part(schema, &text[name.clone()]));
                let element =
                    self.add(Element { key: name, content: end..end, ..Element::default() });
                let described = schema.map(Schema::place);
                self.open.push(OpenElement { element, last: None, described });
                match content(schema) {
                    Content::String => self.state = self.string(),
                    Content::Either => self.state = State::Either(TagReader::new(end)),
                    Content::Elements => {}
                }
            }
            Markup::Empty(key) => {
                self.add(Element { key, content: end..end, ..Element::default() });
            }
            Markup::Close(name) => {
                let name = &text[name];
                let around = form.parts.as_ref().map(|parts| parts.args.as_bytes());
                let is_outside = self.open.len() == 1;
                let key = if is_outside { around.unwrap_or(name) } else { self.key(text) };
                if name != key {
                    return Err(problem(shown("</", key), shown("</", name), start));
                }
                if is_outside {
                    self.state = State::Done(start);
                } else {
                    self.close_element(start, end);
                }
            }
        }
        Ok(())
    }

    /// The innermost element is closed by the tag between these bytes.
    fn close_element(&mut self, start: usize, end: usize) {
        let has_cdata = matches!(&self.state, State::String(reader) if reader.has_cdata());
        let element = self.innermost();
        element.content.end = start;
        element.has_cdata |= has_cdata;
        self.open.pop();
        self.state = State::Text(end, end);
    }

    fn add(&mut self, element: Element) -> usize {
        let at = self.elements.len();
        self.elements.push(element);
        if let Some(level) = self.open.last_mut() {
            match level.last.replace(at) {
                Some(last) => self.elements[last].next = Some(at),
                None => self.elements[level.element].first = Some(at),
            }
        }
        at
    }

    /// The schema of the innermost element.
    fn schema<'s>(&self, root: Option<Schema<'s>>) -> Option<Schema<'s>> {
        match &self.open[..] {
            [] => None,
            [_] => root,
            [.., innermost] => Some(root?.at(innermost.described?)),
        }
    }
}
