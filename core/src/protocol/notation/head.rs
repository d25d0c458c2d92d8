//! Calls with a name in a head, and parameters with a mark around each.

use crate::dialect::{Args, CallsForm, Dialect, Flag, Head, HeadForm, Parameters, Trim, Untyped};

use super::super::canonical::json_string;
use super::super::stored::ShownCall;
use super::json::members;
use super::name::is_plain;
use super::sink::Sink;
use super::{literal, xml};
use crate::json::{Scanner, unescaped};
use crate::text::trim;

/// Adds `open NAME ends ARGS close` of the call with this number in its block.
pub fn push_call(
    sink: &mut Sink<'_>,
    dialect: &Dialect,
    head: &Head,
    call: &ShownCall,
    number: usize,
) {
    let form = &dialect.calls.layout;
    sink.begin_call();
    sink.push(&*head.open);
    sink.push(&*form.name.before);
    push_head(sink, head, call);
    if !form.number.is_empty() {
        sink.push(format!(" {}=\"{number}\"", form.number));
    }
    sink.push(&*form.name.behind);
    push_end_of_head(sink, head);
    sink.push(&*form.head);
    push_arguments(sink, dialect, head, call);
    sink.push(&*head.close);
}

/// Adds the arguments of a call.
pub fn push_arguments(sink: &mut Sink<'_>, dialect: &Dialect, head: &Head, call: &ShownCall) {
    let form = &dialect.calls.layout;
    match &head.args {
        Args::Json | Args::Text(_) => sink.push_json(&call.args),
        Args::Braces(mark) => literal::push_braces(sink, &call.args, mark),
        Args::Xml(xml) => xml::push_arguments(sink, xml, &call.args, form),
        Args::Parameters(parameters) => {
            push_parameters(sink, parameters, &call.args, form);
        }
    }
    sink.push(&*form.tail);
}

fn push_head(sink: &mut Sink<'_>, head: &Head, call: &ShownCall) {
    let push = |sink: &mut Sink<'_>, json: &str| {
        let text = unescaped(json.as_bytes());
        sink.push_name(text.as_bytes(), is_plain(text.as_bytes()));
    };
    match (&head.form, &call.id) {
        (HeadForm::Numbered, Some(id)) => {
            let id = unescaped(id.as_bytes());
            let is_sure = id.as_bytes().split(|byte| *byte == b':').all(is_plain);
            sink.push_name(id.as_bytes(), is_sure);
        }
        (HeadForm::Id(mark), Some(id)) => {
            push(sink, &call.name);
            sink.push(&**mark);
            push(sink, id);
        }
        (HeadForm::Attributes(key), _) => {
            let name = unescaped(call.name.as_bytes());
            sink.push(if head.open.ends_with(' ') { "" } else { " " });
            sink.push(format!("{key}=\""));
            sink.push_name(&in_attribute(name.as_bytes()), is_plain(name.as_bytes()));
            sink.push("\"");
        }
        (HeadForm::Behind(mark), _) => {
            sink.push(&**mark);
            push(sink, &call.name);
        }
        (HeadForm::Name | HeadForm::Numbered | HeadForm::Id(_), _) => push(sink, &call.name),
    }
}

/// A name as the value of an attribute.
fn in_attribute(name: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(name.len());
    for &byte in name {
        match byte {
            b'"' => escaped.extend_from_slice(b"&quot;"),
            b'&' => escaped.extend_from_slice(b"&amp;"),
            b'<' => escaped.extend_from_slice(b"&lt;"),
            byte => escaped.push(byte),
        }
    }
    escaped
}

/// Adds the mark that ends a head, unless the mark that begins the arguments does so.
fn push_end_of_head(sink: &mut Sink<'_>, head: &Head) {
    let Some(end) = head.ends.first() else { return };
    if end != head.args.begin() {
        sink.push(&**end);
    }
}

fn push_parameters(sink: &mut Sink<'_>, form: &Parameters, args: &str, layout: &CallsForm) {
    let around = form.around.as_ref();
    if let Some(around) = around {
        sink.push(&*around.open);
        sink.push(&*layout.parameter);
    }
    for (key, value) in members(args) {
        let key = unescaped(key.as_bytes());
        let key = key.as_bytes();
        sink.push(&*form.open);
        if form.entities {
            sink.push_name(&in_attribute(key), is_plain(key));
        } else {
            sink.push_name(key, is_plain(key));
        }
        sink.push(&*form.key_end);
        push_parameter(sink, form, key, value, layout);
        sink.push(&*layout.parameter);
    }
    sink.push(around.map_or("", |around| &around.close));
}

/// Adds the value of a key, and the marks around the value.
fn push_parameter(
    sink: &mut Sink<'_>,
    form: &Parameters,
    key: &[u8],
    value: &str,
    layout: &CallsForm,
) {
    let is_text = value.starts_with('"');
    if let Some(Flag { name, text, json }) = &form.flag {
        let flag = match (is_text, &**json) {
            (true, _) => text,
            (false, "") => type_of(value),
            (false, json) => json,
        };
        sink.push(format!(" {name}=\"{flag}\""));
    }
    if !form.value_open.is_empty() {
        sink.push(&*layout.key);
        sink.push(&*form.value_open);
    }
    let is_on_lines = form.trim == Trim::Newline;
    sink.push(if is_on_lines { "\n" } else { "" });
    // The reader looks for the key as it is in the opening mark.
    let close = form.close.replace("{key}", &String::from_utf8_lossy(&sink.marks().inert(key)));
    if is_text {
        push_text(sink, form, unescaped(value.as_bytes()).as_bytes(), &close);
    } else {
        push_scalar(sink, value);
    }
    let ends_in_return = is_text && value.ends_with("\\r\"");
    sink.push(match (is_on_lines, ends_in_return) {
        (false, _) => "",
        // The reader takes off a whole line break, `\r\n` or `\n`: it must not take the value's own `\r`.
        (true, true) => "\r\n",
        (true, false) => "\n",
    });
    sink.push(close);
}

fn push_text(sink: &mut Sink<'_>, form: &Parameters, text: &[u8], close: &str) {
    let has_key = form.close.contains("{key}");
    let holds_close = has_key && memchr::memmem::find(text, close.as_bytes()).is_some();
    let is_trimmed = form.trim == Trim::Space && trim(text).len() < text.len();
    let is_sure = !holds_close && !is_trimmed && sink.shows_inert(text);
    // A reader that tries JSON first would read text that looks like JSON as a value: such text is written as a JSON string.
    if form.untyped == Untyped::Json && (!is_sure || is_json(text)) {
        return sink.push_json(&json_string(text));
    }
    sink.push_raw(text, is_sure, close);
}

/// Adds a value that is not text. `Infinity` is a number only in Python's JSON: here it would be read as text.
fn push_scalar(sink: &mut Sink<'_>, json: &str) {
    match json {
        "Infinity" => sink.push("1e999"),
        "-Infinity" => sink.push("-1e999"),
        json => sink.push_json(json),
    }
}

/// Whether the whole text is one JSON value.
fn is_json(text: &[u8]) -> bool {
    Scanner::default().rest(trim(text), |_, _| Some(())).is_some()
}

/// The name of the JSON type of a value that is not text.
fn type_of(json: &str) -> &'static str {
    match json.as_bytes().first() {
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b't' | b'f') => "boolean",
        Some(b'n') => "null",
        _ => "number",
    }
}
