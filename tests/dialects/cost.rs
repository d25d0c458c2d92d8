//! The cost is linear in the length of the text, whatever the text is and however it is cut.
//!
//! The cost is this thread's processor time, the least of several tries, so that other work on the machine does not
//! count. Twice the text may take 2.3 times as long. A debug build reads short texts, in which only a large slowdown shows;
//! `cargo test --release` reads long ones.

use std::collections::HashSet;
use std::sync::Arc;

use cpu_time::ThreadTime;

use cogency_rs::dialect::{Args, Body, Dialect};
use cogency_rs::protocol::{CallStream, Ending, Grammar, Options, Parser, Stream};

#[allow(dead_code, reason = "tests/dialects.rs uses the rest")]
#[path = "read.rs"]
mod read;
#[allow(dead_code, reason = "tests/dialects.rs uses the rest")]
#[path = "write.rs"]
mod write;

use read::{grammar, tools};
use write::{Written, blocks, blocks_of, marks};

/// One dialect for each way of reading, and one grammar of two dialects.
const DIALECTS: [&[&str]; 16] = [
    &["cogency"],
    &["forge-xml", "forge-json"],
    &["json-plain"],
    &["react-json"],
    &["react"],
    &["kimi-k2"],
    &["kimi-k3"],
    &["gemma4"],
    &["qwen3-coder"],
    &["glm47"],
    &["minimax-m3"],
    &["deepseek-v32-dsml"],
    &["harmony"],
    &["muse-glimmer"],
    &["lfm2"],
    &["pythonic"],
];

/// How many characters the shortest text has.
const SIZE: usize = if cfg!(debug_assertions) { 1_000 } else { 20_000 };

/// A text of any length: a beginning, a part that is repeated, and an end.
#[derive(Clone, Debug)]
struct Shape {
    /// What is hard about the text; shown in the message of a failure.
    #[allow(dead_code, reason = "shown")]
    name: &'static str,
    before: String,
    each: String,
    after: String,
}

impl Shape {
    fn new(name: &'static str, before: &str, each: &str, after: &str) -> Self {
        let [before, each, after] = [before, each, after].map(str::to_owned);
        Self { name, before, each, after }
    }

    fn text(&self, size: usize) -> String {
        let times = (size / self.each.chars().count().max(1)).max(1);
        let each = if self.each.contains("{n}") {
            (0..times).map(|n| self.each.replace("{n}", &n.to_string())).collect()
        } else {
            self.each.repeat(times)
        };
        format!("{}{each}{}", self.before, self.after)
    }
}

const VALUE: &str = "V1V";
const KEY: &str = "K1K";

/// The parts of a block: its text before the name, before a key, before a value, and after the value.
struct Parts {
    before_name: String,
    before_key: String,
    before_value: String,
    after_value: String,
}

fn parts(dialect: &Dialect, body: &Body) -> Parts {
    let call = Written::new("tool", &[(KEY, VALUE), ("other", "x")]);
    let block = blocks_of(dialect, body, &[call]).concat();
    let part = |end: &str| {
        let at = block.find(end).unwrap_or(block.len());
        block[..at].to_owned()
    };
    let after = block.find(VALUE).map_or("", |at| &block[at + VALUE.len()..]);
    Parts {
        before_name: part("tool("),
        before_key: part(KEY),
        before_value: part(VALUE),
        after_value: after.to_owned(),
    }
}

