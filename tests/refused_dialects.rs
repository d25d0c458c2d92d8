//! Dialects that cannot be read: each is refused by its place, before a reader could panic, loop or run out of memory over it.

use std::sync::Arc;

use cogency_rs::dialect::{Dialect, presets};
use cogency_rs::protocol::write::{Renderer, TurnPart};
use serde_json::{Value, json};

/// The preset of this name, with `value` at `place`, a JSON pointer; a key that is not there is added.
fn changed(preset: &str, place: &str, value: Value) -> Value {
    let row = presets::preset(preset).unwrap_or_else(|| panic!("there is no {preset}"));
    let mut fields = serde_json::to_value(&*row).expect("a dialect can be written");
    let (outer, key) = place.rsplit_once('/').expect("a pointer");
    match fields.pointer_mut(outer) {
        Some(Value::Object(members)) => drop(members.insert(key.to_owned(), value)),
        Some(Value::Array(items)) => items[key.parse::<usize>().expect("an index")] = value,
        _ => panic!("{preset} has nothing at {outer}"),
    }
    fields
}

/// What a place and a value there are refused with.
type Case = (&'static str, &'static str, Value, &'static str);

fn assert_refused(cases: Vec<Case>) {
    for (preset, place, value, message) in cases {
        let fault = Dialect::from_json(changed(preset, place, value)).err().map(|e| e.to_string());
        assert_eq!(fault.as_deref(), Some(message), "{preset} {place}");
    }
}

#[test]
fn what_the_reader_looks_for_is_not_empty() {
    let empty = || json!("");
    let call = |name: &str, args: &str| json!({name: "{name}", args: "{args}"});
    assert_refused(vec![
        ("hermes", "/name", empty(), "name: must not be empty"),
        ("hermes", "/ignored", json!([""]), "ignored[0]: must not be empty"),
        ("hermes", "/stop", json!([""]), "stop[0]: must not be empty"),
        ("hermes", "/reasoning/0", json!("{}x"), "reasoning[0]: must not be empty"),
        ("cogency", "/results/0/open", empty(), "results[0].open: must not be empty"),
        ("llama3-json", "/calls", json!([]), "calls: must not be empty"),
        ("hermes", "/calls/0/call", call("", "args"), "calls[0].call: must not be empty"),
        ("hermes", "/calls/0/call", call("name", ""), "calls[0].call: must not be empty"),
        (
            "hermes",
            "/calls/0/spellings",
            json!({"<tool_call>": [""]}),
            "calls[0].block: must not be empty",
        ),
        (
            "react-json",
            "/calls/0/answer",
            json!({"": "final_answer", "answer": "{text}", "thought": "{thought}"}),
            "calls[0].answer: must have one key with a text of its own, the same one in \"call\" and \"answer\"",
        ),
        ("muse", "/heads/open", json!([]), "heads.open: must not be empty"),
        ("muse", "/heads/open/0", empty(), "heads.open[0]: must not be empty"),
        ("muse", "/heads/close", json!([]), "heads.close: must not be empty"),
        ("muse", "/heads/close/0", empty(), "heads.close[0]: must not be empty"),
        ("muse", "/heads/end", empty(), "heads.end: must not be empty"),
        ("muse", "/heads/recipient", empty(), "heads.recipient: must not be empty"),
        ("muse", "/calls/0/until", json!([""]), "calls[0].until[0]: must not be empty"),
        (
            "muse",
            "/calls/0/call",
            json!("{name=name}>{args}</x>"),
            "calls[0].call: must not be empty",
        ),
        (
            "muse",
            "/calls/0/call",
            json!("<x>{name}{id}</n>{args}</x>"),
            "calls[0].call: must not be empty",
        ),
        ("muse", "/calls/0/arg", json!("<a>{key}{raw}</a>"), "calls[0].arg: must not be empty"),
        ("muse", "/calls/0/args", json!("<all>\n{args}"), "calls[0].args: must not be empty"),
        (
            "muse",
            "/calls/0/call",
            json!("<x>{name}</n>{args}"),
            "calls[0]: call must end with a mark, or until must hold one",
        ),
        (
            "gemma4",
            "/calls/0/call",
            json!("<x>{name}{braces:}</x>"),
            "calls[0].call: must not be empty",
        ),
        (
            "forge-xml",
            "/calls/0/call",
            json!("<s>{server}</s>\n<>{name}</>\n<a>\n{args}</a>"),
            "calls[0].call: must not be empty",
        ),
    ]);
}

#[test]
fn a_mark_does_not_begin_with_what_the_reader_skips() {
    assert_refused(vec![
        (
            "hermes",
            "/calls/0/spellings",
            json!({"</tool_call>": ["\n</x>"]}),
            "calls[0].block: must not begin with white space, got \"\\n</x>\"",
        ),
        (
            "hermes",
            "/end",
            json!(["\u{a0}"]),
            "end[0]: must not begin with white space, got \"\\u{a0}\"",
        ),
        (
            "hermes",
            "/turn_end/0",
            json!("\u{1c}"),
            "turn_end[0]: must not begin with white space, got \"\\u{1c}\"",
        ),
        (
            "muse",
            "/heads/end",
            json!("\t"),
            "heads.end: must not begin with white space, got \"\\t\"",
        ),
        (
            "muse",
            "/calls/0/arg",
            json!("\n<a>{key}>{raw}</a>"),
            "calls[0].arg: must not begin with white space, got \"\\n<a>\"",
        ),
        (
            "forge-xml",
            "/calls/0/call",
            json!("<s>{server}</s>\n<n>{name}</n>\n<two words>\n{args}</two words>"),
            "calls[0].call: must be the name of an element, got \"two words\"",
        ),
    ]);
    // A name may end with its line.
    assert!(
        Dialect::from_json(changed("muse", "/calls/0/call", json!("<x>{name}\n{args}</x>")))
            .is_ok()
    );
}

#[test]
fn an_example_is_refused_with_what_it_needs() {
    assert_refused(vec![
        (
            "hermes",
            "/calls/0/block",
            json!("<a></a>"),
            "calls[0].block: must have one placeholder, {call} or {calls}",
        ),
        (
            "hermes",
            "/calls/0/block",
            json!("{call}</a>"),
            "calls[0].block: must have a mark before the call, or unmarked must say where a call may lack it",
        ),
        ("hermes", "/calls/0/call", json!(7), "calls[0].call: must be a text or an object"),
        (
            "hermes",
            "/calls/0/call",
            json!({"name": "{name}"}),
            "calls[0].call: must have the placeholder {args}",
        ),
        (
            "hermes",
            "/calls/0/call",
            json!({"name": "{name}", "args": "{args}", "type": "function"}),
            "calls[0].call: the value of \"type\" must be a placeholder",
        ),
        ("hermes", "/calls/0/arg", json!("<a>"), "calls[0].arg: is not part of a JSON object"),
        (
            "hermes",
            "/calls/0/spellings",
            json!({"</call>": ["</calls>"]}),
            "calls[0].spellings: \"</call>\" is not a mark of the block, the mark after a name, or a key",
        ),
    ]);
}

#[test]
fn a_text_of_an_example_is_refused_with_what_it_needs() {
    let call = |text: &str| json!(text);
    assert_refused(vec![
        (
            "qwen3-coder",
            "/calls/0/call",
            call("«{name}»{args}»"),
            "calls[0].call: has \"»\" both after the name and at its end: it would end without its arguments",
        ),
        (
            "qwen3-coder",
            "/calls/0/block",
            json!("<a>[{calls}]</a>x{"),
            "calls[0].block: has a \"{\" outside a placeholder: write \"{{\"",
        ),
        (
            "qwen3-coder",
            "/calls/0/call",
            call("<f={nom}>{args}</f>"),
            "calls[0].call: has {nom}, an unknown placeholder; for a brace write \"{{\"",
        ),
        (
            "qwen3-coder",
            "/calls/0/call",
            call("<f>{args}</f>"),
            "calls[0].call: must have {name}, functions.{name}:{n}, {name} and {id}, or {…=name} before its arguments",
        ),
        (
            "qwen3-coder",
            "/calls/0/call",
            call("<f={name}>{args}</f>\n"),
            "calls[0].call: ends with white space: that is written by \"between\"",
        ),
        (
            "qwen3-coder",
            "/calls/0/call",
            call("<f={name}>{json}</f>"),
            "calls[0].arg: needs {args} in \"call\"",
        ),
        (
            "qwen3-coder",
            "/calls/0/arg",
            call(""),
            "calls[0].arg: is missing: {args} are many of it",
        ),
        (
            "qwen3-coder",
            "/calls/0/arg",
            call("<p>{raw}</p>"),
            "calls[0].arg: must have the placeholder {key}, as its first one",
        ),
        (
            "qwen3-coder",
            "/calls/0/arg",
            call("<p={key}></p>"),
            "calls[0].arg: must have the placeholder {raw}",
        ),
        (
            "kimi-k3",
            "/calls/0/arg",
            call("<p {key}{a=b|c}>{raw}</p>"),
            "calls[0].arg: must have a blank before the attribute",
        ),
        (
            "anthropic",
            "/calls/0/args",
            call("<all>{args}</all>"),
            "calls[0].args: must be a mark, \"\\n\", {args} and a mark",
        ),
        (
            "hermes",
            "/calls/0/message",
            call("to={name}{call}"),
            "calls: message is only for dialects that have heads",
        ),
        (
            "muse",
            "/calls/0/args_as_text",
            json!(true),
            "calls[0].args_as_text: is only for calls that are JSON objects",
        ),
        (
            "harmony",
            "/calls/0/trimmed",
            json!(true),
            "calls[0].trimmed: is only for arguments that \"arg\" has as {raw}",
        ),
        (
            "anthropic",
            "/calls/0/call",
            call("<a>\n<b> {name}</b>{args}</a>"),
            "calls[0].call: can have no white space between a second mark and {name}",
        ),
        (
            "muse",
            "/calls/0/message",
            call("to={name}"),
            "calls[0].message: must have the placeholder {call}",
        ),
    ]);
}

#[test]
fn nothing_is_so_large_that_it_takes_the_memory() {
    let many = |count| json!(vec!["<x>"; count]);
    let long = |length| json!("x".repeat(length));
    assert_refused(vec![
        ("hermes", "/turn_end/0", long(513), "turn_end[0]: must have at most 512 bytes, got 513"),
        ("hermes", "/ignored", many(65), "ignored: must have at most 64 items, got 65"),
        (
            "kimi-k2",
            "/calls/0/ids",
            json!({"count": 1_000_000_000}),
            "calls[0].ids.count: must be at most 64, got 1000000000",
        ),
        (
            "hermes",
            "/calls/0/layout",
            json!({"indented": 65}),
            "calls[0].layout.indented: must be at most 64, got 65",
        ),
        (
            "hermes",
            "/calls/0/layout",
            json!({"items": u64::MAX}),
            "calls[0].layout.items: must be at most 64, got 18446744073709551615",
        ),
        (
            "hermes",
            "/prompt/tools/layout",
            json!({"array": ["tool", {"items": 1000}]}),
            "prompt.tools.layout.items: must be at most 64, got 1000",
        ),
    ]);
    for fits in [json!(vec!["<x>"; 64]), json!(["y".repeat(512)])] {
        assert!(Dialect::from_json(changed("hermes", "/ignored", fits)).is_ok());
    }
}

#[test]
fn all_texts_together_are_not_so_long_that_they_take_the_memory() {
    let long = json!("x".repeat(300_000));
    for (place, value, message) in [
        (
            "/ignored",
            json!(vec!["y".repeat(512); 33]),
            "the marks must have at most 16384 bytes in all, got ",
        ),
        ("/models", long.clone(), "the texts must have at most 262144 bytes in all, got "),
        ("/prompt/again", long, "the texts must have at most 262144 bytes in all, got "),
    ] {
        let fault = Dialect::from_json(changed("hermes", place, value)).unwrap_err().to_string();
        assert!(fault.starts_with(message), "{place}: {fault}");
    }
    // Only what a reader looks for counts as a mark.
    assert!(Dialect::from_json(changed("hermes", "/models", json!("x".repeat(100_000)))).is_ok());
}

/// If every beginning of such a text were looked at, this would take minutes.
#[test]
fn with_the_longest_texts_a_dialect_is_written_at_once() {
    for text in ["a".repeat(250_000), format!("<{}", "a".repeat(250_000))] {
        for place in [
            "/prompt/turn/text",
            "/prompt/turn/joints/thought",
            "/calls/0/between",
            "/prompt/results/each",
            "/prompt/tools/around",
        ] {
            // Some are around something.
            let is_frame = !place.ends_with("thought") && !place.ends_with("between");
            let text = if is_frame { format!("{text}{{}}") } else { text.clone() };
            let dialect = Dialect::from_json(changed("hermes", place, json!(text)));
            let renderer = Renderer::new(Arc::new(dialect.expect("it is short enough")));
            let parts = [TurnPart::Thought(b"aa"), TurnPart::Words(b"a")];
            assert!(renderer.turn(&parts).is_some(), "{place}");
            assert_eq!(&*renderer.marks().inert(b"b<|im_end|>"), "b<\u{2060}|im_end|>".as_bytes());
        }
    }
}
