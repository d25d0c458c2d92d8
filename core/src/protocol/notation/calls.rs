//! Calls as a dialect writes them.

use crate::dialect::{
    Blocks, Body, DecisionKeys, Dialect, HeadForm, Ids, Inert, Json, JsonLayout, JsonShape,
    MessageHeads, Python, Str, Unmarked,
};

use super::super::canonical::json_string;
use super::super::grammar::opens_itself;
use super::super::stored::ShownCall;
use super::json::{Brackets, Strings, Style};
use super::name::is_plain;
use super::sink::Sink;
use super::{Notation, head, literal, xml};
use crate::json::unescaped;
use crate::text::Text;

/// The server of a call that does not name one, a JSON string.
const LOCAL: &str = "\"local\"";

/// Writes a call with placeholders as its name and its argument.
#[must_use]
pub fn example(notation: &Notation) -> String {
    let [name, args] = ["\"tool_name\"", "{\"argument\": \"value\"}"].map(str::to_owned);
    let mut calls = [ShownCall { name, args, id: None, server: None }];
    give_ids(notation.dialect(), &mut calls, 0);
    let mut sink = Sink::new(notation);
    push_calls(&mut sink, notation.dialect(), &calls, true, None);
    Text::from(sink.out).to_string()
}

/// Adds calls as they are, in their own blocks. Without a `thought` they are what a model writes that says nothing else.
pub fn push_calls(
    sink: &mut Sink<'_>,
    dialect: &Dialect,
    calls: &[ShownCall],
    begins_answer: bool,
    thought: Option<&[u8]>,
) {
    let form = &dialect.calls.layout;
    let body = match (&dialect.heads, dialect.calls.bodies.first()) {
        (Some(heads), _) => return push_messages(sink, dialect, heads, calls),
        (None, Some(body)) => body,
        (None, None) => return,
    };
    let each = form.blocks == Blocks::Each || holds_one(body);
    let size = if each { 1 } else { calls.len().max(1) };
    let may_be_unmarked = match dialect.unmarked {
        Unmarked::Never => false,
        Unmarked::AtStart => begins_answer,
        Unmarked::Anywhere => true,
    };
    let is_marked = !(form.unmarked && may_be_unmarked);
    for (index, block) in calls.chunks(size).enumerate() {
        if index > 0 {
            sink.push(&*form.between);
        }
        push_marked(sink, dialect, body, block, is_marked, thought.filter(|_| index == 0));
    }
}

/// Adds a block of calls and the marks around it.
fn push_marked(
    sink: &mut Sink<'_>,
    dialect: &Dialect,
    body: &Body,
    calls: &[ShownCall],
    is_marked: bool,
    thought: Option<&[u8]>,
) {
    let form = &dialect.calls.layout;
    let is_marked = is_marked && !opens_itself(dialect, body);
    let mark = |marks: &'_ [Str]| marks.first().filter(|_| is_marked).cloned().unwrap_or_default();
    sink.push(&*mark(&dialect.calls.open));
    sink.push(&*form.open);
    push_block(sink, dialect, body, calls, thought);
    sink.push(&*form.close);
    sink.push(&*mark(&dialect.calls.close));
}

/// Whether a body of this form holds exactly one call.
fn holds_one(body: &Body) -> bool {
    matches!(body, Body::Json(Json { shape: JsonShape::Object, .. }) | Body::Xml(_))
}

fn push_block(
    sink: &mut Sink<'_>,
    dialect: &Dialect,
    body: &Body,
    calls: &[ShownCall],
    thought: Option<&[u8]>,
) {
    let form = &dialect.calls.layout;
    match body {
        Body::Json(body) => push_json_block(sink, dialect, body, calls, thought),
        Body::Head(body) => {
            for (index, call) in calls.iter().enumerate() {
                if index > 0 {
                    sink.push(&*form.between);
                }
                head::push_call(sink, dialect, body, call, index + 1);
            }
        }
        Body::Python(Python::List) => {
            sink.push("[");
            for (index, call) in calls.iter().enumerate() {
                sink.push(if index > 0 { ", " } else { "" });
                literal::push_python_call(sink, call);
            }
            sink.push("]");
        }
        Body::Python(Python::Lines) => {
            for (index, call) in calls.iter().enumerate() {
                sink.push(if index > 0 { "\n" } else { "" });
                literal::push_python_call(sink, call);
            }
        }
        Body::Xml(body) => {
            for call in calls {
                xml::push_call(sink, body, call, form);
            }
        }
    }
}

