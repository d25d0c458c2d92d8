use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::super::Event;
use super::super::super::event::Note;
use super::super::super::limits::{Limits, MAX_ELEMENTS};
use super::super::super::tools::Tools;
use super::super::Early;
use super::*;

mod marked;

fn forge() -> Xml {
    let parts = XmlParts {
        server: "server_name".into(),
        name: "tool_name".into(),
        args: "arguments".into(),
    };
    Xml { prefix: "".into(), entities: true, parts: Some(parts) }
}

/// The tool `f`.
fn tools() -> Arc<Tools> {
    let strings = json!({"type": "array", "items": {"type": "string"}});
    let edit = json!({"type": "object", "properties": {
        "search": {"type": "string"}, "replace": {"type": "string"}, "count": {"type": "integer"}}});
    let schema = json!({"type": "object", "properties": {
        "c": {"type": "string"},
        "d": {"type": "string"},
        "n": {"type": "integer"},
        "x": {"type": "number"},
        "b": {"type": "boolean"},
        "z": {"type": ["integer", "null"]},
        "s": {"type": ["string", "null"]},
        "e": {"type": "array", "items": {"type": "integer"}},
        "es": {"type": "array", "items": {"type": "integer"}},
        "ss": strings,
        "edits": {"type": "array", "items": edit},
        "grid": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
        "o": edit,
        "m": {"type": "object", "additionalProperties": {"type": "string"}},
        "u": {"anyOf": [strings, {"type": "object", "properties": {"field": {"type": "string"}}}]},
        "so": {"anyOf": [{"type": "string"}, edit]},
        "any": {},
    }});
    Arc::new(Tools::new([("f".to_owned(), schema)]))
}

/// What becomes of a text that arrives in these pieces: the calls and what comes after the item, or what is wrong.
fn outcome(
    form: &Xml,
    scope: &Scope,
    text: &str,
    cuts: &[usize],
) -> (Result<(Vec<String>, String), String>, String) {
    let bytes = text.as_bytes();
    let mut calls = Calls::new(scope.clone());
    let mut reader = XmlReader::new(form, 0, scope);
    let mut args = String::new();
    let ends = cuts.iter().copied().chain([bytes.len()]);
    let mut end = Ok(None);
    for upto in ends {
        end = reader.read(form, &bytes[..upto], &mut calls);
        for note in calls.notes() {
            if let (_, Note::Args(json)) = note {
                args.push_str(&json);
            }
        }
        if end != Ok(None) {
            break;
        }
    }
    let end = match end {
        Ok(None) => reader.cut_off(form, bytes, &mut calls).map(|()| bytes.len()),
        Ok(Some(end)) => Ok(end),
        Err(problem) => Err(problem),
    };
    for note in calls.notes() {
        if let (_, Note::Args(json)) = note {
            args.push_str(&json);
        }
    }
    let result = end.and_then(|end| {
        let calls = calls.take()?.into_iter().map(|event| match event {
            Event::Call(call) => call.into_json(),
            other => panic!("{other:?}"),
        });
        let calls = calls.collect();
        Ok((calls, text[end..].to_owned()))
    });
    (result.map_err(|problem| problem.located(bytes).to_string()), args)
}

/// The same, which must not depend on how the text is cut.
fn read_with(form: &Xml, scope: &Scope, text: &str) -> Result<(Vec<String>, String), String> {
    let (whole, shown) = outcome(form, scope, text, &[]);
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    for at in &places {
        let (cut, shown_cut) = outcome(form, scope, text, &[*at]);
        assert_eq!(cut, whole, "{text:?} cut at {at}");
        if whole.is_ok() && shown_cut != shown {
            // An element that comes again is an item of an array, which was shown as the only one.
            let refusing = Scope { refuses_repeated: true, ..scope.clone() };
            let refused = outcome(form, &refusing, text, &[]).0;
            assert!(refused.is_err(), "{text:?} cut at {at}: {shown_cut} for {shown}");
        }
    }
    assert_eq!(outcome(form, scope, text, &places).0, whole, "{text:?} character by character");
    whole
}

fn scope() -> Scope {
    Scope { tools: Some(tools()), early: Early::Shown, ..Scope::default() }
}

