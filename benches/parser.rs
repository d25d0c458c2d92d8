//! How fast text becomes events, by the size of its chunks.

use cogency_rs::protocol::{Ending, Event, Grammar, Options, Parser, Stream};
use divan::{Bencher, counter::BytesCount};

const SIZE: usize = 200_000;
const CHUNKS: [usize; 4] = [1, 4, 64, SIZE];

fn main() {
    divan::main();
}

#[divan::bench(args = CHUNKS)]
fn event_mode(bencher: Bencher, chunk: usize) {
    bench(bencher, Stream::Event, chunk);
}

#[divan::bench(args = CHUNKS)]
fn token_mode(bencher: Bencher, chunk: usize) {
    bench(bencher, Stream::Token, chunk);
}

fn bench(bencher: Bencher, stream: Stream, chunk: usize) {
    let text = turn();
    bencher.counter(BytesCount::of_str(&text)).bench(|| parse(stream, &text, chunk));
}

/// A turn: a third of it reasoning, a third text for the user, a third calls.
fn turn() -> String {
    let third = SIZE / 3;
    let (think, respond, args) =
        ("hm ".repeat(third / 3), "word ".repeat(third / 5), "y".repeat(third));
    format!(
        "<think>{think}</think>{respond}<execute>[{{\"name\": \"t\", \"args\": {{\"x\": \"{args}\"}}}}]</execute>"
    )
}

fn parse(stream: Stream, text: &str, chunk: usize) -> Vec<Event> {
    let (mut parser, mut events) =
        (Parser::new(Grammar::cogency(), Options { stream, ..Options::default() }), Vec::new());
    for chunk in text.as_bytes().chunks(chunk) {
        parser.feed_bytes(chunk, &mut events);
    }
    parser.finish(&Ending::Unknown, &mut events);
    assert!(parser.is_done() && matches!(events.last(), Some(Event::Execute)));
    events
}
