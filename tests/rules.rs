//! Small rules of reading, each with the texts that it parts.

use std::sync::Arc;

use cogency_rs::dialect::{Body, Dialect, Pair, Unmarked, presets};
use cogency_rs::execution::arguments::{ArgumentSchema, Members, SchemaForm, Value};
use cogency_rs::protocol::grammar::{Entry, Opening};
use cogency_rs::protocol::{Ending, Event, Grammar, Options, Parser, Strictness};
use cogency_rs::turn::Decision;
use serde_json::json;

fn grammar(name: &str) -> Arc<Grammar> {
    Grammar::preset(name).unwrap_or_else(|| panic!("there is no {name}"))
}

/// The events of `text` in short: `think …`, `call …`, `respond …`, `error …`, and nothing else.
fn read_as(name: &str, strictness: Strictness, text: &str) -> Vec<String> {
    let whole = events(name, strictness, &[text]);
    let characters: Vec<String> = text.chars().map(String::from).collect();
    let characters: Vec<&str> = characters.iter().map(String::as_str).collect();
    assert_eq!(events(name, strictness, &characters), whole, "{text} in characters");
    whole
}

fn read(name: &str, text: &str) -> Vec<String> {
    read_as(name, Strictness::Strict, text)
}

fn events(name: &str, strictness: Strictness, chunks: &[&str]) -> Vec<String> {
    let options = Options { strictness, ..Options::default() };
    let (mut parser, mut events) = (Parser::new(grammar(name), options), Vec::new());
    for chunk in chunks {
        parser.feed(chunk, &mut events);
    }
    parser.finish(&Ending::Stopped, &mut events);
    let short = events.iter().filter_map(|event| match event {
        Event::Think(text) => Some(format!("think {text}")),
        Event::Respond(text) => Some(format!("respond {text}")),
        Event::Call(call) => Some(format!("call {}", call.json())),
        Event::Error(report) => Some(format!("error {}", report.raw)),
        _ => None,
    });
    short.collect()
}

#[test]
fn a_lone_mark_of_a_block_is_left_out_where_the_dialect_says_so() {
    for (name, entry, expected) in [
        ("kimi-k2", Entry::Block, true),
        ("kimi-k2", Entry::Call(0), false),
        ("kimi-k2", Entry::None, false),
        ("hermes", Entry::Block, false),
        ("cogency", Entry::Block, false),
    ] {
        let openings = [Opening { dialect: 0, entry }];
        assert_eq!(grammar(name).leaves_out(&openings), expected, "{name} {entry:?}");
    }
    assert!(!grammar("kimi-k2").leaves_out(&[]));
}

