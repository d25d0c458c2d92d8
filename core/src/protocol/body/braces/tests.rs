//! What the reader of arguments in braces makes of them.

use serde_json::{Value, json};

use super::super::super::limits::Limits;
use super::super::super::tools::SchemaDocument;
use super::super::Early;
use super::super::Scope;
use super::*;

/// The end of the arguments and what they are, or what is wrong with them.
type ReadOutcome = Result<Option<(usize, String)>, (String, usize)>;

fn read_in(mark: &str, schema: Option<&Value>, limits: Limits, parts: &[&str]) -> ReadOutcome {
    let mut calls = Calls::new(Scope { limits, early: Early::Shown, ..Scope::default() });
    let mut reader = BracesReader::new(0);
    let (mut text, mut end) = (String::new(), None);
    let failed = |problem: Problem| (problem.kind.to_string(), problem.at);
    let document = schema.map(SchemaDocument::new);
    for part in parts {
        text.push_str(part);
        let schema = document.as_ref().map(SchemaDocument::root);
        end = reader.read((mark, ""), schema, text.as_bytes(), &mut calls).map_err(failed)?;
        if end.is_some() {
            break;
        }
    }
    calls.take().map_err(failed)?;
    Ok(end.map(|end| (end, reader.take())))
}

/// What comes of a text, which must not depend on how it was cut.
fn read_with(mark: &str, schema: Option<&Value>, limits: Limits, text: &str) -> ReadOutcome {
    let whole = read_in(mark, schema, limits, &[text]);
    let characters: Vec<&str> =
        text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()]).collect();
    assert_eq!(read_in(mark, schema, limits, &characters), whole, "one by one: {text}");
    for (at, _) in text.char_indices() {
        let parts = [&text[..at], &text[at..]];
        assert_eq!(read_in(mark, schema, limits, &parts), whole, "cut at {at}: {text}");
    }
    whole
}

fn read(text: &str) -> ReadOutcome {
    read_with("<|\"|>", None, Limits::default(), text)
}

