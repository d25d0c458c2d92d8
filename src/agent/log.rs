//! Where the rows of conversations are kept.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::protocol::Text;
use crate::turn::{Row, RowKind};

/// A row of a conversation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LogRow {
    /// What it is.
    pub kind: LogRowKind,
    /// Its text; calls, results and errors are JSON.
    pub content: Text,
    /// When it was written, in seconds since the epoch.
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
}

impl LogRowKind {
    /// The name in a log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Turn(kind) => kind.name(),
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

/// Keeps the rows of conversations, in the order in which they were appended.
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

    /// The rows of a conversation; empty if it is not known.
    ///
    /// # Errors
    /// They cannot be read.
    fn rows(
        &self,
        conversation: &str,
    ) -> impl Future<Output = Result<Vec<LogRow>, Self::Error>> + Send;
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

    async fn append(&self, conversation: &str, mut rows: Vec<LogRow>) -> Result<(), Infallible> {
        self.conversations().entry(conversation.to_owned()).or_default().append(&mut rows);
        Ok(())
    }

    async fn rows(&self, conversation: &str) -> Result<Vec<LogRow>, Infallible> {
        Ok(self.conversations().get(conversation).cloned().unwrap_or_default())
    }
}