fn read(text: &str) -> Result<(Vec<String>, String), String> {
    read_with(&forge(), &scope(), text)
}

/// The arguments of `f`, read with its schema.
fn args(inside: &str) -> Value {
    args_of("f", inside)
}

fn args_of(tool: &str, inside: &str) -> Value {
    let text = format!("<tool_name>{tool}</tool_name>\n<arguments>{inside}</arguments>\n</tool>");
    let (calls, rest) = read(&text).unwrap_or_else(|problem| panic!("{inside}: {problem}"));
    assert_eq!(rest, "\n</tool>");
    let [call] = &calls[..] else { panic!("{calls:?}") };
    let call: Value = serde_json::from_str(call).unwrap();
    call["args"].clone()
}

#[test]
fn the_contract_of_forge_holds() {
    let known = |inside| args_of("f", inside);
    let free = |inside| args_of("g", inside);
    for (id, inside, typed, untyped) in [
        ("X1", "<c>a && b</c>", json!({"c": "a && b"}), Some(json!({"c": "a && b"}))),
        (
            "X2",
            "<c><![CDATA[x && y]]></c><d>a & b</d>",
            json!({"c": "x && y", "d": "a & b"}),
            Some(json!({"c": "x && y", "d": "a & b"})),
        ),
        (
            "X3",
            "<c><![CDATA[x</tool>y</arguments>]]></c>",
            json!({"c": "x</tool>y</arguments>"}),
            Some(json!({"c": "x</tool>y</arguments>"})),
        ),
        ("X3", "<c>x</tool>y</arguments>z</c>", json!({"c": "x</tool>y</arguments>z"}), None),
        ("X4", "<c>if a < b</c>", json!({"c": "if a < b"}), Some(json!({"c": "if a < b"}))),
        ("X4", "<c>if a <b> c</d></c>", json!({"c": "if a <b> c</d>"}), None),
        (
            "X5",
            "<c><![CDATA[a]]]]><![CDATA[>b]]></c>",
            json!({"c": "a]]>b"}),
            Some(json!({"c": "a]]>b"})),
        ),
        ("X6", "<c>a&nbsp;b</c>", json!({"c": "a&nbsp;b"}), Some(json!({"c": "a&nbsp;b"}))),
        ("X7", "<e>1</e><e>2</e>", json!({"e": [1, 2]}), Some(json!({"e": [1, 2]}))),
        ("X7", "<es><e>1</e></es>", json!({"es": [1]}), Some(json!({"es": {"e": 1}}))),
        ("X7", "<e>1</e>", json!({"e": [1]}), Some(json!({"e": 1}))),
        (
            "X8",
            "<edits><edit><search>o</search></edit></edits>",
            json!({"edits": [{"search": "o"}]}),
            Some(json!({"edits": {"edit": {"search": "o"}}})),
        ),
        ("X9", "<c></c>", json!({"c": ""}), Some(json!({"c": ""}))),
        ("X9", "<c/>", json!({"c": ""}), Some(json!({"c": ""}))),
        ("X10", "<c>\n x\n</c>", json!({"c": "\n x\n"}), Some(json!({"c": "\n x\n"}))),
        (
            "X11",
            "<c>true</c><b>true</b><any>true</any>",
            json!({"c": "true", "b": true, "any": true}),
            Some(json!({"c": true, "b": true, "any": true})),
        ),
    ] {
        assert_eq!(known(inside), typed, "{id} {inside}");
        if let Some(untyped) = untyped {
            assert_eq!(free(inside), untyped, "{id} {inside}");
        }
    }
}

