//! Results as a dialect's model reads them.
//!
//! What a tool returned is data: inside its frame it can neither close the frame nor open a call nor end the turn. In text, a
//! joiner follows the first character of each mark. In a JSON string that character is an escape (`\u003c`), which is the same
//! value.

use std::borrow::Cow;
use std::ops::Range;

use crate::dialect::{Dialect, Frame, JOINER, JsonLayout, ResultText, ResultsForm};

use super::super::canonical::{canonical, json_string};
use super::super::notation::json::{Strings, Style, elements, members, push_json, push_string};
use super::super::notation::literal::overlaps;
use super::super::notation::sink::Sink;
use super::super::stored::ShownCall;
use super::super::verbatim::is_array;
use crate::json::{Scanner, Token, unescaped};

/// What one call returned. All texts are canonical JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Returned {
    /// The tool's name, a string.
    pub tool: Option<String>,
    /// The call's id, a string.
    pub id: Option<String>,
    /// Whether the call failed.
    pub is_failure: bool,
    /// What happened, if that says more than the content: a string.
    pub outcome: Option<String>,
    /// The output, any value.
    pub content: String,
}

/// The results of a batch as the log stores them, each with the id of its call. Text that is not an array of objects is one
/// result.
///
/// # Complexity
/// O(results)
#[must_use]
pub fn returned(results: &[u8], calls: &[ShownCall]) -> Vec<Returned> {
    let whole = || Returned {
        tool: calls.first().map(|call| call.name.clone()),
        id: calls.first().and_then(|call| call.id.clone()),
        is_failure: false,
        outcome: None,
        content: json_string(results),
    };
    let Some(array) = canonical_array(results) else { return vec![whole()] };
    let items: Vec<_> = elements(&array).collect();
    if !items.iter().all(|item| item.starts_with('{')) {
        return vec![whole()];
    }
    let mut calls = calls.iter();
    items.into_iter().map(|item| returned_item(item, calls.next())).collect()
}

fn returned_item(item: &str, call: Option<&ShownCall>) -> Returned {
    let field =
        |key: &str| members(item).find(|(name, _)| *name == key).map(|(_, value)| value.to_owned());
    let text = |key: &str| field(key).filter(|value| value.starts_with('"'));
    Returned {
        tool: text("\"tool\"").or_else(|| call.map(|call| call.name.clone())),
        id: call.and_then(|call| call.id.clone()),
        is_failure: field("\"status\"").as_deref() == Some("\"failure\""),
        outcome: text("\"outcome\"").filter(|_| field("\"content\"").is_some()),
        content: field("\"content\"")
            .or_else(|| text("\"outcome\""))
            .unwrap_or_else(|| item.to_owned()),
    }
}

/// The text as a canonical array; `None` for anything else.
///
/// # Complexity
/// O(text)
#[must_use]
pub fn canonical_array(text: &[u8]) -> Option<Cow<'_, str>> {
    match str::from_utf8(text) {
        Ok(json) if is_array(json) => Some(Cow::Borrowed(json)),
        _ => canonical(text).filter(|json| json.starts_with('[')).map(Cow::Owned),
    }
}

/// Adds the results of a batch, each in its frame.
pub fn push_results(sink: &mut Sink<'_>, dialect: &Dialect, results: &[Returned]) {
    let form = &dialect.prompt.results;
    sink.push(&*form.around.before);
    for (index, result) in results.iter().enumerate() {
        if index > 0 {
            sink.push(&*form.between);
        }
        let frame = match (&result.id, &form.each_without_id) {
            (None, Some(frame)) => frame,
            _ => &form.each,
        };
        let Frame { before, behind } = frame;
        push_frame(sink, before, result);
        push_result(sink, form, result);
        push_frame(sink, behind, result);
    }
    sink.push(&*form.around.behind);
}

