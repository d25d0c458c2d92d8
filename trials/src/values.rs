//! Raw values: their types, what is shown of one while it arrives, and where one ends whose marks are damaged. Plain code that both
//! designs have; only [`OpenValue`] lives on between chunks.

use cogency_rs::dialect::{Parameters, Untyped};
use cogency_rs::json::Container;
use cogency_rs::protocol::body::fields::OTHER_ARGS;
use cogency_rs::protocol::body::found::{expected, unexpected};
use cogency_rs::protocol::body::raw::RawText;
use cogency_rs::protocol::body::value::unclosed::{ends_perhaps, first_word, without_last};
use cogency_rs::protocol::body::value::{ValueMarks, has_parts, trimmed};
use cogency_rs::protocol::body::{Calls, Early, Forms};
use cogency_rs::protocol::canonical::{Writer, json_string};
use cogency_rs::protocol::problem::ProblemKind;
use cogency_rs::protocol::tools::{JsonReader, Types, typed, typed_unless_text};
use cogency_rs::protocol::{Strictness, Tools};
use cogency_rs::text::{leading_space, trim};

/// The arguments that are complete.
#[derive(Clone, Debug)]
pub struct Args {
    count: usize,
    pub writer: Writer,
    /// The only one, where it is an object that holds all arguments.
    only: Option<String>,
}

/// A value that is being read.
#[derive(Clone, Debug)]
pub struct OpenValue {
    pub key: String,
    pub start: usize,
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
    /// It begins here, and is JSON, unless that breaks.
    Json(usize, Box<JsonReader>),
}

fn depth_left(calls: &Calls) -> usize {
    calls.scope.limits.max_depth.saturating_sub(1)
}

fn types(tools: Option<&Tools>, tool: &str, key: &str) -> Types {
    let schema = tools.and_then(|tools| tools.schema(tool)?.property(key));
    schema.map(cogency_rs::protocol::tools::Schema::types).unwrap_or_default()
}

impl OpenValue {
    pub fn new(key: String, start: usize) -> Self {
        Self { key, start, shown: Shown::Unknown }
    }

    /// Writes what is sure of the value, of which `text` holds all that is known.
    pub fn show(
        &mut self,
        forms: Forms<'_>,
        tool: &str,
        text: &[u8],
        calls: &mut Calls,
        args: &mut Args,
    ) {
        if !calls.shows() {
            return;
        }
        let writer = &mut args.writer;
        if let Shown::Unknown = self.shown {
            let first = self.start + leading_space(&text[self.start..]);
            let types = types(calls.scope.tools.as_deref(), tool, &self.key);
            let may_be_all = args.count == 0 && OTHER_ARGS.contains(&&*self.key);
            self.shown = match (has_parts(types), text.get(first)) {
                _ if types == Types::STRING || (types.is_empty() && !may_be_all) => {
                    Shown::Text(RawText::new(self.start), None)
                }
                (true, None) => Shown::Unknown,
                (true, Some(b'[' | b'{')) => {
                    Shown::Json(first, Box::new(JsonReader::new(depth_left(calls))))
                }
                _ => Shown::Not,
            };
            if let Shown::Text(..) | Shown::Json(..) = self.shown {
                writer.raw_key(&json_string(self.key.as_bytes()));
            }
        }
        match &mut self.shown {
            Shown::Text(raw, opened) => {
                let perhaps = || ends_perhaps(forms, text, raw.looked(), calls);
                let end = match opened.map_or_else(perhaps, Ok) {
                    Ok(at) => *opened.insert(at),
                    Err(sure) => sure,
                };
                raw.write(forms.parameters.trim, &text[..end], writer);
            }
            Shown::Json(from, reader) => {
                reader.read(&text[*from..], true);
                if let Some(new) = reader.settled().get(writer.parts()..) {
                    writer.raw_part(new);
                }
            }
            _ => {}
        }
        args.said(calls);
    }
}

