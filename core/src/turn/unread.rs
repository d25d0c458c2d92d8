//! Output that could not be read, until it is known whether a call follows it.

use super::run::{RunKind, UnsavedRun};
use super::step::{Row, RowKind};
use crate::dialect::Dialect;
use crate::protocol::Report;

/// A block that could not be read.
#[derive(Debug)]
pub struct Unread {
    pub report: Report,
    /// When it was reported, in seconds since the epoch.
    pub timestamp: f64,
    /// The text that follows it.
    pub after: Vec<UnsavedRun>,
    /// Whether it was emitted before it is saved.
    pub is_shown: bool,
}

impl Unread {
    pub fn new(report: Report, timestamp: f64) -> Self {
        Self { report, timestamp, after: Vec::new(), is_shown: false }
    }

    /// Its row in the log: a JSON object that says what was wrong, with the model's own text, unchanged.
    pub fn row(&self, dialect: &Dialect) -> Row {
        let Self { report, timestamp, after, .. } = self;
        let mut raw = report.raw.clone();
        for run in after {
            let (open, close) = match (run.kind, dialect.reasoning.first()) {
                (RunKind::Think, Some(marks)) => (&*marks.open, &*marks.close),
                (RunKind::Think, None) | (RunKind::Respond, _) => ("", ""),
            };
            for part in [open.as_bytes(), run.content.as_bytes(), close.as_bytes()] {
                raw.push(part);
            }
        }
        let content = report.row(&raw);
        Row { kind: RowKind::Error, content: content.into(), timestamp: *timestamp }
    }
}
