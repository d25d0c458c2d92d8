//! A whole turn: a stream of text, tools, and a log.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use cogency_agent::execution::{
    Effect, FunctionTool, Progress, ToolError, ToolOutput, Toolbox, Work,
};
use cogency_agent::{
    Log, LogRow, LogRowKind, MemoryLog, ModelOutput, TurnReport, TurnSetup, chunks, fold, take_turn,
};
use cogency_rs::context::Role;
use cogency_rs::protocol::{Ending, Event, Grammar, Stream as TextStream};
use cogency_rs::turn::{Breaker, Emission, RowKind, TurnOutcome};
use futures_core::Stream;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio::time::sleep;

const CALL: &str = "<tool_call>\n{\"name\": \"NAME\", \"arguments\": {\"n\": 7}}\n</tool_call>";

fn paused() -> Runtime {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("the system gives a runtime")
}

fn written(name: &str) -> String {
    CALL.replace("NAME", name)
}

/// What happened, in order.
type Journal = Arc<Mutex<Vec<String>>>;

fn note(journal: &Journal, what: impl Into<String>) {
    journal.lock().expect("no panic holds it").push(what.into());
}

fn noted(journal: &Journal) -> Vec<String> {
    journal.lock().expect("no panic holds it").clone()
}

/// Returns its argument after these seconds, and says so.
fn slow(name: &'static str, seconds: u64, journal: &Journal) -> FunctionTool {
    let journal = Arc::clone(journal);
    FunctionTool::new(name, move |invocation| {
        let journal = Arc::clone(&journal);
        note(&journal, format!("begin {name}"));
        Work::Async(Box::pin(async move {
            sleep(Duration::from_secs(seconds)).await;
            note(&journal, format!("end {name}"));
            ToolOutput::of(&invocation.arguments::<Value>()?["n"])
        }))
    })
}

fn read_only(tool: FunctionTool) -> FunctionTool {
    tool.with_effect(Effect::ReadOnly { retries: 0 })
}

fn setup<const N: usize>(tools: [FunctionTool; N]) -> TurnSetup {
    let grammar = Grammar::preset("hermes").expect("a row of the table");
    TurnSetup::new(grammar, Toolbox::of(tools).expect("the names differ"))
}

/// A turn of the model that writes this text at once.
async fn turn(text: &[&str], setup: &TurnSetup, log: &MemoryLog) -> (TurnReport, Vec<Emission>) {
    let mut emitted = Vec::new();
    let emit = |emission| emitted.push(emission);
    let output = chunks(text.iter().copied());
    let report = take_turn(output, setup, log, "c", &mut Breaker::new(3.0), emit).await;
    (report.expect("memory cannot fail"), emitted)
}

async fn kinds(log: &impl Log) -> Vec<&'static str> {
    let rows = log.rows("c").await.expect("it can be read");
    rows.iter().map(|row| row.kind.name()).collect()
}

/// The kind and the text of each row.
async fn rows(log: &MemoryLog) -> Vec<(LogRowKind, String)> {
    let Ok(rows) = log.rows("c").await;
    rows.iter().map(|row| (row.kind, row.content.to_string())).collect()
}

#[test]
fn however_the_text_is_cut_the_turn_is_the_same() {
    let journal = Journal::default();
    let mut setup = setup([read_only(slow("read", 1, &journal)), slow("write", 1, &journal)]);
    let text = format!("<think>hm</think>Two.{}\n{}", written("read"), written("write"));
    for stream in [TextStream::Event, TextStream::Token] {
        setup.reading.stream = stream;
        let runtime = paused();
        let whole = MemoryLog::new();
        let (expected, _) = runtime.block_on(turn(&[&text], &setup, &whole));
        let expected_rows = runtime.block_on(rows(&whole));
        assert_eq!(expected.outcome, TurnOutcome::Acted);
        let kinds: Vec<_> = expected_rows.iter().map(|(kind, _)| kind.name()).collect();
        assert_eq!(kinds, ["think", "respond", "call", "call", "result"]);
        for at in 0..=text.len() {
            let log = MemoryLog::new();
            let (report, _) = runtime.block_on(turn(&[&text[..at], &text[at..]], &setup, &log));
            assert_eq!(report, expected, "cut at {at}");
            assert_eq!(runtime.block_on(rows(&log)), expected_rows, "cut at {at}");
        }
    }
}