#[test]
fn arguments_are_json_without_its_quotes() {
    for (text, expected) in [
        ("{}", "{}"),
        (" { } ", "{}"),
        (
            "{a:1, b : -2.50 ,c:true,d:null,e:[],f:{},}",
            r#"{"a": 1, "b": -2.5, "c": true, "d": null, "e": [], "f": {}}"#,
        ),
        ("{a:[1,[2,],{b:False}]}", r#"{"a": [1, [2], {"b": false}]}"#),
        ("{a:<|\"|>Paris<|\"|>,b:<|\"|><|\"|>}", r#"{"a": "Paris", "b": ""}"#),
        ("{a:<|\"|>\"}]\\n<tool_call|><|\"<|\n<|\"|>}", r#"{"a": "\"}]\\n<tool_call|><|\"<|\n"}"#),
        (r#"{a:"x\"\u00e9</a>}", "b":1}"#, r#"{"a": "x\"\u00e9</a>}", "b": 1}"#),
        ("{<|\"|>a:}<|\"|>:1}", r#"{"a:}": 1}"#),
        ("{a b-é.c:1}", r#"{"a b-\u00e9.c": 1}"#),
        (
            "{a: San José 12:30 (it's 5) ,b:[x, y]}",
            r#"{"a": "San Jos\u00e9 12:30 (it's 5)", "b": ["x", "y"]}"#,
        ),
        (
            "{a:007,b:none,c:18446744073709551616}",
            r#"{"a": "007", "b": "none", "c": 18446744073709551616}"#,
        ),
        ("{a:1,b:2,a:3}", r#"{"a": 3, "b": 2}"#),
    ] {
        match read(text) {
            Ok(Some((end, args))) => {
                assert_eq!(args, expected, "{text}");
                assert_eq!(end, text.trim_end().len(), "{text}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn a_mark_is_whatever_the_dialect_says() {
    for (mark, text, expected) in [
        ("<escape>", "{a:<escape><esc<escape>}", r#"{"a": "<esc"}"#),
        ("é", "{a:éxé}", r#"{"a": "x"}"#),
        ("", "{a:x}", r#"{"a": "x"}"#),
    ] {
        let read = read_with(mark, None, Limits::default(), text);
        assert_eq!(read, Ok(Some((text.len(), expected.to_owned()))), "{text}");
    }
}

#[test]
fn the_schema_says_which_literals_are_text() {
    let schema = json!({"properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "flag": {"type": "boolean"},
        "maybe": {"type": ["string", "null"]},
        "any": {},
        "texts": {"type": "array", "items": {"type": "string"}},
        "tree": {"$ref": "#/$defs/tree"},
    }, "$defs": {"tree": {"properties": {
        "label": {"type": "string"}, "kids": {"items": {"$ref": "#/$defs/tree"}}
    }}}});
    for (text, expected) in [
        ("{text:90210}", r#"{"text": "90210"}"#),
        ("{text:true, texts:[1,null]}", r#"{"text": "true", "texts": ["1", "null"]}"#),
        ("{count:5,flag:True}", r#"{"count": 5, "flag": true}"#),
        ("{count:2.5,flag:7}", r#"{"count": 2.5, "flag": 7}"#),
        ("{count:many}", r#"{"count": "many"}"#),
        ("{count:<|\"|>5<|\"|>}", r#"{"count": "5"}"#),
        ("{maybe:null,any:5,other:6}", r#"{"maybe": null, "any": 5, "other": 6}"#),
        (
            "{tree:{kids:[{label:1,n:2},{kids:[{label:3}],label:4}],label:5},text:6}",
            r#"{"tree": {"kids": [{"label": "1", "n": 2}, {"kids": [{"label": "3"}], "label": "4"}], "label": "5"}, "text": "6"}"#,
        ),
    ] {
        let read = read_with("<|\"|>", Some(&schema), Limits::default(), text);
        assert_eq!(read, Ok(Some((text.len(), expected.to_owned()))), "{text}");
    }
}

#[test]
fn problems_say_what_and_where() {
    let long = format!("{{{}:1}}", "k".repeat(MAX_KEY + 1));
    for (text, problem, at) in [
        ("{a}", "expected \":\" after the key, found \"}\"", 2),
        ("{a:}", "expected a value, found \"}\"", 3),
        ("{a:,b:1}", "expected a value, found \",\"", 3),
        ("{:1}", "expected a key, found \":\"", 1),
        ("{'a':1}", "expected a key, found \"'\"", 1),
        ("{a:'x'}", "expected a value, found \"'\"", 3),
        ("{a:x \"y}\"}", "expected \",\" or \"}\", found \"\"\"", 5),
        ("{a:[1 {}]}", "expected \",\" or \"]\", found \"{\"", 6),
        ("{a:\"x\" y}", "expected \",\" or \"}\", found \"y\"", 7),
        ("{a:x\nb:1}", "expected \",\" or \"}\", found a line break", 4),
        (
            "{a:\"\\x }\",b:<|\"|>}<|\"|>}",
            "invalid escape in a string (a backslash is written \\\\)",
            4,
        ),
        (long.as_str(), "expected a key, found one of more than 256 bytes", 1),
        // These have no end of their own.
        ("(a:1)", "expected \"{\", found \"(\"", 0),
        ("{a:1]", "expected \"}\", found \"]\"", 4),
        ("{a:[1}", "expected \"]\", found \"}\"", 5),
        ("{a:x<tool_call|>", "expected \",\" or \"}\", found \"<\"", 4),
        ("{a<tool_call|>", "expected \":\" after the key, found \"<\"", 2),
        ("{a:[[1}]<tool_call|>", "expected \"]\", found \"}\"", 6),
        ("{a b c:'<tool_call|>", "expected \",\" or \"}\", found \"<\"", 8),
    ] {
        assert_eq!(read(text), Err((problem.to_owned(), at)), "{text}");
    }
}

#[test]
fn what_is_missing_at_the_end_is_named() {
    for (text, missing, at) in [
        ("", "\"{\"", 0),
        ("{a:1", "\"}\"", 4),
        ("{a:[1,", "\"]\"", 6),
        ("{a:<|\"|>x}<|", "the end of the string that begins here", 8),
        ("{a:\"x}", "the end of the string that begins here", 3),
    ] {
        let mut reader = BracesReader::new(0);
        let read = reader.read(("<|\"|>", ""), None, text.as_bytes(), &mut Calls::default());
        assert_eq!(read, Ok(None), "{text}");
        let kind = ProblemKind::Missing(missing.into());
        assert_eq!(reader.missing(text.as_bytes()), Problem { kind, at }, "{text}");
    }
}

#[test]
fn limits_hold_at_their_bound() {
    let limits = Limits { max_depth: 2, ..Limits::default() };
    let read = |text| read_with("<|\"|>", None, limits, text);
    assert!(read("{a:[1]}").is_ok());
    assert_eq!(read("{a:[[]],b:{}}"), Err(("brackets are nested deeper than 2".into(), 4)));
}
