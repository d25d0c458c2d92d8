//! A complete, valid call runs wherever it is in an answer: after words, after marks that are quoted, in a fence, after a fence
//! that was never closed, directly after a quote; also where reasoning ends with a quotation and the answer begins with the same quote.
#![no_main]

use std::sync::LazyLock;

use arbitrary::{Arbitrary, Result, Unstructured};
use cogency_rs::dialect::{Dialect, presets};
use cogency_rs::protocol::stored::ShownCall;
use cogency_rs::protocol::write::Renderer;
use cogency_rs::protocol::{Ending, Event, Grammar, Options, Strictness};
use cogency_rs_fuzz::dialects::texts::marks;
use cogency_rs_fuzz::reading::{MODES, read};
use cogency_rs_fuzz::text;
use libfuzzer_sys::fuzz_target;

/// The dialects whose calls begin with a mark, so that they may be anywhere in a text.
static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let is_anywhere = |name: &&str| {
        let dialect = presets::preset(name).expect("a row");
        let written = written(name);
        let begins = dialect.calls.open.iter().any(|open| written.trim_start().starts_with(&**open));
        begins && dialect.heads.is_none()
    };
    presets::names().filter(is_anywhere).collect()
});

/// A call as it begins an answer in a dialect.
fn written(name: &str) -> String {
    let renderer = Renderer::new(presets::preset(name).expect("a row"));
    let (name, args) = ("\"tool\"".to_owned(), r#"{"text": "a < b", "n": 5}"#.to_owned());
    let mut calls = [ShownCall { name, args, id: None, server: None }];
    renderer.give_ids(&mut calls, 0);
    renderer.calls(&calls, true).to_string()
}

const WORDS: [&str; 17] = [
    "I look ",
    "at it. ",
    "\n",
    "\n\n",
    "- ",
    "1. ",
    "**so** ",
    "`x` ",
    "\"it\" ",
    "don't ",
    "```\n",
    "```json\n",
    "~~~\n",
    "\n```\n",
    "\"",
    "'",
    "`",
];

/// What reasoning may end with in quotes.
const QUOTED: [&str; 8] =
    ["f()", "a;", "so", "[1]", "\u{e9}", "\u{8a9e}\u{3002}", "{x: 1}", "py\n\nf();\n"];

#[derive(Debug)]
struct Input {
    dialect: &'static str,
    before: String,
    mode: usize,
    is_lenient: bool,
    sizes: [u8; 3],
}

impl Arbitrary<'_> for Input {
    fn arbitrary(input: &mut Unstructured<'_>) -> Result<Self> {
        let [dialect, mode, flags, sizes @ ..] = <[u8; 6]>::arbitrary(input)?;
        let dialect = NAMES[usize::from(dialect) % NAMES.len()];
        let before = words(input, &presets::preset(dialect).expect("a row"))?;
        let mode = usize::from(mode) % MODES.len();
        Ok(Self { dialect, before, mode, is_lenient: flags >= 128, sizes })
    }
}

/// What a model says before it calls: words, and marks between two equal quotes.
fn words(input: &mut Unstructured<'_>, dialect: &Dialect) -> Result<String> {
    let marks = marks(dialect);
    let mut said = String::new();
    if let Some(pair) = dialect.reasoning.first() {
        let quote = *input.choose(&["`", "\"", "'", "``", "```"])?;
        let text = input.choose(&QUOTED)?;
        let is_fence = text.ends_with('\n');
        let quote = if is_fence { "```" } else { quote };
        let line = if is_fence { "\n" } else { " " };
        let (open, close) = (&pair.open, &pair.close);
        said.push_str(&format!("{open}I run{line}{quote}{text}{quote}{close}{quote}"));
    }
    for _ in 0..u8::arbitrary(input)? % 12 {
        if u8::arbitrary(input)? % 3 == 0 {
            let quote = input.choose(&["`", "\"", "'"])?;
            said.push_str(&format!(" {quote}{}{quote} ", input.choose(&marks)?));
        } else {
            said.push_str(input.choose(&WORDS)?);
        }
    }
    Ok(said)
}

fuzz_target!(|input: Input| {
    let Input { dialect, before, .. } = &input;
    let text = format!("{before}{}", written(dialect)).into_bytes();
    let (stream, shown) = MODES[input.mode];
    let strictness = if input.is_lenient { Strictness::Lenient } else { Strictness::Strict };
    let options = Options { stream, calls: shown, strictness, ..Options::default() };
    let grammar = Grammar::preset(dialect).expect("a row");
    let events = read(&grammar, options, &text::chunks(&text, &input.sizes), &Ending::Stopped);
    let found = events.iter().filter(|event| matches!(event, Event::Call(_))).count();
    let text = String::from_utf8_lossy(&text);
    assert_eq!(found, 1, "{dialect} of {text:?} reads {events:?}");
});
