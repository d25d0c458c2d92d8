//! A batch of calls as Tokio runs it: each attempt in its own task, and the schedule that says which may begin.
//!
//! Invariants: each call that counts has exactly one result, in call order; when [`Batch::join`] returns, every attempt has
//! ended; a batch that is dropped has asked every attempt to stop. Whatever is known of the batch belongs to the [`Batch`], and
//! only the task that has it changes it: an attempt shares nothing with the batch but its result, so nothing is locked.

use std::collections::{BTreeSet, HashMap};
use std::future::poll_fn;
use std::mem::take;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, Sleep, sleep_until};

use super::attempt::{Returned, attempt};
use super::call::{AttemptEnd, BatchCall, End, State, Stop};
use super::options::BatchOptions;
use super::record::{CallStatus, ToolExecution};
use super::tool::{Invocation, Order, ToolOptions};
use super::toolbox::Toolbox;
use cogency_rs::execution::{Admission, Due, Moment, Schedule, Ticket};
use cogency_rs::protocol::Call;

/// Runs a batch of calls at the same time.
///
/// Returns one record for each call, in call order, whatever the order in which they end. If the future is dropped, every
/// call is stopped; see [`Batch`].
///
/// # Panics
/// It is not polled in a Tokio runtime; or there is a time limit or a pause, and the runtime has no timers.
///
/// # Complexity
/// O(n log n) in the number of calls, and a task for each attempt.
pub async fn execute(
    calls: impl IntoIterator<Item = Call>,
    tools: &Toolbox,
    options: &BatchOptions,
) -> Vec<ToolExecution> {
    let mut batch = Batch::new(tools.clone(), options.clone());
    batch.complete(calls);
    batch.join().await
}

/// A batch of calls.
///
/// A new batch is open: calls [`begin_early`](Self::begin_early) while others are still unknown, and
/// [`complete`](Self::complete) starts the rest. Attempts run by themselves; whatever follows from their ends (which call
/// begins next, what is tried again, whose time is up) happens while [`drive`](Self::drive), [`withdraw`](Self::withdraw) or
/// [`join`](Self::join) is awaited.
///
/// Dropping the batch, or the future of `join`, stops every call: its future is dropped at its next `await`. Nobody waits for
/// that. [`BatchOptions::on_abandoned`] gets the calls that were not over, and which of them have an unknown outcome.
#[derive(Debug)]
pub struct Batch {
    tools: Toolbox,
    options: BatchOptions,
    /// When the clock was read first, from which moments are counted. Without a limit it is not read.
    origin: OnceLock<Instant>,
    schedule: Schedule,
    /// All calls, also those that were withdrawn; a call's index here is its index in the schedule.
    calls: Vec<BatchCall>,
    /// How many of them count.
    count: usize,
    /// How many calls are not over.
    open: usize,
    attempts: JoinSet<(usize, Returned)>,
    /// The calls whose attempts were asked to stop, by the ids of their tasks.
    stopping: HashMap<Id, usize>,
    /// When calls that failed are tried again.
    pauses: BTreeSet<(Moment, usize)>,
    timer: Option<Pin<Box<Sleep>>>,
    /// Whether all calls are known.
    is_complete: bool,
    /// Whether it was cancelled, so that nothing more begins.
    is_cancelled: bool,
}

impl Batch {
    /// A batch without calls.
    #[must_use]
    pub fn new(tools: Toolbox, options: BatchOptions) -> Self {
        Self {
            tools,
            schedule: Schedule::new(0, options.concurrency, None),
            options,
            origin: OnceLock::new(),
            calls: Vec::new(),
            count: 0,
            open: 0,
            attempts: JoinSet::new(),
            stopping: HashMap::new(),
            pauses: BTreeSet::new(),
            timer: None,
            is_complete: false,
            is_cancelled: false,
        }
    }

