//! What is JSON, and what a value of it says.

use super::super::{Cursor, NotJson, Raw};

#[test]
fn json_is_what_python_reads() {
    for text in [
        "0",
        "-0",
        "12",
        "-1.5e+10",
        "1E5",
        "\"\"",
        "\"a\"",
        r#""\"\\\/\b\f\n\r\t\u00e9\ud83d""#,
        "null",
        "true",
        "false",
        "NaN",
        "Infinity",
        "-Infinity",
        "[]",
        "{}",
        " [ ] ",
        " { } ",
        "[1, [2, {\"a\": []}]]",
        "{\"a\": 1, \"b\": {\"c\": [null]}}",
        "\t{\r\n\"a\"\n:1\t}\n",
        "\"\t\"",
    ] {
        let value = Raw::of(text);
        assert_eq!(value.map(Raw::json), Ok(text.trim()), "{text}");
    }
}

#[test]
fn other_text_is_refused_where_it_begins() {
    for (text, at) in [
        ("", 0),
        ("a", 0),
        ("nul", 0),
        ("01", 1),
        ("-", 1),
        ("1.", 2),
        ("1e", 2),
        ("1e+", 3),
        ("+1", 0),
        ("\"a", 2),
        (r#""\x""#, 2),
        (r#""\u12""#, 2),
        ("[1", 2),
        ("[1,]", 3),
        ("[1 2]", 3),
        ("[,]", 1),
        ("{a: 1}", 1),
        ("{\"a\" 1}", 5),
        ("{\"a\": }", 6),
        ("{\"a\": 1,}", 8),
        ("{\"a\": 1", 7),
        ("1 2", 2),
        ("[}", 1),
        ("{]", 1),
        ("[1}", 2),
        ("[[1]", 4),
        ("{\"a\": [1}", 8),
    ] {
        assert_eq!(Raw::of(text).err(), Some(NotJson { at }), "{text}");
        let nested = format!("[{text}");
        assert!(Raw::of(&nested).is_err(), "{nested}");
    }
}

#[test]
fn depth_is_not_limited_by_the_stack() {
    let depth = 1_000_000;
    let text = "[".repeat(depth) + &"]".repeat(depth);
    assert_eq!(Raw::of(&text).map(Raw::json), Ok(&*text));
    assert_eq!(Raw::of(&text[1..]), Err(NotJson { at: 2 * depth - 2 }));
}

#[test]
fn of_equal_keys_the_last_one_counts_and_keys_may_be_escaped() {
    let value = Raw::of(r#"{"a": 1, "\u0061": 2, "b": null}"#).expect("JSON");
    assert_eq!(value.field("a").map(Raw::json), Some("2"));
    assert_eq!(value.field("b"), None);
    assert_eq!(Raw::of("[]").expect("JSON").field("a"), None);
}

#[test]
fn texts_and_counts_are_values_of_their_type() {
    let text = |json| Raw::of(json).expect("JSON").text();
    assert_eq!(text(r#""a\n\ud83e\udd80\ud83d\u00e9""#).as_deref(), Some("a\n🦀\u{fffd}é"));
    assert_eq!([text("\"\""), text("1"), text("null")], [None, None, None]);
    let count = |json| Raw::of(json).expect("JSON").count();
    assert_eq!(
        ["7", "-7", "7.0", "\"7\"", "99999999999999999999"].map(count),
        [Some(7), None, None, None, None]
    );
}

#[test]
fn what_is_false_for_python_is_false() {
    let is_falsy = |json| Raw::of(json).expect("JSON").is_falsy();
    for json in ["null", "false", "0", "-0", "0.00", "0e5", "\"\"", "[]", "{}", "[ ]", "{\n}"] {
        assert!(is_falsy(json), "{json}");
    }
    for json in ["true", "1", "-1", "\"0\"", "[0]", "{\"a\": 0}", "NaN"] {
        assert!(!is_falsy(json), "{json}");
    }
}

#[test]
fn a_cursor_reads_what_is_asked_for_and_passes_over_the_rest() {
    let mut cursor = Cursor::new(r#" {"a": [1, [2]], "b": "x"} "#);
    let (mut items, mut others) = (Vec::new(), Vec::new());
    let read = cursor.object(|cursor, key| {
        if key == "a" {
            return cursor.array(|cursor| {
                items.push(cursor.value()?.json());
                Ok(())
            });
        }
        others.push((key, cursor.value()?.json()));
        Ok(())
    });
    assert_eq!((read, cursor.end()), (Ok(()), Ok(())));
    assert_eq!((items, others), (vec!["1", "[2]"], vec![("b".into(), "\"x\"")]));
}
