//! What a batch promises, under a clock that only moves when everything waits.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cogency_rs::execution::{Outcome, Policy, Runner, run};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep};

/// Calls that sleep, and notice when they are asked to stop.
#[derive(Default)]
struct Sleepers {
    seconds: Vec<u64>,
    /// How long a call takes to stop once it was asked to.
    stopping: u64,
    stop: Vec<Notify>,
    log: Arc<Log>,
}

#[derive(Default)]
struct Log {
    now: AtomicUsize,
    most: AtomicUsize,
    started: Mutex<Vec<usize>>,
    stopped: Mutex<Vec<usize>>,
    over: Mutex<Vec<usize>>,
}

impl Sleepers {
    fn new(seconds: &[u64]) -> Self {
        let stop = seconds.iter().map(|_| Notify::new()).collect();
        Self { seconds: seconds.to_vec(), stop, ..Self::default() }
    }
}

impl Runner for Sleepers {
    type Output = Result<usize, &'static str>;

    async fn start(&self, index: usize) -> Self::Output {
        self.log.started.lock().unwrap().push(index);
        let now = self.log.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.log.most.fetch_max(now, Ordering::SeqCst);
        let output = tokio::select! {
            () = sleep(Duration::from_secs(self.seconds[index])) => Ok(index),
            () = self.stop[index].notified() => {
                sleep(Duration::from_secs(self.stopping)).await;
                Err("stopped")
            }
        };
        self.log.now.fetch_sub(1, Ordering::SeqCst);
        output
    }

    fn cancel(&self, index: usize) {
        self.log.stopped.lock().unwrap().push(index);
        self.stop[index].notify_one();
    }

    fn over(&self, index: usize, _: &Outcome<Self::Output>) {
        self.log.over.lock().unwrap().push(index);
    }
}

fn timeout(seconds: u64) -> Policy {
    Policy { call_timeout: Some(Duration::from_secs(seconds)), ..Policy::default() }
}

fn at_once(calls: usize) -> Policy {
    Policy { concurrency: NonZeroUsize::new(calls), ..Policy::default() }
}

fn never() -> watch::Receiver<bool> {
    watch::channel(false).1
}

#[tokio::test(start_paused = true)]
async fn results_are_in_call_order_and_a_batch_takes_as_long_as_its_slowest_call() {
    let start = Instant::now();
    let outcomes = run(&Sleepers::new(&[3, 2, 1, 0]), 4, Policy::default(), never()).await;
    assert_eq!(outcomes, [0, 1, 2, 3].map(|index| Outcome::Over(Ok(index))));
    assert_eq!(start.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn every_end_is_told_in_the_order_in_which_calls_end() {
    let sleepers = Sleepers::new(&[3, 60, 1]);
    run(&sleepers, 3, timeout(2), never()).await;
    assert_eq!(*sleepers.log.over.lock().unwrap(), [2, 0, 1]);
}

#[tokio::test(start_paused = true)]
async fn an_empty_batch_is_over_at_once() {
    assert_eq!(run(&Sleepers::new(&[]), 0, Policy::default(), never()).await, []);
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_run_at_once_than_may_and_they_start_in_call_order() {
    let sleepers = Sleepers::new(&[1; 100]);
    let (log, start) = (Arc::clone(&sleepers.log), Instant::now());
    let outcomes = run(&sleepers, 100, at_once(8), never()).await;
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Over(Ok(_)))));
    assert_eq!(log.most.load(Ordering::SeqCst), 8);
    assert_eq!(*log.started.lock().unwrap(), (0..100).collect::<Vec<_>>());
    assert_eq!(start.elapsed().as_secs(), 13);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_fails_its_call_alone_and_waits_until_it_has_stopped() {
    let sleepers = Sleepers { stopping: 2, ..Sleepers::new(&[1, 60, 4]) };
    let (log, start) = (Arc::clone(&sleepers.log), Instant::now());
    let outcomes = run(&sleepers, 3, timeout(5), never()).await;
    assert_eq!(outcomes, [Outcome::Over(Ok(0)), Outcome::TimedOut, Outcome::Over(Ok(2))]);
    assert_eq!(*log.stopped.lock().unwrap(), [1]);
    assert_eq!(log.now.load(Ordering::SeqCst), 0);
    assert_eq!(start.elapsed().as_secs(), 7);
}

#[tokio::test(start_paused = true)]
async fn the_time_a_call_may_take_begins_when_it_starts() {
    let policy = Policy { concurrency: NonZeroUsize::new(1), ..timeout(5) };
    let outcomes = run(&Sleepers::new(&[4, 4, 4]), 3, policy, never()).await;
    assert_eq!(outcomes, [0, 1, 2].map(|index| Outcome::Over(Ok(index))));
}

#[tokio::test(start_paused = true)]
async fn a_batch_timeout_stops_what_runs_and_what_waits_to_run() {
    let sleepers = Sleepers::new(&[1, 60, 60, 60]);
    let policy = Policy { batch_timeout: Some(Duration::from_secs(5)), ..at_once(2) };
    let start = Instant::now();
    let outcomes = run(&sleepers, 4, policy, never()).await;
    assert_eq!(outcomes[0], Outcome::Over(Ok(0)));
    assert_eq!(outcomes[1..], [Outcome::BatchTimedOut; 3]);
    assert_eq!(*sleepers.log.started.lock().unwrap(), [0, 1, 2]);
    assert_eq!(start.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn cancellation_keeps_what_is_over_stops_what_runs_and_starts_nothing_more() {
    let sleepers = Sleepers { stopping: 1, ..Sleepers::new(&[1, 60, 60, 60]) };
    let (log, start) = (Arc::clone(&sleepers.log), Instant::now());
    let (cancel, cancelled) = watch::channel(false);
    let batch = tokio::spawn(async move { run(&sleepers, 4, at_once(2), cancelled).await });
    sleep(Duration::from_secs(5)).await;
    cancel.send(true).unwrap();
    let stopped = Outcome::Over(Err("stopped"));
    assert_eq!(batch.await.unwrap(), [Outcome::Over(Ok(0)), stopped, stopped, Outcome::NotStarted]);
    assert_eq!(*log.started.lock().unwrap(), [0, 1, 2]);
    assert_eq!((log.now.load(Ordering::SeqCst), start.elapsed().as_secs()), (0, 6));
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_is_dropped_asks_what_runs_to_stop() {
    let sleepers = Sleepers::new(&[1, 60, 60]);
    let log = Arc::clone(&sleepers.log);
    let batch = tokio::spawn(async move { run(&sleepers, 3, at_once(2), never()).await });
    sleep(Duration::from_secs(5)).await;
    batch.abort();
    assert!(batch.await.unwrap_err().is_cancelled());
    let mut stopped = log.stopped.lock().unwrap().clone();
    stopped.sort_unstable();
    assert_eq!(stopped, [1, 2]);
}