/// X12
#[test]
fn a_wrong_closing_tag_is_named_together_with_the_right_one() {
    let call = |tool: &str, inside: &str| {
        format!("<tool_name>{tool}</tool_name><arguments>{inside}</arguments></tool>")
    };
    for (text, expected) in [
        (call("f", "<n>1</d>"), "expected \"</n>\", found \"</d>\" at line 1, column 40."),
        (call("g", "<c>1</d>"), "expected \"</c>\", found \"</d>\" at line 1, column 40."),
        (call("f", "<c>1</d>"), "expected \"</c>\", found \"</d>\" at line 1, column 40."),
        (
            call("f", "<c>a <b>1</b>"),
            "expected \"</c>\", found \"</arguments>\" at line 1, column 49.",
        ),
        (call("g", "<c>1"), "expected \"</c>\", found \"</arguments>\" at line 1, column 40."),
        (call("g", "</d>"), "expected \"</arguments>\", found \"</d>\" at line 1, column 36."),
        (
            "<tool_name>a</name>".into(),
            "expected \"</tool_name>\", found \"</name>\" at line 1, column 13.",
        ),
        (
            "<tool_name>a<arguments/>".into(),
            "expected \"</tool_name>\", found \"<arguments>\" at line 1, column 13.",
        ),
        (call("g", "<c>1</c> x"), "expected an argument, found \"x\" at line 1, column 45."),
        (call("g", "<![CDATA[x]]>"), "expected an argument, found \"<\" at line 1, column 36."),
        ("<arguments/></tool>".into(), "call 0 needs a name at line 1, column 1."),
        ("<tool_name> </tool_name></tool>".into(), "call 0 needs a name at line 1, column 1."),
    ] {
        assert_eq!(read(&text), Err(expected.to_owned()), "{text}");
    }
}

/// X13; of X14 each block is read by itself.
#[test]
fn a_call_begins_with_one_of_its_parts() {
    for (text, expected) in [
        ("not xml", Some(false)),
        ("{\"tool_name\"", Some(false)),
        ("<notool>", Some(false)),
        ("<tool_names>", Some(false)),
        ("</tool>", Some(false)),
        ("\n <tool_name>", Some(true)),
        ("<server_name >", Some(true)),
        ("<arguments/>", Some(true)),
        ("<!-- -->", Some(true)),
        ("", None),
        ("<", None),
        ("<tool_name", None),
        ("<!", None),
    ] {
        assert_eq!(XmlReader::begins(&forge(), text.as_bytes()), expected, "{text}");
    }
    let marked = Xml { prefix: "§".into(), ..forge() };
    assert_eq!(XmlReader::begins(&marked, b"<tool_name>"), Some(false));
    assert_eq!(
        XmlReader::begins(&Xml { parts: None, ..marked }, "§<tool_name>".as_bytes()),
        Some(false)
    );
}

#[test]
fn the_parts_of_a_call_stand_in_any_order() {
    let plain = "{\"name\": \"f\", \"args\": {\"n\": 1}}";
    let server = "{\"name\": \"f\", \"args\": {\"n\": 1}, \"server\": \"s\"}";
    let (name, args) = ("<tool_name>f</tool_name>", "<arguments><n>1</n></arguments>");
    for (parts, expected) in [
        (vec![name, args], plain),
        (vec![args, name], plain),
        (vec!["<tool_name>\n f\n</tool_name>", " ", args], plain),
        (vec!["<tool_name a='1'>g</tool_name><!-- no: -->", name, args], plain),
        (vec!["<server_name>local</server_name>", name, args], plain),
        (vec!["<server_name/>", name, args], plain),
        (vec!["<server_name> </server_name>", name, args], plain),
        (vec![name, "<server_name>s</server_name>", args], server),
        (vec![args, "<server_name><![CDATA[s]]></server_name>", name], server),
        (vec![name], "{\"name\": \"f\", \"args\": {}}"),
        (vec![name, "<arguments/>"], "{\"name\": \"f\", \"args\": {}}"),
        (
            vec![name, "<arguments> <!-- <n>2</n> --> </arguments>"],
            "{\"name\": \"f\", \"args\": {}}",
        ),
        (
            vec!["<tool_name>a&amp;b \u{e9}</tool_name>"],
            "{\"name\": \"a&b \\u00e9\", \"args\": {}}",
        ),
    ] {
        let text = parts.concat() + " </tool>";
        assert_eq!(read(&text), Ok((vec![expected.to_owned()], " </tool>".to_owned())), "{text}");
    }
}

