//! The table of what a batch does, for the batch on Tokio: `cases.jsonl`. `tests/support/batch_cases.py` says what the members of a
//! case mean, and reads it for the batch on asyncio.
//!
//! Time is paused: it goes on when everything waits.

use std::collections::BTreeMap;
use std::future::pending;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cogency_agent::execution::{
    Batch, BatchOptions, Effect, FunctionTool, Order, ToolExecution, Toolbox,
};
use cogency_rs::execution::arguments::{ArgumentSchema, SchemaForm};
use cogency_rs::protocol::Call;
use cogency_rs::protocol::results::CallOutcome;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

/// The cases of the table.
pub fn cases() -> impl Iterator<Item = Case> {
    let table = include_str!("cases.jsonl");
    table.lines().map(|line| serde_json::from_str(line).expect("a case"))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    tool_timeout: Option<f64>,
    batch_timeout: Option<f64>,
    max_concurrency: Option<NonZeroUsize>,
    pub calls: Vec<Script>,
    actions: Option<Vec<Action>>,
    results: Vec<(String, Value, u32)>,
    journal: Vec<String>,
    /// What is different with closures on Tokio.
    #[allow(dead_code, reason = "Python's callables have no difference")]
    pub tokio: Option<Difference>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    pub attempts: Vec<(f64, End)>,
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
pub enum End {
    Return,
    Raise,
    Fail,
    Crash,
}

impl End {
    /// Its name in the table.
    #[allow(dead_code, reason = "closures have no use for it")]
    pub fn name(self) -> &'static str {
        match self {
            Self::Return => "return",
            Self::Raise => "raise",
            Self::Fail => "fail",
            Self::Crash => "crash",
        }
    }
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
pub struct Difference {
    #[serde(rename = "reason")]
    _reason: String,
    texts: BTreeMap<usize, String>,
}

/// What happens, with the whole seconds at which it does.
#[derive(Clone)]
pub struct Journal {
    origin: Instant,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Journal {
    pub fn new() -> Self {
        Self { origin: Instant::now(), lines: Arc::default() }
    }

    pub fn note(&self, what: &str, index: usize) {
        let line = format!("{} {what} {index}", self.origin.elapsed().as_secs());
        self.lines.lock().expect("no test panics with it").push(line);
    }
}

impl Script {
    /// The tool with the options of this script.
    pub fn options(&self, tool: FunctionTool) -> FunctionTool {
        let retries = self.retries;
        let effect = match (self.read_only, retries) {
            (true, _) => Effect::ReadOnly { retries },
            (false, 0) => Effect::Once,
            (false, _) => Effect::Idempotent { retries },
        };
        let order = if self.sequential { Order::Sequential } else { Order::Parallel };
        let tool = tool.with_effect(effect).with_order(order);
        let tool = match &self.schema {
            Some(schema) => tool.with_schema(
                ArgumentSchema::new(schema, SchemaForm::of(schema)).expect("a schema of its form"),
            ),
            None => tool,
        };
        match self.timeout {
            Some(seconds) => tool.with_timeout(Duration::from_secs_f64(seconds)),
            None => tool,
        }
    }
}

impl Case {
    /// Carries it out with the tools that `make` makes.
    pub async fn carry_out(
        &self,
        journal: &Journal,
        make: impl Fn(usize, &Script) -> FunctionTool,
    ) -> Vec<ToolExecution> {
        let known = self.calls.iter().enumerate().filter(|(_, script)| !script.unknown);
        let tools = Toolbox::of(known.map(|(index, script)| script.options(make(index, script))))
            .expect("each has a name of its own");
        let mut options = BatchOptions::new();
        options.concurrency = self.max_concurrency;
        options.call_timeout = self.tool_timeout.map(Duration::from_secs_f64);
        options.batch_timeout = self.batch_timeout.map(Duration::from_secs_f64);
        let mut batch = Batch::new(tools, options);
        let mut calls = self.calls.iter().enumerate().map(|(index, script)| {
            let args = script.args.as_ref().map_or("{}".to_owned(), Value::to_string);
            Call::of_json(&format!("\"t{index}\""), &args)
        });
        for action in self.actions.as_deref().unwrap_or(&[Action::At(0.0, Verb::Complete)]) {
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
        batch.join().await
    }

    /// Compares what came of it with the table, in which `difference` says what must be different.
    pub fn check(
        &self,
        executions: &[ToolExecution],
        journal: &Journal,
        difference: Option<&Difference>,
    ) {
        let mut expected = self.results.clone();
        for (&place, text) in difference.into_iter().flat_map(|difference| &difference.texts) {
            assert_ne!(
                expected[place].1,
                json!(text),
                "{}: the table lists a difference, and the results are equal",
                self.name
            );
            expected[place].1 = json!(text);
        }
        let lines = journal.lines.lock().expect("no tool panics with it").clone();
        assert_eq!(lines, self.journal, "{}", self.name);
        assert_eq!(executions.iter().map(result).collect::<Vec<_>>(), expected, "{}", self.name);
    }
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
