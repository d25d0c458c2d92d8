//! One call of a batch, from when it is known until it is over.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{AbortHandle, JoinError};

use super::attempt::Returned;
use super::output::{Cause, ErrorKind, failure, panicked, shown_name};
use super::record::{AbandonedCall, CallStatus, Progress, ToolExecution, shown_seconds};
use super::tool::{Tool, ToolOptions};
use cogency_rs::execution::{Moment, Ticket};
use cogency_rs::protocol::Call;
use cogency_rs::protocol::results::CallOutcome;

/// One call of a batch.
pub struct BatchCall {
    pub call: Arc<Call>,
    /// Its place in the batch; `None` once it was withdrawn.
    pub place: Option<usize>,
    /// `None` where the call means no tool, or its last attempt has it.
    pub tool: Option<Arc<dyn Tool>>,
    pub options: ToolOptions,
    pub state: State,
    /// How many times its tool was started.
    pub attempts: u32,
    /// Why it was asked to stop; what it does after that does not count.
    pub stop: Option<Stop>,
}

/// How far a call has come.
#[derive(Debug)]
pub enum State {
    /// It has not asked to run.
    New,
    /// It waits until it may run.
    Waiting(Ticket),
    /// An attempt runs.
    Running(AbortHandle),
    /// An attempt failed, and the next one is at this moment.
    Paused(Moment),
    /// It is over.
    Over(End),
}

/// Why a call must stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The time of the attempt is up.
    CallTimeout(Duration),
    /// The time of the batch is up.
    BatchTimeout(Duration),
    /// The batch was cancelled.
    Cancelled,
    /// It began early, and does not count.
    Withdrawn,
}

impl Stop {
    /// The reason that counts where a call is asked to stop once more: a call that is late already stays so when its batch is
    /// cancelled, and one that was withdrawn never counts.
    pub fn and(self, next: Self) -> Self {
        match (self, next) {
            (_, Self::Withdrawn) | (Self::CallTimeout(_), Self::BatchTimeout(_)) => next,
            _ => self,
        }
    }
}

/// How a call ended.
#[derive(Clone, Debug)]
pub struct End {
    pub outcome: CallOutcome,
    pub status: CallStatus,
    pub cause: Option<Cause>,
}

impl End {
    pub fn new(outcome: CallOutcome, status: CallStatus) -> Self {
        Self { outcome, status, cause: None }
    }
}

/// How an attempt ended.
pub struct AttemptEnd {
    pub end: End,
    /// Whether another attempt may help.
    pub may_help: bool,
}

/// What the model reads for a call that was stopped together with its batch.
const CANCELLED: &str = "Cancelled";

impl fmt::Debug for BatchCall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, state, attempts, stop, .. } = self;
        formatter
            .debug_struct("BatchCall")
            .field("call", call)
            .field("state", state)
            .field("attempts", attempts)
            .field("stop", stop)
            .finish_non_exhaustive()
    }
}

impl BatchCall {
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Over(..))
    }

    /// How long an attempt may take, if the batch's own limit is this.
    pub fn limit(&self, of_batch: Option<Duration>) -> Option<Duration> {
        self.options.timeout.or(of_batch)
    }

    /// The tool for the attempt that begins now. The last attempt takes it along.
    pub fn tool_for_attempt(&mut self) -> Option<Arc<dyn Tool>> {
        let is_last = self.attempts > self.options.retries();
        if is_last { self.tool.take() } else { self.tool.clone() }
    }

    /// Whether an attempt that failed is followed by another.
    pub fn goes_on_after(&self, end: &AttemptEnd) -> bool {
        let may_go_on = matches!(self.stop, None | Some(Stop::CallTimeout(_)));
        may_go_on && end.may_help && self.attempts <= self.options.retries()
    }

    /// How an attempt ended that its task reports in this way.
    pub fn end(&self, joined: Result<Returned, JoinError>) -> AttemptEnd {
        let failed = |outcome, cause, may_help| {
            let status = CallStatus::Failure;
            AttemptEnd { end: End { outcome, status, cause }, may_help }
        };
        match (self.stop, joined) {
            (Some(stop @ (Stop::CallTimeout(_) | Stop::BatchTimeout(_) | Stop::Withdrawn)), _) => {
                self.stopped(stop)
            }
            (_, Ok(Ok(output))) => AttemptEnd {
                end: End::new(output.into_outcome(), CallStatus::Success),
                may_help: false,
            },
            (_, Ok(Err(mut error))) => {
                let (may_help, cause) = (error.kind == ErrorKind::Failed, error.cause.take());
                failed(error.into_outcome(&self.name()), cause, may_help)
            }
            (_, Err(error)) => match error.try_into_panic() {
                Ok(payload) => failed(panicked(&*payload), None, true),
                // Stopped with the batch, or with its runtime.
                Err(_) => self.stopped(Stop::Cancelled),
            },
        }
    }

    /// The end of a call that was stopped for this reason.
    pub fn stopped(&self, stop: Stop) -> AttemptEnd {
        let name = || self.name();
        let (message, status, may_help) = match stop {
            Stop::CallTimeout(limit) => {
                let text = format!("Tool '{}' timed out after {} s", name(), shown_seconds(limit));
                (text, CallStatus::Timeout, true)
            }
            Stop::BatchTimeout(limit) => {
                let limit = shown_seconds(limit);
                let text =
                    format!("Tool '{}' timed out: its batch took longer than {limit} s", name());
                (text, CallStatus::Timeout, false)
            }
            Stop::Cancelled | Stop::Withdrawn => {
                (CANCELLED.to_owned(), CallStatus::Cancelled, false)
            }
        };
        AttemptEnd { end: End::new(failure(&message), status), may_help }
    }

    /// The record of a call that is over.
    pub fn into_execution(self) -> Option<ToolExecution> {
        let Self { call, attempts, state, .. } = self;
        let State::Over(End { outcome, status, cause }) = state else { return None };
        Some(ToolExecution { call, outcome, status, attempts, cause })
    }

    /// The same, where the call is still needed.
    pub fn execution(&self) -> Option<ToolExecution> {
        let State::Over(end) = &self.state else { return None };
        let (call, End { outcome, status, cause }) = (Arc::clone(&self.call), end.clone());
        Some(ToolExecution { call, outcome, status, attempts: self.attempts, cause })
    }

    /// What is known of a call that is not over.
    pub fn abandoned(&self) -> Option<AbandonedCall> {
        let progress = match &self.state {
            State::Over(..) => return None,
            State::Running(_) => Progress::Running,
            State::New | State::Waiting(_) | State::Paused(_) => match self.attempts {
                0 => Progress::NotStarted,
                attempts => Progress::BetweenAttempts(attempts),
            },
        };
        Some(AbandonedCall { place: self.place?, call: Arc::clone(&self.call), progress })
    }

    fn name(&self) -> String {
        shown_name(self.call.name_json())
    }
}
