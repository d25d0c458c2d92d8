//! Blocks of calls in every dialect, read as whole texts: one reference for each shape.
//!
//! A reference decides only what is certain. If a text is not written as a model was taught, but a reader may forgive it, the
//! reference calls it undecided, and the target checks only what holds for every text.

pub mod attributes;
pub mod braces;
pub mod cursor;
pub mod head;
pub mod heads;
pub mod json;
pub mod parameters;
pub mod python;
pub mod texts;
pub mod values;
pub mod xml;

use std::sync::{Arc, LazyLock};

use cogency_rs::dialect::{Body, Dialect, Python, Unmarked, presets};
use cogency_rs::protocol::{Call, Grammar};

use crate::text::leading_space;
use cursor::{Cursor, No, Read, find};

/// Dialects that are read together, in addition to each dialect of the table alone.
const TOGETHER: [&[&str]; 6] = [
    &["forge-xml", "forge-json"],
    &["hermes", "qwen3-coder", "glm45"],
    &["cogency", "json-plain"],
    &["deepseek-v32-dsml", "deepseek-v3", "anthropic"],
    &["harmony", "pythonic"],
    &["react", "react-json", "llama3-json"],
];

/// Every grammar that is fuzzed.
pub static GRAMMARS: LazyLock<Vec<Arc<Grammar>>> = LazyLock::new(|| {
    let preset = |name: &&str| presets::preset(name).expect("a name of the table");
    let alone = presets::names().map(|name| Grammar::preset(name).expect("a name of the table"));
    let together =
        TOGETHER.iter().map(|names| Arc::new(Grammar::new(names.iter().map(preset).collect())));
    alone.chain(together).collect()
});

/// The calls of the block that a text begins with, and where it ends.
///
/// # Errors
/// It does not begin with a block, or it is not certain what it begins with.
pub fn block(dialect: &Dialect, text: &[u8]) -> Read<(Vec<Call>, usize)> {
    let (calls, end) = block_as_written(dialect, text)?;
    // A mark that is broken up is what a model copied from its prompt, and is read as the mark; tests/inert.rs holds that.
    let is_copied = calls.iter().any(|call| call.json().contains("\\u2060"));
    if is_copied { Err(No::Certainty) } else { Ok((calls, end)) }
}

fn block_as_written(dialect: &Dialect, text: &[u8]) -> Read<(Vec<Call>, usize)> {
    let mut cursor = Cursor { text, at: 0 };
    // The answer's first head may lack its mark.
    if let Some(heads) = &dialect.heads
        && heads.open.iter().chain([&heads.recipient]).any(|open| text.starts_with(open.as_bytes()))
    {
        let calls = heads::message(heads, dialect, &mut cursor)?;
        return Ok((calls, cursor.at));
    }
    let open = dialect.calls.open.iter().filter(|open| text.starts_with(open.as_bytes()));
    if let Some(open) = open.max_by_key(|open| open.len()) {
        cursor.at = open.len();
        match bodies(dialect, &mut cursor, true) {
            // The mark may also be the mark of a call, without a block around it.
            Err(No::Call) if dialect.calls.bodies.iter().any(|body| opens_itself(dialect, body)) => {
                cursor.at = 0;
            }
            calls => return Ok((calls?, cursor.at)),
        }
    }
    let names_call = dialect.heads.as_ref().is_some_and(|heads| heads.names_call);
    for body in dialect.calls.bodies.iter().filter(|_| !names_call) {
        if let Body::Head(form) = body
            && (form.bare || dialect.calls.open.is_empty())
            && text.starts_with(form.open.as_bytes())
        {
            cursor.at = form.open.len();
            let first =
                *text[cursor.at..].get(leading_space(&text[cursor.at..])).ok_or(No::Certainty)?;
            if !(first.is_ascii_alphanumeric() || b"_.-".contains(&first) || first >= 0x80) {
                return Err(No::Call);
            }
            let call = head::call(form, &mut cursor)?;
            return Ok((vec![call], cursor.at));
        }
    }
    if dialect.unmarked == Unmarked::Never {
        return Err(No::Certainty);
    }
    // Otherwise this is text, in which another block may begin.
    let calls = bodies(dialect, &mut cursor, false).map_err(|_| No::Certainty)?;
    Ok((calls, cursor.at))
}

/// Whether the mark of a block is also the mark of a call of this body.
fn opens_itself(dialect: &Dialect, body: &Body) -> bool {
    matches!(body, Body::Head(form) if dialect.calls.open.contains(&form.open))
}

/// Whether a block with this body may begin here: one without a mark is JSON or a list, or a call that has its own marks.
fn may_begin(dialect: &Dialect, body: &Body, is_marked: bool) -> bool {
    match body {
        _ if is_marked => !opens_itself(dialect, body),
        Body::Python(form) => *form == Python::List,
        Body::Head(form) => !form.bare,
        Body::Json(_) | Body::Xml(_) => true,
        other => unreachable!("the reference does not know {other:?}"),
    }
}

/// The calls in a block, and the mark that closes it.
fn bodies(dialect: &Dialect, cursor: &mut Cursor<'_>, is_marked: bool) -> Read<Vec<Call>> {
    cursor.skip_space();
    let mut no = No::Call;
    for body in dialect.calls.bodies.iter().filter(|body| may_begin(dialect, body, is_marked)) {
        let mut inside = cursor.clone();
        match one(dialect, body, &mut inside, is_marked) {
            Ok(calls) => {
                *cursor = inside;
                return Ok(calls);
            }
            Err(No::Certainty) => no = No::Certainty,
            Err(No::Call) => {}
        }
    }
    Err(no)
}

fn one(
    dialect: &Dialect,
    body: &Body,
    cursor: &mut Cursor<'_>,
    is_marked: bool,
) -> Read<Vec<Call>> {
    let calls = match body {
        Body::Json(form) => {
            let is_closed = is_marked && !dialect.calls.close.is_empty();
            json::calls(form, cursor, is_marked, is_closed)?
        }
        Body::Python(form) => python::calls(form, cursor)?,
        Body::Xml(form) => vec![xml::call(form, cursor)?],
        Body::Head(form) => {
            let mut calls = Vec::new();
            while cursor.is_at(&form.open)? {
                cursor.at += form.open.len();
                calls.push(head::call_in_block(form, dialect, cursor)?);
                cursor.skip_space();
            }
            calls
        }
        other => unreachable!("the reference does not know {other:?}"),
    };
    if calls.len() > 1000 {
        return Err(No::Certainty);
    }
    if !is_marked || dialect.calls.close.is_empty() {
        return Ok(calls);
    }
    cursor.skip_space();
    for close in &dialect.calls.close {
        if cursor.take(close)? {
            return Ok(calls);
        }
    }
    for end in &dialect.turn_end {
        if cursor.is_at(end)? {
            return Err(No::Certainty);
        }
    }
    Err(No::Call)
}

/// Whether a block may begin after the first byte of a text.
#[must_use]
pub fn may_open_again(dialect: &Dialect, text: &[u8]) -> bool {
    let rest = &text[text.len().min(1)..];
    let heads = dialect.heads.iter().flat_map(|heads| heads.open.iter().chain([&heads.recipient]));
    let calls = dialect.calls.bodies.iter().filter_map(|body| match body {
        Body::Head(form) => Some(&form.open),
        _ => None,
    });
    let is_free = dialect.unmarked != Unmarked::Never;
    heads.chain(calls).chain(&dialect.calls.open).any(|mark| find(rest, mark).is_some())
        || (is_free && rest.iter().any(|byte| b"{[(".contains(byte)))
}
