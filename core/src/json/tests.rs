//! What the scanner reads, and where it stops.

mod whole;

use super::*;

/// Every token of a complete text.
fn tokens(text: &str) -> Result<Vec<Token>, Fault> {
    let text = text.as_bytes();
    let mut scanner = Scanner::default();
    let mut tokens = Vec::new();
    while let Some(token) = scanner.next(text)? {
        tokens.push(token);
    }
    tokens.extend(scanner.end(text)?);
    Ok(tokens)
}

/// The same, while the text grows by one byte at a time.
fn tokens_by_byte(text: &str) -> Result<Vec<Token>, Fault> {
    let text = text.as_bytes();
    let mut scanner = Scanner::default();
    let mut tokens = Vec::new();
    for end in 0..=text.len() {
        while let Some(token) = scanner.next(&text[..end])? {
            tokens.push(token);
        }
    }
    tokens.extend(scanner.end(text)?);
    Ok(tokens)
}

#[test]
fn text_is_accepted_and_refused_as_python_does() {
    for text in [
        "[]",
        "{}",
        "0",
        "-0",
        "1.5e+10",
        "\"\\u00e9\\ud800\"",
        "NaN",
        "-Infinity",
        "[1,2,{\"a\":null}]",
        "\"raw \n control\"",
        " [ true , false ] ",
        "1E5",
        "123456789012345678901234567890",
    ] {
        let all = tokens(text);
        assert!(all.is_ok(), "{text}: {all:?}");
        assert_eq!(all, tokens_by_byte(text), "{text}");
    }
    for (text, kind, at) in [
        ("", FaultKind::Ended, 0),
        ("[1,]", FaultKind::Value, 3),
        ("{,}", FaultKind::Key, 1),
        ("{\"a\" 1}", FaultKind::Colon, 5),
        ("[1 2]", FaultKind::ArrayComma, 3),
        ("{\"a\":1]", FaultKind::ObjectComma, 6),
        ("[01]", FaultKind::ArrayComma, 2),
        ("[1.]", FaultKind::Digit, 3),
        ("[-]", FaultKind::Digit, 2),
        ("[1e+]", FaultKind::Digit, 4),
        ("\"\\x\"", FaultKind::Escape, 1),
        ("\"\\u12g4\"", FaultKind::UnicodeEscape, 1),
        ("[\"abc", FaultKind::EndedInString, 1),
        ("[1", FaultKind::Ended, 2),
        ("1.", FaultKind::Ended, 2),
        ("nul", FaultKind::Ended, 3),
        ("nulk", FaultKind::Value, 0),
        ("+1", FaultKind::Value, 0),
    ] {
        assert_eq!(tokens(text), Err(Fault { kind, at }), "{text}");
        assert_eq!(tokens_by_byte(text), Err(Fault { kind, at }), "{text}");
    }
}

#[test]
fn strict_strings_refuse_raw_control_characters() {
    let mut scanner = Scanner::new(Controls::Escaped);
    assert_eq!(scanner.next(b"\"a\nb\""), Err(Fault { kind: FaultKind::Control, at: 2 }));
}

#[test]
fn escapes_are_replaced_by_their_characters() {
    for (quoted, said) in [
        (r#""""#, &b""[..]),
        (r#""a\"\\\/b""#, b"a\"\\/b"),
        (r#""\b\f\n\r\t""#, b"\x08\x0c\n\r\t"),
        (r#""\u00e9\u20AC""#, "é€".as_bytes()),
        (r#""\ud83d\ude00""#, "😀".as_bytes()),
        (r#""\ud83d\ud83d\ude00""#, b"\xed\xa0\xbd\xf0\x9f\x98\x80"),
        (r#""\ude00\ud83d""#, b"\xed\xb8\x80\xed\xa0\xbd"),
        (r#""\ud83d\n""#, b"\xed\xa0\xbd\n"),
        (r#""é\\u00e9""#, "é\\u00e9".as_bytes()),
    ] {
        assert_eq!(unescaped(quoted.as_bytes()).as_bytes(), said, "{quoted}");
    }
}

type Fields = Vec<(String, String)>;

/// The strings under an object's own keys, joined, and what is wrong with it; fed in pieces of so many bytes.
fn fields(text: &str, size: usize) -> (Fields, Option<(ObjectFault, usize)>) {
    let (mut object, mut pieces) = (GrowingObject::default(), Vec::new());
    for piece in text.as_bytes().chunks(size) {
        object.feed(piece, &mut pieces);
    }
    object.end();
    let mut joined = Fields::new();
    for piece in pieces {
        let (key, text) = (piece.key.to_string(), piece.text.to_string());
        match joined.last_mut() {
            Some((last, joined)) if *last == key => joined.push_str(&text),
            _ => joined.push((key, text)),
        }
    }
    (joined, object.fault())
}

#[test]
fn an_object_hands_out_its_own_strings_however_it_is_cut() {
    let text = r#" {"a": "x\n\ud83e\udd80", "b": {"c": "no"}, "d": ["no"], "e": ""} "#;
    let expected = [("a", "x\n🦀"), ("e", "")].map(|(key, text)| (key.into(), text.into()));
    for size in 1..text.len() {
        assert_eq!(fields(text, size), (expected.to_vec(), None), "{size}");
    }
}

#[test]
fn what_follows_an_object_is_told_apart_from_it() {
    let mut object = GrowingObject::default();
    object.feed(b" {} {more}", &mut Vec::new());
    assert_eq!(object.whole(), Some((&b" {}"[..], &b" {more}"[..])));
}

#[test]
fn an_object_says_where_it_breaks_however_it_is_cut() {
    for (text, fault, at) in [
        (" [", ObjectFault::Other, 1),
        (r#"{"a": NaN"#, FaultKind::Value.into(), 6),
        (r#"{"a": "\x"#, FaultKind::Escape.into(), 7),
        (r#"{"a": 1} 2"#, FaultKind::Trailing.into(), 9),
        (&"{\"a\":".repeat(201), ObjectFault::Deep, 1000),
    ] {
        for size in 1..text.len() {
            assert_eq!(fields(text, size).1, Some((fault, at)), "{text} {size}");
        }
    }
}
