//! Any text in any chunks, in both modes, under any limits, however it ends: the events are those of the
//! specification, read literally; each is there as soon as the text says so; and memory stays within the limits.
//! Read leniently, the chunks do not matter either, and what is valid means the same.
#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use cogency_rs::protocol::limits::Strictness;
use cogency_rs::protocol::{Ending, Event, Grammar, Limits, Options, Parser, Stream};
use cogency_rs_fuzz::memory::{Counting, allocated};
use cogency_rs_fuzz::{parser, text};
use libfuzzer_sys::fuzz_target;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How many bytes the parser may hold for each byte that a block and its closing tag may have, and how many more. The
/// costliest bytes are those of an object with equal keys, `{"":0,"":0,…}`, which notes where each of them is.
const HELD_FOR_EACH_BYTE: usize = 32;
const HELD_BESIDES: usize = 1024;

/// A text as bytes or as pieces of the protocol, how it is cut, how it ends, and the limits. The text comes last and takes
/// all bytes that are left, so that a file is easily made of one.
#[derive(Debug)]
struct Input {
    limits: Limits,
    sizes: [u8; 3],
    ending: Ending,
    begins_in_think: bool,
    text: Vec<u8>,
}

impl Arbitrary<'_> for Input {
    fn arbitrary(input: &mut Unstructured<'_>) -> Result<Self> {
        let [form, bytes, depth, calls, sizes @ ..] = <[u8; 7]>::arbitrary(input)?;
        let rest = input.bytes(input.len())?;
        let small = Limits {
            // Most limits are so small that a text can go far beyond them.
            max_block_bytes: 1 + usize::from(bytes).pow(2) / 256,
            max_depth: 1 + usize::from(depth % 8),
            max_calls: usize::from(calls % 4),
        };
        Ok(Self {
            limits: if bytes == 0 { Limits::default() } else { small },
            sizes,
            ending: match form / 2 % 4 {
                0 => Ending::Unknown,
                1 => Ending::Stopped,
                2 => Ending::Length,
                _ => Ending::Broken("reset".into()),
            },
            begins_in_think: form / 8 % 4 == 3,
            text: if form % 2 == 0 { text::from_bytes(rest) } else { text::from_pieces(rest) },
        })
    }
}

fn parse(options: Options, ending: &Ending, chunks: &[&[u8]]) -> Vec<Event> {
    let (mut parser, mut events) = (Parser::new(Grammar::cogency(), options), Vec::new());
    for chunk in chunks {
        parser.feed_bytes(chunk, &mut events);
    }
    parser.finish(ending, &mut events);
    assert!(parser.is_done());
    events
}

/// What is still held after each chunk, without its events, stays within the limits.
fn check_memory(stream: Stream, limits: Limits, chunks: &[&[u8]]) {
    let longest = chunks.iter().map(|chunk| chunk.len()).max().unwrap_or(0);
    let block = limits.max_block_bytes + "</execute>".len();
    let most = block * HELD_FOR_EACH_BYTE + 4 * longest + HELD_BESIDES;
    let before = allocated();
    let mut parser =
        Parser::new(Grammar::cogency(), Options { stream, limits, ..Options::default() });
    for chunk in chunks {
        parser.feed_bytes(chunk, &mut Vec::new());
        let held = allocated() - before;
        assert!(held <= most, "{held} bytes are held, {most} may be");
    }
}

/// After every chunk the events say all that the text says so far.
fn check_immediacy(chunks: &[&[u8]]) {
    let limits = Limits::default();
    let (mut parser, mut events) = (
        Parser::new(
            Grammar::cogency(),
            Options { stream: Stream::Token, limits, ..Options::default() },
        ),
        Vec::new(),
    );
    let mut text = Vec::new();
    for chunk in chunks {
        text.extend_from_slice(chunk);
        parser.feed_bytes(chunk, &mut events);
        let expected = parser::events_so_far(&text, limits);
        assert_eq!(parser::joined(events.clone()), parser::joined(expected), "behind {text:?}");
    }
}

fuzz_target!(|input: Input| {
    let Input { limits, sizes, ending, begins_in_think, text } = input;
    let options = Options { limits, begins_in_think, ..Options::default() };
    let characters: Vec<&[u8]> = text::characters(&text).collect();
    let chunks = text::chunks(&text, &sizes);
    // A text of which nothing came was cut only if its length was used up.
    let expected = if begins_in_think && (!text.is_empty() || ending == Ending::Length) {
        let (text, is_added) = parser::in_reasoning(&text, limits);
        parser::events(&text, limits, &ending, is_added)
    } else {
        parser::events(&text, limits, &ending, false)
    };
    let expected_joined = parser::joined(expected.clone());
    let lenient =
        parse(Options { strictness: Strictness::Lenient, ..options.clone() }, &ending, &[&text]);
    if !expected.iter().any(|event| matches!(event, Event::Error(_))) {
        assert_eq!(lenient, expected);
    }
    let lenient_joined = parser::joined(lenient.clone());
    for chunks in [&[&text[..]][..], &characters, &chunks] {
        for (strictness, whole, joined) in [
            (Strictness::Strict, &expected, &expected_joined),
            (Strictness::Lenient, &lenient, &lenient_joined),
        ] {
            let options = Options { strictness, ..options.clone() };
            assert_eq!(parse(options.clone(), &ending, chunks), *whole);
            let options = Options { stream: Stream::Token, ..options };
            assert_eq!(parser::joined(parse(options, &ending, chunks)), *joined);
        }
        check_memory(Stream::Event, limits, chunks);
        check_memory(Stream::Token, limits, chunks);
    }
    if text.len() <= 128 {
        check_immediacy(&characters);
        check_immediacy(&chunks);
    }
});
