//! Output that could not be read, until it is known what comes of the turn.

use super::run::{RunKind, UnsavedRun};
use super::step::{Row, RowKind};
use crate::dialect::Dialect;
use crate::protocol::Report;
use crate::protocol::canonical::json_string;

/// One piece of it.
#[derive(Debug)]
pub struct Unread {
    pub report: Report,
    /// When it came.
    pub timestamp: f64,
    /// What was said behind it.
    pub behind: Vec<UnsavedRun>,
}

impl Unread {
    pub fn new(report: Report, timestamp: f64) -> Self {
        Self { report, timestamp, behind: Vec::new() }
    }

    /// Its row: a JSON object with what the model is told, and with its own text, as it wrote it.
    pub fn row(&self, dialect: &Dialect) -> Row {
        let Self { report, timestamp, behind } = self;
        let mut raw = report.raw.clone();
        for run in behind {
            let (open, close) = match (run.kind, dialect.reasoning.first()) {
                (RunKind::Think, Some(marks)) => (&*marks.open, &*marks.close),
                (RunKind::Think, None) | (RunKind::Respond, _) => ("", ""),
            };
            for part in [open.as_bytes(), run.content.as_bytes(), close.as_bytes()] {
                raw.push(part);
            }
        }
        let place = report.place.map_or_else(String::new, |(line, column)| {
            format!(", \"line\": {line}, \"column\": {column}")
        });
        let content = format!(
            "{{\"kind\": \"{}\", \"content\": {}, \"raw\": {}{place}}}",
            report.kind.name(),
            json_string(report.content.as_bytes()),
            json_string(raw.as_bytes())
        );
        Row { kind: RowKind::Error, content: content.into(), timestamp: *timestamp }
    }
}
