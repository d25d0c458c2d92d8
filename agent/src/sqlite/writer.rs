//! The thread that has the connection: it writes and reads, one job after the other.

use std::path::Path;
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, TransactionBehavior, params};
use tokio::sync::oneshot;

use super::super::log::{END_OF_TIME, LogRow, LogRowKind, risen};
use super::super::outside::Outside;
use super::connection::is_ordered;
use super::error::SqliteError;
use cogency_rs::ids::Ids;

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
    pub fn of(
        row: &LogRow,
        conversation: &str,
        user: &str,
        outside: &Outside,
    ) -> Result<Self, SqliteError> {
        let content = row.content.to_str().ok_or_else(SqliteError::not_text)?;
        Ok(Self {
            id: outside.id().map_or_else(next_id, Ok)?,
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
    let is_ordered = is_ordered(&transaction)?;
    let mut saved = Vec::with_capacity(appends.len());
    for rows in appends {
        let savepoint = transaction.savepoint()?;
        let inserted = insert_all(&savepoint, rows, is_ordered);
        saved.push(inserted.and_then(|()| savepoint.commit()));
    }
    transaction.commit()?;
    Ok(saved)
}

/// Inserts the rows of one conversation, each with a time above those before it.
fn insert_all(connection: &Connection, rows: &[Stored], is_ordered: bool) -> rusqlite::Result<()> {
    let Some(Stored { conversation, .. }) = rows.first() else { return Ok(()) };
    let latest: Option<f64> = connection
        .prepare("SELECT MAX(timestamp) FROM messages WHERE conversation_id = ? AND timestamp < ?")?
        .query_row(params![conversation, END_OF_TIME], |row| row.get(0))?;
    let mut latest = latest.unwrap_or(f64::NEG_INFINITY);
    for Stored { id, conversation, user, kind, content, timestamp } in rows {
        let stored = risen(*timestamp, latest);
        latest = if stored < END_OF_TIME { stored } else { latest };
        let (column, value) = if is_ordered { (", written_at", ", ?") } else { ("", "") };
        let mut statement = connection.prepare(&format!(
            "INSERT INTO messages (message_id, conversation_id, user_id, type, content, timestamp{column}) \
             VALUES (?, ?, ?, ?, ?, ?{value})"
        ))?;
        if is_ordered {
            let written_at = Some(*timestamp).filter(|_| stored > *timestamp);
            statement.execute(params![
                id,
                conversation,
                user,
                kind,
                content,
                stored,
                written_at
            ])?;
        } else {
            statement.execute(params![id, conversation, user, kind, content, stored])?;
        }
    }
    Ok(())
}

/// The rows of a conversation, in the order in which they were committed.
fn read(connection: &Connection, conversation: &str) -> rusqlite::Result<Vec<LogRow>> {
    // One view of the file: the Python package may be numbering its rows.
    let view = connection.unchecked_transaction()?;
    let order = if is_ordered(&view)? { "rowid" } else { "timestamp, rowid" };
    let mut statement = view.prepare(&format!(
        "SELECT type, content, timestamp FROM messages WHERE conversation_id = ? ORDER BY {order}"
    ))?;
    let rows = statement.query_map([conversation], |row| {
        let (kind, content): (String, String) = (row.get(0)?, row.get(1)?);
        let timestamp = row.get(2)?;
        let kind = LogRowKind::of_name(&kind);
        Ok(kind.map(|kind| LogRow { kind, content: content.into(), timestamp }))
    })?;
    rows.filter_map(Result::transpose).collect()
}
