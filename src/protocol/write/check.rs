//! Calls that are written so that they read back as they are.
//!
//! A form without escapes cannot hold every text. Whether it holds this one is asked of the parser.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::super::json::{Scanner, Token, unescaped};
use super::super::notation::json::{elements, members};
use super::super::notation::sink::Sink;
use super::super::notation::{Notation, calls};
use super::super::stored::ShownCall;
use super::super::{Ending, Event, Options, Parser, Tools};
use crate::dialect::Dialect;

/// The schema of a value that is nested deeper allows anything.
const DEEPEST: usize = 32;

/// Adds calls, in blocks of their own. Without a `thought` they are what a model writes that says nothing else.
///
/// If they would read back as other calls, the marks in their raw text are made harmless.
pub fn push_calls(
    sink: &mut Sink<'_>,
    dialect: &Dialect,
    calls: &[ShownCall],
    begins_answer: bool,
    thought: Option<&[u8]>,
) {
    let start = sink.out.len();
    sink.begin_calls(std::iter::empty());
    calls::push_calls(sink, dialect, calls, begins_answer, thought);
    if sink.is_doubtful() && !reads_back(sink.notation(), calls, &sink.out[start..]) {
        let notation = sink.notation();
        sink.out.truncate(start);
        sink.begin_calls(calls.iter().filter(|call| !can_write(notation, call)));
        calls::push_calls(sink, dialect, calls, begins_answer, thought);
    }
}

/// Whether the dialect can hold this call so that it reads back as it is.
///
/// # Complexity
/// O(call)
pub fn can_write(notation: &Notation, call: &ShownCall) -> bool {
    // A head after another call may stand in another place than a head that begins an answer.
    let other = ShownCall { name: "\"a\"".into(), args: "{}".into(), id: None, server: None };
    [&[call.clone()][..], &[other, call.clone()]].iter().all(|calls| {
        let mut sink = Sink::new(notation);
        calls::push_calls(&mut sink, notation.dialect(), calls, true, None);
        !sink.is_doubtful() || reads_back(notation, calls, &sink.out)
    })
}

/// Whether `text` is an answer that makes these calls, of tools whose arguments have exactly these types.
///
/// # Complexity
/// O(text)
fn reads_back(notation: &Notation, calls: &[ShownCall], text: &[u8]) -> bool {
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

/// A schema that allows this canonical JSON, and only values of the same type.
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

/// Whether two texts of canonical JSON are the same value: `5.0` is `5`.
fn are_equal(first: &str, second: &str) -> bool {
    first == second || units(first) == units(second)
}

/// The tokens of canonical JSON, written alike for equal values.
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
    fn numbers_are_equal_with_and_without_a_fraction_of_zero() {
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
