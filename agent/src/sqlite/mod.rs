//! The log in a `SQLite` file (feature `sqlite`), in the tables of the Python package: either can read and continue a
//! conversation that the other began.
//!
//! Both keep messages as cogency 3.3.0 does. What the Python package keeps next to them, the state of each call and who runs a
//! conversation, is not written here: for it, a turn of a Rust program is one of plain cogency.

mod connection;
mod error;
mod writer;

use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread::Builder;

use tokio::sync::oneshot;

use super::log::{Log, LogRow};
use super::outside::Outside;
use writer::{Job, Stored};

pub use connection::Synchronous;
pub use error::SqliteError;

/// A log in a `SQLite` file.
///
/// A save returns when its rows are committed; saves that wait together share one commit. One thread of the log does all of
/// this; it ends, and closes the file, after the last job once the log is dropped. Any number of programs may use the
/// file at the same time, including those of the Python package.
///
/// But within one process, only one copy of the `SQLite` library may have the file open, since a second copy breaks the locks of the
/// first. A program that embeds Python must not open one file from both sides.
#[derive(Debug)]
pub struct SqliteLog {
    jobs: Sender<Job>,
    user: String,
    outside: Outside,
}

impl SqliteLog {
    /// Opens a file, so that rows outlive a power failure. It, its directories and its tables are created if missing.
    ///
    /// Waits for the disk: a program calls it before it begins, or in [`spawn_blocking`](tokio::task::spawn_blocking).
    ///
    /// # Errors
    /// The file cannot be opened, made or written; or it is not a database.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SqliteError> {
        Self::open_with(path, Synchronous::default())
    }

    /// The same, where commits wait for the disk in this way.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(
        path: impl AsRef<Path>,
        synchronous: Synchronous,
    ) -> Result<Self, SqliteError> {
        let path = path.as_ref().to_owned();
        let connection = connection::open(&path, synchronous)?;
        let (jobs, received) = channel();
        Builder::new()
            .name("cogency-rs-sqlite".to_owned())
            .spawn(move || writer::run(connection, &path, &received))
            .map_err(|error| SqliteError::of_thread(&error))?;
        Ok(Self { jobs, user: String::new(), outside: Outside::default() })
    }

    /// The same log, whose rows are saved as those of this user.
    #[must_use]
    pub fn with_user(mut self, user: impl Into<String>) -> Self {
        self.user = user.into();
        self
    }

    /// The same log, whose rows have the ids of this.
    #[must_use]
    pub fn with_outside(mut self, outside: Outside) -> Self {
        self.outside = outside;
        self
    }

    async fn done<T>(
        &self,
        job: impl FnOnce(oneshot::Sender<Result<T, SqliteError>>) -> Job,
    ) -> Result<T, SqliteError> {
        let (sender, receiver) = oneshot::channel();
        let is_sent = self.jobs.send(job(sender)).is_ok();
        match receiver.await {
            Ok(done) if is_sent => done,
            _ => Err(SqliteError::ended()),
        }
    }
}

impl Log for SqliteLog {
    type Error = SqliteError;

    /// If the future is dropped, either all of the rows are saved or none.
    async fn append(&self, conversation: &str, rows: Vec<LogRow>) -> Result<(), SqliteError> {
        if rows.is_empty() {
            return Ok(());
        }
        let rows = rows.iter().map(|row| Stored::of(row, conversation, &self.user, &self.outside));
        let rows = rows.collect::<Result<_, _>>()?;
        self.done(|done| Job::Append { rows, done }).await
    }

    /// Rows of all users, in the order in which they were committed. A file of an earlier version is read by the times of its rows,
    /// until the Python package has opened it to write.
    async fn rows(&self, conversation: &str) -> Result<Vec<LogRow>, SqliteError> {
        let conversation = conversation.to_owned();
        self.done(|done| Job::Read { conversation, done }).await
    }
}
