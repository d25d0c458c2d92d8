//! Stops an agent that only fails.

use crate::protocol::results::CallOutcome;

/// What counts as one failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counts {
    /// A batch in which nothing succeeded. The model learns of its failed calls only when the whole batch is over.
    #[default]
    Batches,
    /// Each call that fails, as in cogency 3.3.0.
    Calls,
}

/// Opens after [`max_failures`](Self::max_failures) failures in a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Breaker {
    /// What it counts.
    pub counts: Counts,
    /// Failures in a row at which it opens; infinite for never.
    pub max_failures: f64,
    /// Failures since the last success.
    pub consecutive_failures: u32,
}

impl Breaker {
    /// A closed breaker that counts batches.
    #[must_use]
    pub fn new(max_failures: f64) -> Self {
        Self { counts: Counts::Batches, max_failures, consecutive_failures: 0 }
    }

    /// Counts the outcomes of a batch. An empty batch changes nothing.
    pub fn record(&mut self, outcomes: &[CallOutcome]) {
        let has_succeeded = |outcome: &CallOutcome| matches!(outcome, CallOutcome::Success { .. });
        match self.counts {
            Counts::Batches if outcomes.iter().any(has_succeeded) => self.record_success(),
            Counts::Batches if outcomes.is_empty() => {}
            Counts::Batches => self.record_failure(),
            Counts::Calls => outcomes.iter().for_each(|outcome| match outcome {
                CallOutcome::Success { .. } => self.record_success(),
                CallOutcome::Failure { .. } => self.record_failure(),
            }),
        }
    }

    /// Starts the count again: something succeeded, or the turn is over.
    pub fn record_success(&mut self) {
        self.consecutive_failures = 0;
    }

    /// Counts one failure.
    pub fn record_failure(&mut self) {
        self.consecutive_failures = self.consecutive_failures.saturating_add(1);
    }

    /// Whether there were [`max_failures`](Self::max_failures) in a row.
    #[must_use]
    pub fn is_open(&self) -> bool {
        f64::from(self.consecutive_failures) >= self.max_failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_batch_counts_once_or_once_for_each_failed_call() {
        let outcome = |sign| match sign {
            '+' => CallOutcome::success("\"ok\"".into(), None),
            _ => CallOutcome::Failure { message: "\"no\"".into() },
        };
        for (batches, in_batches, in_calls) in [
            (&["---"][..], 1, 3),
            (&["-", "-"], 2, 2),
            (&["-", ""], 1, 1),
            (&["-", "+-"], 0, 1),
            (&["-", "-+"], 0, 0),
            (&["-+-", "--"], 1, 3),
        ] {
            for (counts, failures) in [(Counts::Batches, in_batches), (Counts::Calls, in_calls)] {
                let mut breaker = Breaker { counts, ..Breaker::new(9.0) };
                for batch in batches {
                    breaker.record(&batch.chars().map(outcome).collect::<Vec<_>>());
                }
                assert_eq!(breaker.consecutive_failures, failures, "{batches:?} {counts:?}");
            }
        }
    }
}
