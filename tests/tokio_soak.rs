//! Random batches that are joined, cancelled, withdrawn from or dropped at random moments: each call that counts has one
//! result, and nothing is left of any of them. `make soak-tokio` runs 100,000.

use std::future::pending;
use std::num::NonZeroUsize;
use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cogency_agent::execution::{
    AbandonedCall, Batch, BatchOptions, CallStatus, Effect, FunctionTool, Order, Progress,
    ToolError, ToolOutput, Toolbox, Work,
};
use cogency_rs::protocol::Call;
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, timeout_at};

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

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn seconds(&mut self, end: u64) -> Duration {
        Duration::from_secs(self.below(end))
    }
}

/// What a call's tool does, drawn anew for each attempt.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Return,
    Raise,
    Report,
    Panic,
    /// Returns from a thread.
    Block,
    /// Never ends by itself.
    Hang,
}

/// Whether calls wait for the clock, which is paused, or only go round.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Waits {
    Seconds,
    Rounds,
}

/// Counts the attempts that have begun and have neither ended nor been dropped.
struct Running(Arc<AtomicUsize>);

impl Running {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn random_tool(name: String, seed: u64, waits: Waits, running: &Arc<AtomicUsize>) -> FunctionTool {
    let mut random = Random(seed);
    let effect = match random.below(4) {
        0 => Effect::Once,
        1 => Effect::Idempotent { retries: 2 },
        retries => Effect::ReadOnly { retries: u32::try_from(retries).unwrap_or(1) - 1 },
    };
    let order = if random.chance(15) { Order::Sequential } else { Order::Parallel };
    let timeout = random.chance(30).then(|| Duration::from_secs(1 + random.below(4)));
    let running = Arc::clone(running);
    let random = Mutex::new(random);
    let start = move |_| {
        let mut random = random.lock().expect("no panic holds it");
        let deed = match random.below(if waits == Waits::Seconds { 12 } else { 11 }) {
            0..5 => Deed::Return,
            5..7 => Deed::Raise,
            7 => Deed::Report,
            8 => Deed::Panic,
            9..11 => Deed::Block,
            _ => Deed::Hang,
        };
        let (seconds, rounds) = (random.seconds(4), random.below(5));
        let running = Arc::clone(&running);
        if matches!(deed, Deed::Block) {
            return Work::Blocking(Box::new(move || {
                let _running = Running::new(&running);
                ToolOutput::of(&1)
            }));
        }
        Work::Async(Box::pin(async move {
            let _running = Running::new(&running);
            match waits {
                Waits::Seconds => sleep(seconds).await,
                Waits::Rounds => {
                    for _ in 0..rounds {
                        yield_now().await;
                    }
                }
            }
            match deed {
                Deed::Return | Deed::Block => ToolOutput::of(&1),
                Deed::Raise => Err(ToolError::new("no")),
                Deed::Report => Err(ToolError::reported("no")),
                Deed::Panic => panic!("no"),
                Deed::Hang => pending().await,
            }
        }))
    };
    let tool = FunctionTool::new(name, start).with_effect(effect).with_order(order);
    match timeout.filter(|_| waits == Waits::Seconds) {
        Some(timeout) => tool.with_timeout(timeout),
        None => tool,
    }
}

/// Lets a batch go on for a while.
async fn go_on(batch: &mut Batch, random: &mut Random, waits: Waits) {
    let driving = async {
        batch.drive().await;
        pending::<()>().await;
    };
    match waits {
        Waits::Seconds => {
            let until = Instant::now() + random.seconds(4);
            timeout_at(until, driving).await.expect_err("it is pending");
        }
        Waits::Rounds => {
            let rounds = async {
                for _ in 0..random.below(4) {
                    yield_now().await;
                }
            };
            tokio::select! {
                () = driving => unreachable!("it is pending"),
                () = rounds => {}
            }
        }
    }
}

/// Carries out one batch, and checks all that it promises.
async fn carry_out(seed: u64, waits: Waits) {
    let mut random = Random(seed);
    let count = random.below(10);
    let running = Arc::new(AtomicUsize::new(0));
    let tools = (0..count).map(|n| random_tool(format!("t{n}"), seed ^ (n << 40), waits, &running));
    let tools = Toolbox::of(tools).expect("each has a name of its own");
    let mut options = BatchOptions::new().with_pause(|attempt| match attempt {
        1 => Duration::ZERO,
        _ => Duration::from_millis(700),
    });
    if random.chance(50) {
        options.concurrency = NonZeroUsize::new(1 + usize::from(random.chance(60)));
    }
    if waits == Waits::Seconds {
        // A call may hang, so each has an end.
        options.call_timeout = Some(Duration::from_secs(1 + random.below(9)));
        options.batch_timeout = random.chance(40).then(|| random.seconds(9));
    } else {
        options.pause = Some(Arc::new(|_| Duration::ZERO));
    }
    let abandoned = Arc::new(Mutex::new(None));
    let told = Arc::clone(&abandoned);
    options = options.with_on_abandoned(move |calls: Vec<AbandonedCall>| {
        let before = told.lock().expect("no panic holds it").replace(calls);
        assert!(before.is_none(), "it is told once");
    });
    let mut batch = Batch::new(tools, options);
    let mut calls = (0..count).map(|n| Call::of_json(&format!("\"t{n}\""), "{}")).peekable();
    let mut counted = Vec::new();
    while random.chance(50)
        && let Some(call) = calls.peek().cloned()
        && batch.begin_early(call)
    {
        counted.extend(calls.next());
        go_on(&mut batch, &mut random, waits).await;
        if random.chance(20) {
            let place = usize::try_from(random.below(1 + counted.len() as u64)).unwrap_or(0);
            let dropped = batch.withdraw(place).await;
            assert_eq!(dropped.len(), counted.len() - place, "each has a record");
            counted.truncate(place);
        }
    }
    let rest: Vec<_> = calls.collect();
    counted.extend(rest.iter().cloned());
    batch.complete(rest);
    assert_eq!(batch.len(), counted.len());
    if random.chance(50) {
        go_on(&mut batch, &mut random, waits).await;
    }
    match random.below(4) {
        0 => {
            let is_over = batch.is_over();
            drop(batch);
            let abandoned = abandoned.lock().expect("no panic holds it").take();
            assert_eq!(abandoned.is_none(), is_over, "seed {seed}");
            for call in abandoned.into_iter().flatten() {
                assert_eq!(*call.call, counted[call.place]);
                assert_ne!(call.progress, Progress::BetweenAttempts(0));
            }
        }
        verb => {
            if verb == 1 {
                batch.cancel();
            }
            let executions = batch.join().await;
            let had = executions.iter().map(|execution| &*execution.call);
            assert!(had.eq(&counted), "seed {seed}: one result a call, in call order");
            let is_cancelled = |status| status == CallStatus::Cancelled;
            assert!(
                verb == 1 || !executions.iter().any(|execution| is_cancelled(execution.status)),
                "seed {seed}"
            );
            assert_eq!(*abandoned.lock().expect("no panic holds it"), None, "seed {seed}");
        }
    }
    let handle = tokio::runtime::Handle::current();
    let is_left = || {
        handle.metrics().num_alive_tasks() > tasks_around(waits)
            || running.load(Ordering::SeqCst) > 0
            || Arc::strong_count(&running) > 1
    };
    // A task that was stopped drops what it holds a little later. So does a thread.
    let began = std::time::Instant::now();
    while is_left() {
        assert!(began.elapsed() < PATIENCE, "seed {seed}: something is left");
        yield_now().await;
    }
}

const PATIENCE: Duration = Duration::from_secs(60);

/// How many tasks do not belong to a batch. With several threads there is one, which carries out the batches.
fn tasks_around(waits: Waits) -> usize {
    usize::from(waits == Waits::Rounds)
}

/// How many batches to carry out.
fn batches() -> u64 {
    match std::env::var("COGENCY_RS_SOAK_BATCHES") {
        Ok(count) => count.parse().expect("COGENCY_RS_SOAK_BATCHES is a number"),
        Err(_) => 2000,
    }
}

/// How many descriptors the process has open.
fn descriptors() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/fd").ok()?.count())
}

fn soak(runtime: &Runtime, carry_out_one: impl Fn(&Runtime, u64)) {
    // The tools' own panics are part of the test, and would fill the output.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if info.payload().downcast_ref::<&str>() != Some(&"no") {
            hook(info);
        }
    }));
    for seed in 0..batches() {
        carry_out_one(runtime, seed);
        assert_eq!(runtime.metrics().num_alive_tasks(), 0, "seed {seed}");
    }
}

#[test]
fn nothing_is_left_of_random_batches_in_paused_time() {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    soak(&runtime.expect("the system gives a runtime"), |runtime, seed| {
        runtime.block_on(carry_out(seed, Waits::Seconds));
    });
}

#[test]
fn nothing_is_left_of_random_batches_on_several_threads() {
    let before = descriptors();
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_time().build();
    soak(&runtime.expect("the system gives a runtime"), |runtime, seed| {
        let task = runtime.spawn(carry_out(seed, Waits::Rounds));
        runtime.block_on(task).expect("the batch keeps what it promises");
        // The task is told that it is over before the runtime has forgotten it.
        while runtime.metrics().num_alive_tasks() > 0 {
            std::thread::yield_now();
        }
    });
    assert_eq!(descriptors(), before);
}