fn push_json_block(
    sink: &mut Sink<'_>,
    dialect: &Dialect,
    body: &Json,
    calls: &[ShownCall],
    thought: Option<&[u8]>,
) {
    let form = &dialect.calls.layout;
    let strings = match (form.ascii, dialect.prompt.inert) {
        (false, _) => sink.strings(),
        (true, Inert::Joined) => Strings::Ascii(Some(sink.marks())),
        (true, Inert::Kept) => Strings::Ascii(None),
    };
    match &body.shape {
        JsonShape::Array => {
            let style = Style { layout: form.json, strings };
            let mut array = Brackets::new(&mut sink.out, style);
            array.open(b'[');
            for call in calls {
                push_object(&mut array, dialect, body, call, thought);
            }
            array.close(b']');
        }
        // `Items` lays out the items of an array, and this is not one.
        JsonShape::Object | JsonShape::Objects(_) => {
            let layout = match form.json {
                JsonLayout::Items(_) => JsonLayout::Compact,
                layout => layout,
            };
            for (index, call) in calls.iter().enumerate() {
                if let (JsonShape::Objects(separator), 1..) = (&body.shape, index) {
                    sink.push(&**separator);
                }
                let mut object = Brackets::new(&mut sink.out, Style { layout, strings });
                push_object(&mut object, dialect, body, call, thought);
            }
        }
    }
}

/// Adds a call as the JSON object that a body holds.
fn push_object(
    out: &mut Brackets<'_, '_>,
    dialect: &Dialect,
    body: &Json,
    call: &ShownCall,
    thought: Option<&[u8]>,
) {
    out.open(b'{');
    if let Some(DecisionKeys { key, call, thought_key, .. }) = &body.decision {
        out.field(thought_key, &json_string(thought.unwrap_or_default()));
        out.field(key, &json_string(call.as_bytes()));
    }
    if let Some(server) = &body.server {
        out.field(server, call.server.as_deref().unwrap_or(LOCAL));
    }
    let id = body.id.as_deref().zip(call.id.as_deref());
    let id_first = dialect.calls.layout.id_first;
    if let Some((key, id)) = id.filter(|_| id_first) {
        out.field(key, id);
    }
    out.field(body.name.first().map_or("name", |key| key), &call.name);
    out.field(body.args.first().map_or("args", |key| key), &call.args);
    if let Some((key, id)) = id.filter(|_| !id_first) {
        out.field(key, id);
    }
    out.close(b'}');
}

/// Adds the object of a model that decides to answer.
pub fn push_answer(
    out: &mut Vec<u8>,
    style: Style<'_>,
    decision: &DecisionKeys,
    thought: &[u8],
    answer: &[u8],
) {
    let DecisionKeys { key, answer_key, thought_key, .. } = decision;
    let mut object = Brackets::new(out, style);
    object.open(b'{');
    object.field(thought_key, &json_string(thought));
    object.field(key, &json_string(decision.answer.as_bytes()));
    object.field(answer_key, &json_string(answer));
    object.close(b'}');
}

/// Adds calls that are each a message, or in a message.
fn push_messages(
    sink: &mut Sink<'_>,
    dialect: &Dialect,
    heads: &MessageHeads,
    calls: &[ShownCall],
) {
    let form = &dialect.calls.layout;
    for (index, call) in calls.iter().enumerate() {
        if index > 0 {
            sink.push(&*form.between);
        }
        let name = unescaped(call.name.as_bytes());
        let mut others = heads.reasoning.iter().chain(&heads.answer);
        let is_sure =
            is_plain(name.as_bytes()) && others.all(|other| other.as_bytes() != name.as_bytes());
        let mut parts = form.message.before.split("{name}");
        sink.push(parts.next().unwrap_or_default());
        for part in parts {
            sink.push_name(name.as_bytes(), is_sure);
            sink.push(part);
        }
        match dialect.calls.bodies.first() {
            Some(Body::Head(head)) if heads.names_call => {
                sink.begin_call();
                head::push_arguments(sink, dialect, head, call);
            }
            Some(body) => push_marked(sink, dialect, body, std::slice::from_ref(call), true, None),
            None => {}
        }
        sink.push(&*form.message.behind);
    }
}

/// Gives an id to each call that lacks one, if the dialect needs ids. `first` is the number of the first of these calls in the
/// conversation.
pub fn give_ids(dialect: &Dialect, calls: &mut [ShownCall], first: usize) {
    let is_numbered = matches!(
        dialect.calls.bodies.first(),
        Some(Body::Head(head)) if head.form == HeadForm::Numbered
    );
    for (number, call) in (first..).zip(calls) {
        if is_numbered {
            if !is_numbered_id(call) {
                call.id =
                    Some(format!("\"functions.{}:{number}\"", &call.name[1..call.name.len() - 1]));
            }
        } else if let Ids::Count(digits) = dialect.calls.layout.ids
            && call.id.is_none()
        {
            call.id = Some(format!("\"{number:0digits$}\""));
        }
    }
}

/// Whether the id of a call is its name with a number after it.
fn is_numbered_id(call: &ShownCall) -> bool {
    let id = call.id.as_deref().unwrap_or_default();
    let id = id.strip_prefix("\"functions.").unwrap_or_default();
    let number = id.strip_prefix(&call.name[1..call.name.len() - 1]).unwrap_or_default();
    let number = number.strip_prefix(':').and_then(|number| number.strip_suffix('"'));
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}