#[test]
fn the_messages_are_those_of_the_whole_conversation() {
    let journal = Journal::default();
    let (setup, log) = (setup([slow("read", 1, &journal)]), MemoryLog::new());
    paused().block_on(async {
        let Ok(()) = log.append("c", vec![LogRow::user("Read it.", 1.0)]).await;
        let (report, emitted) = turn(&["Yes.", &written("read")], &setup, &log).await;
        let said: Vec<_> =
            report.messages.iter().map(|one| (one.role, one.content.to_str())).collect();
        assert_eq!(said[0], (Role::User, Some("Read it.")));
        assert_eq!(said[1].0, Role::Assistant);
        assert_eq!(said[2], (Role::User, Some("<tool_response>\n7\n</tool_response>")));
        assert_eq!(emitted[0], Emission::Event(Event::Respond("Yes.".into())));
        assert_eq!(emitted[2], Emission::Event(Event::Execute));
        assert!(matches!(&emitted[3], Emission::Results(_, tally) if tally.succeeded == 1));

        let (report, emitted) = turn(&["It is 7."], &setup, &log).await;
        assert_eq!(report.outcome, TurnOutcome::Answered);
        assert_eq!(emitted, [Emission::Event(Event::Respond("It is 7.".into()))]);
        assert_eq!(report.messages.len(), 4);
        assert_eq!(kinds(&log).await, ["user", "respond", "call", "result", "respond"]);
    });
}

/// A model that writes when it is told to.
struct Writing(mpsc::UnboundedReceiver<Result<ModelOutput, String>>);

impl Stream for Writing {
    type Item = Result<ModelOutput, String>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}

fn text(text: &str) -> ModelOutput {
    ModelOutput::Text(text.to_owned())
}

/// A turn of a model that writes each part when so many seconds have passed since the part before.
async fn slowly(
    parts: Vec<(u64, ModelOutput)>,
    setup: &TurnSetup,
    log: &MemoryLog,
    journal: &Journal,
) -> TurnReport {
    let (model, output) = mpsc::unbounded_channel();
    let writes = Arc::clone(journal);
    let writing = tokio::spawn(async move {
        for (seconds, part) in parts {
            sleep(Duration::from_secs(seconds)).await;
            note(&writes, "written");
            model.send(Ok(part)).expect("the turn reads");
        }
    });
    let mut breaker = Breaker::new(3.0);
    let Ok(report) = take_turn(Writing(output), setup, log, "c", &mut breaker, |_| {}).await;
    writing.await.expect("it writes to its end");
    report
}

/// An answer whose one block has several calls, and what comes between them.
fn cogency(tools: Toolbox) -> TurnSetup {
    TurnSetup::new(Grammar::cogency(), tools)
}

#[test]
fn calls_without_an_effect_begin_while_the_model_writes() {
    let journal = Journal::default();
    let tools = [
        read_only(slow("read", 1, &journal)),
        slow("write", 1, &journal),
        read_only(slow("later", 1, &journal)),
    ];
    let setup = cogency(Toolbox::of(tools).expect("the names differ"));
    let call = |name: &str| format!("{{\"name\": \"{name}\", \"args\": {{\"n\": 7}}}}");
    let parts = vec![
        (1, text(&format!("<execute>[{}", call("read")))),
        (2, text(&format!(", {}", call("write")))),
        (2, text(&format!(", {}", call("later")))),
        (2, text("]</execute>")),
    ];
    let log = MemoryLog::new();
    let report = paused().block_on(slowly(parts, &setup, &log, &journal));
    assert_eq!(report.outcome, TurnOutcome::Acted);
    let expected = [
        "written",
        "begin read",
        "end read", // before the next part
        "written",
        "written",
        "written", // neither the call with an effect nor the one after it
        "begin write",
        "begin later",
        "end write",
        "end later",
    ];
    assert_eq!(noted(&journal), expected);
}

