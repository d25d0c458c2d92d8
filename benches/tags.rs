//! How fast the next tag is found, in text with none, and in text that keeps looking like one.

use cogency_rs::protocol::tag::{Search, TAGS, search};
use divan::{Bencher, counter::BytesCount};

const SIZE: usize = 1 << 20;

fn main() {
    divan::main();
}

#[divan::bench(args = ["plain text, no tag in it. ", "a < b > c. ", "<thin", "<"])]
fn no_tag(bencher: Bencher, piece: &str) {
    let text = piece.repeat(SIZE / piece.len());
    bencher.counter(BytesCount::of_str(&text)).bench(|| all(text.as_bytes()));
}

#[divan::bench]
fn think_after_think(bencher: Bencher) {
    let text = "<think>hm</think>so ".repeat(SIZE / 20);
    bencher.counter(BytesCount::of_str(&text)).bench(|| all(text.as_bytes()));
}

/// Counts the opening tags of a text.
fn all(text: &[u8]) -> usize {
    let needles = TAGS.iter().map(|tag| tag.open);
    let (mut from, mut count) = (0, 0);
    while let Search::Found { end, .. } = search(text, from, &needles) {
        from = end;
        count += 1;
    }
    count
}
