//! The log in a `SQLite` file: rows are kept as by any log, and the Python package reads and writes the same file.

#![cfg(feature = "sqlite")]

mod late_reports;

use std::path::{Path, PathBuf};
use std::process::Command;

use cogency_agent::execution::{Toolbox, tool};
use cogency_agent::{Log, LogRow, MemoryLog, SqliteLog, Synchronous, TurnSetup, chunks, take_turn};
use cogency_rs::protocol::Grammar;
use cogency_rs::turn::{Breaker, Row, RowKind};
use serde_json::{Value, json};

/// A directory of a test's own, which goes with it.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("cogency-rs-{}-{name}", std::process::id()));
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("deep").join("log.db")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn row(kind: RowKind, content: &str, timestamp: f64) -> LogRow {
    Row { kind, content: content.into(), timestamp }.into()
}

/// A log's rows without their times, and whether the times rise.
async fn read(log: &impl Log, conversation: &str) -> (Vec<(&'static str, String)>, bool) {
    let rows = log.rows(conversation).await.expect("they can be read");
    let rises = rows.windows(2).all(|two| two[0].timestamp < two[1].timestamp);
    (rows.iter().map(|row| (row.kind.name(), row.content.to_string())).collect(), rises)
}

/// Rows whose writers had clocks of all kinds, in three appends.
async fn append_by_many_clocks(log: &impl Log) -> Vec<(&'static str, String)> {
    let respond = |content: &str, time| row(RowKind::Respond, content, time);
    let appends = [
        vec![LogRow::user("hello", 1.8e9), respond("late \u{0}é😀", 1.8e9)],
        vec![respond("1970", 0.0), respond("before", -5.0), respond("hm", 1.8e9 - 3600.0)],
        vec![respond("2100", 4.1e9), respond("milliseconds", 1.8e12), respond("today", 1.8e9)],
    ];
    let all = appends.concat();
    for rows in appends {
        log.append("a", rows).await.expect("they are saved");
    }
    all.iter().map(|row| (row.kind.name(), row.content.to_string())).collect()
}

#[tokio::test]
async fn rows_are_kept_in_the_order_in_which_they_were_appended() {
    let directory = Directory::new("order");
    let log = SqliteLog::open(directory.file()).expect("it is made");
    let expected = append_by_many_clocks(&log).await;
    log.append("b", vec![LogRow::user("other", 1.0)]).await.expect("it is saved");
    log.append("a", Vec::new()).await.expect("there is nothing to save");
    assert_eq!(read(&log, "a").await.0, expected);
    assert_eq!(log.rows("unknown").await, Ok(Vec::new()));
    drop(log);
    let again = SqliteLog::open_with(directory.file(), Synchronous::Off).expect("it is there");
    assert_eq!(read(&again, "a").await.0, expected);
    let connection = rusqlite::Connection::open(directory.file()).expect("it is there");
    let plan: String = connection
        .query_row(
            "EXPLAIN QUERY PLAN SELECT content FROM messages WHERE conversation_id = 'a' ORDER BY rowid",
            [],
            |row| row.get(3),
        )
        .expect("one step, without a sort");
    assert!(plan.contains("cogency_rs_order"), "{plan}");
    // What sorts by times, as cogency does, reads the same, but for what is not a time.
    let by_time = "SELECT content FROM messages WHERE conversation_id = 'a' AND timestamp < 1e11 ORDER BY timestamp";
    let mut by_time = connection.prepare(by_time).expect("it is SQL");
    let by_time = by_time.query_map([], |row| row.get::<_, String>(0)).expect("it can be read");
    let by_time: Vec<_> = by_time.map(|text| text.expect("a text")).collect();
    let ours = expected.iter().map(|(_, text)| text).filter(|text| *text != "milliseconds");
    assert_eq!(by_time, ours.cloned().collect::<Vec<_>>());
    let written: f64 = connection
        .query_row("SELECT written_at FROM messages WHERE content = '1970'", [], |row| row.get(0))
        .expect("the time by its writer's clock");
    assert!(written.abs() < f64::EPSILON);
}

#[tokio::test]
async fn what_a_model_is_told_of_a_broken_block_is_the_same_from_a_file() {
    let directory = Directory::new("late");
    let log = SqliteLog::open_with(directory.file(), Synchronous::Off).expect("it is made");
    for name in ["hermes", "cogency", "qwen3-coder", "mistral", "harmony"] {
        let grammar = Grammar::preset(name).expect("a row of the table");
        let dialect = &grammar.dialects[0];
        for (number, answer) in late_reports::answers(dialect).iter().enumerate() {
            let mut whole = None;
            let all = std::iter::once(vec![&**answer]);
            for (cut, chunks) in all.chain(late_reports::halves(answer).map(Vec::from)).enumerate()
            {
                let clock = late_reports::CLOCKS[cut % late_reports::CLOCKS.len()];
                let conversation = format!("{name} {number} {cut}");
                let kept = late_reports::kept(
                    &log,
                    &conversation,
                    &grammar,
                    &chunks,
                    clock,
                    cogency_rs::protocol::Stream::Event,
                );
                let kept = kept.await;
                let whole = whole.get_or_insert_with(|| kept.clone());
                let is_alike = late_reports::are_told_alike(&kept, whole, dialect);
                assert!(is_alike, "{chunks:?}, {clock}");
            }
        }
    }
}

#[tokio::test]
async fn a_log_in_memory_keeps_the_same_order() {
    let log = MemoryLog::new();
    let expected = append_by_many_clocks(&log).await;
    let Ok(rows) = log.rows("a").await;
    let rises = rows.iter().filter(|row| row.timestamp < 1e11).map(|row| row.timestamp);
    assert!(rises.clone().zip(rises.skip(1)).all(|(one, next)| one < next));
    assert_eq!(read(&log, "a").await.0, expected);
}

#[tokio::test]
async fn an_older_file_is_read_by_its_times() {
    let directory = Directory::new("older");
    let made = SqliteLog::open(directory.file()).expect("it is made");
    drop(made);
    let connection = rusqlite::Connection::open(directory.file()).expect("it is there");
    let older = "
        DROP INDEX cogency_rs_order;
        ALTER TABLE messages DROP COLUMN written_at;
        INSERT INTO messages VALUES ('1', 'a', '', 'respond', 'second', 2.0), ('2', 'a', '', 'user', 'first', 1.0);
    ";
    connection.execute_batch(older).expect("it is SQL");
    let log = SqliteLog::open(directory.file()).expect("it is there");
    log.append("a", vec![row(RowKind::Respond, "third", 0.0)]).await.expect("it is saved");
    let (rows, rises) = read(&log, "a").await;
    let texts: Vec<_> = rows.iter().map(|(_, text)| &**text).collect();
    assert_eq!((texts, rises), (vec!["first", "second", "third"], true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn saves_that_wait_together_are_all_kept() {
    let directory = Directory::new("together");
    let log = std::sync::Arc::new(SqliteLog::open(directory.file()).expect("it is made"));
    let saves = (0..200).map(|n| {
        let log = std::sync::Arc::clone(&log);
        tokio::spawn(async move {
            let rows = vec![LogRow::user(format!("{n}"), f64::from(n)); 2];
            log.append("a", rows).await
        })
    });
    for save in saves.collect::<Vec<_>>() {
        save.await.expect("it does not panic").expect("it is saved");
    }
    assert_eq!(log.rows("a").await.expect("they can be read").len(), 400);
}

#[tokio::test]
async fn a_text_that_sqlite_cannot_hold_is_refused_with_all_of_its_rows() {
    let directory = Directory::new("surrogate");
    let log = SqliteLog::open(directory.file()).expect("it is made");
    let half = LogRow::user(&b"\xed\xa0\x80"[..], 1.0);
    let error = log.append("a", vec![LogRow::user("whole", 1.0), half]).await;
    let error = error.expect_err("it is half of a pair");
    assert!(error.to_string().contains("nothing was written") && !error.is_retryable());
    assert_eq!(log.rows("a").await, Ok(Vec::new()));
}

#[test]
fn a_file_that_is_not_a_database_is_refused() {
    let directory = Directory::new("page");
    std::fs::create_dir_all(directory.file().parent().expect("it has one")).expect("it is made");
    std::fs::write(
        directory.file(),
        "a page of text, and longer than a header of SQLite is; ".repeat(20),
    )
    .expect("it is written");
    let error = SqliteLog::open(directory.file()).expect_err("it is not one");
    assert!(error.to_string().contains("is not a SQLite database"), "{error}");
    let inside = directory.file().join("log.db");
    let error = SqliteLog::open(inside).expect_err("a file is not a directory");
    assert!(error.to_string().contains("cannot be made a directory"), "{error}");
}

/// What `tests/sqlite_log/other_side.py` does with a file; `None` where there is no Python with the package to run it.
fn in_python(verb: &str, file: &Path) -> Option<Value> {
    let python = std::env::var_os("COGENCY_RS_PYTHON").filter(|python| !python.is_empty())?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/sqlite_log/other_side.py");
    let mut ran = Command::new(python);
    ran.args([script, verb]).arg(file).env_remove("LD_LIBRARY_PATH");
    let ran = ran.output().expect("Python can be run");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Some(serde_json::from_slice(&ran.stdout).expect("it prints JSON"))
}

fn shown(rows: &[LogRow]) -> Value {
    let row = |row: &LogRow| json!([row.kind.name(), row.content.to_string(), row.timestamp]);
    rows.iter().map(row).collect()
}

#[tokio::test]
async fn a_conversation_goes_on_in_the_python_package_and_back() {
    #[derive(serde::Deserialize)]
    struct Sum {
        a: i64,
        b: i64,
    }
    let directory = Directory::new("both");
    let file = directory.file();
    let log = SqliteLog::open(&file).expect("it is made").with_user("ada");
    log.append("c", vec![LogRow::user("What is 2 + 3? é", 1.0)]).await.expect("it is saved");
    let tools = Toolbox::of([tool("add", |Sum { a, b }| async move { Ok(a + b) })]);
    let grammar = Grammar::preset("hermes").expect("a row of the table");
    let setup = TurnSetup::new(grammar, tools.expect("there is one"));
    let text = "One sum.<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 3}}\n</tool_call>";
    let mut breaker = Breaker::new(3.0);
    let turn = take_turn(chunks([text]), &setup, &log, "c", &mut breaker, |_| {});
    turn.await.expect("it is saved");
    let begun = log.rows("c").await.expect("they can be read");
    assert_eq!(begun.len(), 4);
    let Some(read) = in_python("read", &file) else {
        return println!("skipped: set COGENCY_RS_PYTHON to a Python that has the package");
    };
    assert_eq!(read["rows"], shown(&begun));
    assert_eq!(read["owner"], "ada");
    assert_eq!(in_python("go_on", &file), Some(json!(null)));
    // The package has added its own tables to the file, and both programs still read and write it.
    let both = log.rows("c").await.expect("they can be read");
    assert_eq!(both.len(), 6);
    log.append("c", vec![row(RowKind::Respond, "Is that all?", 4e9)]).await.expect("it is saved");
    let all = log.rows("c").await.expect("they can be read");
    let read = in_python("read", &file).expect("as before");
    assert_eq!(read["rows"], shown(&all));
    assert_eq!(in_python("schema", &file), in_python("schema", &directory.0.join("python.db")));
}
