//! How fast the next mark is found: in text without marks, and in text that keeps looking like one.

use cogency_rs::protocol::Grammar;
use cogency_rs::protocol::marks::Search;
use divan::{Bencher, counter::BytesCount};

const SIZE: usize = 1 << 20;

fn main() {
    divan::main();
}

#[divan::bench(args = ["plain text, no mark in it. ", "a < b > c. ", "<thin", "<"])]
fn no_tag(bencher: Bencher, piece: &str) {
    let text = piece.repeat(SIZE / piece.len());
    bencher.counter(BytesCount::of_str(&text)).bench(|| all(text.as_bytes()));
}

#[divan::bench]
fn think_after_think(bencher: Bencher) {
    let text = "<think>hm</think>so ".repeat(SIZE / 20);
    bencher.counter(BytesCount::of_str(&text)).bench(|| all(text.as_bytes()));
}

/// Counts the marks of a text.
fn all(text: &[u8]) -> usize {
    let grammar = Grammar::cogency();
    let (mut from, mut count) = (0, 0);
    while let Search::Found { end, .. } = grammar.outside.search(text, from) {
        from = end;
        count += 1;
    }
    count
}
