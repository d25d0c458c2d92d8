//! Calls that are written so that they read back as they are.
//!
//! A form without escapes cannot hold every text. Whether it holds this one is asked of the parser.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::super::characters::Characters;
use super::super::notation::json::{elements, members};
use super::super::notation::sink::Sink;
use super::super::notation::{Notation, calls};
use super::super::stored::ShownCall;
use super::super::{Call, Ending, Event, Options, Parser, Tools};
use crate::dialect::Dialect;
use crate::json::{Scanner, Token, unescaped};

/// The schema of a value that is nested deeper allows anything.
const DEEPEST: usize = 32;

/// Adds calls, in their own blocks. Without a `thought` they are what a model writes that says nothing else.
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
    sink.begin_calls(Vec::new());
    calls::push_calls(sink, dialect, calls, begins_answer, thought);
    if sink.is_doubtful() && !reads_back(sink.notation(), calls, &sink.out[start..]) {
        let notation = sink.notation();
        sink.out.truncate(start);
        sink.begin_calls(calls.iter().map(|call| !can_write(notation, call)).collect());
        calls::push_calls(sink, dialect, calls, begins_answer, thought);
    }
}

/// Whether the dialect can hold this call so that it reads back as it is.
///
/// # Complexity
/// O(call)
pub fn can_write(notation: &Notation, call: &ShownCall) -> bool {
    // A head after another call may come in a different place from a head that begins an answer.
    let other = ShownCall { name: "\"a\"".into(), args: "{}".into(), id: None, server: None };
    [&[call.clone()][..], &[other, call.clone()]].iter().all(|calls| {
        let mut sink = Sink::new(notation);
        calls::push_calls(&mut sink, notation.dialect(), calls, true, None);
        !sink.is_doubtful() || reads_back(notation, calls, &sink.out)
    })
}

/// Calls that a dialect cannot hold: they would be read as others.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the dialect {dialect} cannot hold the call of {name}: it would be read as {read}")]
pub struct Unwritable {
    dialect: String,
    name: String,
    read: String,
}

/// Writes calls in their own blocks, as they are. `tools` are those that the reader will know; without them it is one that
/// knows tools whose arguments have exactly these types.
///
/// # Errors
/// They would be read as others.
pub fn exactly(
    notation: &Notation,
    calls: &[ShownCall],
    begins_answer: bool,
    tools: Option<&Arc<Tools>>,
) -> Result<Vec<u8>, Unwritable> {
    let mut sink = Sink::new(notation);
    sink.begin_calls(Vec::new());
    calls::push_calls(&mut sink, notation.dialect(), calls, begins_answer, None);
    // A form without escapes writes a lone surrogate as it is, but no model is sent one and no answer brings one.
    let mut characters = Characters::default();
    let mut text = characters.whole(&sink.out).into_owned();
    text.extend_from_slice(characters.end().as_bytes());
    if !sink.is_doubtful() && tools.is_none() && characters.replaced() == 0 {
        return Ok(sink.out);
    }
    let read = read_back(notation, calls, &text, tools.map(Arc::clone));
    let other = calls.iter().enumerate().find(|(at, call)| !is_read(read.get(*at), call));
    let other = other.or_else(|| {
        calls.last().map(|call| (calls.len(), call)).filter(|_| read.len() > calls.len())
    });
    match other {
        None => Ok(sink.out),
        Some((at, call)) => Err(Unwritable {
            dialect: notation.dialect().name.to_string(),
            name: unescaped(call.name.as_bytes()).to_string(),
            read: match read.get(at) {
                Some(Ok(call)) => call.json().to_owned(),
                Some(Err(error)) => error.clone(),
                None => "no call".to_owned(),
            },
        }),
    }
}

fn is_read(read: Option<&Result<Call, String>>, call: &ShownCall) -> bool {
    matches!(read, Some(Ok(read)) if read.name_json() == call.name && are_equal(read.arguments(), &call.args))
}

/// Whether `text` is an answer that makes these calls, of tools whose arguments have exactly these types.
///
/// # Complexity
/// O(text)
fn reads_back(notation: &Notation, calls: &[ShownCall], text: &[u8]) -> bool {
    let read = read_back(notation, calls, text, None);
    read.len() == calls.len()
        && read.iter().zip(calls).all(|(read, call)| is_read(Some(read), call))
}

/// The calls and the errors in `text`, as a reader with these tools reads them; without any, one with tools whose arguments have
/// exactly the types of these calls.
///
/// # Complexity
/// O(text)
fn read_back(
    notation: &Notation,
    calls: &[ShownCall],
    text: &[u8],
    tools: Option<Arc<Tools>>,
) -> Vec<Result<Call, String>> {
    let exact = || {
        let tools = calls.iter().map(|call| {
            let name = unescaped(call.name.as_bytes()).to_string();
            (name, schema_of(&call.args, 0))
        });
        Arc::new(Tools::new(tools))
    };
    let options = Options { tools: Some(tools.unwrap_or_else(exact)), ..Options::default() };
    let mut parser = Parser::new(Arc::clone(notation.grammar()), options);
    let mut events = Vec::new();
    parser.feed_bytes(text, &mut events);
    parser.finish(&Ending::Stopped, &mut events);
    let read = events.into_iter().filter_map(|event| match event {
        Event::Call(call) => Some(Ok(call)),
        Event::Error(report) => Some(Err(report.content.to_string())),
        _ => None,
    });
    read.collect()
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
    let mut units = Vec::new();
    Scanner::default().rest(json.as_bytes(), |_, token| {
        units.push(match token {
            Token::Number(range) => {
                let number = &json[range];
                number.strip_suffix(".0").unwrap_or(number).to_owned()
            }
            Token::Key(range) | Token::String(range) => json[range].to_owned(),
            token => format!("{token:?}"),
        });
        Some(())
    });
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
        for (open, close) in [("[", "]"), ("{\"a\": ", "}")] {
            let nested = [open.repeat(100), "1".into(), close.repeat(100)].concat();
            let levels = schema_of(&nested, 0).to_string().matches("\"type\"").count();
            assert_eq!(levels, DEEPEST + 1, "{open}");
        }
    }
}
