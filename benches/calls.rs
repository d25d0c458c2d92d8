//! How fast an execute block is read: its JSON alone, and its JSON into calls.

use cogency_rs::dialect::presets;
use cogency_rs::json::Scanner;
use cogency_rs::protocol::Event;
use cogency_rs::protocol::block::{BlockReader, Progress};
use cogency_rs::protocol::body::Scope;
use cogency_rs::protocol::grammar::Entry;
use divan::{Bencher, counter::BytesCount};

const SIZE: usize = 1 << 20;
const CLOSE: &str = "</execute>";

fn main() {
    divan::main();
}

/// What the arguments hold: plain text, text with an escape in every line, or numbers.
#[derive(Clone, Copy, Debug)]
enum Content {
    Plain,
    Escaped,
    Numbers,
}

impl Content {
    const ALL: [Self; 3] = [Self::Plain, Self::Escaped, Self::Numbers];

    /// A JSON value of about `size` bytes.
    fn value(self, size: usize) -> String {
        match self {
            Self::Plain => format!("\"{}\"", "word ".repeat(size / 5)),
            Self::Escaped => format!("\"{}\"", "    print(\\\"x\\\")\\n".repeat(size / 18)),
            Self::Numbers => format!("[{}0]", "1.25, ".repeat(size / 6)),
        }
    }
}

/// A block's body of about `SIZE` bytes, up to its closing tag.
fn body(content: Content, calls: usize) -> String {
    let value = content.value(SIZE / calls);
    let call = format!("{{\"name\": \"write\", \"args\": {{\"content\": {value}}}}}");
    format!("[{}]{CLOSE}", vec![call; calls].join(", "))
}

#[divan::bench(args = Content::ALL)]
fn scan(bencher: Bencher, content: Content) {
    let text = content.value(SIZE);
    bencher.counter(BytesCount::of_str(&text)).bench(|| {
        let (mut scanner, mut tokens) = (Scanner::default(), 0);
        while let Ok(Some(_)) = scanner.next(text.as_bytes()) {
            tokens += 1;
        }
        tokens
    });
}

#[divan::bench(args = Content::ALL, consts = [1, 1000])]
fn read<const CALLS: usize>(bencher: Bencher, content: Content) {
    let body = body(content, CALLS);
    bencher.counter(BytesCount::of_str(&body)).bench(|| {
        let calls = read_in(&[body.as_bytes()]);
        assert_eq!(calls.len(), CALLS);
        calls
    });
}

/// Reads the same text again and again, a little longer each time, as the parser hands it over.
#[divan::bench(args = Content::ALL)]
fn read_in_chunks_of_4(bencher: Bencher, content: Content) {
    let body = body(content, 1);
    let bytes = body.as_bytes();
    let prefixes: Vec<_> = (4..bytes.len()).step_by(4).map(|end| &bytes[..end]).collect();
    bencher
        .counter(BytesCount::of_str(&body))
        .bench(|| read_in(&[prefixes.as_slice(), &[bytes]].concat()));
}

fn read_in(prefixes: &[&[u8]]) -> Vec<Event> {
    let dialect = presets::preset("cogency").expect("a row of the table");
    let mut reader = BlockReader::new(dialect, Entry::Block, Scope::default());
    for prefix in prefixes {
        match reader.read(prefix) {
            Progress::More => {}
            Progress::Complete { events: Ok(said), .. } => return said,
            other => panic!("a valid block was read as {other:?}"),
        }
    }
    panic!("a complete block was not read to its end")
}
