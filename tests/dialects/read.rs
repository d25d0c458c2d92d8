//! Reading a text with every preset, in any pieces.

use std::sync::Arc;

use cogency_rs::dialect::presets;
use cogency_rs::protocol::{
    CallStart, CallStream, Ending, Event, Grammar, Limits, Options, Parser, Stream, Strictness,
    Tools,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::json;

pub use super::joined::joined;

/// The grammar of each preset, and some that read several dialects.
pub fn grammars() -> Vec<(String, Arc<Grammar>)> {
    let together: [&[&str]; 4] = [
        &["forge-xml", "forge-json"],
        &["hermes", "qwen3-coder", "glm45"],
        &["cogency", "mistral"],
        &["deepseek-v32-dsml", "deepseek-v3", "anthropic"],
    ];
    let alone = presets::names().map(|name| vec![name]);
    let all = alone.chain(together.into_iter().map(<[&str]>::to_vec));
    all.map(|names| (names.join("+"), grammar(&names))).collect()
}

pub fn grammar(names: &[&str]) -> Arc<Grammar> {
    if let [name] = names {
        return Grammar::preset(name).expect("a preset");
    }
    let dialects = names.iter().map(|name| presets::preset(name).expect("a preset")).collect();
    Arc::new(Grammar::new(dialects))
}

/// Tools with a parameter of each type. Some of the generated calls name them.
pub fn tools() -> Arc<Tools> {
    let schema = json!({"type": "object", "properties": {
        "text": {"type": "string"},
        "n": {"type": "integer"},
        "x": {"type": ["number", "null"]},
        "flag": {"type": "boolean"},
        "list": {"type": "array", "items": {"type": "string"}},
        "object": {"type": "object", "properties": {"text": {"type": "string"}}},
        "any": {},
    }});
    Arc::new(Tools::new([("tool".to_owned(), schema.clone()), ("a.b".to_owned(), schema)]))
}

/// How a text is read, apart from how it is cut.
#[derive(Clone, Debug)]
pub struct Setting {
    pub lenient: bool,
    pub typed: bool,
    pub begins_in_think: bool,
    pub start: CallStart,
    pub limits: Limits,
    pub ending: Ending,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            lenient: false,
            typed: false,
            begins_in_think: false,
            start: CallStart::WithBlock,
            limits: Limits::default(),
            ending: Ending::Unknown,
        }
    }
}

/// What was read, and whether the parser was done before the text ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    pub events: Vec<Event>,
    pub is_done: bool,
}

impl Setting {
    pub fn read(
        &self,
        grammar: &Arc<Grammar>,
        (stream, calls): (Stream, CallStream),
        chunks: &[&str],
    ) -> Read {
        let options = Options {
            stream,
            calls,
            start: self.start,
            limits: self.limits,
            strictness: if self.lenient { Strictness::Lenient } else { Strictness::Strict },
            begins_in_think: self.begins_in_think,
            tools: self.typed.then(tools),
            ..Options::default()
        };
        let mut parser = Parser::new(Arc::clone(grammar), options);
        let mut events = Vec::new();
        for chunk in chunks {
            parser.feed(chunk, &mut events);
        }
        let is_done = parser.is_done();
        parser.finish(&self.ending, &mut events);
        Read { events, is_done }
    }

    pub fn whole(&self, grammar: &Arc<Grammar>, text: &str) -> Vec<Event> {
        self.read(grammar, (Stream::Event, CallStream::Whole), &[text]).events
    }
}

/// The events without the pieces of calls, with neighbouring events joined.
pub fn without_pieces(events: Vec<Event>) -> Vec<Event> {
    // A call that was shown and does not count is withdrawn; where nothing is shown early, nothing is.
    let is_shown = events.iter().any(|event| matches!(event, Event::Piece(..)));
    joined(events.into_iter().filter(|event| match event {
        Event::Withdrawn => !is_shown,
        event => !matches!(event, Event::Piece(..)),
    }))
}

/// Whether Python's `str.strip` takes this character for space.
pub fn is_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

/// Cuts a text between characters.
pub fn cut<'a>(text: &'a str, cuts: &[prop::sample::Index]) -> Vec<&'a str> {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| *cut.get(&places)).collect();
    cuts.sort_unstable();
    let mut start = 0;
    let mut chunks: Vec<&str> = Vec::new();
    for end in cuts.into_iter().chain([text.len()]) {
        chunks.push(&text[start..end]);
        start = end;
    }
    chunks
}

/// Checks a property for each grammar; `PROPTEST_CASES` says how often.
pub fn each_grammar<S: Strategy>(
    inputs: impl Fn(&Arc<Grammar>) -> S,
    property: impl Fn(&Arc<Grammar>, S::Value) -> Result<(), TestCaseError>,
) where
    S::Value: std::fmt::Debug,
{
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases = asked.unwrap_or(if cfg!(miri) { 1 } else { 60 });
    let mut failures = Vec::new();
    for (name, grammar) in grammars() {
        let config = Config {
            cases,
            failure_persistence: None,
            max_shrink_iters: 4000,
            ..Config::default()
        };
        let outcome =
            TestRunner::new(config).run(&inputs(&grammar), |input| property(&grammar, input));
        if let Err(error) = outcome {
            failures.push(format!("{name}: {error}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