#[test]
fn the_schema_decides_what_an_element_is() {
    for (inside, expected) in [
        ("<n> 5 </n><x>5.0</x><b>False</b>", json!({"n": 5, "x": 5, "b": false})),
        ("<n>007</n><z>null</z><s>null</s>", json!({"n": 7, "z": null, "s": null})),
        ("<n>five</n>", json!({"n": "five"})),
        ("<n><![CDATA[5]]></n>", json!({"n": "5"})),
        ("<n>5<!-- five --></n>", json!({"n": 5})),
        ("<c>5<!-- five --></c>", json!({"c": "5<!-- five -->"})),
        ("<c>1</c><c>2</c>", json!({"c": ["1", "2"]})),
        ("<c x='</c>'>1</c>", json!({"c": "1"})),
        ("<c>p </c> q</c>", json!({"c": "p </c> q"})),
        ("<c><c>x</c></c>", json!({"c": "<c>x</c>"})),
        ("<c>p</c ><n>1</n>", json!({"c": "p", "n": 1})),
        ("<c>p</cc></c>", json!({"c": "p</cc>"})),
        ("<c>p</c><new>1</new>", json!({"c": "p", "new": 1})),
        ("<e></e>", json!({"e": []})),
        ("<e>[1, 2]</e>", json!({"e": [1, 2]})),
        ("<ss><s>a</s><s>b <i>c</s></ss>", json!({"ss": ["a", "b <i>c"]})),
        ("<ss>a <b></ss><ss>[c</ss>", json!({"ss": ["a <b>", "[c"]})),
        ("<ss>a</ss>", json!({"ss": ["a"]})),
        ("<ss>[\"a\"]</ss>", json!({"ss": ["a"]})),
        ("<ss/>", json!({"ss": []})),
        (
            "<edits><search>o</search><count>1</count></edits>",
            json!({"edits": [{"search": "o", "count": 1}]}),
        ),
        (
            "<edits><search>1</search></edits><edits><search>2</search></edits>",
            json!({"edits": [{"search": "1"}, {"search": "2"}]}),
        ),
        ("<edits>{\"count\": 1}</edits>", json!({"edits": [{"count": 1}]})),
        (
            "<grid><row><i>1</i><i>2</i></row><row><i>3</i></row></grid>",
            json!({"grid": [[1, 2], [3]]}),
        ),
        ("<o><search>1</search><count>2</count></o>", json!({"o": {"search": "1", "count": 2}})),
        ("<o>{\"count\": 2}</o>", json!({"o": {"count": 2}})),
        ("<o>\n</o>", json!({"o": {}})),
        ("<o>text <count>1</count></o>", json!({"o": "text <count>1</count>"})),
        ("<m><k>1</k><l><b>2</b></l></m>", json!({"m": {"k": "1", "l": "<b>2</b>"}})),
        ("<u><field>1</field></u>", json!({"u": {"field": "1"}})),
        ("<u><item>1</item></u>", json!({"u": ["1"]})),
        ("<u><t>1</t><t>2</t></u>", json!({"u": ["1", "2"]})),
        ("<so>a < b</so>", json!({"so": "a < b"})),
        ("<so>\n<search>1</search></so>", json!({"so": {"search": "1"}})),
        ("<n><a>1</a></n>", json!({"n": {"a": 1}})),
    ] {
        assert_eq!(args(inside), expected, "{inside}");
        let late = format!("<arguments>{inside}</arguments><tool_name>f</tool_name></tool>");
        // Where the name comes late, so does the knowledge of what is not a tag.
        if let (Ok((calls, _)), false) = (read(&late), inside.contains("<c><c>")) {
            let call: Value = serde_json::from_str(&calls[0]).unwrap();
            assert_eq!(call["args"], expected, "{inside}");
        }
    }
}

