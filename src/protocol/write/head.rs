//! Calls with the name in a head, and arguments each between marks of its own.

use std::borrow::Cow;
use std::slice::from_ref;

use crate::dialect::{
    Args, CallsForm, Dialect, Flag, Head, HeadForm, JsonLayout, Parameters, Str, Trim,
};

use super::super::body::{Forms, ValueMarks};
use super::super::json::unescaped;
use super::super::text::{leading_space, trim};
use super::json::{Strings, Style, members, push_json};
use super::literal::overlaps;
use super::sink::Sink;
use super::{ShownCall, literal, xml};

/// Heads and keys that are longer are not read.
const LONGEST: usize = 2048;

/// Adds `open NAME ends ARGS close`.
pub fn push_call(sink: &mut Sink<'_>, dialect: &Dialect, head: &Head, call: &ShownCall) {
    let form = &dialect.prompt.calls;
    sink.push(&*head.open);
    sink.push(&*form.name.before);
    push_head(sink, dialect, head, call);
    sink.push(&*form.name.behind);
    push_end_of_head(sink, head, &call.args);
    sink.push(&*form.head);
    push_arguments(sink, dialect, head, call);
    sink.push(&*head.close);
}

/// Adds the arguments of a call.
pub fn push_arguments(sink: &mut Sink<'_>, dialect: &Dialect, head: &Head, call: &ShownCall) {
    let form = &dialect.prompt.calls;
    match &head.args {
        Args::Json | Args::Text(_) => push_value(sink, &call.args),
        Args::Braces(mark) => literal::push_braces(sink, &call.args, mark),
        Args::Xml(xml) => xml::push_arguments(sink, xml, &call.args, form),
        Args::Parameters(parameters) => {
            let ends = if head.close.is_empty() { &head.until[..] } else { from_ref(&head.close) };
            let forms = Forms { parameters, ends, call: &head.open };
            push_parameters(sink, forms, &call.args, form, &dialect.close);
        }
    }
    sink.push(&*form.tail);
}

fn push_head(sink: &mut Sink<'_>, dialect: &Dialect, head: &Head, call: &ShownCall) {
    let name = unescaped(call.name.as_bytes());
    let name = name.as_bytes();
    let id = call.id.as_deref().map(|id| unescaped(id.as_bytes()));
    let own = [&head.open, &head.close];
    let others = || {
        let marks = own.into_iter().chain(&head.until).chain(&dialect.open);
        marks.chain(&dialect.close).chain(&dialect.turn_end)
    };
    let is_carried = |text: &[u8], before: &str| {
        let is_free = |mark: &str| mark.is_empty() || !overlaps(text, mark);
        !text.is_empty()
            && trim(text).len() == text.len()
            && head.ends.iter().all(|end| is_free(end))
            && is_free(before)
            && text.len() < LONGEST
            && !text.iter().any(|byte| matches!(byte, b'<' | b'{' | b'\n' | b'\r'))
            && others().all(|mark| is_free(mark))
            && (!dialect.open.is_empty() || may_begin_name(text[0]))
    };
    match (&head.form, id) {
        (HeadForm::Numbered, Some(id)) => {
            sink.push_raw(id.as_bytes(), is_carried(id.as_bytes(), ""));
        }
        (HeadForm::Id(mark), id) => {
            sink.push_raw(name, is_carried(name, mark));
            if let Some(id) = id {
                sink.push(&**mark);
                sink.push_raw(id.as_bytes(), is_carried(id.as_bytes(), ""));
            }
        }
        (HeadForm::Attributes(key), _) => {
            sink.push(if head.open.ends_with(' ') { "" } else { " " });
            sink.push(format!("{key}=\""));
            let escaped = in_attribute(name);
            let is_free = |mark: &&Str| !overlaps(&escaped, mark);
            let is_carried = trim(name).len() == name.len()
                && escaped.len() < LONGEST
                && head.ends.iter().chain([&head.open]).all(|mark| is_free(&mark));
            sink.push_raw(&escaped, is_carried);
            sink.push("\"");
        }
        (HeadForm::Behind(mark), _) => {
            sink.push(&**mark);
            sink.push_raw(name, is_carried(name, ""));
        }
        (HeadForm::Name | HeadForm::Numbered, _) => sink.push_raw(name, is_carried(name, "")),
    }
}

/// Whether a name begins so that the mark before it is one where no block stands around.
fn may_begin_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | 0x80..)
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

/// Adds the mark that ends a head, where it is not the one that begins the arguments or closes the call.
fn push_end_of_head(sink: &mut Sink<'_>, head: &Head, args: &str) {
    let Some(end) = head.ends.first() else { return };
    let begins = match &head.args {
        Args::Json | Args::Braces(_) => "{",
        Args::Text(_) | Args::Xml(_) => "",
        Args::Parameters(Parameters { around: Some(around), .. }) => &around.open,
        Args::Parameters(form) => &form.open,
    };
    let is_closed = args == "{}" && head.ends.contains(&head.close);
    if **end != *begins && !is_closed {
        sink.push(&**end);
    }
}

