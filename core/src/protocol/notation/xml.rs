//! Calls and arguments as XML elements.

use crate::dialect::{CallsForm, JsonLayout, Xml, XmlParts};

use super::super::stored::ShownCall;
use super::json::{Style, elements, members, push_escape, push_json};
use super::name::{LONGEST, is_plain};
use super::sink::Sink;
use crate::json::unescaped;
use crate::text::trim;

/// The element of an array's item.
const ITEM: &str = "item";

/// Values inside this many elements are written as JSON.
const DEEPEST: usize = 32;

/// Adds the elements of a call.
pub fn push_call(sink: &mut Sink<'_>, form: &Xml, call: &ShownCall, layout: &CallsForm) {
    let Some(XmlParts { server, name, args }) = &form.parts else { return };
    sink.begin_call();
    let local = String::from("\"local\"");
    for (element, text) in [(server, call.server.as_ref().unwrap_or(&local)), (name, &call.name)] {
        push_tag(sink, form, "<", element);
        push_name(sink, unescaped(text.as_bytes()).as_bytes());
        push_tag(sink, form, "</", element);
        sink.push(&*layout.parameter);
    }
    push_tag(sink, form, "<", args);
    sink.push(&*layout.parameter);
    push_arguments(sink, form, &call.args, layout);
    push_tag(sink, form, "</", args);
}

/// Adds the elements of arguments.
pub fn push_arguments(sink: &mut Sink<'_>, form: &Xml, args: &str, layout: &CallsForm) {
    // The parts still to be written, the next one last: recursion could overflow the stack.
    let (mut open, mut depth) = (Vec::new(), 0);
    push_members(&mut open, args, &layout.parameter);
    while let Some(step) = open.pop() {
        match step {
            PendingXml::Text(text) => sink.push(text),
            PendingXml::Close(name) => {
                depth -= 1;
                push_tag(sink, form, "</", &name);
            }
            PendingXml::Element(name, value) => {
                let is_flat = depth >= DEEPEST;
                depth += 1;
                push_tag(sink, form, "<", &name);
                open.push(PendingXml::Close(name.clone()));
                match value.as_bytes() {
                    [b'"', ..] => {
                        push_text(sink, form, unescaped(value.as_bytes()).as_bytes());
                    }
                    [b'{', ..] if !is_flat && is_object_of_elements(value) => {
                        push_members(&mut open, value, "");
                    }
                    [b'[', _, _, ..] if !is_flat => {
                        let items: Vec<_> = elements(value).collect();
                        let items = items.into_iter().rev();
                        open.extend(items.map(|item| PendingXml::Element(ITEM.into(), item)));
                    }
                    _ => push_value(sink, form, value),
                }
            }
        }
    }
}

enum PendingXml<'a> {
    Element(String, &'a str),
    Close(String),
    Text(&'a str),
}

fn push_members<'a>(open: &mut Vec<PendingXml<'a>>, object: &'a str, after: &'a str) {
    let members: Vec<_> = members(object).collect();
    for (key, value) in members.into_iter().rev() {
        open.push(PendingXml::Text(after));
        open.push(PendingXml::Element(unescaped(key.as_bytes()).to_string(), value));
    }
}

fn is_object_of_elements(object: &str) -> bool {
    object != "{}"
        && members(object).all(|(key, _)| is_element_name(&unescaped(key.as_bytes()).to_string()))
}

/// Whether a key can be the name of an element.
fn is_element_name(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_inside = |c: char| is_letter(c) || c.is_ascii_digit() || "-.".contains(c);
    name.len() <= LONGEST && name.starts_with(is_letter) && name.chars().all(is_inside)
}

fn push_tag(sink: &mut Sink<'_>, form: &Xml, open: &str, name: &str) {
    sink.push(&*form.prefix);
    sink.push(open);
    sink.push_name(name.as_bytes(), is_element_name(name));
    sink.push(">");
}

/// Adds the name of a tool or server, with entities.
fn push_name(sink: &mut Sink<'_>, name: &[u8]) {
    if !is_plain(name) {
        sink.doubt();
    }
    for byte in &*sink.marks().inert(name) {
        match byte {
            b'<' => sink.push("&lt;"),
            b'>' => sink.push("&gt;"),
            b'&' => sink.push("&amp;"),
            byte => sink.push([*byte]),
        }
    }
}

/// Adds a value that is not text. `<` and `&` in its strings become JSON escapes, where they would be read as XML.
fn push_value(sink: &mut Sink<'_>, form: &Xml, json: &str) {
    let style = Style { layout: JsonLayout::Compact, strings: sink.strings() };
    let mut value = Vec::new();
    push_json(&mut value, json, style, 0);
    for byte in value {
        match byte {
            b'<' | b'&' if form.entities => push_escape(&mut sink.out, byte.into()),
            byte => sink.push([byte]),
        }
    }
}

/// Adds text so that it reads back as text, whatever it looks like.
fn push_text(sink: &mut Sink<'_>, form: &Xml, text: &[u8]) {
    if !form.entities {
        let is_sure = sink.shows_inert(text);
        return sink.push_raw(text, is_sure, "");
    }
    let text = &*sink.marks().inert(text);
    let is_plain = !text.iter().any(|byte| b"<>&".contains(byte)) && !looks_like_a_value(text);
    if is_plain {
        return sink.push(text);
    }
    sink.push("<![CDATA[");
    let mut from = 0;
    for end in memchr::memmem::find_iter(text, b"]]>") {
        sink.push(&text[from..end + 2]);
        sink.push("]]><![CDATA[");
        from = end + 2;
    }
    sink.push(&text[from..]);
    sink.push("]]>");
}

/// Whether text may be read as a value of another type if no schema says that it is text.
fn looks_like_a_value(text: &[u8]) -> bool {
    let text = trim(text);
    matches!(text.first(), None | Some(b'-' | b'+' | b'.' | b'0'..=b'9' | b'[' | b'{' | b'"'))
        || [&b"true"[..], b"false", b"null", b"none", b"nan", b"infinity", b"inf"]
            .iter()
            .any(|word| text.eq_ignore_ascii_case(word))
}
