//! The cost is linear in the text, whatever it is and however it is cut.
//!
//! What is measured is the time that the thread had on a processor, which no other load lengthens much. Twice the text may take
//! 2.3 times as long; one try of several has to hold it.

use std::sync::Arc;
use std::time::Instant;

use cogency_rs::dialect::{Args, Body, Dialect};
use cogency_rs::protocol::{CallStream, Ending, Grammar, Limits, Options, Parser, Reading, Stream};

use crate::read::{grammar, tools};
use crate::write::{Written, blocks, blocks_of, marks};

/// One dialect for each way in which something is read, and several together.
const DIALECTS: [&[&str]; 29] = [
    &["cogency"],
    &["forge-json"],
    &["forge-xml"],
    &["hermes"],
    &["json-plain"],
    &["llama3-json"],
    &["react-json"],
    &["react"],
    &["mistral"],
    &["mistral-v11"],
    &["deepseek-v3"],
    &["kimi-k2"],
    &["kimi-k3"],
    &["cohere"],
    &["gemma4"],
    &["qwen3-coder"],
    &["glm47"],
    &["minimax-m2"],
    &["minimax-m3"],
    &["anthropic"],
    &["deepseek-v32-dsml"],
    &["harmony"],
    &["beam-rfl"],
    &["muse-glimmer"],
    &["inkling"],
    &["lfm2"],
    &["pythonic"],
    &["olmo3"],
    &["forge-xml", "forge-json"],
];

/// Characters of the shorter text.
const SIZE: usize = if cfg!(miri) {
    40
} else if cfg!(debug_assertions) {
    24_000
} else {
    150_000
};

/// A text as long as it is wanted: a beginning, something repeated, and an end.
#[derive(Clone, Debug)]
struct Shape {
    name: &'static str,
    before: String,
    each: String,
    behind: String,
}

impl Shape {
    fn new(name: &'static str, before: &str, each: &str, behind: &str) -> Self {
        let [before, each, behind] = [before, each, behind].map(str::to_owned);
        Self { name, before, each, behind }
    }

    fn text(&self, size: usize) -> String {
        let times = (size / self.each.chars().count().max(1)).max(1);
        let each = if self.each.contains("{n}") {
            (0..times).map(|n| self.each.replace("{n}", &n.to_string())).collect()
        } else {
            self.each.repeat(times)
        };
        format!("{}{each}{}", self.before, self.behind)
    }
}

const VALUE: &str = "V1V";
const KEY: &str = "K1K";

/// What stands in a block before and behind the name, a key and a value.
struct Parts {
    before_name: String,
    before_key: String,
    before_value: String,
    behind_value: String,
}

fn parts(dialect: &Dialect, body: &Body) -> Parts {
    let call = Written::new("tool", &[(KEY, VALUE), ("other", "x")]);
    let block = blocks_of(dialect, body, &[call]).concat();
    let part = |end: &str| {
        let at = block.find(end).unwrap_or(block.len());
        block[..at].to_owned()
    };
    let behind = block.find(VALUE).map_or("", |at| &block[at + VALUE.len()..]);
    Parts {
        before_name: part("tool("),
        before_key: part(KEY),
        before_value: part(VALUE),
        behind_value: behind.to_owned(),
    }
}

