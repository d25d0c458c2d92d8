//! Blocks of calls in every dialect, read as whole texts: one reference for each shape.
//!
//! A reference decides only what is certain. If a text is not written as a model was taught, but a reader may forgive it, the
//! reference calls it undecided, and the target checks only what holds for every text.

pub mod braces;
pub mod head;
pub mod heads;
pub mod json;
pub mod parameters;
pub mod python;
pub mod texts;
pub mod xml;

use std::sync::{Arc, LazyLock};

use crate::json::Layout;
use cogency_rs::dialect::{Body, Dialect, Python, Unmarked, presets};
use cogency_rs::protocol::{Call, Grammar};

use crate::json::{Node, Units, Value, dumps, units_of};
use crate::text::{characters, leading_space};

/// Why there are no calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum No {
    /// This is not a block of calls, whatever follows.
    Call,
    /// It is not certain what this is.
    Certainty,
}

/// What a reference reads.
pub type Read<T> = Result<T, No>;

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

/// A whole text, and how far it has been read.
#[derive(Clone, Debug)]
pub struct Cursor<'t> {
    pub text: &'t [u8],
    pub at: usize,
}

impl<'t> Cursor<'t> {
    #[must_use]
    pub fn rest(&self) -> &'t [u8] {
        &self.text[self.at..]
    }

    pub fn skip_space(&mut self) {
        self.at += leading_space(self.rest());
    }

    /// The next byte.
    ///
    /// # Errors
    /// The text ends here.
    pub fn peek(&self) -> Read<u8> {
        self.text.get(self.at).copied().ok_or(No::Certainty)
    }

    /// Whether the text goes on with `mark`.
    ///
    /// # Errors
    /// The text ends in what may be the beginning of it.
    pub fn is_at(&self, mark: &str) -> Read<bool> {
        starts_with(self.rest(), mark).ok_or(No::Certainty)
    }

    /// Whether the text goes on with `mark`, which is then passed over.
    ///
    /// # Errors
    /// As [`is_at`](Self::is_at).
    pub fn take(&mut self, mark: &str) -> Read<bool> {
        let is_there = self.is_at(mark)?;
        self.at += if is_there { mark.len() } else { 0 };
        Ok(is_there)
    }

    /// The text up to the first `mark`, which is passed over too.
    ///
    /// # Errors
    /// The text does not have the mark.
    pub fn until(&mut self, mark: &str) -> Read<&'t [u8]> {
        let length = find(self.rest(), mark).ok_or(No::Certainty)?;
        let before = &self.rest()[..length];
        self.at += length + mark.len();
        Ok(before)
    }
}

/// Whether a text begins with `mark`; `None` if it ends too early to tell.
#[must_use]
pub fn starts_with(text: &[u8], mark: &str) -> Option<bool> {
    let mark = mark.as_bytes();
    if mark.len() > text.len() && mark.starts_with(text) {
        None
    } else {
        Some(text.starts_with(mark))
    }
}

/// The first place of `mark`.
#[must_use]
pub fn find(text: &[u8], mark: &str) -> Option<usize> {
    (0..text.len()).find(|at| text[*at..].starts_with(mark.as_bytes()))
}

/// A text without the whitespace at its ends.
#[must_use]
pub fn trimmed(text: &[u8]) -> &[u8] {
    let text = &text[leading_space(text)..];
    let is_end = |end: &usize| leading_space(&text[*end..]) == text.len() - end;
    let characters = characters(text).scan(0, |end, character| {
        let start = *end;
        *end += character.len();
        Some(start)
    });
    let end = characters.chain([text.len()]).find(is_end).unwrap_or(text.len());
    &text[..end]
}

/// A text as a JSON string.
#[must_use]
pub fn units(text: &[u8]) -> Units {
    characters(text).flat_map(units_of).collect()
}

#[must_use]
pub fn string(text: &[u8]) -> Value {
    Value::String(units(text))
}

/// The call with this name and these arguments.
///
/// # Errors
/// The name is empty.
pub fn call(name: &[u8], args: Vec<(Units, Value)>) -> Read<Call> {
    call_with(name, &object(args))
}

/// The call with this name and an object of arguments.
///
/// # Errors
/// The name is empty.
pub fn call_with(name: &[u8], args: &Value) -> Read<Call> {
    let name = trimmed(name);
    if name.is_empty() {
        return Err(No::Call);
    }
    if depth(args) > 100 {
        return Err(No::Certainty);
    }
    Ok(Call::new(&dumps(&string(name), Layout::Compact), &dumps(args, Layout::Compact)))
}

#[must_use]
pub fn object(entries: Vec<(Units, Value)>) -> Value {
    Value::Object(entries.into_iter().map(|(key, value)| (key, Node { at: 0, value })).collect())
}

#[must_use]
pub fn array(items: Vec<Value>) -> Value {
    Value::Array(items.into_iter().map(|value| Node { at: 0, value }).collect())
}

/// How many brackets of a value are nested at most.
#[must_use]
pub fn depth(value: &Value) -> usize {
    let inner = match value {
        Value::Array(items) => items.iter().map(|node| depth(&node.value)).max(),
        Value::Object(entries) => entries.iter().map(|(_, node)| depth(&node.value)).max(),
        _ => return 0,
    };
    1 + inner.unwrap_or(0)
}

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
    let open = dialect.open.iter().filter(|open| text.starts_with(open.as_bytes()));
    if let Some(open) = open.max_by_key(|open| open.len()) {
        cursor.at = open.len();
        match bodies(dialect, &mut cursor, true) {
            // The mark may also be the mark of a call, without a block around it.
            Err(No::Call) if dialect.bodies.iter().any(|body| opens_itself(dialect, body)) => {
                cursor.at = 0;
            }
            calls => return Ok((calls?, cursor.at)),
        }
    }
    let names_call = dialect.heads.as_ref().is_some_and(|heads| heads.names_call);
    for body in dialect.bodies.iter().filter(|_| !names_call) {
        if let Body::Head(form) = body
            && (form.bare || dialect.open.is_empty())
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
    matches!(body, Body::Head(form) if dialect.open.contains(&form.open))
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
    for body in dialect.bodies.iter().filter(|body| may_begin(dialect, body, is_marked)) {
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
        Body::Json(form) => json::calls(form, cursor, is_marked)?,
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
    if !is_marked || dialect.close.is_empty() {
        return Ok(calls);
    }
    cursor.skip_space();
    for close in &dialect.close {
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
    let calls = dialect.bodies.iter().filter_map(|body| match body {
        Body::Head(form) => Some(&form.open),
        _ => None,
    });
    let is_free = dialect.unmarked != Unmarked::Never;
    heads.chain(calls).chain(&dialect.open).any(|mark| find(rest, mark).is_some())
        || (is_free && rest.iter().any(|byte| b"{[(".contains(byte)))
}
