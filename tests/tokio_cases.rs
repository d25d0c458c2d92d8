//! Runs the table of what a batch does on Tokio, with closures; `tests/unit/test_batch_cases.py` runs it on asyncio, and
//! `tests/python_tools/table.rs` on Tokio with Python's callables.

#[path = "batches/cases.rs"]
mod table;

use std::time::Duration;

use cogency_agent::execution::{FunctionTool, Invocation, ToolError, ToolOutput, Work};
use table::{End, Journal, Script, cases};
use tokio::time::sleep;

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
    let start = move |invocation: Invocation| {
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
    FunctionTool::new(format!("t{index}"), start)
}

#[test]
fn a_batch_on_tokio_keeps_to_the_table() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("the system gives a runtime");
    for case in cases() {
        let (executions, journal) = runtime.block_on(async {
            let journal = Journal::new();
            let make = |index, script: &Script| scripted(index, script, &journal);
            (case.carry_out(&journal, make).await, journal)
        });
        case.check(&executions, &journal, case.tokio.as_ref());
        assert_eq!(runtime.metrics().num_alive_tasks(), 0, "{}", case.name);
    }
}
