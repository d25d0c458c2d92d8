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
        let fault = Dialect::from_json(changed(preset, place, value)).err();
        assert_eq!(fault.as_deref(), Some(message), "{preset} {place}");
    }
}

#[test]
fn what_the_reader_looks_for_is_not_empty() {
    let empty = || json!("");
    assert_refused(vec![
        ("hermes", "/name", empty(), "name: must not be empty"),
        ("hermes", "/open/0", empty(), "open[0]: must not be empty"),
        ("hermes", "/close/0", empty(), "close[0]: must not be empty"),
        ("hermes", "/ignored", json!([""]), "ignored[0]: must not be empty"),
        ("hermes", "/stop", json!([""]), "stop[0]: must not be empty"),
        ("hermes", "/reasoning/0/open", empty(), "reasoning[0].open: must not be empty"),
        ("cogency", "/results/0/open", empty(), "results[0].open: must not be empty"),
        ("hermes", "/bodies", json!([]), "bodies: must not be empty"),
        ("hermes", "/bodies/0/json/name", json!([]), "bodies[0].json.name: must not be empty"),
        ("hermes", "/bodies/0/json/args/0", empty(), "bodies[0].json.args[0]: must not be empty"),
        ("hermes", "/bodies/0/json/id", empty(), "bodies[0].json.id: must not be empty"),
        (
            "react-json",
            "/bodies/0/json/decision/key",
            empty(),
            "bodies[0].json.decision.key: must not be empty",
        ),
        ("muse", "/heads/open", json!([]), "heads.open: must not be empty"),
        ("muse", "/heads/open/0", empty(), "heads.open[0]: must not be empty"),
        ("muse", "/heads/close", json!([]), "heads.close: must not be empty"),
        ("muse", "/heads/close/0", empty(), "heads.close[0]: must not be empty"),
        ("muse", "/heads/end", empty(), "heads.end: must not be empty"),
        ("muse", "/heads/recipient", empty(), "heads.recipient: must not be empty"),
        ("muse", "/bodies/0/head/until", json!([""]), "bodies[0].head.until[0]: must not be empty"),
        ("muse", "/bodies/0/head/ends", json!([]), "bodies[0].head.ends: must not be empty"),
        ("muse", "/bodies/0/head/open", empty(), "bodies[0].head.open: must not be empty"),
        (
            "muse",
            "/bodies/0/head/form",
            json!({"id": ""}),
            "bodies[0].head.form.id: must not be empty",
        ),
        (
            "muse",
            "/bodies/0/head/args/parameters/key_end",
            empty(),
            "bodies[0].head.args.parameters.key_end: must not be empty",
        ),
        (
            "muse",
            "/bodies/0/head/args/parameters/around",
            json!({"open": "<all>", "close": ""}),
            "bodies[0].head.args.parameters.around.close: must not be empty",
        ),
        (
            "muse",
            "/bodies/0/head/close",
            empty(),
            "bodies[0].head: close or until must hold a mark that ends the parameters",
        ),
        (
            "gemma4",
            "/bodies/0/head/args/braces",
            empty(),
            "bodies[0].head.args.braces: must not be empty",
        ),
        (
            "forge-xml",
            "/bodies/0/xml/parts/name",
            empty(),
            "bodies[0].xml.parts.name: must not be empty",
        ),
    ]);
}

#[test]
fn a_mark_does_not_begin_with_what_the_reader_skips() {
    assert_refused(vec![
        ("hermes", "/open/0", json!(" "), "open[0]: must not begin with white space, got \" \""),
        (
            "hermes",
            "/close/0",
            json!("\n</x>"),
            "close[0]: must not begin with white space, got \"\\n</x>\"",
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
            "/bodies/0/head/args/parameters/close",
            json!("\n"),
            "bodies[0].head.args.parameters.close: must not begin with white space, got \"\\n\"",
        ),
        (
            "forge-xml",
            "/bodies/0/xml/parts/args",
            json!("two words"),
            "bodies[0].xml.parts.args: must be the name of an element, got \"two words\"",
        ),
    ]);
    // A name may end with its line.
    assert!(Dialect::from_json(changed("muse", "/bodies/0/head/ends", json!(["\n"]))).is_ok());
}

#[test]
fn nothing_is_so_large_that_it_takes_the_memory() {
    let many = |count| json!(vec!["<x>"; count]);
    let long = |length| json!("x".repeat(length));
    assert_refused(vec![
        ("hermes", "/open/0", long(513), "open[0]: must have at most 512 bytes, got 513"),
        ("hermes", "/ignored", many(65), "ignored: must have at most 64 items, got 65"),
        (
            "kimi-k2",
            "/prompt/calls/ids",
            json!({"count": 1_000_000_000}),
            "prompt.calls.ids.count: must be at most 64, got 1000000000",
        ),
        (
            "hermes",
            "/prompt/calls/json",
            json!({"indented": 65}),
            "prompt.calls.json.indented: must be at most 64, got 65",
        ),
        (
            "hermes",
            "/prompt/calls/json",
            json!({"items": u64::MAX}),
            "prompt.calls.json.items: must be at most 64, got 18446744073709551615",
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
        let fault = Dialect::from_json(changed("hermes", place, value)).err().unwrap_or_default();
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
            "/prompt/turn/text/before",
            "/prompt/turn/joints/thought",
            "/prompt/calls/between",
            "/prompt/results/each/before",
            "/prompt/tools/around/before",
        ] {
            let dialect = Dialect::from_json(changed("hermes", place, json!(text)));
            let renderer = Renderer::new(Arc::new(dialect.expect("it is short enough")));
            let parts = [TurnPart::Thought(b"aa"), TurnPart::Words(b"a")];
            assert!(renderer.turn(&parts).is_some(), "{place}");
            assert_eq!(&*renderer.marks().inert(b"b<|im_end|>"), "b<\u{2060}|im_end|>".as_bytes());
        }
    }
}
