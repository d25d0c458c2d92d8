//! Runs the table of what a batch does on Tokio; `tests/unit/test_batch_cases.py` runs it on asyncio.
//!
//! `tests/support/batch_cases.py` says what the members of a case mean. Time is paused: it goes on when everything waits.

#![cfg(feature = "tokio")]

use std::collections::BTreeMap;
use std::future::pending;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cogency_rs::execution::arguments::{ArgumentSchema, SchemaForm};
use cogency_rs::execution::tokio::{
    Batch, BatchOptions, Effect, FunctionTool, Order, ToolError, ToolExecution, ToolOutput,
    Toolbox, Work,
};
use cogency_rs::protocol::Call;
use cogency_rs::protocol::results::CallOutcome;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout_at};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    tool_timeout: Option<f64>,
    batch_timeout: Option<f64>,
    max_concurrency: Option<NonZeroUsize>,
    calls: Vec<Script>,
    actions: Option<Vec<Action>>,
    results: Vec<(String, Value, u32)>,
    journal: Vec<String>,
    tokio: Option<Difference>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    attempts: Vec<(f64, End)>,
    /// What the call is given; `{}` by default.
    args: Option<Value>,
    schema: Option<Value>,
    #[serde(default)]
    unknown: bool,
    #[serde(default)]
    sequential: bool,
    #[serde(default)]
    read_only: bool,
    #[serde(default)]
    retries: u32,
    timeout: Option<f64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum End {
    Return,
    Raise,
    Fail,
    Crash,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Verb {
    Begin,
    Withdraw,
    Complete,
    Cancel,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Action {
    At(f64, Verb),
    From(f64, Verb, usize),
}

/// What is different here than on asyncio.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Difference {
    #[serde(rename = "reason")]
    _reason: String,
    texts: BTreeMap<usize, String>,
}

/// What happens, with the whole seconds at which it does.
#[derive(Clone)]
struct Journal {
    origin: Instant,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Journal {
    fn note(&self, what: &str, index: usize) {
        let line = format!("{} {what} {index}", self.origin.elapsed().as_secs());
        self.lines.lock().expect("no test panics with it").push(line);
    }
}

/// Notes that an attempt was stopped, unless it has ended.
struct Attempt {
    journal: Journal,
    index: usize,
    has_ended: bool,
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if !self.has_ended {
            self.journal.note("stop", self.index);
        }
    }
}

fn scripted(index: usize, script: &Script, journal: &Journal) -> FunctionTool {
    let (attempts, journal) = (script.attempts.clone(), journal.clone());
    let start = move |invocation: cogency_rs::execution::tokio::Invocation| {
        let number = usize::try_from(invocation.attempt()).expect("a small number") - 1;
        let (seconds, end) = attempts[number.min(attempts.len() - 1)];
        let journal = journal.clone();
        Work::Async(Box::pin(async move {
            journal.note("begin", index);
            let mut attempt = Attempt { journal, index, has_ended: false };
            sleep(Duration::from_secs_f64(seconds)).await;
            attempt.has_ended = true;
            attempt.journal.note("end", index);
            match end {
                End::Return => ToolOutput::of(&index),
                End::Raise => Err(ToolError::new("it failed")),
                End::Fail => Err(ToolError::reported("it failed")),
                End::Crash => panic!("it broke"),
            }
        }))
    };
    let retries = script.retries;
    let effect = match (script.read_only, retries) {
        (true, _) => Effect::ReadOnly { retries },
        (false, 0) => Effect::Once,
        (false, _) => Effect::Idempotent { retries },
    };
    let order = if script.sequential { Order::Sequential } else { Order::Parallel };
    let tool = FunctionTool::new(format!("t{index}"), start).with_effect(effect).with_order(order);
    let tool = match &script.schema {
        Some(schema) => tool.with_schema(
            ArgumentSchema::new(schema, SchemaForm::of(schema)).expect("a schema of its form"),
        ),
        None => tool,
    };
    match script.timeout {
        Some(seconds) => tool.with_timeout(Duration::from_secs_f64(seconds)),
        None => tool,
    }
}

/// The records and the journal of a case.
async fn carried_out(case: &Case) -> (Vec<ToolExecution>, Vec<String>) {
    let journal = Journal { origin: Instant::now(), lines: Arc::default() };
    let known = case.calls.iter().enumerate().filter(|(_, script)| !script.unknown);
    let tools = Toolbox::of(known.map(|(index, script)| scripted(index, script, &journal)))
        .expect("each has a name of its own");
    let mut options = BatchOptions::new();
    options.concurrency = case.max_concurrency;
    options.call_timeout = case.tool_timeout.map(Duration::from_secs_f64);
    options.batch_timeout = case.batch_timeout.map(Duration::from_secs_f64);
    let mut batch = Batch::new(tools, options);
    let mut calls = case.calls.iter().enumerate().map(|(index, script)| {
        let args = script.args.as_ref().map_or("{}".to_owned(), Value::to_string);
        Call::new(&format!("\"t{index}\""), &args)
    });
    for action in case.actions.as_deref().unwrap_or(&[Action::At(0.0, Verb::Complete)]) {
        let (Action::At(at, verb) | Action::From(at, verb, _)) = *action;
        let until = journal.origin + Duration::from_secs_f64(at);
        let waiting = async {
            batch.drive().await;
            pending::<()>().await;
        };
        timeout_at(until, waiting).await.expect_err("it is pending");
        match (verb, action) {
            (Verb::Begin, _) => {
                assert!(batch.begin_early(calls.next().expect("one is left")), "it may begin");
            }
            (Verb::Withdraw, Action::From(_, _, place)) => _ = batch.withdraw(*place).await,
            (Verb::Withdraw, Action::At(..)) => panic!("a withdrawal has a place"),
            (Verb::Complete, _) => batch.complete(calls.by_ref()),
            (Verb::Cancel, _) => batch.cancel(),
        }
    }
    let executions = batch.join().await;
    let lines = journal.lines.lock().expect("no tool panics with it").clone();
    (executions, lines)
}

/// A record as the table has it.
fn result(execution: &ToolExecution) -> (String, Value, u32) {
    let text = match &execution.outcome {
        CallOutcome::Success { content, .. } => content,
        CallOutcome::Failure { message } => message,
    };
    let text = serde_json::from_str(text).expect("it is JSON");
    (execution.status.name().to_owned(), text, execution.attempts)
}

#[test]
fn a_batch_on_tokio_keeps_to_the_table() {
    let table = include_str!("batches/cases.jsonl");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("the system gives a runtime");
    for line in table.lines() {
        let case: Case = serde_json::from_str(line).expect("a case");
        let (executions, journal) = runtime.block_on(carried_out(&case));
        let mut expected = case.results;
        for (place, text) in case.tokio.into_iter().flat_map(|difference| difference.texts) {
            assert_ne!(
                expected[place].1,
                json!(text),
                "{}: the table lists a difference, and the results are equal",
                case.name
            );
            expected[place].1 = json!(text);
        }
        assert_eq!(journal, case.journal, "{}", case.name);
        assert_eq!(executions.iter().map(result).collect::<Vec<_>>(), expected, "{}", case.name);
        assert_eq!(runtime.metrics().num_alive_tasks(), 0, "{}", case.name);
    }
}
