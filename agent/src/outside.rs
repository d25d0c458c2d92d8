//! What a turn and a log take from the computer: the time, and ids of rows.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// What is outside of a program: by default the computer's clock, and ids that nobody else has.
///
/// Programs leave it as it is. A test hands in its own, so that what it does can be repeated; a time orders nothing, so any
/// clock will do.
#[derive(Clone, Default)]
pub struct Outside {
    time: Option<Arc<dyn Fn() -> f64 + Send + Sync>>,
    ids: Option<Arc<dyn Fn() -> String + Send + Sync>>,
}

impl Outside {
    /// The same, with this clock: seconds since the epoch.
    #[must_use]
    pub fn with_time(mut self, time: impl Fn() -> f64 + Send + Sync + 'static) -> Self {
        self.time = Some(Arc::new(time));
        self
    }

    /// The same, with ids of rows that this function makes, each another one.
    #[must_use]
    pub fn with_ids(mut self, ids: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.ids = Some(Arc::new(ids));
        self
    }

    /// Now, in seconds since the epoch.
    #[must_use]
    pub fn now(&self) -> f64 {
        match &self.time {
            Some(time) => time(),
            None => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0.0, |since| since.as_secs_f64()),
        }
    }

    /// An id that was handed in; `None` if they are the computer's.
    #[cfg(feature = "sqlite")]
    pub(super) fn id(&self) -> Option<String> {
        self.ids.as_ref().map(|ids| ids())
    }
}

impl fmt::Debug for Outside {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Outside")
            .field("has_time", &self.time.is_some())
            .field("has_ids", &self.ids.is_some())
            .finish()
    }
}
