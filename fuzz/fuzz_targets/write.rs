//! What is written reads back, in every dialect: any arguments, under any schema that allows them. Where a dialect cannot carry
//! them, the writer says so.
#![no_main]

use std::sync::{Arc, LazyLock};

use arbitrary::{Arbitrary, Result, Unstructured};
use cogency_rs::dialect::presets;
use cogency_rs::protocol::stored::shown_call;
use cogency_rs::protocol::write::Renderer;
use cogency_rs::protocol::{Ending, Event, Grammar, Options, Tools};
use cogency_rs_fuzz::described::{are_equal, arguments};
use cogency_rs_fuzz::dialects::texts::marks;
use cogency_rs_fuzz::reading::{MODES, read};
use cogency_rs_fuzz::text;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| presets::names().collect());

#[derive(Debug)]
struct Input {
    dialect: &'static str,
    /// The calls, with what each is written and read under.
    args: Value,
    schema: Value,
    calls: usize,
    mode: usize,
    sizes: [u8; 3],
}

impl Arbitrary<'_> for Input {
    fn arbitrary(input: &mut Unstructured<'_>) -> Result<Self> {
        let [dialect, calls, mode, sizes @ ..] = <[u8; 6]>::arbitrary(input)?;
        let dialect = NAMES[usize::from(dialect) % NAMES.len()];
        let marks = marks(&presets::preset(dialect).expect("a row"));
        let (args, schema) = arguments(input, &marks)?;
        let (calls, mode) = (1 + usize::from(calls % 3), usize::from(mode) % MODES.len());
        Ok(Self { dialect, args, schema, calls, mode, sizes })
    }
}

fuzz_target!(|input: Input| {
    let Input { dialect, args, schema, .. } = &input;
    let tools = Arc::new(Tools::new([("f".to_owned(), schema.clone())]));
    let stored = json!({"name": "f", "args": args}).to_string();
    let call = shown_call(stored.as_bytes()).expect("JSON").expect("a call");
    let renderer = Renderer::new(presets::preset(dialect).expect("a row"));
    let mut calls = vec![call; input.calls];
    renderer.give_ids(&mut calls, 0);
    let Ok(text) = renderer.exactly(&calls, true, Some(&tools)) else { return };
    let text = text.as_bytes();
    let (stream, shown) = MODES[input.mode];
    let options = Options { stream, calls: shown, tools: Some(tools), ..Options::default() };
    let grammar = Grammar::preset(dialect).expect("a row");
    let events = read(&grammar, options, &text::chunks(text, &input.sizes), &Ending::Stopped);
    let found: Vec<Value> = events
        .iter()
        .filter_map(|event| match event {
            Event::Call(call) => Some(serde_json::from_str(call.arguments()).expect("JSON")),
            _ => None,
        })
        .collect();
    let is_read = found.len() == input.calls && found.iter().all(|found| are_equal(found, args));
    let written = String::from_utf8_lossy(text);
    assert!(is_read, "{dialect} reads {written} as {found:?}, not {args} under {schema}");
});