#[test]
fn objects_without_a_mark_are_text_unless_the_first_is_a_call() {
    let call = r#"{"name": "a", "parameters": {}}"#;
    for (text, expected) in [
        (call.to_owned(), vec![r#"call {"name": "a", "args": {}}"#.to_owned()]),
        (format!("\n {call}"), vec![r#"call {"name": "a", "args": {}}"#.to_owned()]),
        (r#"{"x": 1}"#.to_owned(), vec![r#"respond {"x": 1}"#.to_owned()]),
        (r#"{"name": 1}"#.to_owned(), vec![r#"respond {"name": 1}"#.to_owned()]),
        (format!(r#"{call}; {{"x": 1}}"#), vec![format!(r#"error {call}; {{"x": 1}}"#)]),
    ] {
        assert_eq!(read("llama3-json", &text), expected, "{text}");
    }
}

#[test]
fn a_mark_before_an_answer_needs_none_after_it() {
    let mut dialect = Dialect::clone(&grammar("hermes").dialects[0]);
    dialect.answer = vec![Pair { open: "<answer>".into(), close: "".into() }];
    assert_eq!(dialect.check(), Ok(()));
    let grammar = Arc::new(Grammar::new(vec![Arc::new(dialect)]));
    let (mut parser, mut events) = (Parser::new(grammar, Options::default()), Vec::new());
    parser.feed("<answer>yes", &mut events);
    parser.finish(&Ending::Stopped, &mut events);
    assert_eq!(events, [Event::Respond("yes".into())]);
}

#[test]
fn a_decision_is_told_by_its_keys_and_no_others() {
    for (text, expected) in [
        (
            r#"{"thought": "hm", "other": "call_tool", "type": "call_tool", "tool": "a", "args": {}}"#,
            vec!["think hm", r#"call {"name": "a", "args": {}}"#],
        ),
        (
            r#"{"thought": "hm", "other": "x", "type": "final_answer", "answer": "yes"}"#,
            vec!["think hm", "respond yes"],
        ),
        (r#"{"type": "final_answer", "answer": "yes", "more": "no"}"#, vec!["respond yes"]),
    ] {
        assert_eq!(read("react-json", text), expected, "{text}");
    }
}

#[test]
fn a_call_that_lacks_its_closing_mark_is_one_for_a_lenient_reader_only() {
    let section = "<|tool_calls_section_begin|>";
    let open = "<|tool_call_begin|>functions.a:0<|tool_call_argument_begin|>{}";
    let text = format!("{section}{open} done {open}<|tool_call_end|><|tool_calls_section_end|>");
    let call = r#"call {"name": "a", "args": {}, "id": "functions.a:0"}"#;
    assert_eq!(read_as("kimi-k2", Strictness::Lenient, &text), [call, call]);
    let strict = read("kimi-k2", &text);
    assert!(strict[0].starts_with("error "), "{strict:?}");
}

#[test]
fn a_whole_object_of_parameters_ends_with_its_mark_whatever_space_is_before_it() {
    let (open, close) = ("<|open|>", "<|close|>");
    let object = |space: &str, closing: &str| {
        format!(
            "{open}tools<|sep|>{open}call tool=\"a\" index=\"0\"<|sep|>{open}json type=\"object\"<|sep|>\
             {{\"x\": 1}}{space}{closing}{close}call<|sep|>{close}tools<|sep|>"
        )
    };
    let known = read("kimi-k3", &object("", &format!("{close}json<|sep|>")));
    assert!(known[0].contains(r#""args": {"x": 1}"#), "{known:?}");
    assert_eq!(read("kimi-k3", &object(" \n\t ", &format!("{close}json<|sep|>"))), known);
    let wrong = read("kimi-k3", &object("", &format!("{close}jso<|sep|>")));
    assert!(wrong[0].starts_with("error "), "{wrong:?}");
}

#[test]
fn a_name_of_python_has_at_most_256_bytes() {
    for (length, is_call) in [(1, true), (255, true), (256, true), (257, false), (300, false)] {
        for key in [false, true] {
            let name = "n".repeat(length);
            let text = if key { format!("[f({name}=1)]") } else { format!("[{name}(x=1)]") };
            let found = read("pythonic", &text);
            assert_eq!(found[0].starts_with("call "), is_call, "{length} {key}: {found:?}");
        }
    }
}

#[test]
fn a_quote_in_a_python_string_ends_it_if_what_follows_may_follow_an_argument() {
    for (text, expected) in [
        (r#"[a(x="one"), b()]"#, vec![r#"{"x": "one"}"#, "{}"]),
        (r#"[a(x="say ("yes"); done")]"#, vec![r#"{"x": "say (\"yes\"); done"}"#]),
        (r#"[a(x="say (("yes")); done")]"#, vec![r#"{"x": "say ((\"yes\")); done"}"#]),
        (r#"[a(x="he said "yes" to me")]"#, vec![r#"{"x": "he said \"yes\" to me"}"#]),
    ] {
        let found = read("pythonic", text);
        let args: Vec<_> = found
            .iter()
            .map(|call| {
                call.split_once("\"args\": ")
                    .map_or(call.as_str(), |(_, args)| &args[..args.len() - 1])
            })
            .collect();
        assert_eq!(args, expected, "{text}");
    }
}

#[test]
fn what_only_resembles_a_section_of_cdata_is_text() {
    for (value, expected) in [
        ("a <![CDAT b", r#""a <![CDAT b""#),
        ("a <![CDATA b", r#""a <![CDATA b""#),
        ("a <![CDATA[b</x>]]> c", r#""a b</x> c""#),
        ("<![CDATA[1]]>", r#""1""#),
    ] {
        let text = format!(
            "<tool><server_name>local</server_name><tool_name>a</tool_name><arguments><x>{value}</x></arguments></tool>"
        );
        let found = read("forge-xml", &text);
        assert!(found[0].contains(&format!(r#""args": {{"x": {expected}}}"#)), "{found:?}");
    }
}

#[test]
fn space_of_another_kind_in_an_object_behind_one_that_is_no_call_is_not_passed_over() {
    let text = "<|python_tag|>{\"ners\": {}};{\"name\": \"f\",\u{1c}\"p\": {}}";
    let read = |chunks: &[&str]| {
        let mut parser = Parser::new(grammar("llama3-json"), Options::default());
        let mut events = Vec::new();
        for chunk in chunks {
            parser.feed(chunk, &mut events);
        }
        parser.finish(&Ending::Stopped, &mut events);
        events
    };
    let characters: Vec<&str> = text.split_inclusive(|_| true).collect();
    assert_eq!(read(&characters), read(&[text]));
}

#[test]
fn a_head_without_an_end_is_text_however_long_it_is() {
    for length in [10, 4000, 5000] {
        let said = "x".repeat(length);
        for behind in ["", "<|end|>", "<|start|>assistant<|channel|>final<|message|>y"] {
            let text = format!("<|start|>assistant<|channel|>final {said}{behind}");
            let mut parser = Parser::new(grammar("harmony"), Options::default());
            let mut events = Vec::new();
            parser.feed(&text, &mut events);
            parser.finish(&Ending::Stopped, &mut events);
            let is_shown = |event: &Event| matches!(event, Event::Respond(text) if text.to_str().is_some_and(|text| text.contains(&said)));
            assert_eq!(
                events.iter().filter(|event| is_shown(event)).count(),
                1,
                "{length} {behind}"
            );
        }
    }
}

#[test]
fn a_call_without_its_block_is_text_where_the_dialect_has_no_such_calls() {
    let mut count = 0;
    for name in presets::names() {
        let dialect = presets::preset(name).expect("a row");
        for body in &dialect.calls.bodies {
            let Body::Head(head) = body else { continue };
            if head.bare || dialect.calls.open.is_empty() || dialect.calls.open.contains(&head.open)
            {
                continue;
            }
            if head.open.is_empty() || dialect.unmarked != Unmarked::Never {
                continue;
            }
            count += 1;
            let text = format!("so: {}f", head.open);
            assert_eq!(read(name, &text), [format!("respond {text}")], "{name}");
        }
    }
    assert!(count > 3, "{count} such dialects");
}

#[test]
fn a_schema_that_cannot_be_used_is_told_with_its_place() {
    for (schema, expected) in [
        (
            json!({"type": "object", "properties": []}),
            "the schema of this tool cannot be used: at /properties: must be an object, got []",
        ),
        (
            json!({"type": "object", "required": "x"}),
            "the schema of this tool cannot be used: at /required: must be an array, got \"x\"",
        ),
    ] {
        let said = ArgumentSchema::new(&schema, SchemaForm::JsonSchema)
            .err()
            .map(|error| error.to_string());
        assert_eq!(said.as_deref(), Some(expected));
    }
}

#[test]
fn a_decision_has_a_name() {
    let names =
        [Decision::GoOn, Decision::Recover, Decision::Wait, Decision::Stop].map(Decision::name);
    assert_eq!(names, ["go_on", "recover", "wait", "stop"]);
}

#[test]
fn a_fault_shows_sixty_characters_of_a_value() {
    let schema = json!({"type": "object", "properties": {"x": {"type": "integer"}}});
    let checker = ArgumentSchema::new(&schema, SchemaForm::JsonSchema).expect("a schema");
    for (length, shown) in
        [(58, format!("\"{}\"", "é".repeat(58))), (59, format!("\"{}...", "é".repeat(59)))]
    {
        let text = "é".repeat(length);
        let value = Value::String(Box::new(&*text));
        let members = Members::new(vec![("x".to_owned(), value)]);
        let faults = checker.faults(Value::Object(members));
        assert!(faults[0].contains(&shown), "{length}: {faults:?}");
    }
}
