//! Values and calls, made of what was read.

use cogency_rs::json::Controls;
use cogency_rs::protocol::Call;

use super::cursor::{No, Read, trimmed};
use crate::json::{Layout, Node, Units, Value, dumps, read, units_of};
use crate::text::characters;

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
    Ok(Call::of_json(&dumps(&string(name), Layout::Compact), &dumps(args, Layout::Compact)))
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

/// A boolean, `null` or a number.
#[must_use]
pub fn scalar(raw: &[u8]) -> Option<Value> {
    match raw {
        b"true" | b"True" => Some(Value::Word("true")),
        b"false" | b"False" => Some(Value::Word("false")),
        b"null" | b"None" => Some(Value::Word("null")),
        _ => number(raw),
    }
}

/// The number that is the whole text.
#[must_use]
pub fn number(text: &[u8]) -> Option<Value> {
    let with_end = [text, b" "].concat();
    let reading = read(&with_end, 0, Controls::Raw).ok()?;
    let is_number = matches!(reading.node.value, Value::Number(_));
    (is_number && reading.node.at == 0 && reading.end == text.len()).then_some(reading.node.value)
}