fn push_parameters(
    sink: &mut Sink<'_>,
    forms: Forms<'_>,
    args: &str,
    layout: &CallsForm,
    followers: &[Str],
) {
    let Forms { parameters: form, ends, .. } = forms;
    let around = form.around.as_ref();
    if let Some(around) = around {
        sink.push(&*around.open);
        sink.push(&*layout.parameter);
    }
    for (key, value) in members(args) {
        let key = unescaped(key.as_bytes());
        push_key(sink, form, key.as_bytes(), ends);
        push_parameter(sink, forms, key.as_bytes(), value, layout, followers);
        sink.push(&*layout.parameter);
    }
    sink.push(around.map_or("", |around| &around.close));
}

fn push_key(sink: &mut Sink<'_>, form: &Parameters, key: &[u8], ends: &[Str]) {
    let around = form.around.as_ref().map_or("", |around| &around.close);
    let opened = [form.open.as_bytes(), key, form.key_end.as_bytes()].concat();
    let closes = |mark: &str| !mark.is_empty() && opened.starts_with(mark.as_bytes());
    let escaped = if form.entities { in_attribute(key) } else { key.to_vec() };
    let key = &escaped[..];
    let is_carried = trim(key).len() == key.len()
        && !overlaps(key, &form.key_end)
        && !closes(around)
        && !ends.iter().any(|end| closes(end))
        && key.len() < LONGEST
        && std::str::from_utf8(key).is_ok();
    sink.push(&*form.open);
    sink.push_raw(key, is_carried);
    sink.push(&*form.key_end);
}

fn push_parameter(
    sink: &mut Sink<'_>,
    forms: Forms<'_>,
    key: &[u8],
    value: &str,
    layout: &CallsForm,
    followers: &[Str],
) {
    let Forms { parameters: form, ends, .. } = forms;
    let close = close_of(form, key);
    let text = value.starts_with('"').then(|| unescaped(value.as_bytes()));
    let text = text.as_ref().map(|text| {
        let text = text.as_bytes();
        let is_trimmed = form.trim == Trim::Space && trim(text).len() < text.len();
        let marks = ValueMarks { forms, close: &close, followers };
        let runs_over = marks.may_run_over(text);
        (text, !is_trimmed && !runs_over && !ends_early(text, form, &close, ends))
    });
    // Where a flag says what a value is, text that would end early can be JSON.
    let text = text.filter(|(_, is_carried)| form.flag.is_none() || *is_carried);
    if let Some(Flag { name, text: flag, json }) = &form.flag {
        let flag = match text {
            Some(_) => flag,
            None if json.is_empty() => &Cow::Borrowed(type_of(value)),
            None => json,
        };
        sink.push(format!(" {name}=\"{flag}\""));
    }
    if !form.value_open.is_empty() {
        sink.push(&*layout.key);
        sink.push(&*form.value_open);
    }
    let is_on_lines = form.trim == Trim::Newline;
    sink.push(if is_on_lines { "\n" } else { "" });
    match text {
        Some((text, is_carried)) => sink.push_raw(text, is_carried),
        None => push_scalar(sink, value),
    }
    sink.push(match text {
        _ if !is_on_lines => "",
        // What is cut is the whole line break, so this one must not become part of it.
        Some(([.., b'\r'], _)) => "\r\n",
        _ => "\n",
    });
    sink.push(&*close);
}

/// The same of a value that stands alone. A word that only Python reads as a number would be text there.
fn push_scalar(sink: &mut Sink<'_>, json: &str) {
    sink.is_altered |= json == "NaN";
    match json {
        "Infinity" => sink.push("1e999"),
        "-Infinity" => sink.push("-1e999"),
        json => push_value(sink, json),
    }
}

/// Adds JSON in whose strings no mark stands.
fn push_value(sink: &mut Sink<'_>, json: &str) {
    let style = Style { layout: JsonLayout::Compact, strings: Strings::Readable(sink.marks()) };
    push_json(&mut sink.out, json, style, 0);
}

fn close_of<'a>(form: &'a Parameters, key: &[u8]) -> Cow<'a, str> {
    if form.close.contains("{key}") {
        Cow::Owned(form.close.replace("{key}", &String::from_utf8_lossy(key)))
    } else {
        Cow::Borrowed(&form.close)
    }
}

/// Whether a reader would take something in `text` for its end: a mark that closes it, with one behind that may stand there.
fn ends_early(text: &[u8], form: &Parameters, close: &str, ends: &[Str]) -> bool {
    let around = form.around.as_ref().map(|around| &around.close);
    let followers: Vec<_> = [&form.open].into_iter().chain(ends).chain(around).collect();
    let whole = [text, close.as_bytes(), form.open.as_bytes()].concat();
    let finder = memchr::memmem::Finder::new(close);
    let mut from = 0;
    while let Some(found) = finder.find(&whole[from..]) {
        let at = from + found;
        if at >= text.len() {
            break;
        }
        let rest = &whole[at + close.len()..];
        let rest = &rest[leading_space(rest)..];
        if followers.iter().any(|mark| rest.starts_with(mark.as_bytes())) {
            return true;
        }
        from = at + 1;
    }
    false
}

/// The name of a value's JSON type.
fn type_of(json: &str) -> &'static str {
    match json.as_bytes().first() {
        Some(b'"') => "string",
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b't' | b'f') => "boolean",
        Some(b'n') => "null",
        _ => "number",
    }
}
