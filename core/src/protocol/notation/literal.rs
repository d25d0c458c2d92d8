//! Calls in Python, and arguments in braces with strings between marks.

use super::super::stored::ShownCall;
use super::json::{members, push_string, string_length};
use super::marks::first_character;
use super::name::LONGEST;
use super::sink::Sink;
use crate::json::unescaped;

/// Adds `name(key=value, …)`.
pub fn push_python_call(sink: &mut Sink<'_>, call: &ShownCall) {
    sink.begin_call();
    let name = unescaped(call.name.as_bytes());
    sink.push_name(name.as_bytes(), is_python_name(name.as_bytes(), b".-"));
    sink.push("(");
    for (index, (key, value)) in members(&call.args).enumerate() {
        sink.push(if index > 0 { ", " } else { "" });
        let key = unescaped(key.as_bytes());
        sink.push_name(key.as_bytes(), is_python_name(key.as_bytes(), b""));
        sink.push("=");
        push_python(sink, value);
    }
    sink.push(")");
}

/// Whether this may be a name before `(` or `=`. A byte of `more` may be part of it, but not its first.
fn is_python_name(name: &[u8], more: &[u8]) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let is_inside = |&byte: &u8| is_letter(byte) || byte.is_ascii_digit() || more.contains(&byte);
    name.len() <= LONGEST
        && name.first().is_some_and(|&first| is_letter(first))
        && name.iter().all(is_inside)
}

/// Adds canonical JSON as a Python literal.
pub fn push_python(sink: &mut Sink<'_>, json: &str) {
    let mut rest = json;
    while let Some(byte) = rest.bytes().next() {
        let width = match byte {
            b'"' => {
                let end = 2 + string_length(&rest.as_bytes()[1..]);
                push_python_string(sink, unescaped(&rest.as_bytes()[..end]).as_bytes());
                end
            }
            b'a'..=b'z' | b'A'..=b'Z' => {
                let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
                let word = match &rest[..end] {
                    "null" => "None",
                    "true" => "True",
                    "false" => "False",
                    "Infinity" => "1e999",
                    other => {
                        sink.doubt(); // `NaN`: Python has no literal for it
                        other
                    }
                };
                sink.push(word);
                end
            }
            b'0'..=b'9' => {
                let is_inside = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
                let end = rest.find(|c| !is_inside(c)).unwrap_or(rest.len());
                sink.push(&rest[..end]);
                end
            }
            _ => {
                sink.push([byte]);
                1
            }
        };
        rest = &rest[width..];
    }
}

/// Adds text as a Python string, with marks made harmless.
fn push_python_string(sink: &mut Sink<'_>, text: &[u8]) {
    let text = &*sink.marks().raised(text);
    let marks = sink.marks().find_in_string(text);
    let mut marks = marks.into_iter().peekable();
    sink.push("\"");
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let is_mark = marks.next_if_eq(&at).is_some();
        let width = match byte {
            b'"' | b'\\' => {
                sink.push([b'\\', byte]);
                1
            }
            b'\n' => {
                sink.push("\\n");
                1
            }
            b'\r' => {
                sink.push("\\r");
                1
            }
            b'\t' => {
                sink.push("\\t");
                1
            }
            0..0x20 => {
                sink.push(format!("\\x{byte:02x}"));
                1
            }
            // A surrogate, encoded in three bytes.
            0xed if text.get(at + 1).is_some_and(|&next| next >= 0xa0) => {
                let [high, low] = [text[at + 1], text[at + 2]].map(|byte| u32::from(byte & 0x3f));
                sink.push(format!("\\u{:04x}", 0xd000 | high << 6 | low));
                3
            }
            _ if is_mark => {
                let (code, width) = first_character(&text[at..]);
                sink.push(if code > 0xffff {
                    format!("\\U{code:08x}")
                } else {
                    format!("\\u{code:04x}")
                });
                width
            }
            _ => {
                sink.push([byte]);
                1
            }
        };
        at += width;
    }
    sink.push("\"");
}

/// Adds a canonical JSON object as `{key:value,…}`, with `mark` around strings. Text that cannot be put between two of
/// these marks is written as a JSON string.
pub fn push_braces(sink: &mut Sink<'_>, json: &str, mark: &str) {
    let bytes = json.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => {
                let end = at + string_length(&bytes[at..]);
                let text = unescaped(&bytes[at - 1..=end]);
                let is_key = bytes.get(end + 1) == Some(&b':');
                let inert = sink.marks().inert(text.as_bytes());
                let is_plain = if is_key {
                    is_python_name(text.as_bytes(), b".-")
                } else {
                    sink.shows_inert(text.as_bytes()) && !overlaps(&inert, mark)
                };
                if is_plain {
                    let mark = if is_key { "" } else { mark };
                    sink.push(mark);
                    sink.push(&inert);
                    sink.push(mark);
                } else {
                    sink.push("\"");
                    let strings = sink.strings();
                    push_string(&mut sink.out, &json[at..end], strings);
                    sink.push("\"");
                }
                at = end + 1;
            }
            b' ' => {}
            // `Infinity` would be read as text.
            b'I' => {
                sink.push("1e999");
                at += "nfinity".len();
            }
            b'N' => {
                sink.doubt();
                sink.push([byte]);
            }
            other => sink.push([other]),
        }
    }
}

/// Whether `mark`, written after `text`, would be found before the end of `text`.
pub fn overlaps(text: &[u8], mark: &str) -> bool {
    let whole = [text, mark.as_bytes()].concat();
    memchr::memmem::find(&whole, mark.as_bytes()) != Some(text.len())
}
