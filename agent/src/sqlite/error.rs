//! What fails, and what the reader can do. The words are those of the Python package.

use std::path::Path;

use rusqlite::ErrorCode;
use thiserror::Error;

/// Why the log could not be opened, written or read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct SqliteError {
    message: String,
    is_retryable: bool,
}

impl SqliteError {
    /// Whether another program's lock is the cause, so that the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.is_retryable
    }

    pub(super) fn of(path: &Path, error: &rusqlite::Error) -> Self {
        let code = error.sqlite_error_code();
        let (what, remedy) = match code {
            Some(
                ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed,
            ) => (
                "is locked by another program",
                "try again, or end the program that holds a transaction open on it",
            ),
            Some(ErrorCode::DiskFull) => {
                ("has no room to grow", "free some disk space, then try again")
            }
            Some(ErrorCode::ReadOnly) => (
                "cannot be written",
                "make the file and its directory writable, or choose another path",
            ),
            Some(ErrorCode::CannotOpen) => (
                "cannot be opened",
                "check that the path is a file in a directory this program may write to",
            ),
            Some(ErrorCode::DatabaseCorrupt) => (
                "is damaged",
                "restore it from a backup, or move it away to begin with an empty one",
            ),
            Some(ErrorCode::NotADatabase) => (
                "is not a SQLite database",
                "choose another path, or move the file away to begin with an empty one",
            ),
            Some(ErrorCode::SystemIoFailure) => {
                ("cannot be read or written", "check the disk and its file system")
            }
            _ => ("failed", "see the error itself"),
        };
        let path = path.display();
        let is_retryable = matches!(
            code,
            Some(
                ErrorCode::DatabaseBusy
                    | ErrorCode::DatabaseLocked
                    | ErrorCode::FileLockingProtocolFailed
            )
        );
        Self { message: format!("{path} {what} ({error}); {remedy}"), is_retryable }
    }

    pub(super) fn of_directory(directory: &Path, error: &std::io::Error) -> Self {
        let directory = directory.display();
        Self::new(format!("{directory} cannot be made a directory ({error}); choose another path"))
    }

    pub(super) fn of_thread(error: &std::io::Error) -> Self {
        Self::new(format!("the system has no thread for the log ({error})"))
    }

    pub(super) fn of_ids(error: getrandom::Error) -> Self {
        Self::new(format!("the system has no random numbers for ids ({error})"))
    }

    pub(super) fn not_text() -> Self {
        Self::new(
            "a row has half of a surrogate pair, which SQLite cannot hold; nothing was written"
                .to_owned(),
        )
    }

    pub(super) fn ended() -> Self {
        Self::new(
            "the thread of the log has ended, which is a fault of this crate; please report it"
                .to_owned(),
        )
    }

    fn new(message: String) -> Self {
        Self { message, is_retryable: false }
    }
}
