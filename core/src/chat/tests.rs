//! What a text is in the API's shape, as a table; and that nothing that cannot be read is lost.

use std::fmt::Write as _;

use super::*;
use crate::dialect::presets::names;
use crate::protocol::write::Renderer;

/// The deltas of a text in a line: joined, each with its kind before it.
fn shown(deltas: &[Delta]) -> String {
    let (mut out, mut last) = (String::new(), "");
    for delta in deltas {
        let (kind, text) = match delta {
            Delta::Content(text) => ("content", text.to_string()),
            Delta::Reasoning(text) => ("reasoning", text.to_string()),
            Delta::Call(index, call) => {
                write!(out, "|{index} {}", call.json()).expect("a String takes all");
                last = "call";
                continue;
            }
            Delta::Begin { index, name, args, .. } => {
                write!(out, "|{index} {name} {args}").expect("a String takes all");
                last = "args";
                continue;
            }
            Delta::Args(_, args) => ("args", args.clone()),
            Delta::Broken => ("broken", String::new()),
        };
        if kind != last {
            write!(out, "|{kind} ").expect("a String takes all");
            last = kind;
        }
        out.push_str(&text);
    }
    out
}

fn read(dialect: &str, callable: &Callable, chunks: &[&str], ending: &Ending) -> String {
    read_as(ChatCalls::Whole, dialect, callable, chunks, ending)
}

fn read_as(
    calls: ChatCalls,
    dialect: &str,
    callable: &Callable,
    chunks: &[&str],
    ending: &Ending,
) -> String {
    let tools = [("add".to_owned(), serde_json::Value::Null)];
    let options = ChatOptions {
        tools: Some(Arc::new(Tools::new(tools))),
        callable: callable.clone(),
        calls,
        ..ChatOptions::default()
    };
    let grammar = Grammar::preset(dialect).expect("a row");
    let (mut reader, mut deltas) = (ChatReader::new(grammar, options), Vec::new());
    for chunk in chunks {
        match reader.pass(chunk.as_bytes()) {
            Some(TextRun::Respond) => deltas.push(Delta::Content((*chunk).into())),
            Some(TextRun::Think) => deltas.push(Delta::Reasoning((*chunk).into())),
            Some(TextRun::Result) => panic!("results are not passed on"),
            None => reader.feed(chunk, &mut deltas),
        }
    }
    let reason = reader.finish(ending, &mut deltas);
    format!("{}|{}", shown(&deltas), reason.map_or("", FinishReason::name))
}

#[test]
fn a_text_is_deltas_however_it_is_cut() {
    const ADD: &str = r#"{"name": "add", "arguments": {"a": 1}}"#;
    const SUB: &str = r#"{"name": "sub", "arguments": {}}"#;
    use Ending::{Length, Stopped};
    let only = || Callable::Only("\"add\"".into());
    let refused = || Ending::Refused("safety".into());
    let tagged = |call: &str| format!("<tool_call>{call}</tool_call>");
    let (add, sub) = (tagged(ADD), tagged(SUB));
    let called = r#"{"name": "add", "args": {"a": 1}}"#;
    let table: Vec<(Callable, String, Ending, String)> = vec![
        (Callable::Any, String::new(), Stopped, "|stop".into()),
        (
            Callable::Declared,
            format!("<think>hm</think>Now.\n{add}\n{add}"),
            Stopped,
            format!("|reasoning hm|content Now.\n|0 {called}|1 {called}|tool_calls"),
        ),
        (
            Callable::Any,
            sub.clone(),
            Stopped,
            r#"|0 {"name": "sub", "args": {}}|tool_calls"#.into(),
        ),
        (Callable::Declared, format!("a {sub} b"), Stopped, format!("|content a {sub} b|stop")),
        (only(), format!("{add}{sub}."), Stopped, format!("|0 {called}|content {sub}.|tool_calls")),
        (
            Callable::Nothing,
            format!("{add}\n {sub}"),
            Stopped,
            format!("|content {add}\n {sub}|stop"),
        ),
        // What cannot be read is text, to its last character.
        (Callable::Any, tagged("{x}"), Stopped, "|content <tool_call>{x}</tool_call>|stop".into()),
        (
            Callable::Any,
            format!("<tool_call>[{add} and"),
            Stopped,
            format!("|content <tool_call>[|0 {called}|content  and|tool_calls"),
        ),
        (
            Callable::Any,
            r#"<tool_call>{"name": "add", "argu"#.into(),
            Length,
            r#"|content <tool_call>{"name": "add", "argu|length"#.into(),
        ),
        // Servers take closing marks away; but a cut answer may lack more than that.
        (Callable::Any, format!("<tool_call>{ADD}"), Stopped, format!("|0 {called}|tool_calls")),
        (
            Callable::Any,
            format!("<tool_call>{ADD}"),
            Length,
            format!("|content <tool_call>{ADD}|length"),
        ),
        (
            Callable::Any,
            format!("{add}<tool_call>{ADD}"),
            refused(),
            format!("|0 {called}|content <tool_call>{ADD}|content_filter"),
        ),
        (
            Callable::Any,
            format!("{add}<tool_call>[1"),
            Ending::Broken("reset".into()),
            format!("|0 {called}|content <tool_call>[1|length"),
        ),
        (Callable::Any, "<tool_ca".into(), Stopped, "|content <tool_ca|stop".into()),
    ];
    for (callable, text, ending, expected) in table {
        let characters: Vec<&str> = text.split_inclusive(|_| true).collect();
        assert_eq!(read("hermes", &callable, &[&text], &ending), expected, "{text}");
        assert_eq!(
            read("hermes", &callable, &characters, &ending),
            expected,
            "{text} in characters"
        );
        for (at, _) in text.char_indices() {
            let (before, after) = text.split_at(at);
            let found = read("hermes", &callable, &[before, after], &ending);
            assert_eq!(found, expected, "{before:?}, {after:?}");
        }
    }
}