/// The texts that readers of this dialect may find hard.
#[expect(clippy::too_many_lines, reason = "a table")]
fn shapes(dialect: &Dialect) -> Vec<Shape> {
    let mut shapes = Vec::new();
    let mut add = |name, before: &str, each: &str, after: &str| {
        shapes.push(Shape::new(name, before, each, after));
    };
    for mark in marks(dialect) {
        let half: String = mark.chars().take(mark.chars().count() - 1).collect();
        add("a mark", "", &mark, "");
        add("a mark on each line", "", &format!("\n{mark}"), "");
        add("half a mark", "", &half, "");
        add("space after a mark", &mark, " ", "");
        add("space after each mark", "", &format!("{mark}    "), "x");
    }
    let good = blocks(dialect, &[Written::new("tool", &[("text", "x")])]).concat();
    add("blocks", "", &good, "");
    add("text and blocks", "", &format!("some text {good}"), "");
    for body in &dialect.bodies {
        let Parts { before_name, before_key, before_value, after_value } = parts(dialect, body);
        let block_end = dialect.close.first().map_or("", |close| close);
        add("space before a name", &before_name, " ", "");
        add("space before a key", &before_key, " ", "");
        add("space in a value", &before_value, " ", &after_value);
        add("space in a value with no end", &before_value, " ", "");
        add("a long key", &before_key, "k", "");
        add("a long value", &before_value, "v", &after_value);
        add("a value with no end", &before_value, "v", "");
        for part in [
            "\"",
            "'",
            "\\",
            "&",
            "<",
            "<a x=\"",
            "</",
            "]]>",
            "<![CDATA[",
            "<!--",
            "[",
            "{",
            "]",
            "}",
            ",",
            "{\"",
            "1",
            "\n",
        ] {
            add("in a value", &before_value, part, &after_value);
            add("in a value with no end", &before_value, part, "");
            add("in place of a value", before_value.trim_end_matches(['"', '\'']), part, "");
            add("before a key", before_key.trim_end_matches(['"', '<']), part, "");
            add("text", "", part, "");
        }
        for mark in marks(dialect) {
            add("a mark in a value", &before_value, &mark, &after_value);
            add("marks in a value with no end", &before_value, &mark, "");
            add("marks and space in a value", &before_value, &format!("{mark}  "), &after_value);
            add("a mark and space in a value", &format!("{before_value}{mark}"), " ", &after_value);
        }
        let ends = format!("{before_value}{block_end}");
        add("blocks cut in a value", "", &before_value, "");
        add("blocks cut in a value, with an end", "", &ends, "");
        add("blocks cut in a key", "", &format!("{before_key}{block_end}"), "");
        add("blocks cut in a key, on lines", "", &format!("{before_key}\n"), "");
        for part in ["\"", "'?", "\\", "<![CDATA[", "<a x='", "<a x=\"", "\"\\\"", "{", "'''"] {
            let ends = format!("{before_value}{part}{block_end}");
            add("blocks cut in part of a value", "", &ends, "");
        }
        if let Body::Head(head) = body
            && let Args::Parameters(form) = &head.args
        {
            let each = |key: &str| {
                let close = form.close.replace("{key}", key);
                let flag = form
                    .flag
                    .as_ref()
                    .map_or(String::new(), |flag| format!(" {}=\"{}\"", flag.name, flag.text));
                format!("{}{key}{}{flag}{}x{close}", form.open, form.key_end, form.value_open)
            };
            let start = before_key.strip_suffix(&*form.open).unwrap_or(&before_key);
            add("one parameter again and again", start, &each("k"), &head.close);
            add("parameters", start, &each("k{n}"), &head.close);
            add("parameters opened", start, &format!("{}k{}", form.open, form.key_end), "");
            add("attributes", &format!("{before_key}k{}", form.key_end), " a=\"b\"", "");
        }
        if let Some(start) = before_key.strip_suffix('"') {
            add("one key again and again", start, "\"k\": 1, ", "");
            add("keys", start, "\"k{n}\": {}, ", "");
        }
    }
    for text in [
        "{\"name\": ",
        "[{\"name\": ",
        "{\"name\": \"x\", \"arguments\": {",
        "[a(",
        "a(",
        "to=",
        "{\"tool\": ",
        "{\"type\": \"call_tool\", \"args\": {\"",
        "<results>[\"",
        "<results>",
        "```json\n",
        ";",
        "{}; ",
    ] {
        add("text", "", text, "");
        add("text on lines", "", &format!("\n{text}"), "");
    }
    add("space", "", " ", "");
    add("space and a brace", "{", " ", "");
    add("space and a bracket", "[", " ", "");
    shapes
}

fn parse(grammar: &Arc<Grammar>, mode: (Stream, CallStream), text: &str, chunk: usize) -> f64 {
    let options =
        Options { stream: mode.0, calls: mode.1, tools: Some(tools()), ..Options::default() };
    let mut parser = Parser::new(Arc::clone(grammar), options);
    let mut events = Vec::new();
    let chunks: Vec<&[u8]> = chunks(text, chunk);
    let start = ThreadTime::now();
    for chunk in chunks {
        parser.feed(chunk, &mut events);
    }
    parser.finish(&Ending::Unknown, &mut events);
    start.elapsed().as_secs_f64()
}

/// The text in pieces of this many characters.
fn chunks(text: &str, size: usize) -> Vec<&[u8]> {
    let mut rest = text;
    let mut chunks = Vec::new();
    while !rest.is_empty() {
        let end = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
        chunks.push(&rest.as_bytes()[..end]);
        rest = &rest[end..];
    }
    chunks
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

/// The shapes of these dialects that cost more than they should.
fn slow(names: &[&str]) -> Vec<String> {
    let grammar = grammar(names);
    let mut seen = HashSet::new();
    let shapes = shapes(&grammar.dialects[0]).into_iter();
    let shapes = shapes.filter(|shape| seen.insert(shape.text(60)));
    let ways = [
        ("in pieces", 4, (Stream::Token, CallStream::Pieces)),
        ("whole", usize::MAX, (Stream::Event, CallStream::Whole)),
    ];
    let mut slow = Vec::new();
    for shape in shapes {
        for (way, chunk, mode) in ways {
            let growth = growth(|text| parse(&grammar, mode, text, chunk), &shape);
            if growth > MAX_GROWTH {
                slow.push(format!("{names:?} {way}: {growth:.2} times, {shape:.200?}"));
            }
        }
    }
    slow
}

#[test]
fn twice_the_text_costs_twice_as_much() {
    let slow: Vec<_> = DIALECTS.iter().flat_map(|names| slow(names)).collect();
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}
