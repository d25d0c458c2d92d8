//! Stops an agent that only fails.

use crate::protocol::results::CallOutcome;

/// What a failure is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counts {
    /// A batch in which nothing succeeded: what one batch did wrong, the model has not read before it is over.
    #[default]
    Batches,
    /// Each call that fails, as in cogency 3.3.0.
    Calls,
}

/// Opens after so many failures in a row.
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
    /// A breaker that has seen nothing.
    #[must_use]
    pub fn new(max_failures: f64) -> Self {
        Self { counts: Counts::Batches, max_failures, consecutive_failures: 0 }
    }

    /// A batch ran, and this is what came of its calls. An empty one says nothing.
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

    /// Something succeeded, or the turn is over: the count starts again.
    pub fn record_success(&mut self) {
        self.consecutive_failures = 0;
    }

    /// Nothing succeeded.
    pub fn record_failure(&mut self) {
        self.consecutive_failures = self.consecutive_failures.saturating_add(1);
    }

    /// Whether there were too many failures in a row.
    #[must_use]
    pub fn is_open(&self) -> bool {
        f64::from(self.consecutive_failures) >= self.max_failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_one_failure_or_as_many_as_it_has_failed_calls_in_a_row() {
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
