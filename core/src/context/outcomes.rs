//! What came of the calls of a batch, one by one, for forms that show each result on its own.

use crate::json::unescaped;
use crate::protocol::stored::ShownCall;
use crate::protocol::write::{Renderer, canonical_array, elements, members};

use super::excerpt::Bounds;
use super::results::INTERRUPTED;

/// What came of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What happened, if that says more than the value: a text.
    pub happened: Vec<u8>,
    /// The content of a success, the message of a failure.
    pub value: Value,
    /// Whether the call failed.
    pub is_error: bool,
}

/// A content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(Vec<u8>),
    /// Any other value, as canonical JSON.
    Json(String),
}

impl Value {
    fn of(json: &str) -> Self {
        match text_of(json) {
            Some(text) => Self::Text(text),
            None => Self::Json(json.to_owned()),
        }
    }
}

/// What came of each of these calls. The last results are those of the last calls: they are saved right after their calls, so the
/// first calls are those that lack one, and they have failed. Results that are not an array are the text of the last.
///
/// # Complexity
/// O(results)
pub fn outcomes(
    calls: &[ShownCall],
    results: &[u8],
    bounds: &Bounds,
    renderer: &Renderer,
) -> Vec<Outcome> {
    let array = canonical_array(results);
    let items: Option<Vec<&str>> = array.as_deref().map(|array| elements(array).collect());
    let found = items.as_ref().map_or(1, Vec::len);
    let missing = calls.len().saturating_sub(found);
    let plain = |value, is_error| Outcome { happened: Vec::new(), value, is_error };
    let mut shown = vec![plain(Value::Text(INTERRUPTED.into()), true); missing];
    match items {
        None => shown.push(plain(Value::Text(results.to_vec()), false)),
        Some(items) => {
            let items = &items[found.saturating_sub(calls.len())..];
            let each = items.iter().zip(&calls[missing..]);
            shown.extend(each.map(|(item, call)| {
                if !item.starts_with('{') {
                    return plain(Value::of(item), false);
                }
                let most = bounds.tools.get(&call.name).copied().or(bounds.all);
                let (mut content, mut happened, mut status) = ("null", None, None);
                for (key, value) in members(item) {
                    match key {
                        "\"content\"" => content = value,
                        "\"outcome\"" => happened = text_of(value),
                        "\"status\"" => status = Some(value),
                        _ => {}
                    }
                }
                Outcome {
                    happened: happened.unwrap_or_default(),
                    value: cut(content, most, renderer),
                    is_error: status == Some("\"failure\""),
                }
            }));
        }
    }
    shown
}

/// The text that canonical JSON is; `None` for any other value.
fn text_of(json: &str) -> Option<Vec<u8>> {
    json.starts_with('"').then(|| unescaped(json.as_bytes()).as_bytes().to_vec())
}

/// A content as it is shown. If it is too long it becomes text, which says how much is missing.
fn cut(json: &str, most: Option<usize>, renderer: &Renderer) -> Value {
    let value = Value::of(json);
    let Some(most) = most.filter(|most| json.len() > *most) else { return value };
    let text = match &value {
        Value::Text(text) => text.clone(),
        Value::Json(json) => renderer.compact_as_is(json).as_bytes().to_vec(),
    };
    // Where each character begins.
    let starts = || text.iter().enumerate().filter(|(_, byte)| **byte & 0xc0 != 0x80);
    let total = starts().count();
    let Some((end, _)) = starts().nth(most) else { return value };
    let missing = total - most;
    let notice = format!("\n[… {missing} of {total} characters are not shown]");
    Value::Text([&text[..end], notice.as_bytes()].concat())
}
