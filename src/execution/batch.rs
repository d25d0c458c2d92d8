//! One batch of calls.
//!
//! Invariants: one outcome for each call, in call order; a call that was started is always waited for, whether
//! it returned, ran out of time or was cancelled; a batch that is dropped asks what is still running to stop.

use std::future::Future;
use std::num::NonZeroUsize;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::{Semaphore, watch};

/// How one call is run.
pub trait Runner {
    /// What a call that is over leaves.
    type Output;

    /// Starts call `index`; the future is ready when the call is over, however it ended.
    fn start(&self, index: usize) -> impl Future<Output = Self::Output> + Send;

    /// Asks call `index`, which was started, to stop. Its future still becomes ready, when it has.
    fn cancel(&self, index: usize);
}

/// Limits of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// How long one call may take, counted from its start. Needs a Tokio runtime with time.
    pub call_timeout: Option<Duration>,
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
    /// The batch was cancelled before the call started.
    NotStarted,
}

/// Runs `count` calls. Setting `cancelled` to true asks the running ones to stop and starts no further one.
///
/// # Complexity
/// O(1) for each call and each time one is woken.
pub async fn run<R: Runner>(
    runner: R,
    count: usize,
    policy: Policy,
    cancelled: watch::Receiver<bool>,
) -> Vec<Outcome<R::Output>> {
    let slots = policy.concurrency.map(|most| Semaphore::new(most.get()));
    let mut calls: FuturesUnordered<_> = (0..count)
        .map(|index| {
            let call = call(&runner, index, policy, slots.as_ref(), cancelled.clone());
            async move { (index, call.await) }
        })
        .collect();
    let mut outcomes: Vec<_> = (0..count).map(|_| Outcome::NotStarted).collect();
    while let Some((index, outcome)) = calls.next().await {
        outcomes[index] = outcome;
    }
    outcomes
}

async fn call<R: Runner>(
    runner: &R,
    index: usize,
    policy: Policy,
    slots: Option<&Semaphore>,
    mut cancelled: watch::Receiver<bool>,
) -> Outcome<R::Output> {
    let _slot = match slots {
        // The semaphore is never closed, and hands out its slots in the order they were asked for.
        Some(slots) => slots.acquire().await.ok(),
        None => None,
    };
    if *cancelled.borrow_and_update() {
        return Outcome::NotStarted;
    }
    let mut guard = StopOnDrop { runner, index, armed: true };
    let mut running = std::pin::pin!(runner.start(index));
    let first = tokio::select! {
        biased;
        output = &mut running => First::Over(output),
        () = expiry(policy.call_timeout) => First::TimedOut,
        () = until_true(&mut cancelled) => First::Cancelled,
    };
    let outcome = match first {
        First::Over(output) => Outcome::Over(output),
        First::TimedOut => {
            runner.cancel(index);
            running.await;
            Outcome::TimedOut
        }
        First::Cancelled => {
            runner.cancel(index);
            Outcome::Over(running.await)
        }
    };
    guard.armed = false;
    outcome
}

enum First<T> {
    Over(T),
    TimedOut,
    Cancelled,
}

async fn expiry(timeout: Option<Duration>) {
    match timeout {
        Some(timeout) => tokio::time::sleep(timeout).await,
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
