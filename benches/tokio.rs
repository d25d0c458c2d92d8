//! What a batch on Tokio costs, with tools that do nothing, and the least that it can cost: a bare `JoinSet` of as many
//! tasks, whose results are put in call order.

use std::hint::black_box;

use cogency_agent::execution::{BatchOptions, FunctionTool, ToolOutput, Toolbox, Work, execute};
use cogency_rs::protocol::Call;
use cogency_rs::protocol::results::CallOutcome;
use divan::Bencher;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

const COUNTS: [usize; 4] = [1, 8, 64, 1000];

fn main() {
    divan::main();
}

/// On which threads tasks run.
#[derive(Clone, Copy)]
enum Threads {
    Current,
    Two,
}

impl Threads {
    fn runtime(self) -> Runtime {
        let runtime = match self {
            Self::Current => Builder::new_current_thread().build(),
            Self::Two => Builder::new_multi_thread().worker_threads(2).build(),
        };
        runtime.expect("the system gives a runtime")
    }
}

/// A batch of calls, from their text to their outcomes.
fn batch(bencher: Bencher, threads: Threads, count: usize) {
    let runtime = threads.runtime();
    let nothing = FunctionTool::new("nothing", |_| {
        Work::Async(Box::pin(std::future::ready(Ok(ToolOutput::empty()))))
    });
    let tools = Toolbox::of([nothing]).expect("there is one");
    let options = BatchOptions::new();
    let calls = || vec![Call::of_json("\"nothing\"", "{}"); count];
    bencher.with_inputs(calls).bench_local_values(|calls| {
        let (tools, options) = (tools.clone(), options.clone());
        let task = async move { execute(calls, &tools, &options).await };
        match threads {
            Threads::Current => runtime.block_on(task),
            Threads::Two => runtime.block_on(runtime.spawn(task)).expect("it does not panic"),
        }
    });
}

/// As many tasks, each of which gets its call and makes an outcome.
fn join_set(bencher: Bencher, threads: Threads, count: usize) {
    async fn run(calls: Vec<Call>) -> Vec<Option<CallOutcome>> {
        let (mut tasks, mut outcomes) = (JoinSet::new(), vec![None; calls.len()]);
        for (index, call) in calls.into_iter().enumerate() {
            tasks.spawn(async move {
                black_box(call);
                (index, CallOutcome::success("\"Success\"".to_owned(), None))
            });
        }
        while let Some(joined) = tasks.join_next().await {
            let (index, outcome) = joined.expect("it does not panic");
            outcomes[index] = Some(outcome);
        }
        outcomes
    }

    let runtime = threads.runtime();
    let calls = || vec![Call::of_json("\"nothing\"", "{}"); count];
    bencher.with_inputs(calls).bench_local_values(|calls| {
        let task = run(calls);
        match threads {
            Threads::Current => runtime.block_on(task),
            Threads::Two => runtime.block_on(runtime.spawn(task)).expect("it does not panic"),
        }
    });
}

#[divan::bench(args = COUNTS)]
fn batch_on_one_thread(bencher: Bencher, count: usize) {
    batch(bencher, Threads::Current, count);
}

#[divan::bench(args = COUNTS)]
fn join_set_on_one_thread(bencher: Bencher, count: usize) {
    join_set(bencher, Threads::Current, count);
}

#[divan::bench(args = COUNTS)]
fn batch_on_two_threads(bencher: Bencher, count: usize) {
    batch(bencher, Threads::Two, count);
}

#[divan::bench(args = COUNTS)]
fn join_set_on_two_threads(bencher: Bencher, count: usize) {
    join_set(bencher, Threads::Two, count);
}