#[test]
fn a_call_that_has_begun_is_whole_in_the_end_or_ends_the_answer() {
    use Ending::{Length, Stopped};
    let add = r#"<tool_call>{"name": "add", "arguments": {"a": 1, "b": "x"}}</tool_call>"#;
    let shown = r#""add" {"a": 1, "b": "x""#;
    for (text, ending, expected) in [
        (add.to_owned(), Stopped, format!("|0 {shown}}}|tool_calls")),
        (format!("{add}.{add}"), Stopped, format!("|0 {shown}}}|content .|1 {shown}}}|tool_calls")),
        // What has not begun is text, as ever.
        ("<tool_call>{\"name\": \"sub\", \"arguments\": {}".into(), Length, String::new()),
        ("<tool_call>{\"name\": \"add\"".into(), Length, String::new()),
        // Cut, broken, and with a key that is there twice.
        (add[..50].into(), Length, "|0 \"add\" {\"a\": 1|broken |".into()),
        (add.replace(", \"b\"", "; \"b\""), Stopped, "|0 \"add\" {\"a\": |broken |".into()),
        (add.replace("\"b\"", "\"a\""), Stopped, "|0 \"add\" {\"a\": 1|broken |".into()),
    ] {
        let characters: Vec<&str> = text.split_inclusive(|_| true).collect();
        let read =
            |calls, chunks: &[&str]| read_as(calls, "hermes", &Callable::Declared, chunks, &ending);
        if expected.is_empty() {
            assert_eq!(read(ChatCalls::Stream, &characters), read(ChatCalls::Whole, &[&text]));
            continue;
        }
        let found = read(ChatCalls::Stream, &characters);
        let (found, expected) = (found.replace("|args ", ""), expected.as_str());
        let broken = "|broken |";
        match expected.strip_suffix(broken) {
            // How much was shown of it depends on where it was cut.
            Some(begun) => {
                assert!(found.starts_with(begun) && found.ends_with(broken), "{text}: {found}");
                let whole = read(ChatCalls::Whole, &[&text]);
                assert!(whole.starts_with("|content <tool_call>"), "{text}: {whole}");
            }
            None => assert_eq!(found, expected, "{text}"),
        }
    }
}

#[test]
fn a_block_that_is_too_long_or_of_more_reports_than_are_kept_is_text_too() {
    let limits = Limits { max_block_bytes: 64, ..Limits::default() };
    let long = format!("<tool_call>{{\"name\": \"{}\"}}</tool_call>", "x".repeat(200));
    let many = "<tool_call>{x}</tool_call>\n".repeat(300);
    for text in [long, many] {
        for width in [1, 7, text.len()] {
            let grammar = Grammar::preset("hermes").expect("a row");
            let options = ChatOptions { limits, ..ChatOptions::default() };
            let (mut reader, mut deltas) = (ChatReader::new(grammar, options), Vec::new());
            for chunk in text.as_bytes().chunks(width) {
                reader.feed_bytes(chunk, &mut deltas);
            }
            reader.finish(&Ending::Stopped, &mut deltas);
            assert_eq!(shown(&deltas), format!("|content {text}"), "in pieces of {width}");
        }
    }
}

/// With no tool to call, a block as each dialect writes it is text as it was written.
#[test]
fn a_call_that_may_not_be_made_is_text_in_every_dialect() {
    for row in names() {
        let grammar = Grammar::preset(row).expect("a row");
        let example = Renderer::new(Arc::clone(&grammar.dialects[0])).example();
        let options = ChatOptions { callable: Callable::Nothing, ..ChatOptions::default() };
        let (mut reader, mut deltas) = (ChatReader::new(grammar, options), Vec::new());
        for chunk in example.split_inclusive(|_| true) {
            reader.feed(chunk, &mut deltas);
        }
        assert_eq!(reader.finish(&Ending::Stopped, &mut deltas), Some(FinishReason::Stop), "{row}");
        assert!(!deltas.iter().any(|delta| matches!(delta, Delta::Call(..))), "{row}: {deltas:?}");
        let text = shown(&deltas);
        for part in ["tool_name", "argument", "value"] {
            assert!(text.contains(part), "{row}: {text:?} of {example:?}");
        }
    }
}
