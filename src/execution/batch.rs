//! One batch of calls.
//!
//! Invariants: one outcome for each call, in call order; a call that was started is always waited for, whether
//! it returned, ran out of time or was cancelled; a batch that is dropped asks what is still running to stop.

use std::future::Future;
use std::num::NonZeroUsize;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, sleep_until};

/// How one call is run.
pub trait Runner {
    /// What a call that is over leaves.
    type Output;

    /// Starts call `index`; the future is ready when the call is over, however it ended.
    fn start(&self, index: usize) -> impl Future<Output = Self::Output> + Send;

    /// Asks call `index`, which was started, to stop. Its future still becomes ready, when it has.
    fn cancel(&self, index: usize);

    /// Call `index` is over. Told of every call, in the order in which they end.
    fn over(&self, index: usize, outcome: &Outcome<Self::Output>) {
        let _ = (index, outcome);
    }
}

/// Limits of a batch. Those in time need a Tokio runtime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// How long one call may take, counted from its start.
    pub call_timeout: Option<Duration>,
    /// How long the batch may take.
    pub batch_timeout: Option<Duration>,
    /// How many calls may run at once.
    pub concurrency: Option<NonZeroUsize>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<T> {
    /// It was over in time, or after the batch was cancelled: what it left.
    Over(T),
    /// It took longer than it may, and was stopped.
    TimedOut,
    /// Its batch took longer than it may; it was stopped, or never started.
    BatchTimedOut,
    /// The batch was cancelled before the call started.
    NotStarted,
}

/// Runs `count` calls. Setting `cancelled` to true asks the running ones to stop and starts no further one.
///
/// # Complexity
/// O(1) for each call and each time one is woken.
pub async fn run<R: Runner>(
    runner: &R,
    count: usize,
    policy: Policy,
    cancelled: watch::Receiver<bool>,
) -> Vec<Outcome<R::Output>> {
    let batch = Batch {
        runner,
        call_timeout: policy.call_timeout,
        deadline: policy.batch_timeout.map(|timeout| Instant::now() + timeout),
        slots: policy.concurrency.map(|most| Semaphore::new(most.get())),
        cancelled,
    };
    let call = async |index| (index, batch.call(index).await);
    let mut calls: FuturesUnordered<_> = (0..count).map(call).collect();
    let mut outcomes: Vec<_> = (0..count).map(|_| Outcome::NotStarted).collect();
    while let Some((index, outcome)) = calls.next().await {
        runner.over(index, &outcome);
        outcomes[index] = outcome;
    }
    outcomes
}

struct Batch<'a, R> {
    runner: &'a R,
    call_timeout: Option<Duration>,
    deadline: Option<Instant>,
    slots: Option<Semaphore>,
    cancelled: watch::Receiver<bool>,
}

impl<R: Runner> Batch<'_, R> {
    async fn call(&self, index: usize) -> Outcome<R::Output> {
        let _slot = tokio::select! {
            biased;
            () = expiry(self.deadline) => return Outcome::BatchTimedOut,
            slot = self.slot() => slot,
        };
        let mut cancelled = self.cancelled.clone();
        if *cancelled.borrow_and_update() {
            return Outcome::NotStarted;
        }
        let own = self.call_timeout.map(|timeout| Instant::now() + timeout);
        let mut guard = StopOnDrop { runner: self.runner, index, armed: true };
        let mut running = std::pin::pin!(self.runner.start(index));
        let first = tokio::select! {
            biased;
            output = &mut running => First::Over(output),
            () = expiry(own) => First::TimedOut(Outcome::TimedOut),
            () = expiry(self.deadline) => First::TimedOut(Outcome::BatchTimedOut),
            () = until_true(&mut cancelled) => First::Cancelled,
        };
        let outcome = match first {
            First::Over(output) => Outcome::Over(output),
            First::TimedOut(outcome) => {
                self.runner.cancel(index);
                running.await;
                outcome
            }
            First::Cancelled => {
                self.runner.cancel(index);
                Outcome::Over(running.await)
            }
        };
        guard.armed = false;
        outcome
    }

    /// A place among the calls that may run at once, in the order they are asked for.
    async fn slot(&self) -> Option<tokio::sync::SemaphorePermit<'_>> {
        match &self.slots {
            Some(slots) => slots.acquire().await.ok(), // it is never closed
            None => None,
        }
    }
}

enum First<T> {
    Over(T),
    TimedOut(Outcome<T>),
    Cancelled,
}

async fn expiry(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Ready when the batch is cancelled; never, when whoever could cancel it is gone.
async fn until_true(cancelled: &mut watch::Receiver<bool>) {
    if cancelled.wait_for(|cancelled| *cancelled).await.is_err() {
        std::future::pending::<()>().await;
    }
}

struct StopOnDrop<'a, R: Runner> {
    runner: &'a R,
    index: usize,
    armed: bool,
}

impl<R: Runner> Drop for StopOnDrop<'_, R> {
    fn drop(&mut self) {
        if self.armed {
            self.runner.cancel(self.index);
        }
    }
}
