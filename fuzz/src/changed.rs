//! Dialects with fields that nobody would give them: those of the table, of which bytes change a few.

use std::sync::{Arc, LazyLock};

use arbitrary::{Arbitrary, Result, Unstructured};
use cogency_rs::dialect::{Dialect, presets};
use serde_json::{Value, json};

/// The dialects of the table, as JSON.
static TABLE: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let rows = presets::names().map(|name| presets::preset(name).expect("a name of the table"));
    rows.map(|row| serde_json::to_value(&*row).expect("a dialect can be written")).collect()
});

/// Every text of every dialect, and some of no dialect.
static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let odd = [
        "", " ", "\n", "\t\n", "{", "}", "[", "]", "\"", "'", "`", "```", "=", ":", ",", "<", ">",
        "</", "a", "{key}", "{name}", "{args}", "{json}", "{call}", "{calls}", "{raw}", "{n}",
        "{id}", "{{", "}}", "{}",
    ];
    let mut texts: Vec<String> = odd.map(Into::into).to_vec();
    texts.extend(["é", "\u{2060}", "<x>", "\0"].map(Into::into));
    texts.push("x".repeat(600));
    for row in TABLE.iter() {
        for place in places(row) {
            match row.pointer(&place) {
                Some(Value::String(text)) if !place.starts_with("/prompt") => {
                    texts.push(text.clone())
                }
                _ => {}
            }
        }
    }
    texts.sort();
    texts.dedup();
    texts
});

/// A dialect of the table with some fields changed; `None` if the result is not a dialect.
///
/// # Errors
/// There are too few bytes.
pub fn dialect(input: &mut Unstructured<'_>) -> Result<Option<Arc<Dialect>>> {
    let [row, changes] = <[u8; 2]>::arbitrary(input)?;
    let mut fields = TABLE[usize::from(row) % TABLE.len()].clone();
    for _ in 0..changes % 5 {
        change(&mut fields, input)?;
    }
    Ok(Dialect::from_json(fields).ok().map(Arc::new))
}

/// Changes one field, or takes one from another dialect.
fn change(fields: &mut Value, input: &mut Unstructured<'_>) -> Result<()> {
    let [kind, high, low, a, b] = <[u8; 5]>::arbitrary(input)?;
    let choice = usize::from(u16::from_be_bytes([a, b]));
    let places = places(fields);
    let place = &places[usize::from(u16::from_be_bytes([high, low])) % places.len()];
    let other = TABLE[choice % TABLE.len()].pointer(place).cloned();
    let Some(field) = fields.pointer_mut(place) else { return Ok(()) };
    match (kind % 8, field) {
        (0..=2, Value::String(text)) => text.clone_from(&TEXTS[choice % TEXTS.len()]),
        (3, Value::String(text)) => text.push_str(&TEXTS[choice % TEXTS.len()]),
        // An example is one text, of which a part changes.
        (4, Value::String(text)) => {
            let at = text.floor_char_boundary(choice % (text.len() + 1));
            text.insert_str(at, &TEXTS[choice / 7 % TEXTS.len()]);
        }
        (5, Value::String(text)) if !text.is_empty() => {
            let at = text.floor_char_boundary(choice % text.len());
            text.remove(at);
        }
        (0, Value::Array(items)) => items.clear(),
        (1 | 2, Value::Array(items)) => items.push(TEXTS[choice % TEXTS.len()].clone().into()),
        (3, Value::Array(items)) if !items.is_empty() => {
            items.push(items[choice % items.len()].clone());
        }
        (4, Value::Array(items)) if !items.is_empty() => drop(items.remove(choice % items.len())),
        (0..=3, Value::Bool(flag)) => *flag = !*flag,
        (0..=3, field @ Value::Number(_)) => {
            *field = json!([0, 1, 7, 64, 65, 1_000_000_000][choice % 6]);
        }
        (0..=3, field @ Value::Null) => *field = TEXTS[choice % TEXTS.len()].clone().into(),
        (5, field) => *field = Value::Null,
        (_, field) => {
            if let Some(other) = other {
                *field = other;
            }
        }
    }
    Ok(())
}

/// The JSON pointer of every value inside `value`.
fn places(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    enter(value, &mut String::new(), &mut found);
    found
}

fn enter(value: &Value, place: &mut String, found: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect()
        }
        _ => return,
    };
    for (key, value) in inner {
        let length = place.len();
        place.push('/');
        place.push_str(&key);
        found.push(place.clone());
        enter(value, place, found);
        place.truncate(length);
    }
}
