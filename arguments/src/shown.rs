//! Values in messages: as JSON writes them, cut to what fits, and read no further than that.

use serde_json::Value as Schema;

use super::float::float_repr;
use super::value::{Value, quoted};

/// Characters of a value that fit into a message.
const MOST: usize = 60;

/// A value as it was given, with the name of its type: `a string: "x"`.
pub fn received(value: &Value<'_>) -> String {
    let kind = match value {
        Value::Null => return "null".into(),
        Value::Float(number) if number.is_nan() => return "NaN".into(),
        Value::Boolean(_) => "a boolean",
        Value::Integer(_) | Value::BigInteger(_) => "an integer",
        Value::Float(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) | Value::ForeignObject(..) => "an object",
        Value::Foreign(other) => {
            return format!("a Python value of type {}: {}", cut(other.kind()), shown(value));
        }
    };
    format!("{kind}: {}", shown(value))
}

/// A value.
pub fn shown(value: &Value<'_>) -> String {
    let mut text = String::new();
    push(&mut text, value);
    cut(text)
}

/// A value in a schema.
pub fn shown_schema(value: &Schema) -> String {
    let mut text = String::new();
    push_schema(&mut text, value);
    cut(text)
}

/// Text cut to what fits.
pub fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MOST) {
        text.truncate(end);
        text.push_str("...");
    }
    text
}

/// Whether there is more than can be shown: a character has four bytes at most.
fn is_full(text: &str) -> bool {
    text.len() > 4 * MOST
}

fn push(text: &mut String, value: &Value<'_>) {
    if is_full(text) {
        return;
    }
    match value {
        Value::Null => text.push_str("null"),
        Value::Boolean(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Integer(value) => text.push_str(&value.to_string()),
        Value::BigInteger(value) => text.push_str(&value.text),
        Value::Float(value) => text.push_str(&float_repr(*value)),
        Value::String(value) => quoted_start(text, &value.read()),
        Value::Array(items) => {
            in_brackets(text, "[]", items.iter(), push);
        }
        Value::Object(members) => in_brackets(text, "{}", members.iter(), |text, (name, value)| {
            quoted_start(text, name);
            text.push_str(": ");
            push(text, value);
        }),
        Value::Foreign(value) | Value::ForeignObject(value, _) => text.push_str(&value.shown()),
    }
}

fn push_schema(text: &mut String, value: &Schema) {
    if is_full(text) {
        return;
    }
    match value {
        Schema::String(value) => quoted_start(text, value),
        Schema::Number(value) if value.is_f64() => {
            text.push_str(&float_repr(value.as_f64().unwrap_or_default()));
        }
        Schema::Array(items) => in_brackets(text, "[]", items.iter(), push_schema),
        Schema::Object(members) => {
            in_brackets(text, "{}", members.iter(), |text, (name, value)| {
                quoted_start(text, name);
                text.push_str(": ");
                push_schema(text, value);
            });
        }
        _ => text.push_str(&value.to_string()),
    }
}

fn in_brackets<T>(
    text: &mut String,
    brackets: &str,
    items: impl Iterator<Item = T>,
    push: impl Fn(&mut String, T),
) {
    let (open, close) = brackets.split_at(1);
    text.push_str(open);
    for (at, item) in items.enumerate() {
        if is_full(text) {
            break;
        }
        if at > 0 {
            text.push_str(", ");
        }
        push(text, item);
    }
    text.push_str(close);
}

/// Writes as much of a string as can be shown, in quotes.
fn quoted_start(text: &mut String, value: &str) {
    let end = value.char_indices().nth(MOST).map_or(value.len(), |(end, _)| end);
    quoted(text, &value[..end]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Members;

    #[test]
    fn a_value_is_shown_as_json_with_its_type() {
        let text = |text| Value::String(Box::new(text));
        for (value, expected) in [
            (Value::Null, "null"),
            (Value::Float(f64::NAN), "NaN"),
            (Value::Float(f64::NEG_INFINITY), "a number: -Infinity"),
            (Value::Float(1e16), "a number: 1e+16"),
            (text("é\n\""), r#"a string: "é\n\"""#),
            (Value::Array(vec![Value::Integer(1), text("a")]), r#"an array: [1, "a"]"#),
            (
                Value::Object(Members::new(vec![("a".into(), Value::Boolean(true))])),
                r#"an object: {"a": true}"#,
            ),
        ] {
            assert_eq!(received(&value), expected);
        }
    }

    #[test]
    fn what_does_not_fit_is_cut_and_not_read() {
        let long = "ä".repeat(1_000_000);
        let cut = format!("\"{}...", "ä".repeat(59));
        assert_eq!(shown(&Value::String(Box::new(long.as_str()))), cut);
        let items = (0..1_000_000).map(|_| Value::Integer(7)).collect();
        assert_eq!(
            shown(&Value::Array(items)),
            format!("[{}...", "7, ".repeat(20).trim_end_matches(' '))
        );
    }
}
