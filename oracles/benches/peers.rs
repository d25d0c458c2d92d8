//! The same streams of text and calls, read by the core and by the peers that stream: how long each takes.
//!
//! Before a reader is timed, it must read the calls that were written: a reader that misreads them is left out, and named. Values
//! do not have space at their ends, since readers differ in whether that is part of the value.

use std::{fmt, hint::black_box};

use cogency_rs::protocol::Ending;
use cogency_rs_oracles::{
    Call, dynamo_v2, notation, ours, sample::chunks, toolparser, writers::writer,
};
use divan::{Bencher, counter::BytesCount};
use futures::executor::block_on;
use serde_json::{Value, json};

fn main() {
    divan::main();
}

#[divan::bench(max_time = 3, args = cases("hermes"))]
fn hermes(bencher: Bencher, case: &Case) {
    case.run(bencher);
}

#[divan::bench(max_time = 3, args = cases("qwen3-coder"))]
fn qwen3_coder(bencher: Bencher, case: &Case) {
    case.run(bencher);
}

#[divan::bench(max_time = 3, args = cases("llama3-json"))]
fn llama3_json(bencher: Bencher, case: &Case) {
    case.run(bencher);
}

#[divan::bench(max_time = 3, args = cases("harmony"))]
fn harmony(bencher: Bencher, case: &Case) {
    case.run(bencher);
}

#[divan::bench(max_time = 3, args = cases("forge-xml"))]
fn forge_xml(bencher: Bencher, case: &Case) {
    case.run(bencher);
}

/// A reader, and the size in characters of the chunks that it reads.
struct Case {
    reader: Reader,
    dialect: &'static str,
    work: Work,
    chunk: usize,
}

#[derive(Clone, Copy, Debug)]
enum Reader {
    Ours,
    ToolParser,
    DynamoV2,
}

#[derive(Clone, Copy, Debug)]
enum Work {
    /// 32 answers of some text and two calls, each with a parser of its own.
    Turns,
    /// One call, whose argument is 16 KiB of code.
    Long,
}

/// One answer of a model.
struct Turn {
    text: String,
    calls: Vec<Call>,
    tools: Vec<Value>,
}

fn cases(dialect: &'static str) -> Vec<Case> {
    let mut cases = Vec::new();
    for work in [Work::Turns, Work::Long] {
        for chunk in [4, 64] {
            for reader in [Reader::Ours, Reader::ToolParser, Reader::DynamoV2] {
                let case = Case { reader, dialect, work, chunk };
                match case.reads_rightly() {
                    Some(true) => cases.push(case),
                    Some(false) => {
                        eprintln!("{dialect}, {case}: left out, since it reads other calls");
                    }
                    None => {}
                }
            }
        }
    }
    cases
}

impl fmt::Display for Case {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reader = match self.reader {
            Reader::Ours => "ours",
            Reader::ToolParser => "tool-parser",
            Reader::DynamoV2 => "dynamo-parsers-v2",
        };
        let work = match self.work {
            Work::Turns => "turns",
            Work::Long => "long",
        };
        write!(formatter, "{work} by {}: {reader}", self.chunk)
    }
}

impl Case {
    /// Nothing if the reader does not know the dialect.
    fn reads_rightly(&self) -> Option<bool> {
        let stream = match self.reader {
            Reader::Ours => ours::stream,
            Reader::ToolParser => toolparser::stream,
            Reader::DynamoV2 => dynamo_v2::stream,
        };
        let mut turns = self.turns().into_iter();
        turns.try_fold(true, |rightly, turn| {
            let read = stream(self.dialect, &chunks(&turn.text, self.chunk), &turn.tools)?;
            Some(rightly && read == turn.calls)
        })
    }

    fn turns(&self) -> Vec<Turn> {
        match self.work {
            Work::Turns => (0..32).map(|number| turn(self.dialect, number)).collect(),
            Work::Long => vec![long(self.dialect)],
        }
    }

    fn run(&self, bencher: Bencher) {
        let turns = self.turns();
        let bytes: usize = turns.iter().map(|turn| turn.text.len()).sum();
        let streams = turns.iter().map(|turn| (chunks(&turn.text, self.chunk), &turn.tools[..]));
        let bencher = bencher.counter(BytesCount::new(bytes));
        match self.reader {
            Reader::Ours => {
                let streams: Vec<_> = streams.map(|(s, tools)| (s, ours::tools(tools))).collect();
                bencher.bench(|| {
                    for (stream, tools) in &streams {
                        let mut parser = ours::parser(self.dialect, tools.clone()).expect("ours");
                        let mut events = Vec::new();
                        for chunk in stream {
                            parser.feed(chunk, &mut events);
                        }
                        parser.finish(&Ending::Stopped, &mut events);
                        black_box(events);
                    }
                });
            }
            Reader::ToolParser => {
                let streams: Vec<_> =
                    streams.map(|(s, tools)| (s, toolparser::tools(tools))).collect();
                bencher.bench(|| {
                    for (stream, tools) in &streams {
                        let mut parser = toolparser::parser(self.dialect).expect("a parser");
                        let mut read = Vec::new();
                        block_on(async {
                            for chunk in stream {
                                read.push(parser.parse_incremental(chunk, tools).await);
                            }
                        });
                        black_box((read, parser.get_unstreamed_tool_args()));
                    }
                });
            }
            Reader::DynamoV2 => {
                let streams: Vec<_> =
                    streams.map(|(s, tools)| (s, dynamo_v2::tools(tools))).collect();
                bencher.bench(|| {
                    for (stream, tools) in &streams {
                        let mut parser = dynamo_v2::parser(self.dialect, tools).expect("a parser");
                        for chunk in stream {
                            parser.feed(chunk);
                        }
                        parser.end();
                        black_box(parser);
                    }
                });
            }
        }
    }
}

/// Some text, if the dialect allows it, and two calls.
fn turn(dialect: &str, number: usize) -> Turn {
    let search = json!({
        "pattern": format!("fn part_{number}"),
        "folders": ["src/protocol", "src/execution", "tests"],
        "limit": 40 + number,
        "options": { "is_case_sensitive": true, "context": 3, "ignore": ["target", "dist"] },
    });
    let edit = json!({
        "path": format!("src/protocol/part_{number}.rs"),
        "line": 17 * number,
        "old": "let total = items.iter().map(|item| item.size).sum();",
        "new": "let total = items.iter()\n    .filter(|item| item.is_open)\n    .map(|item| item.size)\n    .sum();",
    });
    let words = "I have read the two files. The sum also counts what is closed, so that is where it goes wrong. ";
    answer(
        dialect,
        &words.repeat(1 + number % 4),
        vec![call("search", search), call("edit_file", edit)],
    )
}

fn long(dialect: &str) -> Turn {
    let line = "if (value[\"key\"] == 'x') { return total + offset * 2; } // keep it short\n    ";
    let content = line.repeat((16 << 10) / line.len());
    answer(
        dialect,
        "",
        vec![call("write_file", json!({ "path": "src/main.c", "content": content.trim() }))],
    )
}

fn call(name: &str, args: Value) -> Call {
    (name.to_owned(), args)
}

fn answer(dialect: &str, words: &str, calls: Vec<Call>) -> Turn {
    let writer = writer(dialect);
    let before = match dialect {
        "harmony" => {
            format!("<|channel|>analysis<|message|>{words}<|end|><|start|>assistant")
        }
        _ if writer.text => format!("{words}\n"),
        _ => String::new(),
    };
    let text = before + &(writer.write)(&calls);
    Turn { text, tools: notation::tools(&calls), calls }
}
