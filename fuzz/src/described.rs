//! Arguments of a call, and a schema that allows them.

use arbitrary::{Arbitrary, Result, Unstructured};
use serde_json::{Map, Value, json};

use crate::text;

/// Texts that look like something else, or like the end of a value.
const ODD: [&str; 30] = [
    "5",
    "-5",
    "5.0",
    "02134",
    "1.10",
    "1e3",
    "true",
    "True",
    "null",
    "None",
    "NaN",
    "Infinity",
    "",
    " ",
    " 5 ",
    "\n5",
    "[1]",
    "{\"a\": 1}",
    "\"q\"",
    "'q'",
    "a\nb\n",
    "</x>",
    "<x>",
    "<![CDATA[",
    "]]>",
    "&amp;",
    "é😀",
    "```",
    "\\",
    "two words",
];

const NAMES: [&str; 5] = ["x", "text", "a b", "arguments", "item"];

/// Arguments of one to three names, and the schema of the tool. Texts in them may hold some of `marks`.
///
/// # Errors
/// There are too few bytes.
pub fn arguments(input: &mut Unstructured<'_>, marks: &[String]) -> Result<(Value, Value)> {
    let (mut args, mut properties) = (Map::new(), Map::new());
    for _ in 0..1 + u8::arbitrary(input)? % 3 {
        let name = *input.choose(&NAMES)?;
        let value = value(input, marks, 3)?;
        properties.insert(name.to_owned(), schema_of(input, &value)?);
        args.insert(name.to_owned(), value);
    }
    let schema = json!({
        "type": "object",
        "properties": properties,
        "$defs": {"text": {"type": "string"}, "scalar": {"type": ["string", "integer", "boolean", "null", "number"]}},
    });
    Ok((args.into(), schema))
}

fn value(input: &mut Unstructured<'_>, marks: &[String], depth: usize) -> Result<Value> {
    Ok(match u8::arbitrary(input)? % 12 {
        0 => Value::Null,
        1 => bool::arbitrary(input)?.into(),
        2 => i32::arbitrary(input)?.into(),
        3 => json!(f64::from(i32::arbitrary(input)?) / 8.0),
        4 | 5 if depth > 0 => {
            let count = usize::from(u8::arbitrary(input)? % 4);
            let items = (0..count).map(|_| value(input, marks, depth - 1));
            Value::Array(items.collect::<Result<_>>()?)
        }
        6 | 7 if depth > 0 => {
            let count = usize::from(u8::arbitrary(input)? % 3);
            let members =
                (0..count).map(|_| Ok((string(input, marks)?, value(input, marks, depth - 1)?)));
            Value::Object(members.collect::<Result<_>>()?)
        }
        _ => string(input, marks)?.into(),
    })
}

fn string(input: &mut Unstructured<'_>, marks: &[String]) -> Result<String> {
    let mut said = String::new();
    for _ in 0..u8::arbitrary(input)? % 4 {
        match u8::arbitrary(input)? % 4 {
            0 => said.push_str(input.choose(&ODD)?),
            1 if !marks.is_empty() => said.push_str(input.choose(marks)?),
            2 => {
                let choices = <[u8; 3]>::arbitrary(input)?;
                said.push_str(&String::from_utf8_lossy(&text::from_pieces(&choices)));
            }
            _ => said.push_str(input.choose(&["a", "b", " ", "<", "=", "\"", "0", "\n"])?),
        }
    }
    Ok(said)
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A schema that allows `value`, and perhaps values of other types.
fn schema_of(input: &mut Unstructured<'_>, value: &Value) -> Result<Value> {
    let own = type_of(value);
    let described = match value {
        Value::Array(items) if !items.is_empty() && bool::arbitrary(input)? => {
            let each: Vec<Value> =
                items.iter().map(|item| schema_of(input, item)).collect::<Result<_>>()?;
            json!({"type": "array", "items": {"anyOf": each}})
        }
        Value::Object(members) if bool::arbitrary(input)? => {
            let each: Map<String, Value> = members
                .iter()
                .map(|(name, member)| Ok((name.clone(), schema_of(input, member)?)))
                .collect::<Result<_>>()?;
            json!({"type": "object", "properties": each})
        }
        _ => json!({ "type": own }),
    };
    let kinds = ["string", "integer", "number", "boolean", "null", "array", "object"];
    let other = *input.choose(&kinds)?;
    Ok(match u8::arbitrary(input)? % 8 {
        0 => json!({ "type": [own, other] }),
        1 => json!({ "anyOf": [described, {"type": other}] }),
        2 => json!({ "oneOf": [{"type": other}, described] }),
        3 if !value.is_array() && !value.is_object() => json!({"$ref": "#/$defs/scalar"}),
        4 if value.is_string() => json!({"$ref": "#/$defs/text"}),
        5 => json!({}),
        _ => described,
    })
}

/// Whether two values are the same: `5.0` is `5`.
#[must_use]
pub fn are_equal(first: &Value, second: &Value) -> bool {
    match (first, second) {
        (Value::Number(first), Value::Number(second)) => first.as_f64() == second.as_f64(),
        (Value::Array(first), Value::Array(second)) => {
            first.len() == second.len() && first.iter().zip(second).all(|(a, b)| are_equal(a, b))
        }
        (Value::Object(first), Value::Object(second)) => {
            first.len() == second.len()
                && first.iter().all(|(key, a)| second.get(key).is_some_and(|b| are_equal(a, b)))
        }
        _ => first == second,
    }
}