    /// How many calls it has, without those that were withdrawn.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether it has no call.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether every call that it has is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.open == 0
    }

    /// Starts a call while others are still unknown, if its tool allows that ([`ToolOptions::may_begin_early`]); its place is
    /// after those that are there. Returns whether it was started; no call is once the batch is complete or cancelled.
    ///
    /// # Panics
    /// As [`execute`].
    pub fn begin_early(&mut self, call: Call) -> bool {
        let may_begin =
            self.tools.resolve(&call).is_ok_and(|tool| tool.options().may_begin_early());
        if may_begin && !(self.is_complete || self.is_cancelled) {
            self.add([call]);
            return true;
        }
        false
    }

    /// Starts the other calls, which are the last. The batch's time limit begins. Where the batch was cancelled, none is started,
    /// and each has that as its result.
    ///
    /// # Panics
    /// As [`execute`]; and if the batch is complete.
    pub fn complete(&mut self, calls: impl IntoIterator<Item = Call>) {
        assert!(
            !self.is_complete,
            "the batch is complete: a call that is added now would have no place in it"
        );
        self.is_complete = true;
        if let Some(limit) = self.options.batch_timeout {
            let deadline = self.now().saturating_add(limit);
            self.schedule.set_deadline(deadline);
        }
        self.add(calls);
    }

    /// Stops the calls from this place on, which began early and do not count, and waits until they have stopped. Returns
    /// their records.
    ///
    /// It may be dropped before it is ready: then the calls stop all the same, and only their records are lost.
    pub async fn withdraw(&mut self, place: usize) -> Vec<ToolExecution> {
        let is_withdrawn = |call: &BatchCall| call.place.is_some_and(|own| own >= place);
        let withdrawn: Vec<_> =
            (0..self.calls.len()).filter(|&index| is_withdrawn(&self.calls[index])).collect();
        self.count -= withdrawn.len();
        for &index in &withdrawn {
            self.calls[index].place = None;
        }
        // None of them begins because another of them has stopped.
        for &index in &withdrawn {
            if let State::Waiting(ticket) = self.calls[index].state {
                self.schedule.withdraw(ticket);
            }
        }
        for &index in &withdrawn {
            self.stop(index, Stop::Withdrawn);
        }
        let is_over = |batch: &Self| withdrawn.iter().all(|&index| batch.calls[index].is_over());
        poll_fn(|context| match self.poll_over(context) {
            Poll::Pending if !is_over(self) => Poll::Pending,
            _ => Poll::Ready(()),
        })
        .await;
        withdrawn.iter().filter_map(|&index| self.calls[index].execution()).collect()
    }

    /// Lets no further call begin, and asks every call that is not over to stop. [`join`](Self::join) returns when they have.
    pub fn cancel(&mut self) {
        self.is_cancelled = true;
        self.schedule.close();
        for index in 0..self.calls.len() {
            self.stop(index, Stop::Cancelled);
        }
    }

    /// Carries on with the calls that it has, until they are over. It may be dropped at any time, and called again.
    ///
    /// # Panics
    /// As [`execute`].
    pub async fn drive(&mut self) {
        poll_fn(|context| self.poll_over(context)).await;
    }

    /// Waits until every call is over, and returns a record for each, in call order.
    ///
    /// # Panics
    /// As [`execute`].
    pub async fn join(mut self) -> Vec<ToolExecution> {
        self.drive().await;
        let mut executions = Vec::with_capacity(self.count);
        let counted = take(&mut self.calls).into_iter().filter(|call| call.place.is_some());
        executions.extend(counted.filter_map(BatchCall::into_execution));
        executions
    }

    fn now(&self) -> Moment {
        self.origin.get_or_init(Instant::now).elapsed()
    }

    // What begins

    fn add(&mut self, calls: impl IntoIterator<Item = Call>) {
        let (first, calls) = (self.calls.len(), calls.into_iter());
        self.calls.reserve(calls.size_hint().0);
        for call in calls {
            let (tool, state) = match self.tools.accept(&call) {
                Ok(tool) => (Some(Arc::clone(tool)), State::New),
                Err(outcome) => (None, State::Over(End::new(outcome, CallStatus::Failure))),
            };
            let options = tool.as_ref().map_or_else(ToolOptions::default, |tool| tool.options());
            let (call, place) = (Arc::new(call), Some(self.count));
            self.count += 1;
            self.calls.push(BatchCall {
                call,
                place,
                tool,
                options,
                state,
                attempts: 0,
                stop: None,
            });
        }
        let count = self.calls.len() - first;
        self.open += count;
        self.schedule.add(count);
        for index in first..self.calls.len() {
            if self.calls[index].options.order == Order::Sequential {
                self.schedule.set_sequential(index);
            }
        }
        for index in first..self.calls.len() {
            if self.calls[index].is_over() {
                self.over(index);
            } else {
                self.ask(index);
            }
        }
    }

    fn ask(&mut self, index: usize) {
        match self.schedule.ask(index) {
            Admission::Now => self.launch(index),
            Admission::Later(ticket) => self.calls[index].state = State::Waiting(ticket),
            Admission::Closed => self.finish(index, self.calls[index].stopped(Stop::Cancelled)),
        }
    }

    fn launch_all(&mut self, admitted: Vec<Ticket>) {
        for (index, _) in admitted {
            self.launch(index);
        }
    }

    /// Starts an attempt of a call that may run now.
    fn launch(&mut self, index: usize) {
        let call = &mut self.calls[index];
        call.attempts = call.attempts.saturating_add(1);
        let Some(tool) = call.tool_for_attempt() else {
            unreachable!("a call without a tool is over")
        };
        let number = NonZeroU32::new(call.attempts).unwrap_or(NonZeroU32::MIN);
        let place = call.place.unwrap_or_default();
        let invocation = Invocation { call: Arc::clone(&call.call), place, attempt: number };
        call.state = State::Running(self.attempts.spawn(attempt(index, tool, invocation)));
        if let Some(limit) = call.limit(self.options.call_timeout) {
            let now = self.now();
            self.schedule.start_clock(index, now, limit);
        }
    }

    // What ends

    /// An attempt has ended.
    fn ended(&mut self, index: usize, joined: Result<Returned, JoinError>) {
        let admitted = self.schedule.leave(index);
        let end = self.calls[index].end(joined);
        if !self.is_cancelled && self.calls[index].goes_on_after(&end) {
            let now = self.now();
            self.schedule.hold_clock(index, now);
            let call = &mut self.calls[index];
            let next = now.saturating_add(self.options.pause_after(call.attempts));
            (call.state, call.stop) = (State::Paused(next), None);
            self.pauses.insert((next, index));
        } else {
            self.finish(index, end);
        }
        self.launch_all(admitted);
    }

    fn finish(&mut self, index: usize, attempt: AttemptEnd) {
        self.calls[index].state = State::Over(attempt.end);
        self.over(index);
    }

    fn over(&mut self, index: usize) {
        self.open -= 1;
        let admitted = self.schedule.over(index);
        self.launch_all(admitted);
    }

    /// Stops a call: at once if it does not run, else when its attempt has ended. The schedule must know already that a call
    /// that waits will not run.
    fn stop(&mut self, index: usize, stop: Stop) {
        let call = &mut self.calls[index];
        match &call.state {
            State::Over(..) => return,
            State::Running(attempt) => {
                call.stop = Some(call.stop.map_or(stop, |before| before.and(stop)));
                self.stopping.insert(attempt.id(), index);
                attempt.abort();
                return;
            }
            State::Paused(next) => _ = self.pauses.remove(&(*next, index)),
            State::New | State::Waiting(_) => {}
        }
        let end = call.stopped(stop);
        self.finish(index, end);
    }

    // Time

    fn expire(&mut self, now: Moment) {
        match self.schedule.due(now) {
            Due::Calls(late) => {
                for index in late {
                    let limit = self.calls[index].limit(self.options.call_timeout);
                    self.stop(index, Stop::CallTimeout(limit.unwrap_or_default()));
                }
            }
            Due::Batch(late) => {
                let limit = self.options.batch_timeout.unwrap_or_default();
                for index in late {
                    self.stop(index, Stop::BatchTimeout(limit));
                }
            }
        }
        while let Some(&(next, index)) = self.pauses.first()
            && next <= now
        {
            self.pauses.pop_first();
            self.ask(index);
        }
    }

    /// When something must be done next, if no attempt ends before.
    fn next_moment(&self) -> Option<Moment> {
        let pause = self.pauses.first().map(|(next, _)| *next);
        pause.into_iter().chain(self.schedule.next_deadline()).min()
    }

    /// Ready when every call is over. Attempts that have ended count before time limits do.
    fn poll_over(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            while let Poll::Ready(Some(joined)) = self.attempts.poll_join_next(context) {
                match joined {
                    Ok((index, returned)) => self.ended(index, Ok(returned)),
                    Err(error) => {
                        if let Some(index) = self.call_of(error.id()) {
                            self.ended(index, Err(error));
                        }
                    }
                }
            }
            if self.open == 0 {
                return Poll::Ready(());
            }
            let Some(next) = self.next_moment() else { return Poll::Pending };
            let now = self.now();
            if next <= now {
                self.expire(now);
                continue;
            }
            // A moment that no clock reaches needs no timer.
            let next = self.origin.get_or_init(Instant::now).checked_add(next);
            let Some(next) = next else { return Poll::Pending };
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(next)));
            if timer.deadline() != next {
                timer.as_mut().reset(next);
            }
            if timer.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// The call of an attempt that was stopped or panicked.
    ///
    /// # Complexity
    /// O(1) where it was stopped; O(calls) where it panicked, or its runtime was shut down.
    fn call_of(&mut self, task: Id) -> Option<usize> {
        let runs = |call: &BatchCall| matches!(&call.state, State::Running(at) if at.id() == task);
        self.stopping.remove(&task).or_else(|| self.calls.iter().position(runs))
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.attempts.abort_all();
        let Some(on_abandoned) = &self.options.on_abandoned else { return };
        let abandoned: Vec<_> = self.calls.iter().filter_map(BatchCall::abandoned).collect();
        if !abandoned.is_empty() {
            on_abandoned(abandoned);
        }
    }
}
