//! Long texts of every kind: time doubles with the length, each piece is read in a moment, and memory is bounded by the length.
//!
//! Each dialect reads a part of the shapes, and all dialects together read each of them several times. `COGENCY_RS_SHAPES` names
//! shapes that each dialect reads instead, by a part of their name.

use std::env;
use std::sync::Arc;

use cogency_rs::protocol::limits::MAX_ELEMENTS;
use cogency_rs::protocol::{CallStream, Grammar, Stream};

use super::shapes::{Shape, shapes};
use super::{IN_PIECES, MAX_GROWTH, WHOLE, Way, cost, of_all};

/// How many characters a text has, unless `COGENCY_RS_HOSTILE_CHARACTERS` says otherwise.
const SIZE: usize = if cfg!(debug_assertions) { 100_000 } else { 10_000_000 };

/// A piece as large as a network brings one.
const IN_BLOCKS: Way = Way {
    name: "in blocks of 64 KB",
    characters: 64 << 10,
    stream: Stream::Event,
    calls: CallStream::Whole,
};

/// Seconds that one piece may take; ten times as many where the code is not optimised.
const MOST_SECONDS: f64 = if cfg!(debug_assertions) { 0.5 } else { 0.05 };

/// Bytes in use for each byte of the text, while it is fed.
const MOST_MEMORY: usize = 6;

/// The same where much is handed out at once: of a whole text, or at its end. An event may have 5 bytes of text.
const MOST_MEMORY_AT_ONCE: usize = 30;

/// Bytes in use besides: what is known of the elements of one call.
const BESIDES: usize = 128 * MAX_ELEMENTS;

/// One of so many shapes is read in each dialect.
const ONE_IN: usize = 8;

/// A shorter time says nothing of how it grows; `cost.rs` has shorter texts.
const MIN_SECONDS: f64 = 0.05;

/// How often what takes too long is read again: a machine may be slow by chance.
const TRIES: usize = 20;

#[test]
fn a_long_text_holds_nobody_up_and_fills_no_memory() {
    let wanted = env::var("COGENCY_RS_SHAPES").ok();
    of_all(|number, name, grammar| {
        let shapes = grammar.dialects.iter().flat_map(|dialect| shapes(dialect));
        let drawn = shapes.enumerate().filter(|(at, shape)| match &wanted {
            Some(part) => shape.name.contains(part.as_str()),
            None => (at + number) % ONE_IN == 0,
        });
        drawn.flat_map(|(_, shape)| wrong(name, grammar, &shape)).collect()
    });
}

/// What is wrong with the reading of this shape.
fn wrong(name: &str, grammar: &Arc<Grammar>, shape: &Shape) -> Vec<String> {
    let said = env::var("COGENCY_RS_HOSTILE_CHARACTERS").ok();
    let size = said.map_or(SIZE, |said| said.parse().expect("a number"));
    let (short, long) = (shape.text(size / 2), shape.text(size));
    let mut wrong = Vec::new();
    for way in [IN_PIECES, IN_BLOCKS, WHOLE] {
        let mut say = |what: String| {
            wrong.push(format!("{name} {}: {what}, {shape:.200?}", way.name));
        };
        let first = cost(grammar, way, &long);
        let is_at_once = way.characters > IN_BLOCKS.characters;
        let most = if is_at_once { MOST_MEMORY_AT_ONCE } else { MOST_MEMORY };
        for (bytes, most) in [(first.fed, most), (first.ended, MOST_MEMORY_AT_ONCE)] {
            if bytes > most * long.len() + BESIDES {
                say(format!("{bytes} bytes are in use for {}", long.len()));
            }
        }
        let mut piece = first.piece;
        for _ in 0..TRIES {
            if is_at_once || piece <= MOST_SECONDS {
                break;
            }
            piece = piece.min(cost(grammar, way, &long).piece);
        }
        if piece > MOST_SECONDS && !is_at_once {
            say(format!("a piece takes {piece:.3} s"));
        }
        // As in `cost.rs`, at one size the text may no longer fit what is fast, but not at every size.
        let growth = growth(grammar, way, &long, &short);
        if growth > MAX_GROWTH
            && self::growth(grammar, way, &short, &shape.text(size / 4)) > MAX_GROWTH
        {
            say(format!("{growth:.2} times as long"));
        }
    }
    wrong
}

/// How many times as long the longer text takes, at the fastest of several tries; 0 if it is read too fast to say.
fn growth(grammar: &Arc<Grammar>, way: Way, long: &str, short: &str) -> f64 {
    let (mut whole, mut half) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..=TRIES {
        whole = whole.min(cost(grammar, way, long).whole);
        if whole <= MIN_SECONDS {
            return 0.0;
        }
        half = half.min(cost(grammar, way, short).whole);
        if whole <= MAX_GROWTH * half {
            break;
        }
    }
    whole / half
}
