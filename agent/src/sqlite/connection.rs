//! How the file is opened.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};

use super::error::SqliteError;

/// How much a commit waits for the disk, as in `SQLite`'s `PRAGMA synchronous`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// It does not wait. A power failure may damage the file.
    Off,
    /// A power failure may lose the newest rows; a crash of the program never does.
    Normal,
    /// Rows outlive a power failure.
    #[default]
    Full,
    /// The same, and the directory is waited for too.
    Extra,
}

/// How long another program's lock is waited for.
const BUSY: Duration = Duration::from_secs(5);

/// How long to wait where `SQLite` itself does not.
const AGAIN: Duration = Duration::from_millis(10);

/// The tables of cogency 3.3.0, as the Python package makes them.
const TABLES: &str = include_str!("cogency.sql");

const TABLE: &str = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'messages'";

/// What is ours, as the Python package makes it where a row's number is its position: the time by the clock of a row's writer, where the
/// stored one had to rise; what rows have besides text; and an index whose entries are in the order of the rows.
const OWN: &str = "
CREATE TABLE IF NOT EXISTS cogency_rs_parts (
    conversation_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    type TEXT NOT NULL,
    media_type TEXT NOT NULL,
    data BLOB NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (conversation_id, message_id, number)
);
ALTER TABLE messages ADD COLUMN written_at REAL;
CREATE INDEX IF NOT EXISTS cogency_rs_order ON messages (conversation_id);
";

/// Opens a file, and makes what is missing; on a complete file this writes nothing.
///
/// # Errors
/// It cannot be opened, made or written; or it is not a database.
pub fn open(path: &Path, synchronous: Synchronous) -> Result<Connection, SqliteError> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)
            .map_err(|error| SqliteError::of_directory(directory, &error))?;
    }
    let connection = opened(path, synchronous);
    connection.map_err(|error| SqliteError::of(path, &error))
}

fn opened(path: &Path, synchronous: Synchronous) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    let level = match synchronous {
        Synchronous::Off => 0,
        Synchronous::Normal => 1,
        Synchronous::Full => 2,
        Synchronous::Extra => 3,
    };
    connection.pragma_update(None, "synchronous", level)?;
    let deadline = Instant::now() + BUSY;
    loop {
        match prepare(&connection) {
            // When two programs make one file, SQLite refuses one of them without waiting.
            Err(error) if is_busy(&error) && Instant::now() < deadline => sleep(AGAIN),
            prepared => return prepared.map(|()| connection),
        }
    }
}

fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    let made =
        if has(connection, TABLE)? { connection.execute_batch(TABLES) } else { make(connection) };
    if made.is_err() && !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK")?;
    }
    made
}

/// Makes the tables of a new file, in which the number of a row is its position.
fn make(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let tables = TABLES.trim().trim_start_matches("BEGIN;").trim_end_matches("COMMIT;");
    // Another program may have made them meanwhile, and has rows there whose numbers are not their positions.
    let is_new = !has(connection, TABLE)?;
    connection.execute_batch(tables)?;
    if is_new {
        connection.execute_batch(OWN)?;
    }
    connection.execute_batch("COMMIT")
}

/// Whether a row's number is its position, so that rows are read by it. In an older file they are read by their times, until the
/// Python package has numbered them once.
///
/// # Errors
/// The file cannot be read.
pub fn is_ordered(connection: &Connection) -> rusqlite::Result<bool> {
    has(connection, "SELECT 1 FROM pragma_table_info('messages') WHERE name = 'written_at'")
}

/// Whether this finds anything.
fn has(connection: &Connection, query: &str) -> rusqlite::Result<bool> {
    connection.prepare(query)?.exists([])
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed
        )
    )
}
