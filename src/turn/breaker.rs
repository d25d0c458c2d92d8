//! Stops an agent that only fails.

/// Opens after so many failures in a row: of batches in which nothing succeeded, where a turn counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Breaker {
    /// Failures in a row at which it opens; infinite for never.
    pub max_failures: f64,
    /// Failures since the last success.
    pub consecutive_failures: u32,
}

impl Breaker {
    /// A breaker that has seen nothing.
    #[must_use]
    pub fn new(max_failures: f64) -> Self {
        Self { max_failures, consecutive_failures: 0 }
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
