//! What a parser hands out is text: no cut and no limit splits a character.

use std::sync::Arc;

use cogency_rs::dialect::presets;
use cogency_rs::protocol::event::Note;
use cogency_rs::protocol::stored::ShownCall;
use cogency_rs::protocol::write::Renderer;
use cogency_rs::protocol::{
    CallStream, Ending, Event, Grammar, Limits, Options, Parser, Stream, Text,
};

use crate::dialects::joined::joined;

const MODES: [(Stream, CallStream); 2] =
    [(Stream::Event, CallStream::Whole), (Stream::Token, CallStream::Values)];

/// The texts of an event.
fn texts(event: &Event) -> Vec<&Text> {
    match event {
        Event::Think(text)
        | Event::Respond(text)
        | Event::Result(text)
        | Event::Piece(_, Note::Value(_, text)) => vec![text],
        Event::Error(report) => {
            [&report.content, &report.raw].into_iter().chain(&report.respond).collect()
        }
        _ => Vec::new(),
    }
}

/// A call whose key and value are of characters of two, three and four bytes, and an answer of the same.
fn text_of(grammar: &Grammar) -> String {
    let call = ShownCall {
        name: "\"tool\"".into(),
        args: r#"{"clé": "aé€😀é€😀", "n": [1, {"é": "€"}]}"#.into(),
        id: None,
        server: None,
    };
    let renderer = Renderer::new(Arc::clone(&grammar.dialects[0]));
    let mut calls = [call];
    renderer.give_ids(&mut calls, 0);
    let written = renderer.calls(&calls, false);
    let written = written.to_str().expect("it has no surrogates");
    format!("é€😀 aé€😀{written}é€😀é")
}

#[test]
fn what_is_handed_out_is_valid_text_with_every_limit() {
    let mut pieces = 0;
    for name in presets::names() {
        let grammar = Grammar::preset(name).expect("every preset has a grammar");
        let text = text_of(&grammar);
        let characters: Vec<&str> = text.split_inclusive(|_| true).collect();
        for max_block_bytes in (1..text.len() + 2).step_by(if cfg!(miri) { 37 } else { 1 }) {
            let limits = Limits { max_block_bytes, ..Limits::default() };
            for (stream, calls) in MODES {
                let read = |chunks: &[&str]| {
                    let options = Options { stream, calls, limits, ..Options::default() };
                    let mut parser = Parser::new(Arc::clone(&grammar), options);
                    let mut events = Vec::new();
                    for chunk in chunks {
                        parser.feed(chunk, &mut events);
                    }
                    parser.finish(&Ending::Stopped, &mut events);
                    events
                };
                let shown = [read(&[&text]), read(&characters)].map(|events| {
                    for text in events.iter().flat_map(texts) {
                        assert!(text.to_str().is_some(), "{name}, {max_block_bytes}: {text:?}");
                    }
                    joined(events)
                });
                let is_piece = |event: &&Event| matches!(event, Event::Piece(_, Note::Value(..)));
                pieces += shown[0].iter().filter(is_piece).count();
                // How much is shown of a call that breaks depends on the cuts.
                let [whole, cut] = shown.map(|mut events| {
                    events.retain(|event| !is_piece(&event));
                    events
                });
                assert_eq!(whole, cut, "{name}, {max_block_bytes}");
            }
        }
    }
    assert!(pieces > if cfg!(miri) { 0 } else { 1000 }, "only {pieces} pieces of arguments");
}
