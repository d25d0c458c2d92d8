//! A block that could not be read, next to a good call: whatever the cuts of the text and the clock say, the model is told the same.
//!
//! In most dialects a batch is the whole answer, so that the report comes after the calls in the log, although it was noticed before
//! them.

use std::sync::Arc;

use cogency_agent::{Log, LogRow, MemoryLog, fold};
use cogency_rs::context::{FoldOptions, Rules};
use cogency_rs::dialect::{Dialect, presets};
use cogency_rs::protocol::results::CallOutcome;
use cogency_rs::protocol::stored::shown_call;
use cogency_rs::protocol::write::Renderer;
use cogency_rs::protocol::{Ending, Event, Grammar, Options, Parser, Stream};
use cogency_rs::turn::{Breaker, Errors, Row, Step, Turn};

/// How a clock goes from one chunk to the next, in seconds.
pub const CLOCKS: [f64; 4] = [0.0, 0.5, -3600.0, 86400.0];

/// What is read of these chunks: the rows of each save, in order.
fn saves(grammar: &Arc<Grammar>, chunks: &[&str], clock: f64, stream: Stream) -> Vec<Vec<Row>> {
    let mut parser = Parser::new(Arc::clone(grammar), Options { stream, ..Options::default() });
    let mut turn = Turn::new(stream, Errors::Event, Arc::clone(&grammar.dialects[0]));
    let (mut now, mut breaker, mut saved) = (1.8e9, Breaker::new(100.0), Vec::new());
    let mut take = |turn: &mut Turn, events: Vec<Event>, is_last: bool, now: f64| {
        let mut steps = Vec::new();
        for event in events {
            if turn.has_ended() {
                break;
            }
            turn.event(event, now, &mut steps);
        }
        if is_last && !turn.has_ended() {
            turn.finish(&Ending::Unknown, now, &mut steps);
        }
        for step in steps {
            match step {
                Step::Save(rows) => saved.push(rows),
                Step::Run(calls) => {
                    let success = || CallOutcome::success("\"ok\"".into(), Some("3".into()));
                    let outcomes = calls.iter().map(|_| success()).collect();
                    let mut steps = Vec::new();
                    turn.results(outcomes, &mut breaker, &mut steps);
                    saved.extend(steps.into_iter().filter_map(|step| match step {
                        Step::Save(rows) => Some(rows),
                        _ => None,
                    }));
                }
                _ => {}
            }
        }
    };
    for chunk in chunks {
        let mut events = Vec::new();
        parser.feed(chunk, &mut events);
        take(&mut turn, events, false, now);
        now += clock;
    }
    let mut events = Vec::new();
    parser.finish(&Ending::Unknown, &mut events);
    take(&mut turn, events, true, now);
    saved
}

/// The rows after these chunks, as a log gives them.
pub async fn kept<L: Log>(
    log: &L,
    conversation: &str,
    grammar: &Arc<Grammar>,
    chunks: &[&str],
    clock: f64,
    stream: Stream,
) -> Vec<LogRow> {
    let question = vec![LogRow::user("What is 1 + 2?", 1.9e9)];
    log.append(conversation, question).await.expect("it is kept");
    for rows in saves(grammar, chunks, clock, stream) {
        let rows = rows.into_iter().map(LogRow::from).collect();
        log.append(conversation, rows).await.expect("they are kept");
    }
    log.rows(conversation).await.expect("they can be read")
}

/// Whether a model is told the same after these rows as after those. Rows that differ only in their times are not folded.
pub fn are_told_alike(one: &[LogRow], other: &[LogRow], dialect: &Arc<Dialect>) -> bool {
    let texts = |rows: &[LogRow]| -> Vec<_> {
        rows.iter().map(|row| (row.kind, row.content.clone())).collect()
    };
    let prompt = |rows| {
        let dialect = Arc::clone(dialect);
        fold(rows, FoldOptions { dialect, rules: Rules::Own, ..FoldOptions::default() })
    };
    texts(one) == texts(other) || prompt(one) == prompt(other)
}

/// Answers with a good call and a block that cannot be read.
pub fn answers(dialect: &Arc<Dialect>) -> Vec<String> {
    let call = shown_call(br#"{"name": "add", "args": {"a": 1}}"#);
    let mut calls = [call.ok().flatten().expect("it is a call")];
    let renderer = Renderer::new(Arc::clone(dialect));
    renderer.give_ids(&mut calls, 0);
    let good = renderer.calls(&calls, false).to_string();
    let open = dialect.calls.open.first().map_or("", |open| &**open);
    let close = dialect.calls.close.first().map_or("", |close| &**close);
    let broken = format!("{open}{{\"name\": }}{close}");
    vec![format!("{broken}{good}"), format!("{good}{broken}"), format!("So.\n{broken}\n{good}")]
}

/// Both halves of a text, at every place where it can be cut.
pub fn halves(text: &str) -> impl Iterator<Item = [&str; 2]> {
    let cuts = text.char_indices().map(|(at, _)| at).skip(1);
    cuts.map(|at| <[&str; 2]>::from(text.split_at(at)))
}

/// The value of a future that never waits.
fn done<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("a log in memory does not wait"),
    }
}

#[test]
fn cuts_and_clocks_do_not_change_what_a_model_is_told() {
    for name in presets::names() {
        let grammar = Grammar::preset(name).expect("a row of the table");
        let dialect = &grammar.dialects[0];
        for answer in answers(dialect) {
            for stream in [Stream::Event, Stream::Token] {
                let kept = |chunks: &[&str], clock| {
                    done(kept(&MemoryLog::new(), "c", &grammar, chunks, clock, stream))
                };
                let whole = kept(&[&answer], 0.0);
                for (cut, halves) in halves(&answer).enumerate() {
                    let clock = CLOCKS[cut % CLOCKS.len()];
                    let is_alike = are_told_alike(&kept(&halves, clock), &whole, dialect);
                    assert!(is_alike, "{name}: {halves:?}, {clock}");
                }
            }
        }
    }
}