impl Args {
    pub fn new() -> Self {
        let mut writer = Writer::new(0);
        writer.open(Container::Object);
        Self { count: 0, writer, only: None }
    }

    /// Adds a value, which ends where `text` does.
    pub fn add(
        &mut self,
        value: OpenValue,
        form: &Parameters,
        tool: &str,
        text: &[u8],
        calls: &mut Calls,
    ) {
        let (raw, key) = (trimmed(&text[value.start..], form.trim), &*value.key);
        self.only = (self.count == 0).then(|| all_args(key, raw, tool, calls)).flatten();
        self.count += 1;
        let tools = calls.scope.tools.clone();
        let types = types(tools.as_deref(), tool, key);
        let schema = tools.as_deref().and_then(|tools| tools.schema(tool)?.property(key));
        let schema = schema.filter(|_| !types.is_empty());
        let has_brackets = matches!(trim(raw).first(), Some(b'{' | b'['));
        let mut repeated = None;
        if calls.scope.refuses_repeated && has_brackets && types != Types::STRING {
            let mut json = JsonReader::new(depth_left(calls));
            json.read(trim(raw), false);
            repeated = json.repeated().map(str::to_owned);
        }
        let json = JsonReader::new(depth_left(calls));
        let json = typed_unless_text(raw, schema, form.untyped, json);
        if let (Some(key), Some(_)) = (repeated, &json) {
            calls.refuse(ProblemKind::RepeatedKey(key), value.start);
        }
        // The beginning of a value that must be an object or an array is shown while it is JSON.
        let is_other = json.is_none() && has_brackets && has_parts(types);
        if calls.scope.early == Early::Exact && is_other {
            calls.refuse(expected("a JSON value", "other text".into()), value.start);
        }
        let json = json.unwrap_or_else(|| json_string(raw));
        if let Shown::Unknown | Shown::Not = value.shown {
            self.writer.raw_key(&json_string(key.as_bytes()));
        }
        self.writer.end_parts(&json);
        self.said(calls);
    }

    /// The first parameter begins.
    pub fn begin(&self, calls: &mut Calls) {
        if self.count == 0 {
            calls.begin_args();
            self.said(calls);
        }
    }

    fn said(&self, calls: &mut Calls) {
        if self.only.is_none() {
            calls.wrote(&self.writer);
        }
    }

    /// All of them, a canonical JSON object.
    pub fn take(mut self) -> String {
        self.only.unwrap_or_else(|| {
            self.writer.close();
            self.writer.finish()
        })
    }
}

/// The value itself, if it is an object that holds all arguments: the tool does not have a parameter of this key, but has one for each
/// key of the object.
fn all_args(key: &str, raw: &[u8], tool: &str, calls: &Calls) -> Option<String> {
    let tools = calls.scope.tools.as_deref().filter(|_| OTHER_ARGS.contains(&key))?;
    let schema = tools.schema(tool).filter(|schema| schema.property(key).is_none())?;
    let object = typed(raw, None, Untyped::Json, depth_left(calls));
    let members: serde_json::Map<_, _> = serde_json::from_str(&object).ok()?;
    let are_args = !members.is_empty() && members.keys().all(|key| schema.declared(key).is_some());
    are_args.then_some(object)
}

/// The call that a value is in.
#[derive(Clone, Copy)]
pub struct Within<'a> {
    pub forms: Forms<'a>,
    pub tool: &'a str,
    pub key: &'a str,
    pub start: usize,
}