#[test]
fn a_call_that_began_early_is_tried_again_while_the_model_writes() {
    let journal = Journal::default();
    let attempts = Arc::clone(&journal);
    let flaky = FunctionTool::new("read", move |invocation| {
        note(&attempts, format!("attempt {}", invocation.attempt()));
        Work::Async(Box::pin(async move {
            match invocation.attempt() {
                1 => Err(ToolError::new("not yet")),
                _ => Ok(ToolOutput::empty()),
            }
        }))
    });
    let flaky = flaky.with_effect(Effect::ReadOnly { retries: 1 });
    let setup = cogency(Toolbox::of([flaky]).expect("there is one"));
    let parts =
        vec![(1, text("<execute>[{\"name\": \"read\", \"args\": {}}")), (60, text("]</execute>"))];
    let report = paused().block_on(slowly(parts, &setup, &MemoryLog::new(), &journal));
    assert_eq!(report.outcome, TurnOutcome::Acted);
    assert_eq!(noted(&journal), ["written", "attempt 1", "attempt 2", "written"]);
}

#[test]
fn calls_of_a_block_that_is_not_valid_are_withdrawn() {
    let journal = Journal::default();
    let setup = cogency(Toolbox::of([read_only(slow("read", 9, &journal))]).expect("there is one"));
    let parts = vec![
        (1, text("<execute>[{\"name\": \"read\", \"args\": {}}")),
        (2, text(", oh no]</execute>")),
    ];
    let log = MemoryLog::new();
    let runtime = paused();
    let report = runtime.block_on(slowly(parts, &setup, &log, &journal));
    assert_eq!(report.outcome, TurnOutcome::Malformed);
    assert_eq!(noted(&journal), ["written", "begin read", "written"], "it never ended");
    assert_eq!(runtime.block_on(kinds(&log)), ["error"]);
    assert_eq!(runtime.metrics().num_alive_tasks(), 0);
}

#[test]
fn the_end_of_the_output_decides_how_the_turn_came_out() {
    let ended = |ending| Ok(ModelOutput::Ended(ending));
    for (last, outcome) in [
        (ended(Ending::Stopped), TurnOutcome::Answered),
        (ended(Ending::Length), TurnOutcome::Truncated),
        (ended(Ending::Refused("policy".into())), TurnOutcome::Refused),
        (Err("the connection broke".to_owned()), TurnOutcome::Truncated),
    ] {
        let (journal, log) = (Journal::default(), MemoryLog::new());
        let parts = [Ok(text("So far")), last, Ok(text(", and more"))];
        let report = paused().block_on(async {
            let (model, output) = mpsc::unbounded_channel();
            for part in parts {
                model.send(part).expect("the turn reads");
            }
            let setup = setup([slow("read", 1, &journal)]);
            let mut breaker = Breaker::new(3.0);
            take_turn(Writing(output), &setup, &log, "c", &mut breaker, |_| {}).await
        });
        let Ok(report) = report;
        assert_eq!(report.outcome, outcome);
        let shown = report.messages.first().map(|message| message.content.to_string());
        assert_eq!(shown.as_deref(), Some("So far"), "{outcome:?}: nothing after the end is read");
    }
}

#[test]
fn the_turn_is_given_up_when_the_breaker_opens() {
    let fails =
        FunctionTool::new("fails", |_| Work::Async(Box::pin(async { Err(ToolError::new("no")) })));
    let (setup, log) = (setup([fails]), MemoryLog::new());
    let mut breaker = Breaker::new(2.0);
    paused().block_on(async {
        let mut outcomes = Vec::new();
        for _ in 0..2 {
            let output = chunks([written("fails")]);
            let Ok(report) = take_turn(output, &setup, &log, "c", &mut breaker, |_| {}).await;
            outcomes.push(report.outcome);
        }
        assert_eq!(outcomes, [TurnOutcome::Acted, TurnOutcome::Failed]);
        assert_eq!(kinds(&log).await, ["call", "result", "call", "result"]);
    });
}

