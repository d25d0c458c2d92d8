//! How a batch is carried out.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use super::record::AbandonedCall;

/// How a batch is carried out.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct BatchOptions {
    /// How many calls may run at once; `None` for all.
    pub concurrency: Option<NonZeroUsize>,
    /// How long one attempt of a call may take from its start; `None` for no limit. A tool's own limit takes precedence.
    pub call_timeout: Option<Duration>,
    /// How long all calls together may take from when the batch is complete; `None` for no limit.
    pub batch_timeout: Option<Duration>,
    /// How long a call waits after a failed attempt, by the number of that attempt; `None` for [`pause`].
    pub pause: Option<Pause>,
    /// Gets the calls that were not over when the batch was dropped; not called if all were.
    pub on_abandoned: Option<OnAbandoned>,
}

/// How long a call waits after the attempt of this number.
pub type Pause = Arc<dyn Fn(u32) -> Duration + Send + Sync>;

/// Called with the calls that were not over when their batch was dropped, in call order. It must not panic.
pub type OnAbandoned = Arc<dyn Fn(Vec<AbandonedCall>) + Send + Sync>;

impl BatchOptions {
    /// Options without a limit.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, with so many calls at once.
    #[must_use]
    pub fn with_concurrency(mut self, most: NonZeroUsize) -> Self {
        self.concurrency = Some(most);
        self
    }

    /// The same, with this limit of one attempt of a call.
    #[must_use]
    pub fn with_call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = Some(timeout);
        self
    }

    /// The same, with this limit of all calls together.
    #[must_use]
    pub fn with_batch_timeout(mut self, timeout: Duration) -> Self {
        self.batch_timeout = Some(timeout);
        self
    }

    /// The same, with these pauses between two attempts.
    #[must_use]
    pub fn with_pause(mut self, pause: impl Fn(u32) -> Duration + Send + Sync + 'static) -> Self {
        self.pause = Some(Arc::new(pause));
        self
    }

    /// The same, with a function that gets the calls that were not over when the batch was dropped.
    #[must_use]
    pub fn with_on_abandoned(
        mut self,
        on_abandoned: impl Fn(Vec<AbandonedCall>) + Send + Sync + 'static,
    ) -> Self {
        self.on_abandoned = Some(Arc::new(on_abandoned));
        self
    }

    pub(super) fn pause_after(&self, attempt: u32) -> Duration {
        self.pause.as_ref().map_or_else(|| pause(attempt), |pause| pause(attempt))
    }
}

impl fmt::Debug for BatchOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { concurrency, call_timeout, batch_timeout, pause: _, on_abandoned: _ } = self;
        formatter
            .debug_struct("BatchOptions")
            .field("concurrency", concurrency)
            .field("call_timeout", call_timeout)
            .field("batch_timeout", batch_timeout)
            .finish_non_exhaustive()
    }
}

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How long a call waits after this attempt: twice as long each time, up to five seconds, and between half of that and all
/// of it at random, so that calls do not try again in step.
#[must_use]
pub fn pause(attempt: u32) -> Duration {
    let doublings = attempt.saturating_sub(1).min(31);
    let longest = FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE);
    // The keys of std's hash maps are random enough for this, and need no further crate.
    let random = RandomState::new().hash_one(attempt);
    let thousandths = u32::try_from(random % 501).unwrap_or_default() + 500;
    longest * thousandths / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_doubles_up_to_five_seconds_and_at_least_half_of_it_is_waited() {
        for (attempt, longest) in
            [(1, 100), (2, 200), (3, 400), (6, 3200), (7, 5000), (u32::MAX, 5000)]
        {
            let longest = Duration::from_millis(longest);
            for _ in 0..100 {
                let waited = pause(attempt);
                assert!((longest / 2..=longest).contains(&waited), "{attempt}: {waited:?}");
            }
        }
    }

    #[test]
    fn calls_do_not_wait_equally_long() {
        let first = pause(9);
        assert!((0..100).any(|_| pause(9) != first));
    }
}