impl<'a> Within<'a> {
    fn marks<'m>(&self, calls: &'m Calls) -> ValueMarks<'m>
    where
        'a: 'm,
    {
        ValueMarks {
            forms: self.forms,
            close: &self.forms.parameters.close,
            followers: &calls.followers,
        }
    }

    /// The end of the value that is closed by the mark at `end`, and where what comes next begins: perhaps that is a parameter that was
    /// opened inside it, whose value lacks its own mark.
    pub fn end(self, text: &[u8], end: usize, calls: &mut Calls) -> (usize, usize) {
        let (form, tools) = (self.forms.parameters, calls.scope.tools.clone());
        let schema = tools.as_deref().and_then(|tools| tools.schema(self.tool));
        let unclosed = self.marks(calls).unclosed(&text[self.start..end], self.key, schema);
        let is_known = schema.is_some() || calls.scope.strictness == Strictness::Lenient;
        match unclosed.map(|found| (found.runs_over, self.start + found.at)) {
            // Either the value holds a call or its own mark is missing: of these two readings neither is run.
            Some((true, at)) => {
                let problem = unexpected(&[&form.close], text, at);
                calls.refuse(problem.kind, problem.at);
            }
            Some((false, at)) if is_known => return (at, at),
            _ => {}
        }
        if let Some(at) = self.doubled(&text[..end]) {
            let problem = unexpected(&[&form.open], text, at);
            calls.refuse(problem.kind, problem.at);
        }
        (end, end + form.close.len())
    }

    /// Where the value's own mark is that a value ends with: it is part of it, or it is there twice.
    fn doubled(self, text: &[u8]) -> Option<usize> {
        let (form, value) = (self.forms.parameters, &text[self.start..]);
        let end = self.start + leading_space(value) + trim(value).len();
        let at = text[..end].ends_with(form.close.as_bytes()).then(|| end - form.close.len())?;
        let count = |mark: &str| memchr::memmem::find_iter(value, mark).count();
        (count(first_word(&form.open)) < count(&form.close)).then_some(at)
    }

    /// Whether all up to `end`, where its mark is, may be the value of a call that is cut off behind it.
    pub fn is_whole(self, text: &[u8], end: usize, calls: &Calls) -> bool {
        let schema = calls.scope.tools.as_deref().and_then(|tools| tools.schema(self.tool));
        let value = &text[self.start..end];
        self.marks(calls).unclosed(value, self.key, schema).is_none()
            && self.doubled(&text[..end]).is_none()
    }

    /// In a text that ends without the mark that closes the value: where the next parameter begins, if that is one of the tool's.
    pub fn next(self, text: &[u8], calls: &Calls) -> Option<usize> {
        if calls.scope.strictness == Strictness::Strict {
            return None;
        }
        let schema = calls.scope.tools.as_deref()?.schema(self.tool)?;
        let found = self.marks(calls).unclosed(&text[self.start..], self.key, Some(schema))?;
        (!found.runs_over).then_some(self.start + found.at)
    }

    /// Likewise: where the marks that close the call begin, if the text ends with these.
    pub fn end_of_call(self, text: &[u8], calls: &Calls) -> Option<usize> {
        if calls.scope.strictness == Strictness::Strict {
            return None;
        }
        let (form, value) = (self.forms.parameters, &text[self.start..]);
        let call = without_last(value, &calls.followers);
        let before = without_last(call, self.forms.ends);
        let count = |mark: &str| memchr::memmem::find_iter(before, mark).count();
        let schema = calls.scope.tools.as_deref().and_then(|tools| tools.schema(self.tool));
        let marks = self.marks(calls);
        let is_one = before.len() < call.len()
            && count(&form.close) <= count(first_word(&form.open))
            && marks.unclosed(before, self.key, schema).is_none()
            && !marks.has_calls(before);
        is_one.then_some(self.start + before.len())
    }
}

/// The forms of a call with parameters, and whether it is read leniently.
pub fn forms(head: &cogency_rs::dialect::Head) -> Forms<'_> {
    let cogency_rs::dialect::Args::Parameters(parameters) = &head.args else { unreachable!() };
    Forms { parameters, ends: std::slice::from_ref(&head.close), call: &head.open }
}

pub fn head_of(dialect: &cogency_rs::dialect::Dialect, body: usize) -> &cogency_rs::dialect::Head {
    match &dialect.calls.bodies[body] {
        cogency_rs::dialect::Body::Head(head) => head,
        _ => unreachable!(),
    }
}
