//! How fast the bytes of a provider's stream become deltas, at four characters of text a chunk.

use cogency_rs::protocol::Grammar;
use cogency_rs::protocol::{self as core, Parser, Stream};
use cogency_rs::wire::{Api, Delta, Options, Reader};
use divan::{Bencher, counter::BytesCount};

const TEXT: usize = 40_000;

/// Bytes that the network brings at once: a chunk of the answer, or many.
const READS: [usize; 3] = [300, 4096, 65_536];

fn main() {
    divan::main();
}

#[divan::bench(args = READS)]
fn completions(bencher: Bencher, read: usize) {
    bench(bencher, Api::Completions, read, completion);
}

/// All that is done with the bytes of an answer: they become deltas, and these the events of a dialect.
#[divan::bench(args = READS)]
fn events(bencher: Bencher, read: usize) {
    let stream: String = (0..TEXT / 4).map(|_| completion("word")).collect();
    bencher.counter(BytesCount::of_str(&stream)).bench(|| {
        let mut reader = Reader::new(Api::Completions, Options::default());
        let options = core::Options { stream: Stream::Token, ..core::Options::default() };
        let (mut parser, mut events) = (Parser::new(Grammar::cogency(), options), Vec::new());
        for bytes in stream.as_bytes().chunks(read) {
            let mut deltas = Vec::new();
            reader.feed(bytes, &mut deltas);
            for delta in deltas {
                if let Delta::Text(text) = delta {
                    parser.feed_bytes(text.as_bytes(), &mut events);
                }
            }
        }
        events
    });
}

fn completion(piece: &str) -> String {
    format!(
        "data: {{\"id\":\"chatcmpl-BVnYUEFX3zkKnmcW9QPbVAwVgTrxy\",\"object\":\"chat.completion.chunk\",\"created\":1748956800,\"model\":\"gpt-4o-2024-08-06\",\"service_tier\":\"default\",\"system_fingerprint\":\"fp_07871e2ad8\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{piece}\"}},\"logprobs\":null,\"finish_reason\":null}}],\"usage\":null}}\n\n"
    )
}

#[divan::bench(args = READS)]
fn messages(bencher: Bencher, read: usize) {
    bench(bencher, Api::Messages, read, |piece| {
        format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{piece}\"}} }}\n\n"
        )
    });
}

fn bench(bencher: Bencher, api: Api, read: usize, chunk: impl Fn(&str) -> String) {
    let stream: String = (0..TEXT / 4).map(|_| chunk("word")).collect();
    bencher.counter(BytesCount::of_str(&stream)).bench(|| {
        let (mut reader, mut deltas) = (Reader::new(api, Options::default()), Vec::new());
        for bytes in stream.as_bytes().chunks(read) {
            reader.feed(bytes, &mut deltas);
        }
        let texts = deltas.iter().map(|delta| match delta {
            Delta::Text(text) => text.len(),
            _ => 0,
        });
        assert_eq!(texts.sum::<usize>(), TEXT);
        deltas
    });
}
