//! A dialect with fields that nobody would give it is refused, or read like any other: however a text is cut, the events are
//! the same, and its calls and prompts are written without a panic.
#![no_main]

use std::sync::Arc;

use arbitrary::{Arbitrary, Result, Unstructured};
use cogency_rs::dialect::Dialect;
use cogency_rs::protocol::stored::ShownCall;
use cogency_rs::protocol::write::Renderer;
use cogency_rs::protocol::{Ending, Grammar, Limits, Options};
use cogency_rs_fuzz::dialects::texts::Writer;
use cogency_rs_fuzz::reading::{MODES, TOOLS, read, without_pieces};
use cogency_rs_fuzz::{changed, text};
use libfuzzer_sys::{Corpus, fuzz_target};

#[derive(Debug)]
struct Input {
    sizes: [u8; 3],
    is_typed: bool,
    dialect: Option<Arc<Dialect>>,
    bytes: Vec<u8>,
}

impl Arbitrary<'_> for Input {
    fn arbitrary(input: &mut Unstructured<'_>) -> Result<Self> {
        let dialect = changed::dialect(input)?;
        let [flags, sizes @ ..] = <[u8; 4]>::arbitrary(input)?;
        Ok(Self {
            sizes,
            is_typed: flags >= 128,
            dialect,
            bytes: input.bytes(input.len())?.to_vec(),
        })
    }
}

fuzz_target!(|input: Input| -> Corpus {
    let Some(dialect) = &input.dialect else { return Corpus::Reject };
    let call = ShownCall {
        name: "\"tool\"".into(),
        args: r#"{"text": "a < b\n", "n": 5, "list": ["x"]}"#.into(),
        id: None,
        server: None,
    };
    let renderer = Renderer::new(Arc::clone(dialect));
    let mut calls = vec![call.clone(), call];
    renderer.give_ids(&mut calls, 0);
    let written = renderer.calls(&calls, true);
    let grammar = Arc::new(Grammar::new(vec![Arc::clone(dialect)]));
    let mut writer = Writer::new(&input.bytes, &grammar.dialects);
    let texts = [writer.text(), written.as_bytes().to_vec()];
    let options = || Options {
        limits: Limits::default(),
        tools: input.is_typed.then(|| Arc::clone(&TOOLS)),
        ..Options::default()
    };
    for text in &texts {
        let characters: Vec<&[u8]> = text::characters(text).collect();
        let chunks = text::chunks(text, &input.sizes);
        for (stream, calls) in MODES {
            let read = |chunks: &[&[u8]]| {
                let options = Options { stream, calls, ..options() };
                without_pieces(read(&grammar, options, chunks, &Ending::Stopped))
            };
            let uncut = read(&[text]);
            for chunks in [&characters[..], &chunks] {
                let shown = String::from_utf8_lossy(text);
                assert_eq!(read(chunks), uncut, "{stream:?} {calls:?} of {shown:?} in {dialect:?}");
            }
        }
    }
    Corpus::Keep
});
