//! What the reader of Python calls makes of whole items.

use super::super::super::Event;
use super::super::super::canonical::canonical;
use super::super::super::event::Note;
use super::super::super::limits::Limits;
use super::super::Early;
use super::*;

/// The end of the item, its calls and the arguments as they were shown; or what is wrong with it.
type ReadOutcome = Result<(Option<usize>, Vec<String>, String), (String, usize)>;

fn read_in(form: &Python, limits: Limits, parts: &[&str], is_cut_off: bool) -> ReadOutcome {
    let scope = Scope { limits, early: Early::Shown, ..Scope::default() };
    let mut calls = Calls::new(scope.clone());
    let mut reader = PythonReader::new(form, 0, &scope);
    let (mut text, mut end) = (String::new(), None);
    let failed = |problem: Problem| (problem.kind.to_string(), problem.at);
    for part in parts {
        text.push_str(part);
        end = reader.read(form, text.as_bytes(), &mut calls).map_err(failed)?;
        if end.is_some() {
            break;
        }
    }
    if end.is_none() && is_cut_off {
        reader.cut_off(form, text.as_bytes(), &mut calls).map_err(failed)?;
    }
    let notes: Vec<_> = calls.notes().collect();
    let calls = calls.take().map_err(failed)?;
    let mut shown: Vec<(String, String)> = Vec::new();
    for (number, note) in notes {
        match note {
            Note::Start { name, .. } => shown.push((name, String::new())),
            Note::Args(args) => {
                assert_eq!(number + 1, shown.len());
                shown[number].1.push_str(&args);
            }
            Note::Value(..) => panic!("a parser makes these"),
        }
    }
    // Of a call with a key that is there twice only the beginning is shown, if it came in pieces.
    let repeats = text.matches("'k'").count() > 1 || text.matches("a=").count() > 1;
    let shown = shown.into_iter().map(|(name, args)| {
        let args = canonical(format!("{args}}}").as_bytes());
        assert!(args.is_some() || end.is_none() || repeats, "{text}");
        format!("{name} {}", args.filter(|_| !repeats).unwrap_or_default())
    });
    let shown = shown.collect::<Vec<_>>().join(" ");

    let calls = calls.into_iter().map(|event| match event {
        Event::Call(call) => call.into_json(),
        other => panic!("{other:?}"),
    });
    Ok((end, calls.collect(), shown))
}

/// What comes of a text, which must not depend on how it was cut.
fn read_with(form: &Python, limits: Limits, text: &str, is_cut_off: bool) -> ReadOutcome {
    let whole = read_in(form, limits, &[text], is_cut_off);
    let characters: Vec<&str> =
        text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()]).collect();
    assert_eq!(read_in(form, limits, &characters, is_cut_off), whole, "one by one: {text}");
    for (at, _) in text.char_indices() {
        let parts = [&text[..at], &text[at..]];
        assert_eq!(read_in(form, limits, &parts, is_cut_off), whole, "cut at {at}: {text}");
    }
    whole
}

fn calls_of(form: &Python, text: &str) -> Vec<String> {
    match read_with(form, Limits::default(), text, false) {
        Ok((Some(_), calls, _)) => calls,
        other => panic!("{text}: {other:?}"),
    }
}