#[test]
fn without_a_schema_elements_say_themselves_what_they_are() {
    for (inside, expected) in [
        (
            "<a>1</a><b>-2.5</b><c>null</c><d>None</d>",
            json!({"a": 1, "b": -2.5, "c": null, "d": null}),
        ),
        ("<a>018956</a><b>0</b><c>0.5</c>", json!({"a": "018956", "b": 0, "c": 0.5})),
        ("<a><![CDATA[1]]></a>", json!({"a": "1"})),
        ("<a> x </a><b> 1 </b>", json!({"a": " x ", "b": 1})),
        ("<a>{\"k\": 1}</a>", json!({"a": "{\"k\": 1}"})),
        ("<a>NaN</a>", json!({"a": "NaN"})),
        ("<a>see <b>this</b> now</a>", json!({"a": "see <b>this</b> now"})),
        ("<a><b>1</b><c/><b>2</b></a>", json!({"a": {"b": [1, 2], "c": ""}})),
        ("<a><item>1</item></a>", json!({"a": {"item": 1}})),
        ("<a>if x <y && z</a>", json!({"a": "if x <y && z"})),
        ("<a>&lt;b&gt;</a>", json!({"a": "<b>"})),
    ] {
        assert_eq!(args_of("g", inside), expected, "{inside}");
    }
    assert_eq!(
        args_of("g", "<b>1</b><a>2</a><b>3</b>").to_string(),
        "{\"b\":[1,3],\"a\":2}",
        "in the place of the first"
    );
}

#[test]
fn a_text_that_ends_early_says_what_is_missing() {
    for (text, expected) in [
        ("<tool_name>f</tool_name>", "\"<arguments>\""),
        ("<tool_name>f</tool_na", "\"</tool_name>\""),
        ("<tool_name>f</tool_name><arguments>", "\"</arguments>\""),
        ("<tool_name>f</tool_name><arguments><n>1</n>", "\"</arguments>\""),
        ("<tool_name>f</tool_name><arguments><n>1", "\"</n>\""),
        ("<tool_name>f</tool_name><arguments><c>a</c>", "\"</arguments>\""),
        ("<tool_name>f</tool_name><arguments><o><search>a</search> ", "\"</o>\""),
        ("<tool_name>f</tool_name><arguments><c>a</c", "\"</c>\""),
        ("<tool_name>f</tool_name><arguments><c>a <b>b</b>", "\"</c>\""),
        ("<tool_name>f</tool_name><arguments><c><![CDATA[a</c></arguments></tool>", "\"]]>\""),
        ("<tool_name>f</tool_name><arguments/><serv", "the end of a tag"),
        ("<arguments/>", "\"<tool_name>\""),
    ] {
        let expected =
            format!("the text ended before {expected} at line 1, column {}.", text.len() + 1);
        assert_eq!(read(text), Err(expected), "{text}");
    }
    let text = "<tool_name>f</tool_name> ";
    let scope = scope();
    let mut calls = Calls::new(scope.clone());
    calls.has_stopped = true;
    let mut reader = XmlReader::new(&forge(), 0, &scope);
    assert_eq!(reader.read(&forge(), text.as_bytes(), &mut calls), Ok(None));
    assert_eq!(reader.cut_off(&forge(), text.as_bytes(), &mut calls), Ok(()), "a stop string");
    let complete = "<tool_name>f</tool_name><arguments><n>1</n></arguments>";
    for behind in ["", "\n", "</", "</too"] {
        let calls = vec!["{\"name\": \"f\", \"args\": {\"n\": 1}}".to_owned()];
        let text = [complete, behind].concat();
        assert_eq!(read(&text).map(|(calls, _)| calls), Ok(calls), "{text}");
    }
}

#[test]
fn limits_hold_at_their_bound() {
    let limits = Limits { max_depth: 3, max_calls: 0, ..Limits::default() };
    let scope = Scope { limits: Limits { max_calls: 1, ..limits }, ..scope() };
    let read = |inside: &str| {
        let text = format!("<tool_name>g</tool_name><arguments>{inside}</arguments></tool>");
        read_with(&forge(), &scope, &text).map(|(calls, _)| calls[0].clone())
    };
    let deep = |at| Err(format!("brackets are nested deeper than 3 at line 1, column {at}."));
    assert!(read("<a><b><c>1</c></b></a>").is_ok());
    assert_eq!(read("<a><b><c><d>1</d></c></b></a>"), deep(45));
    assert_eq!(read("<a><b><c><d>"), deep(45));
    assert_eq!(read("<a><b><c>1</c><c>2</c></b></a>"), deep(36));
    let none = Scope { limits, ..scope.clone() };
    let text = "<tool_name>g</tool_name></tool>";
    let expected = "more than 0 calls in one batch at line 1, column 1.";
    assert_eq!(read_with(&forge(), &none, text), Err(expected.to_owned()));
}