/// Adds results as the array that the log holds. In JSON, `<` is only in strings.
pub fn push_array(sink: &mut Sink<'_>, array: &[u8]) {
    let Some(strings) = strings_in(array) else { return sink.push_outside(array) };
    let mut from = 0;
    for Range { start, end } in strings {
        let text = &array[start..end];
        sink.push(&array[from..start]);
        from = end;
        let has_joiner = memchr::memmem::find(text, JOINER.as_bytes()).is_some();
        let json = match str::from_utf8(text) {
            Ok(json) if !has_joiner => Cow::Borrowed(json),
            _ => Cow::Owned(json_string(unescaped(text).as_bytes())),
        };
        let mut shown = Vec::with_capacity(json.len());
        let strings = Strings::Ascii(Some(sink.marks()));
        push_string(&mut shown, &json[1..json.len() - 1], strings);
        sink.push("\"");
        push_escaped(&mut sink.out, &shown);
        sink.push("\"");
    }
    sink.push(&array[from..]);
}

/// Where the strings of a JSON text are, with their quotes; `None` if it is not JSON.
fn strings_in(text: &[u8]) -> Option<Vec<Range<usize>>> {
    let mut strings = Vec::new();
    let whole = Scanner::default().rest(text, |_, token| {
        if let Token::String(range) | Token::Key(range) = token {
            strings.push(range);
        }
        Some(())
    });
    whole.map(|()| strings)
}

/// Adds JSON with `\u003c` for every `<`. In JSON one appears only inside strings, and never after a lone backslash.
pub fn push_escaped(out: &mut Vec<u8>, json: &[u8]) {
    let mut from = 0;
    for at in memchr::memchr_iter(b'<', json) {
        out.extend_from_slice(&json[from..at]);
        out.extend_from_slice(br"\u003c");
        from = at + 1;
    }
    out.extend_from_slice(&json[from..]);
}

/// The placeholders in a frame: the tool's name and the call's id, as text and as JSON.
const PLACEHOLDERS: [&str; 4] = ["{name}", "{id}", "{name_json}", "{id_json}"];

fn push_frame(sink: &mut Sink<'_>, frame: &str, result: &Returned) {
    let mut rest = frame;
    while let Some(brace) = rest.find('{') {
        sink.push(&rest[..brace]);
        rest = &rest[brace..];
        let Some(found) = PLACEHOLDERS.iter().position(|text| rest.starts_with(text)) else {
            sink.push("{");
            rest = &rest[1..];
            continue;
        };
        let json = if found % 2 == 0 { &result.tool } else { &result.id };
        let json = json.as_deref().unwrap_or("\"\"");
        if found < 2 {
            // A name or an id that a model or a server wrote must stay on one line.
            let text = unescaped(json.as_bytes());
            let text: Vec<u8> = text
                .as_bytes()
                .iter()
                .map(|byte| if byte.is_ascii_control() { b' ' } else { *byte })
                .collect();
            sink.push_outside(&text);
        } else {
            sink.push_json(json);
        }
        rest = &rest[PLACEHOLDERS[found].len()..];
    }
    sink.push(rest);
}

fn push_result(sink: &mut Sink<'_>, form: &ResultsForm, result: &Returned) {
    let is_text = result.content.starts_with('"');
    let says_more = result.is_failure || result.outcome.is_some();
    if form.text == ResultText::Json && !(says_more || is_text) {
        return sink.push_json(&result.content);
    }
    let text = plain(form, result);
    match &form.text {
        ResultText::Array | ResultText::Plain => sink.push_outside(&text),
        ResultText::Json => sink.push_json(&json_string(&text)),
        ResultText::Marked(mark) => {
            if overlaps(&sink.marks().inert(&text), mark) {
                sink.push_json(&json_string(&text));
            } else {
                sink.push(&**mark);
                sink.push_outside(&text);
                sink.push(&**mark);
            }
        }
    }
}

/// A result as text: what happened, on its own line, and then the content.
fn plain(form: &ResultsForm, result: &Returned) -> Vec<u8> {
    let text = |json: &str| -> Cow<'_, [u8]> {
        if json.starts_with('"') {
            return Cow::Owned(unescaped(json.as_bytes()).as_bytes().to_vec());
        }
        let style = Style { layout: JsonLayout::Compact, strings: Strings::Readable(None) };
        let mut out = Vec::new();
        push_json(&mut out, json, style, 0);
        Cow::Owned(out)
    };
    let mut out = Vec::new();
    if result.is_failure {
        out.extend_from_slice(form.failure.as_bytes());
    }
    if let Some(outcome) = &result.outcome {
        out.extend_from_slice(&text(outcome));
        out.push(b'\n');
    }
    out.extend_from_slice(&text(&result.content));
    out
}
