//! The log in a `SQLite` file: rows are kept as by any log, and the Python package reads and writes the same file.

#![cfg(feature = "sqlite")]

use std::path::{Path, PathBuf};
use std::process::Command;

use cogency_rs::agent::{Log, LogRow, SqliteLog, Synchronous, TurnSetup, chunks, take_turn};
use cogency_rs::execution::tokio::{Toolbox, tool};
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

#[tokio::test]
async fn rows_are_kept_in_the_order_of_their_times() {
    let directory = Directory::new("order");
    let log = SqliteLog::open(directory.file()).expect("it is made");
    let late = row(RowKind::Respond, "late \u{0}é😀", 3.0);
    log.append("a", vec![late.clone()]).await.expect("it is saved");
    let early = [LogRow::user("hello", 1.0), row(RowKind::Think, "hm", 1.0)];
    log.append("a", early.to_vec()).await.expect("they are saved");
    log.append("b", vec![LogRow::user("other", 1.0)]).await.expect("it is saved");
    log.append("a", Vec::new()).await.expect("there is nothing to save");
    let [first, second] = early;
    let expected = vec![first, second, late];
    assert_eq!(log.rows("a").await, Ok(expected.clone()));
    assert_eq!(log.rows("unknown").await, Ok(Vec::new()));
    drop(log);
    let again = SqliteLog::open_with(directory.file(), Synchronous::Off).expect("it is there");
    assert_eq!(again.rows("a").await, Ok(expected));
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
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sqlite_log/other_side.py");
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
