//! Stops an agent that only fails.

/// Opens after so many failures in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breaker {
    /// Failures in a row at which it opens.
    pub max_failures: i64,
    /// Failures since the last success.
    pub consecutive_failures: i64,
}

impl Breaker {
    /// A breaker that has seen nothing.
    #[must_use]
    pub fn new(max_failures: i64) -> Self {
        Self { max_failures, consecutive_failures: 0 }
    }

    /// A call returned: the count starts again.
    pub fn record_success(&mut self) {
        self.consecutive_failures = 0;
    }

    /// A call failed.
    pub fn record_failure(&mut self) {
        self.consecutive_failures = self.consecutive_failures.saturating_add(1);
    }

    /// Whether too many calls in a row have failed.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.consecutive_failures >= self.max_failures
    }
}
