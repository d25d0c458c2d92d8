//! The cost is linear in the length of the text, in every dialect, whatever the text is and however it is cut.
//!
//! The cost is this thread's processor time, the least of several tries, so that other work on the machine does not
//! count. Twice the text may take 2.3 times as long. A debug build reads short texts, in which only a large slowdown shows;
//! `cargo test --release` reads long ones.

use std::collections::HashSet;
use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cpu_time::ThreadTime;

use cogency_rs::protocol::{CallStream, Ending, Grammar, Options, Parser, Stream};

#[path = "hostile.rs"]
mod hostile;
#[path = "joined.rs"]
mod joined;
#[path = "memory.rs"]
mod memory;
#[allow(dead_code, reason = "tests/dialects.rs uses the rest")]
#[path = "read.rs"]
mod read;
#[path = "shapes.rs"]
mod shapes;
#[allow(dead_code, reason = "tests/dialects.rs uses the rest")]
#[path = "write.rs"]
mod write;

use memory::Peak;
use read::{grammars, tools};
use shapes::{Shape, shapes};

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// How many characters the shortest text has.
const SIZE: usize = if cfg!(debug_assertions) { 1_000 } else { 20_000 };

/// How a text is fed: so many characters at a time, with these options.
#[derive(Clone, Copy, Debug)]
struct Way {
    name: &'static str,
    characters: usize,
    stream: Stream,
    calls: CallStream,
}

const IN_PIECES: Way =
    Way { name: "in pieces", characters: 4, stream: Stream::Token, calls: CallStream::Values };

const WHOLE: Way =
    Way { name: "whole", characters: usize::MAX, stream: Stream::Event, calls: CallStream::Whole };

/// To read the processor's clock takes longer than to read a short piece: short pieces are timed together, up to so many bytes.
const CLOCKED_BYTES: usize = 1 << 10;

/// What it took to read a text.
struct Cost {
    /// Seconds.
    whole: f64,
    /// Those of the piece that took longest; of several short ones together.
    piece: f64,
    /// Bytes in use at most while it was fed.
    fed: usize,
    /// The same with its end, at which everything is handed out that was held.
    ended: usize,
}

/// Read a text, and drop the events of each piece.
fn cost(grammar: &Arc<Grammar>, way: Way, text: &str) -> Cost {
    let options = Options {
        stream: way.stream,
        calls: way.calls,
        tools: Some(tools()),
        ..Options::default()
    };
    let mut parser = Parser::new(Arc::clone(grammar), options);
    let mut events = Vec::new();
    let (start, peak) = (ThreadTime::now(), Peak::start());
    let (mut longest, mut before, mut unclocked) = (0.0, 0.0, 0);
    for chunk in chunks(text, way.characters) {
        parser.feed_bytes(chunk, &mut events);
        events = Vec::new();
        unclocked += chunk.len();
        if unclocked >= CLOCKED_BYTES {
            let now = start.elapsed().as_secs_f64();
            longest = f64::max(longest, now - before);
            (before, unclocked) = (now, 0);
        }
    }
    longest = f64::max(longest, start.elapsed().as_secs_f64() - before);
    let fed = peak.bytes();
    parser.finish(&Ending::Unknown, &mut events);
    Cost { whole: start.elapsed().as_secs_f64(), piece: longest, fed, ended: peak.bytes() }
}

/// The text in pieces of this many characters.
fn chunks(text: &str, size: usize) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
        let (chunk, after) = rest.split_at(end);
        rest = after;
        Some(chunk.as_bytes())
    })
}

/// In seconds. A shorter time is noise; a text that costs more than it should takes longer.
const MIN_SECONDS: f64 = 0.001;

/// How many times as long twice the text may take.
const MAX_GROWTH: f64 = 2.3;

/// How often each size is tried before it counts as slow.
const TRIES: usize = 20;

/// How many times as long twice the text takes, at the best of several sizes. At one size, a text twice as long may be read in
/// another way, but not at every size. 0 if a text is read too fast to measure.
fn growth(read: impl Fn(&str) -> f64, shape: &Shape) -> f64 {
    let mut least = f64::INFINITY;
    for size in [SIZE, 2 * SIZE, 4 * SIZE] {
        least = least.min(ratio(&read, &shape.text(size), &shape.text(2 * size)));
        if least <= MAX_GROWTH {
            break;
        }
    }
    least
}

/// How many times as long `long` takes as `short`, the fastest of several tries of each.
fn ratio(read: impl Fn(&str) -> f64, short: &str, long: &str) -> f64 {
    let (mut short_time, mut long_time) = (f64::INFINITY, f64::INFINITY);
    for tries in 1..=TRIES {
        long_time = long_time.min(read(long));
        if long_time < MIN_SECONDS {
            return 0.0;
        }
        short_time = short_time.min(read(short));
        // One try is not enough: if the short text is slow by chance, the ratio looks small.
        if tries > 1 && long_time <= MAX_GROWTH * short_time {
            break;
        }
        std::thread::yield_now();
    }
    long_time / short_time
}

/// The shapes that cost more than they should.
fn slow(name: &str, grammar: &Arc<Grammar>) -> Vec<String> {
    let mut seen = HashSet::new();
    let shapes = grammar.dialects.iter().flat_map(|dialect| shapes(dialect));
    let mut slow = Vec::new();
    for shape in shapes.filter(|shape| seen.insert(shape.text(60))) {
        for way in [IN_PIECES, WHOLE] {
            let growth = growth(|text| cost(grammar, way, text).whole, &shape);
            if growth > MAX_GROWTH {
                slow.push(format!("{name} {}: {growth:.2} times, {shape:.200?}", way.name));
            }
        }
    }
    slow
}

/// What is wrong with any of the grammars, or with those that `COGENCY_RS_DIALECTS` names, separated by commas. Several are looked
/// at side by side.
fn of_all(wrong: impl Fn(usize, &str, &Arc<Grammar>) -> Vec<String> + Sync) {
    let wanted = env::var("COGENCY_RS_DIALECTS").ok();
    let is_wanted = |name: &String| match &wanted {
        Some(wanted) => wanted.split(',').any(|each| each == name),
        None => true,
    };
    let grammars: Vec<_> =
        grammars().into_iter().enumerate().filter(|(_, (name, _))| is_wanted(name)).collect();
    assert!(!grammars.is_empty(), "COGENCY_RS_DIALECTS names no dialect");
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        loop {
            let Some((number, (name, grammar))) =
                grammars.get(next.fetch_add(1, Ordering::Relaxed))
            else {
                return found;
            };
            found.extend(wrong(*number, name, grammar));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let found: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no panic")).collect()
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn twice_the_text_costs_twice_as_much() {
    of_all(|_, name, grammar| slow(name, grammar));
}