/// The texts that readers of this dialect may find hard.
fn shapes(dialect: &Dialect) -> Vec<Shape> {
    let mut shapes = Vec::new();
    let mut add = |name, before: &str, each: &str, behind: &str| {
        shapes.push(Shape::new(name, before, each, behind));
    };
    for mark in marks(dialect) {
        let half: String = mark.chars().take(mark.chars().count() - 1).collect();
        add("a mark", "", &mark, "");
        add("a mark on each line", "", &format!("\n{mark}"), "");
        add("half a mark", "", &half, "");
        add("space behind a mark", &mark, " ", "");
        add("space behind each mark", "", &format!("{mark}    "), "x");
    }
    let good = blocks(dialect, &[Written::new("tool", &[("text", "x")])]).concat();
    add("blocks", "", &good, "");
    add("text and blocks", "", &format!("some text {good}"), "");
    for body in &dialect.bodies {
        let Parts { before_name, before_key, before_value, behind_value } = parts(dialect, body);
        let block_end = dialect.close.first().map_or("", |close| close);
        add("space before a name", &before_name, " ", "");
        add("space before a key", &before_key, " ", "");
        add("space in a value", &before_value, " ", &behind_value);
        add("space behind a value", &before_value, " ", "");
        add("a long key", &before_key, "k", "");
        add("a long value", &before_value, "v", &behind_value);
        add("a value with no end", &before_value, "v", "");
        for part in [
            "\"",
            "'",
            "\\",
            "'?",
            "\"?",
            "&",
            "<",
            "<a",
            "<a x=\"",
            "</",
            "]]>",
            "<![CDATA[",
            "<!--",
            "[",
            "{",
            "(",
            "]",
            ")",
            "}",
            ",",
            "{\"",
            "{x:",
            "[[",
            "a(",
            "1",
            "-",
            "e",
            "0x",
            "\n",
            "`",
            "é",
            "\"'",
        ] {
            add("in a value", &before_value, part, &behind_value);
            add("in a value with no end", &before_value, part, "");
            add("in place of a value", before_value.trim_end_matches(['"', '\'']), part, "");
            add("before a key", before_key.trim_end_matches(['"', '<']), part, "");
            add("text", "", part, "");
        }
        for mark in marks(dialect) {
            add("a mark in a value", &before_value, &mark, &behind_value);
            add("marks in a value with no end", &before_value, &mark, "");
            add("marks and space in a value", &before_value, &format!("{mark}  "), &behind_value);
            add(
                "a mark and space in a value",
                &format!("{before_value}{mark}"),
                " ",
                &behind_value,
            );
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

fn parse(
    grammar: &Arc<Grammar>,
    reading: Reading,
    mode: (Stream, CallStream),
    text: &str,
    chunk: usize,
) -> f64 {
    let options = Options {
        stream: mode.0,
        calls: mode.1,
        limits: Limits::default(),
        reading,
        tools: Some(tools()),
        ..Options::default()
    };
    let mut parser = Parser::new(Arc::clone(grammar), options);
    let mut events = Vec::new();
    let chunks: Vec<&[u8]> = chunks(text, chunk);
    let clock = Clock::start();
    for chunk in chunks {
        parser.feed(chunk, &mut events);
    }
    parser.finish(&Ending::Unknown, &mut events);
    clock.seconds()
}

/// The text in pieces of so many characters.
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

/// Time that this thread had on a processor.
struct Clock {
    began: Option<u64>,
    instant: Instant,
}

impl Clock {
    fn start() -> Self {
        Self { began: Self::now(), instant: Instant::now() }
    }

    fn now() -> Option<u64> {
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        stat.split(' ').next()?.parse().ok()
    }

    fn seconds(&self) -> f64 {
        match (self.began, Self::now()) {
            (Some(began), Some(now)) if now > began => (now - began) as f64 / 1e9,
            _ => self.instant.elapsed().as_secs_f64(),
        }
    }
}

/// Below this, what is measured is noise.
const LEAST: f64 = 0.004;

/// How many times as long twice the text takes, at best.
fn growth(read: impl Fn(usize) -> f64) -> f64 {
    let mut least = f64::INFINITY;
    for _ in 0..4 {
        let (short, long) = (read(SIZE), read(2 * SIZE));
        if long < LEAST {
            return 0.0;
        }
        least = least.min(long / short.max(1e-9));
        if least <= 2.3 {
            return least;
        }
    }
    least
}

#[test]
fn the_cost_is_linear() {
    let only = std::env::var("COGENCY_RS_ONLY").ok();
    let mut slow = Vec::new();
    for names in DIALECTS {
        if only.as_ref().is_some_and(|only| !names.contains(&&**only)) {
            continue;
        }
        let grammar = grammar(names);
        let mut seen = Vec::new();
        for shape in shapes(&grammar.dialects[0]) {
            let text = shape.text(60);
            if seen.contains(&text) {
                continue;
            }
            seen.push(text);
            for (chunk, mode) in [
                (4, (Stream::Token, CallStream::Pieces)),
                (usize::MAX, (Stream::Event, CallStream::Whole)),
            ] {
                let read =
                    |size: usize| parse(&grammar, Reading::Strict, mode, &shape.text(size), chunk);
                let growth = growth(read);
                if growth > 2.3 {
                    let whole = if chunk == 4 { "cut" } else { "whole" };
                    slow.push(format!(
                        "{names:?} {growth:.2} {whole} {:.200}",
                        format!("{shape:?}")
                    ));
                }
            }
        }
    }
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}