/// The arguments of the call of `f`, which `[f(x=…)]` holds.
fn value_of(literal: &str) -> String {
    let calls = calls_of(&Python::List, &format!("[f(x={literal})]"));
    let [call] = calls.as_slice() else { panic!("{literal}: {calls:?}") };
    let value = call.strip_prefix(r#"{"name": "f", "args": {"x": "#).expect("a call of f");
    value.strip_suffix("}}").expect("one argument").to_owned()
}

fn problem_of(form: &Python, text: &str) -> (String, usize) {
    match read_with(form, Limits::default(), text, true) {
        Err(problem) => problem,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn a_list_holds_calls_with_keywords() {
    for (text, expected) in [
        ("[]", &[][..]),
        ("[f()]", &[r#"{"name": "f", "args": {}}"#]),
        (
            " [a( x = 1 ,\n y='z', ) , b.c(),\nget-weather(ö=True),]",
            &[
                r#"{"name": "a", "args": {"x": 1, "y": "z"}}"#,
                r#"{"name": "b.c", "args": {}}"#,
                r#"{"name": "get-weather", "args": {"\u00f6": true}}"#,
            ],
        ),
        ("获取(x=1) f(", &[r#"{"name": "\u83b7\u53d6", "args": {"x": 1}}"#]),
        ("[f(a=1, b=2, a=[3])]", &[r#"{"name": "f", "args": {"a": [3], "b": 2}}"#]),
    ] {
        assert_eq!(calls_of(&Python::List, text), expected, "{text}");
    }
}

#[test]
fn literals_are_json() {
    for (literal, expected) in [
        ("True", "true"),
        ("null", "null"),
        ("-1_000", "-1000"),
        ("- 0xff", "-255"),
        ("+1.", "1.0"),
        ("1e-5", "1e-05"),
        ("-0", "0"),
        ("18446744073709551616", "18446744073709551616"),
        ("[1, -2.5, [],]", "[1, -2.5, []]"),
        ("()", "[]"),
        ("(1)", "1"),
        ("(1,)", "[1]"),
        ("(((1, 2)), ([3]), ('a' 'b'))", "[[1, 2], [3], \"ab\"]"),
        ("{}", "{}"),
        ("{'a': 1, \"b\": {'c': None,},}", r#"{"a": 1, "b": {"c": null}}"#),
        (
            "{1: 'a', -1.50: 'b', True: 'c', None: 'd', 0x10: 'e'}",
            r#"{"1": "a", "-1.5": "b", "true": "c", "null": "d", "16": "e"}"#,
        ),
        ("{'k': (0), 'l': (1), 'k': ((2))}", r#"{"k": 2, "l": 1}"#),
        ("''", r#""""#),
        ("'' ''", r#""""#),
        ("'a'\n\"b\" r'\\c' u'd'", r#""ab\\cd""#),
        ("R'\\''", r#""\\'""#),
        ("'''it's ''a\\'''b\\\n'''", r#""it's ''a'''b""#),
        ("\"\"\"\"a\" \"\"\"", r#""\"a\" ""#),
        ("'a\nb\0'", r#""a\nb\u0000""#),
        (r"'\x41\u00e9\U0001f600\101\d\''", r#""A\u00e9\ud83d\ude00A\\d'""#),
        ("'<|tool_call_end|>)]'", r#""<|tool_call_end|>)]""#),
    ] {
        assert_eq!(value_of(literal), expected, "{literal}");
    }
}

#[test]
fn a_quote_that_can_close_no_string_is_a_character_of_it() {
    for (literal, expected) in [
        ("'it's'", "it's"),
        ("'say 'hi' to me'", "say 'hi' to me"),
        ("'f('\\,'))\"'", "f('\\\\,'))\\\""),
        ("'echo $'a'$b'", "echo $'a'$b"),
        ("'print('a'); b'", "print('a'); b"),
    ] {
        assert_eq!(value_of(literal), format!("\"{expected}\""), "{literal}");
    }
    for literal in [
        "'a' + 'b'",
        "'a' % c",
        "'a'.b()",
        "'a'[0]",
        "'a' if b else 'c'",
        "'a' in b",
        "'a' b'c'",
        "'a' y='b'",
        "'a' == 'b'",
        "'a') g(y='b'",
        "'a' \\\n'b'",
        "'a'\\\n+'b'",
    ] {
        let text = format!("[f(x={literal})]");
        assert!(read_with(&Python::List, Limits::default(), &text, true).is_err(), "{literal}");
    }
}

#[test]
fn lines_end_where_no_call_follows() {
    for (text, end, names) in [
        ("a()</function_calls>", 3, &["a"][..]),
        ("\n a(x='\n</f>')\n\nb() \n</f>", 19, &["a", "b"]),
        ("a() b.c()\nd", 9, &["a", "b.c"]),
        ("a()\nb ()", 3, &["a"]),
        ("a()\n[b()]", 3, &["a"]),
    ] {
        let text = format!("{text} ");
        let Ok((found, calls, _)) = read_with(&Python::Lines, Limits::default(), &text, false)
        else {
            panic!("{text}")
        };
        let called = |call: &String| call.split('"').nth(3).unwrap_or_default().to_owned();
        assert_eq!(calls.iter().map(called).collect::<Vec<_>>(), names, "{text}");
        assert_eq!(found, Some(end), "{text}");
    }
}

#[test]
fn an_end_is_known_as_soon_as_nothing_can_change_it() {
    for (form, text, end) in [
        (Python::List, "[f()]", Some(5)),
        (Python::List, "f()", Some(3)),
        (Python::Lines, "f()", None),
        (Python::Lines, "f()\ng", None),
        (Python::Lines, "f()<", Some(3)),
        (Python::List, "[f(x='a'", None),
        (Python::List, "[f(x)]", None),
    ] {
        let found = read_with(&form, Limits::default(), text, false);
        match found {
            Ok((found, ..)) => assert_eq!(found, end, "{text}"),
            Err(_) => assert_eq!(text, "[f(x)]"),
        }
    }
}

#[test]
fn problems_say_what_and_where() {
    for (text, problem, at) in [
        ("[f(5)]", "expected each argument of \"f\" as name=value, found \"5\"", 3),
        ("[f(a, b=1)]", "expected each argument of \"f\" as name=value, found \"a\"", 3),
        ("[f(x==1)]", "expected each argument of \"f\" as name=value, found \"x\"", 3),
        ("[f(a=1, *b)]", "expected each argument of \"f\" as name=value, found \"*\"", 8),
        ("[f(x=1+1)]", "expected \",\" or \")\", found \"+\"", 6),
        ("[f(x=g(1))]", "expected a literal value, found \"g\"", 5),
        ("[f(x=-g)]", "expected a number after the sign, found \"g\"", 6),
        ("[f(x=012)]", "expected a number, found \"012\"", 5),
        ("[f(x=inf)]", "expected a literal value, found \"inf\"", 5),
        ("[f(x={1, 2})]", "expected \":\" after the key (sets are not allowed), found \",\"", 7),
        ("[f(x={**a})]", "expected a key, found \"*\"", 6),
        ("[f(x={(1,): 2})]", "expected a key, found \"(\"", 6),
        ("[f(x=f'{a}')]", "expected a plain string, found one with \"f\" in front of it", 5),
        ("[f(x='a' B'b')]", "expected a plain string, found one with \"B\" in front of it", 9),
        (r"[f(x='é\N{DASH}')]", "expected the character itself, found its name in a \\N escape", 8),
        ("[f(x=[1 2])]", "expected \",\" or \"]\", found \"2\"", 8),
        ("[f(x=1) # a\n]", "expected \",\" or \"]\", found \"#\"", 8),
        ("[f() g()]", "expected \",\" or \"]\", found \"g\"", 5),
        ("[f(), 5]", "expected a call, found \"5\"", 6),
        ("[ f ( ) ]", "expected a call, found \"f\"", 2),
        ("[f(x=none_)]", "expected a literal value, found \"none_\"", 5),
        ("[f, g()]", "expected a call, found \"f\"", 1),
        ("f(x=)", "expected a value, found \")\"", 4),
        // These have no end of their own.
        ("{}", "expected a call, found \"{\"", 0),
        ("f.", "the text ended before a call", 2),
        ("[f(x=[1)]", "expected \"]\", found \")\"", 7),
        ("[f(x=1]", "expected \")\", found \"]\"", 6),
        ("[f(x='a']", "expected \")\", found \"]\"", 8),
        ("[f(x=1)", "the text ended before \"]\"", 7),
        ("[f(x='a)]", "the text ended before the end of the string that begins here", 6),
        ("[f(x=1", "the text ended before \")\"", 6),
    ] {
        assert_eq!(problem_of(&Python::List, text), (problem.to_owned(), at), "{text}");
    }
    assert_eq!(
        problem_of(&Python::Lines, "f(1)\ng(x=2)<"),
        ("expected each argument of \"f\" as name=value, found \"1\"".into(), 2)
    );
    let long = "n".repeat(MAX_WORD + 9);
    let found = "found a name of more than 256 bytes";
    for (text, problem, at) in [
        (format!("[{long}()]"), format!("expected a call, {found}"), 1),
        (format!("[f(x={long})]"), format!("expected a literal value, {found}"), 5),
        (
            format!("[f({long}=1)]"),
            format!("expected each argument of \"f\" as name=value, {found}"),
            3,
        ),
    ] {
        assert_eq!(problem_of(&Python::List, &text), (problem, at), "{text}");
    }
}

#[test]
fn lines_that_are_cut_off_count_where_every_bracket_is_closed() {
    for (text, is_whole) in [
        ("f(x=1)", true),
        ("f(x=1)\ng() \n", true),
        ("f(x=1)\ng", false),
        ("f(x=1)\ng(", false),
        ("f(x='a'", false),
    ] {
        let outcome = read_with(&Python::Lines, Limits::default(), text, true);
        assert_eq!(outcome.is_ok(), is_whole, "{text}: {outcome:?}");
    }
}

#[test]
fn limits_hold_at_their_bound() {
    let limits = Limits { max_depth: 3, max_calls: 2, ..Limits::default() };
    let read = |text: &str| match read_with(&Python::List, limits, text, true) {
        Ok((_, calls, _)) => calls.len().to_string(),
        Err((problem, at)) => format!("{problem} at {at}"),
    };
    assert_eq!(read("[f(x=[]), g()]"), "2");
    assert_eq!(read("[f(x=[[]]), g()]"), "brackets are nested deeper than 3 at 6");
    assert_eq!(read("[f(), g(), h()]"), "more than 2 calls in one batch at 11");
}

#[test]
fn arguments_are_shown_as_json() {
    let text = "[f(x='a' , y=(1)), g()]";
    let Ok((_, _, shown)) = read_with(&Python::List, Limits::default(), text, false) else {
        panic!("{text}")
    };
    assert_eq!(shown, r#""f" {"x": "a", "y": 1} "g" {}"#);
}

#[test]
fn an_item_begins_with_a_name_and_its_bracket() {
    for (text, list, lines) in [
        ("", None, None),
        (" \n[ ", None, Some(false)),
        ("[f", None, Some(false)),
        ("[f(", Some(true), Some(false)),
        (" f(", Some(true), Some(true)),
        ("f.g-h", None, None),
        ("[]", Some(false), Some(false)),
        ("[link text](url)", Some(false), Some(false)),
        ("[1](x)", Some(false), Some(false)),
        ("see (this)", Some(false), Some(false)),
        ("{", Some(false), Some(false)),
    ] {
        assert_eq!(PythonReader::begins(&Python::List, text.as_bytes()), list, "{text}");
        assert_eq!(PythonReader::begins(&Python::Lines, text.as_bytes()), lines, "{text}");
    }
    let long = "n".repeat(MAX_WORD + 1);
    assert_eq!(PythonReader::begins(&Python::Lines, long.as_bytes()), Some(false));
}
