//! Calls with the name in a head, and arguments each between marks of its own.

use std::borrow::Cow;

use crate::dialect::{
    Args, CallsForm, Dialect, Flag, Head, HeadForm, JsonLayout, Parameters, Str, Trim,
};

use super::super::json::unescaped;
use super::super::text::{leading_space, trim};
use super::json::{Strings, Style, members, push_json};
use super::sink::Sink;
use super::{Shown, literal, xml};

/// Adds `open NAME ends ARGS close`.
pub fn push_call(sink: &mut Sink<'_>, dialect: &Dialect, head: &Head, call: &Shown) {
    let form = &dialect.prompt.calls;
    sink.push(&*head.open);
    push_head(sink, head, call);
    push_end_of_head(sink, head, &call.args);
    sink.push(&*form.head);
    match &head.args {
        Args::Json => {
            let style =
                Style { layout: JsonLayout::Compact, strings: Strings::Readable(sink.marks) };
            push_json(&mut sink.out, &call.args, style, 0);
        }
        Args::Braces(mark) => literal::push_braces(sink, &call.args, mark),
        Args::Xml(xml) => xml::push_arguments(sink, xml, &call.args, form),
        Args::Parameters(parameters) => {
            let behind =
                [&head.close, &head.open].into_iter().chain(&dialect.close).chain(&dialect.open);
            push_parameters(sink, parameters, &call.args, form, &behind.collect::<Vec<_>>());
        }
    }
    sink.push(&*head.close);
}

fn push_head(sink: &mut Sink<'_>, head: &Head, call: &Shown) {
    let name = unescaped(call.name.as_bytes());
    let name = name.as_bytes();
    let ends = head.ends.iter().map(|end| end.trim_end());
    let is_carried = |text: &[u8]| {
        !text.is_empty()
            && trim(text).len() == text.len()
            && !text.contains(&b'\n')
            && ends.clone().filter(|end| !end.is_empty()).all(|end| !literal::overlaps(text, end))
    };
    let id = call.id.as_deref().map(|id| unescaped(id.as_bytes()));
    match (&head.form, id) {
        (HeadForm::Numbered, Some(id)) => sink.push_raw(id.as_bytes(), is_carried(id.as_bytes())),
        (HeadForm::Id(mark), Some(id)) => {
            let is_apart = |text| is_carried(text) && !literal::overlaps(text, mark);
            sink.push_raw(name, is_apart(name));
            sink.push(&**mark);
            sink.push_raw(id.as_bytes(), is_apart(id.as_bytes()));
        }
        (HeadForm::Attributes(key), _) => {
            sink.push(if head.open.ends_with(' ') { "" } else { " " });
            sink.push(format!("{key}=\""));
            sink.push_raw(name, is_carried(name) && !name.contains(&b'"'));
            sink.push("\"");
        }
        (HeadForm::Name | HeadForm::Numbered | HeadForm::Id(_), _) => {
            sink.push_raw(name, is_carried(name));
        }
    }
}

/// Adds the mark that ends a head, where it is not the one that begins the arguments or closes the call.
fn push_end_of_head(sink: &mut Sink<'_>, head: &Head, args: &str) {
    let Some(end) = head.ends.first() else { return };
    let begins = match &head.args {
        Args::Json | Args::Braces(_) => "{",
        Args::Xml(form) => &form.prefix,
        Args::Parameters(Parameters { around: Some(around), .. }) => &around.open,
        Args::Parameters(form) => &form.open,
    };
    let is_closed = args == "{}" && **end == *head.close;
    if **end != *begins && !is_closed {
        sink.push(&**end);
    }
}

fn push_parameters(
    sink: &mut Sink<'_>,
    form: &Parameters,
    args: &str,
    layout: &CallsForm,
    behind: &[&Str],
) {
    let around = form.around.as_ref();
    sink.push(around.map_or("", |around| &around.open));
    for (key, value) in members(args) {
        let name = unescaped(key.as_bytes());
        push_parameter(sink, form, name.as_bytes(), value, layout, behind);
        sink.push(&*layout.parameter);
    }
    sink.push(around.map_or("", |around| &around.close));
}

fn push_parameter(
    sink: &mut Sink<'_>,
    form: &Parameters,
    key: &[u8],
    value: &str,
    layout: &CallsForm,
    behind: &[&Str],
) {
    sink.push(&*form.open);
    let is_carried =
        trim(key).len() == key.len() && !key.is_empty() && !literal::overlaps(key, &form.key_end);
    sink.push_raw(key, is_carried);
    sink.push(&*form.key_end);
    let close = close_of(form, key);
    let text = value.starts_with('"').then(|| unescaped(value.as_bytes()));
    let text = text.as_ref().map(|text| {
        let is_trimmed =
            form.trim == Trim::Space && trim(text.as_bytes()).len() < text.as_bytes().len();
        (text.as_bytes(), !is_trimmed && !ends_early(text.as_bytes(), form, &close, behind))
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
    let space = if form.trim == Trim::Newline { "\n" } else { "" };
    sink.push(space);
    match text {
        Some((text, is_carried)) => sink.push_raw(text, is_carried),
        None => {
            let style =
                Style { layout: JsonLayout::Compact, strings: Strings::Readable(sink.marks) };
            push_json(&mut sink.out, value, style, 0);
        }
    }
    sink.push(space);
    sink.push(&*close);
}

fn close_of<'a>(form: &'a Parameters, key: &[u8]) -> Cow<'a, str> {
    if form.close.contains("{key}") {
        Cow::Owned(form.close.replace("{key}", &String::from_utf8_lossy(key)))
    } else {
        Cow::Borrowed(&form.close)
    }
}

/// Whether a reader would take something in `text` for its end: a mark that closes it, with one behind that may stand there.
fn ends_early(text: &[u8], form: &Parameters, close: &str, behind: &[&Str]) -> bool {
    let around = form.around.as_ref().map(|around| &around.close);
    let may_follow = |rest: &[u8]| {
        let rest = &rest[leading_space(rest)..];
        [&form.open].into_iter().chain(around).chain(behind.iter().copied()).any(|mark| {
            let mark = mark.trim().as_bytes();
            !mark.is_empty() && rest.starts_with(mark)
        })
    };
    memchr::memmem::find_iter(text, close.as_bytes())
        .any(|at| may_follow(&text[at + close.len()..]))
        || memchr::memmem::find(text, form.open.trim().as_bytes()).is_some()
        || literal::overlaps(&text[text.len().saturating_sub(close.len() - 1)..], close)
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
