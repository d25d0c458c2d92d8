//! Random calls, of the kind that a writer can write.

use cogency_rs_oracles::{
    Call,
    writers::{Values, Writer},
};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

/// Text before the calls, if the dialect allows it.
pub fn before(writer: &Writer) -> BoxedStrategy<String> {
    let none = Just(String::new());
    if writer.text { prop_oneof![none, text(writer)].boxed() } else { none.boxed() }
}

/// One to three calls; one may come twice.
pub fn calls(writer: &Writer, string: BoxedStrategy<String>) -> BoxedStrategy<Vec<Call>> {
    let arguments = vec((key(), value(writer, string)), 0..5)
        .prop_map(|members| Value::Object(members.into_iter().collect()));
    (vec((key(), arguments), 1..4), any::<bool>())
        .prop_map(|(calls, again)| {
            // A name stands for one schema.
            let named = |(index, (name, args))| (format!("{name}{index}"), args);
            let mut calls: Vec<Call> = calls.into_iter().enumerate().map(named).collect();
            calls.extend(again.then(|| calls[0].clone()));
            calls
        })
        .boxed()
}

/// A name or a key that is not a keyword of Python.
fn key() -> &'static str {
    "[a-z]{1,6}_[a-z0-9]{1,4}"
}

/// Text without any character of a mark.
pub fn text(writer: &Writer) -> BoxedStrategy<String> {
    let pieces = [
        "a",
        "word",
        "Two words",
        "7",
        "-1.5",
        "true",
        "null",
        " ",
        "\n",
        "\t",
        "é",
        "中",
        "😀",
        "\"",
        "'",
        "\\",
        "\\n",
        "/",
        ".",
        ",",
        ":",
        ";",
        "=",
        "&amp;",
        "&",
        "#",
        "%",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "<",
        ">",
        "|",
        "`",
        "$",
        "?",
        "!",
    ];
    let used = |c: char| !c.is_alphanumeric() && writer.marks.iter().any(|mark| mark.contains(c));
    let pieces: Vec<&str> = pieces.into_iter().filter(|piece| !piece.contains(used)).collect();
    let text = vec(select(pieces), 1..8).prop_map(|pieces| pieces.concat());
    // Readers differ in whether space at the ends of a verbatim value is part of it.
    let verbatim = writer.values != Values::Any;
    text.prop_map(move |text| if verbatim { text.trim().to_owned() } else { text }).boxed()
}

/// Text with marks in it; in a verbatim value they are not followed by what may follow a mark.
pub fn with_marks(writer: &Writer) -> BoxedStrategy<String> {
    let word = if writer.values == Values::Any { "" } else { "x" };
    let mark = select(writer.marks).prop_map(move |mark| [word, mark, word].concat());
    vec(prop_oneof![text(writer), mark], 1..5).prop_map(|pieces| pieces.concat()).boxed()
}

fn value(writer: &Writer, string: BoxedStrategy<String>) -> BoxedStrategy<Value> {
    let scalar = prop_oneof![
        4 => string.prop_map(Value::from),
        2 => (-1_000_000_000_000_i64..1_000_000_000_000).prop_map(Value::from),
        1 => (-4000_i32..4000).prop_map(|whole| json!(f64::from(whole) + 0.25)),
        1 => any::<bool>().prop_map(Value::from),
        // A verbatim null would be a string of four letters.
        u32::from(writer.values == Values::Any) => Just(Value::Null),
    ];
    let within = writer.values == Values::VerbatimWithin;
    let nested = move |inner: BoxedStrategy<Value>| {
        // Elements cannot tell an empty list or object, nor the types in a mixed one.
        let list = if within {
            let numbers = vec(any::<i32>().prop_map(Value::from), 1..4);
            prop_oneof![numbers, vec(any::<bool>().prop_map(Value::from), 1..4)].boxed()
        } else {
            vec(inner.clone(), 0..4).boxed()
        };
        let object = vec((key(), inner), usize::from(within)..4)
            .prop_map(|members| Value::Object(members.into_iter().collect()));
        prop_oneof![list.prop_map(Value::from), object]
    };
    scalar.prop_recursive(3, 12, 3, nested).boxed()
}