#[test]
fn a_turn_that_is_dropped_leaves_its_calls_without_results_which_the_model_is_told() {
    let journal = Journal::default();
    let mut setup = setup([slow("write", 9, &journal)]);
    let abandoned = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&abandoned);
    setup.batch = setup.batch.clone().with_on_abandoned(move |calls| {
        let calls = calls.into_iter().map(|call| (call.place, call.progress));
        told.lock().expect("no panic holds it").extend(calls);
    });
    let (log, runtime) = (MemoryLog::new(), paused());
    runtime.block_on(async {
        let text = [written("write")];
        let mut breaker = Breaker::new(3.0);
        let turn = take_turn(chunks(text), &setup, &log, "c", &mut breaker, |_| {});
        tokio::time::timeout(Duration::from_secs(2), turn).await.expect_err("it takes longer");
        assert_eq!(kinds(&log).await, ["call"]);
        let Ok(rows) = log.rows("c").await;
        let messages = fold(&rows, setup.folding.clone());
        let last = messages[1].content.to_string();
        assert!(last.contains("Interrupted before completion"), "{last}");
        tokio::task::yield_now().await;
        assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
    });
    assert_eq!(noted(&journal), ["begin write"]);
    assert_eq!(*abandoned.lock().expect("no panic holds it"), [(0, Progress::Running)]);
}

/// A log whose append of this number fails.
struct Failing {
    inner: MemoryLog,
    appends: AtomicUsize,
    fails_at: usize,
}

#[derive(Debug, thiserror::Error, PartialEq)]
#[error("the disk is full")]
struct Full;

impl Log for Failing {
    type Error = Full;

    async fn append(&self, conversation: &str, rows: Vec<LogRow>) -> Result<(), Full> {
        if self.appends.fetch_add(1, Ordering::SeqCst) == self.fails_at {
            return Err(Full);
        }
        let Ok(()): Result<(), Infallible> = self.inner.append(conversation, rows).await;
        Ok(())
    }

    async fn rows(&self, conversation: &str) -> Result<Vec<LogRow>, Full> {
        let Ok(rows) = self.inner.rows(conversation).await;
        Ok(rows)
    }
}

#[test]
fn no_call_runs_and_nothing_is_emitted_that_the_log_does_not_have() {
    for (fails_at, ran, saved) in [
        (0, vec![], vec![]),
        (1, vec!["begin write", "end write"], vec!["respond", "call"]),
        (9, vec!["begin write", "end write"], vec!["respond", "call", "result"]),
    ] {
        let journal = Journal::default();
        let (setup, mut emitted) = (setup([slow("write", 1, &journal)]), Vec::new());
        let log = Failing { inner: MemoryLog::new(), appends: AtomicUsize::new(0), fails_at };
        paused().block_on(async {
            let output = chunks(["Now.".to_owned(), written("write")]);
            let emit = |emission| emitted.push(emission);
            let report = take_turn(output, &setup, &log, "c", &mut Breaker::new(3.0), emit).await;
            assert_eq!(report.err(), (fails_at < 9).then_some(Full));
            assert_eq!(kinds(&log).await, saved);
        });
        assert_eq!(noted(&journal), ran);
        let has_results = emitted.iter().any(|one| matches!(one, Emission::Results(..)));
        assert_eq!((emitted.is_empty(), has_results), (fails_at == 0, fails_at == 9));
    }
}

#[test]
fn a_row_that_is_not_what_its_kind_says_is_left_out() {
    let row = |kind, content: &str| {
        let mut row = LogRow::user(content, 1.0);
        row.kind = LogRowKind::Turn(kind);
        row
    };
    let rows = [
        LogRow::user("Hello", 1.0),
        row(RowKind::Call, "no JSON"),
        row(RowKind::Error, "no report"),
        row(RowKind::Respond, "Hi"),
    ];
    let messages = fold(&rows, setup([]).folding);
    let said: Vec<_> = messages.iter().map(|message| message.content.to_string()).collect();
    assert_eq!(said, ["Hello", "Hi"]);
}

#[test]
fn a_turn_may_go_from_thread_to_thread() {
    let journal = Journal::default();
    let setup = setup([slow("write", 0, &journal)]);
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_time().build();
    let task = async move {
        let (log, mut breaker) = (MemoryLog::new(), Breaker::new(3.0));
        take_turn(chunks([written("write")]), &setup, &log, "c", &mut breaker, |_| {}).await
    };
    let runtime = runtime.expect("the system gives a runtime");
    let Ok(report) = runtime.block_on(runtime.spawn(task)).expect("it does not panic");
    assert_eq!(report.outcome, TurnOutcome::Acted);
}
