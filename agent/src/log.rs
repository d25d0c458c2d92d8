//! Where the rows of conversations are kept.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cogency_rs::protocol::Text;
use cogency_rs::turn::{Row, RowKind};

/// A row of a conversation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LogRow {
    /// What it is.
    pub kind: LogRowKind,
    /// Its text; calls, results and errors are JSON.
    pub content: Text,
    /// When it was written, in seconds since the epoch. A log stores a time that is above those of the rows before it, whatever the
    /// clock of the writer says.
    pub timestamp: f64,
}

/// What a row of a conversation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogRowKind {
    /// What the user said.
    User,
    /// What came of a turn of the model.
    Turn(RowKind),
    /// What somebody found out later about a call whose results the model has read, as a sentence.
    Settled,
}

impl LogRowKind {
    /// The name in a log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Turn(kind) => kind.name(),
            Self::Settled => "settled",
        }
    }

    /// The kind with this name; `None` for what other programs keep next to a conversation.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "user" => Self::User,
            "think" => Self::Turn(RowKind::Think),
            "respond" => Self::Turn(RowKind::Respond),
            "call" => Self::Turn(RowKind::Call),
            "result" => Self::Turn(RowKind::Result),
            "error" => Self::Turn(RowKind::Error),
            "settled" => Self::Settled,
            _ => return None,
        })
    }
}

impl LogRow {
    /// What the user said, at this time in seconds since the epoch.
    #[must_use]
    pub fn user(content: impl Into<Text>, timestamp: f64) -> Self {
        Self { kind: LogRowKind::User, content: content.into(), timestamp }
    }
}

impl From<Row> for LogRow {
    fn from(Row { kind, content, timestamp }: Row) -> Self {
        Self { kind: LogRowKind::Turn(kind), content, timestamp }
    }
}

/// Keeps the rows of conversations, in the order in which they were appended. No time orders them: clocks differ, and go back.
///
/// A turn appends its calls before they run, and their results afterwards. So calls whose results are missing say that the
/// program ended, or the turn was dropped, while they ran: their outcomes are unknown. [`fold`](super::fold()) shows each as
/// a failure.
pub trait Log: Sync {
    /// Why a row could not be written or read.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Appends rows that belong together: all of them are kept, or none. It returns when they are.
    ///
    /// # Errors
    /// They are not kept, or it is not known whether they are.
    fn append(
        &self,
        conversation: &str,
        rows: Vec<LogRow>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// The rows of a conversation, in the order in which they were appended; empty if it is not known.
    ///
    /// # Errors
    /// They cannot be read.
    fn rows(
        &self,
        conversation: &str,
    ) -> impl Future<Output = Result<Vec<LogRow>, Self::Error>> + Send;
}

/// The year 10000. Another program may have written any number as a time, such as milliseconds; above this one, it is ignored.
pub(super) const END_OF_TIME: f64 = 253_402_300_800.0;

/// The time that is stored for a row: its own, or one above the `latest` of its conversation.
pub(super) fn risen(timestamp: f64, latest: f64) -> f64 {
    const STEP: f64 = 1e-6;
    if timestamp > latest || timestamp.is_nan() {
        timestamp
    } else {
        (latest + STEP).max(latest.next_up())
    }
}

/// A log in memory.
#[derive(Debug, Default)]
pub struct MemoryLog {
    conversations: Mutex<HashMap<String, Vec<LogRow>>>,
}

impl MemoryLog {
    /// A log without a row.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Held for as long as rows are copied, and never while something is awaited.
    fn conversations(&self) -> MutexGuard<'_, HashMap<String, Vec<LogRow>>> {
        self.conversations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log for MemoryLog {
    type Error = Infallible;

    async fn append(&self, conversation: &str, rows: Vec<LogRow>) -> Result<(), Infallible> {
        let mut conversations = self.conversations();
        let kept = conversations.entry(conversation.to_owned()).or_default();
        // The times rise, but for those above the greatest; so the newest row below that has the latest.
        let sane = kept.iter().rev().map(|row| row.timestamp).find(|time| *time < END_OF_TIME);
        let mut latest = sane.unwrap_or(f64::NEG_INFINITY);
        kept.extend(rows.into_iter().map(|row| {
            let timestamp = risen(row.timestamp, latest);
            latest = if timestamp < END_OF_TIME { timestamp } else { latest };
            LogRow { timestamp, ..row }
        }));
        Ok(())
    }

    async fn rows(&self, conversation: &str) -> Result<Vec<LogRow>, Infallible> {
        Ok(self.conversations().get(conversation).cloned().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_does_not_rise_is_stored_above_the_latest() {
        for (timestamp, latest) in [(5.0, 5.0), (1.0, 1.7e9), (-1.0, 0.0), (0.0, 4.5e9)] {
            let stored = risen(timestamp, latest);
            assert!(stored > latest && stored - latest < 1e-5, "{timestamp}, {latest}: {stored}");
        }
        assert!((risen(1.7e9, 1.6e9) - 1.7e9).abs() < f64::EPSILON);
        assert!((risen(1.0, f64::NEG_INFINITY) - 1.0).abs() < f64::EPSILON);
    }
}
