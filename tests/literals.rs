//! Values come back as they were written: as Python's literals, and in braces.

use std::fmt::Write;

use cogency_rs::dialect::Python;
use cogency_rs::protocol::body::{BracesReader, Calls, ItemReader, PythonReader, Scope};
use cogency_rs::protocol::{Call, Event};
use proptest::prelude::*;
use serde_json::{Map, Value};

const MARK: &str = "<|\"|>";

fn value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[a-z '\"\\\\]{0,8}",
        any::<String>(),
        proptest::sample::select(vec!["it's", "<|", "')]", "null", "5", "\r\n\\", "😀é"])
            .prop_map(str::to_owned),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("JSON has only finite numbers", |x| x.is_finite())
            .prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, move |inner| {
        let entries = proptest::collection::vec((text.clone(), inner.clone()), 0..5);
        prop_oneof![
            proptest::collection::vec(inner, 0..5).prop_map(Value::from),
            entries.prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// A string in the way of Python's that `style` picks.
fn python_string(text: &str, style: u8, out: &mut String) {
    let quote = ["'", "\"", "'''", "\"\"\""][usize::from(style % 4)];
    out.push_str(quote);
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\'' | '"' if quote.contains(character) => {
                out.push('\\');
                out.push(character);
            }
            '\n' if style & 4 == 0 => out.push_str("\\n"),
            character if style & 8 == 0 && !character.is_ascii() => {
                let code = u32::from(character);
                write!(out, "\\U{code:08x}").expect("room");
            }
            character => out.push(character),
        }
    }
    out.push_str(quote);
}

fn python(value: &Value, style: u8, out: &mut String) {
    let is_round = style & 16 != 0;
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => python_string(text, style, out),
        Value::Array(items) => {
            out.push(if is_round { '(' } else { '[' });
            for item in items {
                python(item, style.rotate_left(1), out);
                out.push_str(if is_round { ", " } else { "\n," });
            }
            out.push(if is_round { ')' } else { ']' });
        }
        Value::Object(entries) => {
            out.push('{');
            for (index, (key, item)) in entries.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { " " });
                python_string(key, style.rotate_left(3), out);
                out.push(':');
                python(item, style.rotate_left(5), out);
            }
            out.push('}');
        }
    }
}

/// `None` if a string cannot be written between marks.
fn braces(value: &Value, out: &mut String) -> Option<()> {
    let string = |text: &str, out: &mut String| {
        let marked = format!("{MARK}{text}{MARK}");
        // The text must not hold the mark, alone or together with the closing mark.
        let closes = marked[1..].find(MARK).map(|at| at + 1);
        (closes == Some(MARK.len() + text.len())).then(|| out.push_str(&marked))
    };
    match value {
        Value::String(text) => string(text, out)?,
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                braces(item, out)?;
            }
            out.push(']');
        }
        Value::Object(entries) => {
            out.push('{');
            for (index, (key, item)) in entries.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                if !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                    out.push_str(key);
                } else {
                    string(key, out)?;
                }
                out.push(':');
                braces(item, out)?;
            }
            out.push('}');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
    Some(())
}

/// Feeds a text in pieces of this many characters.
fn fed<T>(text: &str, size: usize, mut read: impl FnMut(&[u8]) -> Option<T>) -> Option<T> {
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    ends.enumerate()
        .filter(|(index, end)| (index + 1) % size == 0 || *end == text.len())
        .find_map(|(_, end)| read(&text.as_bytes()[..end]))
}

/// The only call of a list.
fn call_of(said: &[Event]) -> &Call {
    match said {
        [Event::Call(call)] => call,
        other => panic!("one call, not {other:?}"),
    }
}

proptest! {
    #[test]
    fn a_value_written_as_a_literal_of_python_is_read_back(
        value in value(), style in any::<u8>(), size in 1..40usize
    ) {
        let mut text = "[f(x=".to_owned();
        python(&value, style, &mut text);
        text.push_str(")]");
        let scope = Scope::default();
        let mut calls = Calls::new(scope.clone());
        let mut reader = PythonReader::new(&Python::List, 0, &scope);
        let end = fed(&text, size, |text| reader.read(&Python::List, text, &mut calls).expect("a list of calls"));
        prop_assert_eq!(end, Some(text.len()), "{}", text);
        let calls = calls.take().map_err(|problem| TestCaseError::fail(format!("{problem:?} in {text}")))?;
        let args: Value = serde_json::from_str(call_of(&calls).arguments()).expect("JSON");
        prop_assert_eq!(&args["x"], &value, "{}", text);
    }

    #[test]
    fn a_value_written_in_braces_is_read_back(value in value(), size in 1..40usize) {
        let value = Value::Object(Map::from_iter([("x".to_owned(), value)]));
        let mut text = String::new();
        prop_assume!(braces(&value, &mut text).is_some());
        let mut calls = Calls::default();
        let mut reader = BracesReader::new(0);
        let end = fed(&text, size, |text| reader.read((MARK, ""), None, text, &mut calls).expect("arguments"));
        prop_assert_eq!(end, Some(text.len()), "{}", text);
        prop_assert!(calls.take().is_ok(), "{}", text);
        let args: Value = serde_json::from_str(&reader.take()).expect("JSON");
        prop_assert_eq!(args, value, "{}", text);
    }

    #[test]
    fn no_text_depends_on_how_it_is_cut(
        start in proptest::sample::select(vec!["", "[f(x=", "f(x='", "{a:"]),
        pieces in proptest::collection::vec(proptest::sample::select(vec![
            "[", "]", "(", ")", "{", "}", ",", ":", "=", "'", "\"", "'''", "\\", "\\'", "\n", " ", "f(", "x=", "f(x='",
            "r'", "b", "a.b", "é", "1", "-", ".5e", "0x", "True", "None", "null", "#", "<|", "\"|>", "<|\"|>", "{a:", ";", "+", "in",
        ]), 0..24),
        size in 1..6usize,
    ) {
        let text = [start, &pieces.concat()].concat();
        for form in [Python::List, Python::Lines] {
            let read = |size| {
                let scope = Scope::default();
                let mut calls = Calls::new(scope.clone());
                let mut reader = PythonReader::new(&form, 0, &scope);
                let found = fed(&text, size, |text| reader.read(&form, text, &mut calls).transpose());
                let end = found.is_none().then(|| reader.cut_off(&form, text.as_bytes(), &mut calls));
                (found, end, calls.take())
            };
            prop_assert_eq!(read(size), read(usize::MAX), "{}", &text);
        }
        let read = |size| {
            let mut calls = Calls::default();
            let mut reader = BracesReader::new(0);
            let found = fed(&text, size, |text| reader.read((MARK, ""), None, text, &mut calls).transpose());
            let end = found.is_none().then(|| reader.missing(text.as_bytes()));
            (found, end, calls.take(), reader.take())
        };
        prop_assert_eq!(read(size), read(usize::MAX), "{}", &text);
    }
}
