//! Whether calls read back as they were written.
//!
//! A form without escapes cannot hold every text, and what it holds is for its reader to say: so it is asked.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::super::json::{Scanner, Token, unescaped};
use super::super::{Ending, Event, Options, Parser, Tools};
use super::ShownCall;
use super::json::{elements, members};
use super::notation::Notation;

/// Values that are nested deeper are not described.
const DEEPEST: usize = 32;

/// Whether `text` is an answer that makes these calls, of tools that want arguments of just their types.
///
/// # Complexity
/// O(text)
pub fn reads_back(notation: &Notation, calls: &[ShownCall], text: &[u8]) -> bool {
    let tools = calls.iter().map(|call| {
        let name = unescaped(call.name.as_bytes()).to_string();
        (name, schema_of(&call.args, 0))
    });
    let options = Options { tools: Some(Tools::new(tools).into()), ..Options::default() };
    let mut parser = Parser::new(Arc::clone(notation.grammar()), options);
    let mut events = Vec::new();
    parser.feed(text, &mut events);
    parser.finish(&Ending::Stopped, &mut events);
    let mut expected = calls.iter();
    let are_equal = events.iter().all(|event| match event {
        Event::Call(call) => expected.next().is_some_and(|expected| {
            call.name_json() == expected.name && are_equal(call.args_json(), &expected.args)
        }),
        Event::Error(_) => false,
        _ => true,
    });
    are_equal && expected.next().is_none()
}

/// A schema of which this canonical JSON is a value, and no value of another type.
fn schema_of(json: &str, depth: usize) -> Value {
    let kind = match json.as_bytes().first() {
        _ if depth > DEEPEST => return json!({}),
        Some(b'{') => {
            let property = |(key, value): (&str, &str)| {
                (unescaped(key.as_bytes()).to_string(), schema_of(value, depth + 1))
            };
            let properties: Map<_, _> = members(json).map(property).collect();
            return json!({"type": "object", "properties": properties});
        }
        Some(b'[') => {
            let item = elements(json).next().map_or(json!({}), |item| schema_of(item, depth + 1));
            return json!({"type": "array", "items": item});
        }
        Some(b'"') => "string",
        Some(b't' | b'f') => "boolean",
        Some(b'n') => "null",
        _ if json.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => "integer",
        _ => "number",
    };
    json!({"type": kind})
}

/// Whether two texts of canonical JSON are one value: `5.0` is `5`.
fn are_equal(first: &str, second: &str) -> bool {
    first == second || units(first) == units(second)
}

/// The tokens of canonical JSON, in words that equal values have in common.
fn units(json: &str) -> Vec<String> {
    let text = json.as_bytes();
    let mut scanner = Scanner::default();
    let mut units = Vec::new();
    let mut add = |token: Token| {
        units.push(match token {
            Token::Number(range) => {
                let number = &json[range];
                number.strip_suffix(".0").unwrap_or(number).to_owned()
            }
            Token::Key(range) | Token::String(range) => json[range].to_owned(),
            token => format!("{token:?}"),
        });
    };
    while let Ok(Some(token)) = scanner.next(text) {
        add(token);
    }
    if let Ok(Some(token)) = scanner.end(text) {
        add(token);
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_equal_whatever_their_point() {
        for (first, second, equal) in [
            ("{\"a\": 5.0}", "{\"a\": 5}", true),
            ("5", "5.0", true),
            ("[1, \"5.0\"]", "[1, \"5\"]", false),
            ("5.5", "5", false),
            ("[]", "{}", false),
            ("true", "\"true\"", false),
        ] {
            assert_eq!(are_equal(first, second), equal, "{first} {second}");
        }
    }

    #[test]
    fn a_value_is_described_by_its_types() {
        assert_eq!(
            schema_of("{\"a\": [1], \"b\": {\"c\": -0.5}, \"d\": []}", 0),
            json!({"type": "object", "properties": {
                "a": {"type": "array", "items": {"type": "integer"}},
                "b": {"type": "object", "properties": {"c": {"type": "number"}}},
                "d": {"type": "array", "items": {}},
            }})
        );
    }
}
