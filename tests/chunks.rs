//! Chunking never matters: however a text is cut, the events are the same.

use cogency_rs::protocol::{Ending, Event, Grammar, Limits, Options, Parser, Stream};
use proptest::prelude::*;

use crate::dialects::joined::joined;

fn parse(stream: Stream, limits: Limits, chunks: &[&str]) -> Vec<Event> {
    let (mut parser, mut events) = (
        Parser::new(Grammar::cogency(), Options { stream, limits, ..Options::default() }),
        Vec::new(),
    );
    for chunk in chunks {
        parser.feed(chunk, &mut events);
    }
    parser.finish(&Ending::Unknown, &mut events);
    events
}

/// A text made of the protocol's parts, whole and damaged.
fn text() -> impl Strategy<Value = String> {
    let pieces = [
        "<think>",
        "</think>",
        "<execute>",
        "</execute>",
        "<results>",
        "</results>",
        "<end>",
        "<",
        "</",
        "<thi",
        "<exec",
        "</execut",
        "<thinking>",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "\"",
        "\\",
        "\\\"",
        "\\\\",
        "\\u00e9",
        "\\ud83d",
        "\\x",
        "[{\"name\": \"t\", \"args\": {\"x\": \"",
        "\"}}]",
        "{\"name\":\"a\",\"args\":{}}",
        "[{\"name\":\"a\",\"args\":{\"x\":\"</execute>\"}}]",
        "1",
        "-",
        "0.5e3",
        "NaN",
        "tru",
        "null",
        "\"name\"",
        "\"args\"",
        " ",
        "\n",
        "\u{a0}",
        "é",
        "😀",
        "text",
        "\u{0}",
    ];
    proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..24)
        .prop_map(|pieces| pieces.concat())
}

fn limits() -> impl Strategy<Value = Limits> {
    prop_oneof![
        4 => Just(Limits::default()),
        1 => (1..40_usize, 1..5_usize, 1..3_usize).prop_map(|(max_block_bytes, max_depth, max_calls)| Limits {
            max_block_bytes,
            max_depth,
            max_calls
        }),
    ]
}

fn cut<'a>(text: &'a str, cuts: &[prop::sample::Index]) -> Vec<&'a str> {
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

/// Miri is about a thousand times slower.
const CASES: u32 = if cfg!(miri) { 8 } else { 2000 };

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, ..ProptestConfig::default() })]

    #[test]
    fn any_way_of_cutting_gives_the_same_events(
        text in text(),
        limits in limits(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let characters: Vec<&str> = text.split_inclusive(|_| true).collect();
        let whole = parse(Stream::Event, limits, &[&text]);
        prop_assert_eq!(&parse(Stream::Event, limits, &characters), &whole);
        prop_assert_eq!(&parse(Stream::Event, limits, &cut(&text, &cuts)), &whole);
        let whole = joined(whole);
        prop_assert_eq!(&joined(parse(Stream::Token, limits, &[&text])), &whole);
        prop_assert_eq!(&joined(parse(Stream::Token, limits, &characters)), &whole);
        prop_assert_eq!(&joined(parse(Stream::Token, limits, &cut(&text, &cuts))), &whole);
    }

    #[test]
    fn every_split_in_two_gives_the_same_events(text in text()) {
        let whole = parse(Stream::Event, Limits::default(), &[&text]);
        for (at, _) in text.char_indices() {
            let (left, right) = text.split_at(at);
            prop_assert_eq!(&parse(Stream::Event, Limits::default(), &[left, right]), &whole);
        }
    }

    #[test]
    fn no_bytes_make_the_parser_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        in_a_block in any::<bool>(),
    ) {
        let (mut parser, mut events) = (Parser::new(Grammar::cogency(), Options { stream: Stream::Token, ..Options::default() }), Vec::new());
        if in_a_block {
            parser.feed("<execute>[{\"name\":\"a\",\"args\":{\"x\":\"", &mut events);
        }
        for byte in &bytes {
            parser.feed_bytes(&[*byte], &mut events);
        }
        parser.feed("\"}}]</execute>", &mut events);
        parser.finish(&Ending::Unknown, &mut events);
        prop_assert!(!events.is_empty());
    }
}
