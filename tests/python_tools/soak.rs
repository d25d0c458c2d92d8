//! Random batches of Python's callables, cancelled or dropped at random moments: each call that counts has one result, and nothing
//! is left of any of them. `make soak-tokio` runs 100,000.

use cogency_agent::execution::{Batch, BatchOptions, Toolbox};
use pyo3::prelude::*;
use tokio::runtime::Builder;
use tokio::task::yield_now;

use crate::support::{LoopOfTest, calls, in_python, tools_module};

/// Numbers that look random, and are the same in every run.
struct Random(u64);

impl Random {
    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// What calls may do: return at once, after a round of the loop, in a thread, never; or fail.
const TOOLS: [&str; 6] = ["echo", "add", "echo_in_thread", "fail", "leave", "never"];

async fn carry_out(seed: u64, tools: &Toolbox) {
    let mut random = Random(seed);
    let drawn: Vec<_> = (0..random.below(8))
        .map(|_| match TOOLS[usize::try_from(random.below(6)).expect("below six")] {
            "add" => ("add", r#"{"a": 1, "b": 2}"#),
            "fail" => ("fail", r#"{"why": "no"}"#),
            name => (name, "{}"),
        })
        .collect();
    let is_endless = drawn.iter().any(|(name, _)| *name == "never");
    let mut batch = Batch::new(tools.clone(), BatchOptions::new());
    batch.complete(calls(drawn.iter().copied()));
    for _ in 0..random.below(4) {
        yield_now().await;
    }
    match random.below(3) {
        0 => drop(batch),
        verb => {
            if is_endless || verb == 1 {
                batch.cancel();
            }
            let executions = batch.join().await;
            let names = executions.iter().map(|execution| execution.call.name_json().to_owned());
            let expected = drawn.iter().map(|(name, _)| format!("\"{name}\""));
            assert!(names.eq(expected), "seed {seed}: one result a call, in call order");
        }
    }
}

/// What is alive of calls: the loop's tasks, our coroutines, references to a tool, threads, and descriptors.
fn alive(asyncio: &LoopOfTest) -> [usize; 5] {
    in_python(|py| {
        let module = tools_module(py);
        let event_loop = asyncio.event_loop().locals().event_loop(py);
        let [tasks, coroutines, references] =
            module.getattr("alive")?.call1((event_loop,))?.extract()?;
        let threads = std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
        let descriptors = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        Ok([tasks, coroutines, references, threads, descriptors])
    })
}

#[test]
fn nothing_is_left_of_random_batches() {
    // In a process of its own, since other tests have threads, descriptors and coroutines too.
    crate::ends::in_a_process("soak::random_batches");
}

#[test]
#[ignore = "it counts what the process has; run by the test above in a process of its own"]
fn random_batches() {
    let batches = std::env::var("COGENCY_RS_SOAK_BATCHES")
        .map_or(1000, |count| count.parse().expect("COGENCY_RS_SOAK_BATCHES is a number"));
    let asyncio = LoopOfTest::start();
    let tools = Toolbox::of(TOOLS.map(|name| asyncio.tool(name))).expect("they differ");
    // Its thread for functions that block stays, however long it has nothing to do.
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(1)
        .thread_keep_alive(std::time::Duration::MAX)
        .build()
        .expect("the system gives threads");
    let run = |seeds: std::ops::Range<u64>| {
        for seed in seeds {
            let tools = tools.clone();
            let batch = runtime.spawn(async move { carry_out(seed, &tools).await });
            runtime.block_on(batch).expect("the batch keeps what it promises");
        }
    };
    run(0..100); // by now each thread is there
    let before = settled(&asyncio);
    run(100..100 + batches);
    assert_eq!(settled(&asyncio), before);
    assert_eq!(before[..2], [0, 0], "no task and no coroutine is left");
}

/// What is alive once calls that were given up have ended.
fn settled(asyncio: &LoopOfTest) -> [usize; 5] {
    let began = std::time::Instant::now();
    loop {
        let now = alive(asyncio);
        if now[..2] == [0, 0] || began.elapsed().as_secs() > 60 {
            return now;
        }
    }
}
