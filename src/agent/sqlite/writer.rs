//! The thread that has the connection: it writes and reads, one job after the other.

use std::path::Path;
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, TransactionBehavior, params};
use tokio::sync::oneshot;

use super::super::log::{LogRow, LogRowKind};
use super::error::SqliteError;
use crate::ids::Ids;

/// Where the outcome of a job goes.
type Done<T> = oneshot::Sender<Result<T, SqliteError>>;

/// What the thread is asked to do.
#[derive(Debug)]
pub enum Job {
    Append { rows: Vec<Stored>, done: Done<()> },
    Read { conversation: String, done: Done<Vec<LogRow>> },
}

/// A row of the table of messages.
#[derive(Debug)]
pub struct Stored {
    id: String,
    conversation: String,
    user: String,
    kind: &'static str,
    content: String,
    timestamp: f64,
}

impl Stored {
    /// The row as it is stored.
    ///
    /// # Errors
    /// `SQLite` cannot hold its text; or the system gives no random numbers for its id.
    pub fn of(row: &LogRow, conversation: &str, user: &str) -> Result<Self, SqliteError> {
        let content = row.content.to_str().ok_or_else(SqliteError::not_text)?;
        Ok(Self {
            id: next_id()?,
            conversation: conversation.to_owned(),
            user: user.to_owned(),
            kind: row.kind.name(),
            content: content.to_owned(),
            timestamp: row.timestamp,
        })
    }
}

fn next_id() -> Result<String, SqliteError> {
    static IDS: Mutex<Ids> = Mutex::new(Ids::new());
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(SqliteError::of_ids)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let milliseconds = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    let mut ids = IDS.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(ids.next(milliseconds, u128::from_le_bytes(random)))
}

/// How many jobs share a commit at most.
const TOGETHER: usize = 256;

/// Does what is asked, until nobody can ask any longer.
pub fn run(mut connection: Connection, path: &Path, jobs: &Receiver<Job>) {
    while let Ok(job) = jobs.recv() {
        let mut appends = Vec::new();
        let mut reads = Vec::new();
        for job in std::iter::once(job).chain(jobs.try_iter().take(TOGETHER)) {
            match job {
                Job::Append { rows, done } => appends.push((rows, done)),
                Job::Read { conversation, done } => reads.push((conversation, done)),
            }
        }
        // A read requested after a save sees it.
        commit(&mut connection, path, appends);
        for (conversation, done) in reads {
            let rows = read(&connection, &conversation);
            let _ = done.send(rows.map_err(|error| SqliteError::of(path, &error)));
        }
    }
}

/// Saves all of these in one commit. If one of them cannot be saved, the others are.
fn commit(connection: &mut Connection, path: &Path, appends: Vec<(Vec<Stored>, Done<()>)>) {
    if appends.is_empty() {
        return;
    }
    let (rows, done): (Vec<_>, Vec<_>) = appends.into_iter().unzip();
    let saved = save_all(connection, &rows);
    for (index, done) in done.into_iter().enumerate() {
        let saved = match &saved {
            Ok(each) => each[index].as_ref().map(drop),
            Err(error) => Err(error),
        };
        // Perhaps nobody listens any longer: the rows are saved all the same.
        let _ = done.send(saved.map_err(|error| SqliteError::of(path, error)));
    }
}

fn save_all(
    connection: &mut Connection,
    appends: &[Vec<Stored>],
) -> rusqlite::Result<Vec<rusqlite::Result<()>>> {
    let mut transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut saved = Vec::with_capacity(appends.len());
    for rows in appends {
        let savepoint = transaction.savepoint()?;
        let inserted = rows.iter().try_for_each(|row| insert(&savepoint, row));
        saved.push(inserted.and_then(|()| savepoint.commit()));
    }
    transaction.commit()?;
    Ok(saved)
}

fn insert(connection: &Connection, row: &Stored) -> rusqlite::Result<()> {
    let Stored { id, conversation, user, kind, content, timestamp } = row;
    let mut statement = connection.prepare(
        "INSERT INTO messages (message_id, conversation_id, user_id, type, content, timestamp) VALUES (?, ?, ?, ?, ?, ?)",
    )?;
    statement.execute(params![id, conversation, user, kind, content, timestamp]).map(drop)
}

fn read(connection: &Connection, conversation: &str) -> rusqlite::Result<Vec<LogRow>> {
    let mut statement = connection.prepare(
        "SELECT type, content, timestamp FROM messages WHERE conversation_id = ? ORDER BY timestamp, rowid",
    )?;
    let rows = statement.query_map([conversation], |row| {
        let (kind, content): (String, String) = (row.get(0)?, row.get(1)?);
        let timestamp = row.get(2)?;
        let kind = LogRowKind::of_name(&kind);
        Ok(kind.map(|kind| LogRow { kind, content: content.into(), timestamp }))
    })?;
    rows.filter_map(Result::transpose).collect()
}
