//! What is known of a call when it is over, or when its batch was dropped.

use std::sync::Arc;
use std::time::Duration;

use super::output::Cause;
use cogency_rs::protocol::Call;
use cogency_rs::protocol::results::CallOutcome;

/// One call and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolExecution {
    /// The call.
    pub call: Arc<Call>,
    /// Its outcome, which the model reads.
    pub outcome: CallOutcome,
    /// How it ended.
    pub status: CallStatus,
    /// How many times the tool was started; 0 if it never was.
    pub attempts: u32,
    /// What made the last attempt fail, if its tool says so ([`ToolError::with_cause`](super::ToolError::with_cause)).
    pub cause: Option<Cause>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallStatus {
    /// The tool returned.
    Success,
    /// The tool failed or panicked, or the call could not be started.
    Failure,
    /// Its time was up, or that of its batch.
    Timeout,
    /// It was stopped together with its batch, or withdrawn.
    Cancelled,
}

impl CallStatus {
    /// Its name, which is also that in the log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A call that was not over when its batch was dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AbandonedCall {
    /// Its place in the batch.
    pub place: usize,
    /// The call.
    pub call: Arc<Call>,
    /// How far it had come.
    pub progress: Progress,
}

/// How far a call had come when its batch was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Progress {
    /// Its tool was never started: it had no effect.
    NotStarted,
    /// So many attempts failed or ran out of time, and it waited for the next.
    BetweenAttempts(u32),
    /// Its tool ran: it is unknown whether it had its effect. A tool that blocks may still be running.
    Running,
}

/// Seconds as a message shows them: up to six digits, like Python's `%g`.
pub fn shown_seconds(limit: Duration) -> String {
    let seconds = limit.as_secs_f64();
    let scientific = format!("{seconds:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let trimmed = |digits: &str| match digits.split_once('.') {
        Some((whole, decimals)) => {
            let decimals = decimals.trim_end_matches('0');
            if decimals.is_empty() { whole.to_owned() } else { format!("{whole}.{decimals}") }
        }
        None => digits.to_owned(),
    };
    match usize::try_from(5 - exponent) {
        Ok(decimals) if exponent >= -4 => trimmed(&format!("{seconds:.decimals$}")),
        _ => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{}e{sign}{:02}", trimmed(digits), exponent.abs())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_shown_as_python_shows_them() {
        for (nanoseconds, expected) in [
            (0, "0"),
            (1, "1e-09"),
            (12_345, "1.2345e-05"),
            (100_000, "0.0001"),
            (50_000_000, "0.05"),
            (1_500_000_000, "1.5"),
            (2_000_000_000, "2"),
            (1_234_567_890, "1.23457"),
            (999_999_600_000_000, "1e+06"),
            (120_000_000_000, "120"),
            (86_400_000_000_000, "86400"),
            (1_000_000_000_000_000, "1e+06"),
            (1_234_567_000_000_000, "1.23457e+06"),
        ] {
            assert_eq!(shown_seconds(Duration::from_nanos(nanoseconds)), expected);
        }
    }
}