/// Each text is one that a careless reader looks through again and again.
#[test]
fn long_texts_take_linear_time() {
    let most = 10_000;
    let strings = "a</c> ".repeat(most);
    let tags = "<a x=\"' ".repeat(most);
    let siblings = "<e>1</e>".repeat(most);
    let keys = (0..most).map(|key| format!("<k{key}>1</k{key}>")).collect::<Vec<_>>().concat();
    for inside in [
        format!("<c>{strings}</c>"),
        format!("<any>{tags}</any>"),
        format!("<c>{}</c>", "</c".repeat(most)),
        format!("<c>a</c{}>", " ".repeat(most)),
        format!("<c>a</c>{}", " ".repeat(most)),
        format!("<c><![CDATA[{}]]></c>", "]]".repeat(most)),
        format!("<any>{}</any>", "<![CDATA[]]>".repeat(most)),
        format!("<any>{}</any>", "<!-- <![CDATA[ -->x<b/>".repeat(most)),
        siblings,
        keys,
    ] {
        let text = format!("<tool_name>f</tool_name><arguments>{inside}</arguments></tool>");
        let scope = scope();
        let whole = outcome(&forge(), &scope, &text, &[]).0;
        let chunks: Vec<usize> = (0..text.len()).step_by(4).collect();
        assert_eq!(outcome(&forge(), &scope, &text, &chunks).0, whole);
        assert!(whole.is_ok() || inside.contains("x=\""), "{:?}", whole.err());
    }
    let nested = format!("<tool_name>g</tool_name><arguments>{}", "<a>".repeat(1_000_000));
    let problem = outcome(&forge(), &scope(), &nested, &[]).0.unwrap_err();
    assert!(problem.starts_with("brackets are nested deeper than 200"), "{problem}");
}

proptest! {
    /// What a text says does not depend on how it is cut, whatever it is.
    #[test]
    fn any_text_is_read_the_same_however_it_is_cut(
        pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..12),
        is_named in any::<bool>(),
    ) {
        let start = if is_named { "<tool_name>f</tool_name><arguments>" } else { "<arguments>" };
        let _ = read(&(start.to_owned() + &pieces.concat()));
    }
}

const PIECES: &[&str] = &[
    "<c>",
    "</c>",
    "<n>",
    "</n>",
    "<ss>",
    "</ss>",
    "<so>",
    "</so>",
    "<edits>",
    "</edits>",
    "<search>",
    "</search>",
    "<o a='1'>",
    "</o>",
    "<any>",
    "</any>",
    "<k/>",
    "</arguments>",
    "</tool>",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "1",
    " ",
    "a < b",
    "&lt;",
    "&",
    "\u{e9}",
    "<",
    "/",
    ">",
    "\"",
    "{\"count\": 1}",
    "<tool_name>f</tool_name>",
];

#[test]
fn a_call_has_elements_up_to_a_limit() {
    let scope = Scope { tools: Some(tools()), ..Scope::default() };
    let read = |each: &str, times: usize| {
        let text = format!(
            "<tool_name>f</tool_name><arguments><any>{}</any></arguments>",
            each.repeat(times)
        );
        let mut calls = Calls::new(scope.clone());
        let mut reader = XmlReader::new(&forge(), 0, &scope);
        let read = reader.read(&forge(), text.as_bytes(), &mut calls);
        (read.map(|_| ()).map_err(|problem| problem.kind), calls.is_refused())
    };
    let too_many = ProblemKind::TooManyElements(MAX_ELEMENTS);
    // The elements around them count too, and text is known where it ends.
    for (each, most) in
        [("<a/>", MAX_ELEMENTS - 1), ("<a></a>", MAX_ELEMENTS - 1), ("a<!---->", MAX_ELEMENTS - 2)]
    {
        assert_eq!(read(each, most), (Ok(()), false), "{each}");
        assert_eq!(read(each, most + 1).0, Err(too_many.clone()), "{each}");
    }
}
