//! Output that could not be read, until it is known what comes of the turn.

use super::{Run, RunKind};
use crate::protocol::canonical::json_string;
use crate::protocol::{Report, Text};

/// One piece of it.
#[derive(Debug)]
pub struct Unread {
    pub report: Report,
    /// When it came.
    pub timestamp: f64,
    /// What was said behind it.
    pub behind: Vec<Run>,
}

impl Unread {
    pub fn new(report: Report, timestamp: f64) -> Self {
        Self { report, timestamp, behind: Vec::new() }
    }
}

/// Its row: a JSON object with what the model is told, and with its own text, as it wrote it.
pub fn row(report: &Report, behind: &[Run]) -> Text {
    let mut raw = report.raw.clone();
    for run in behind {
        let (open, close) = match run.kind {
            RunKind::Think => ("<think>", "</think>"),
            RunKind::Respond => ("", ""),
        };
        for part in [open.as_bytes(), run.content.as_bytes(), close.as_bytes()] {
            raw.push(part);
        }
    }
    let place = report.place.map_or_else(String::new, |(line, column)| {
        format!(", \"line\": {line}, \"column\": {column}")
    });
    format!(
        "{{\"kind\": \"{}\", \"content\": {}, \"raw\": {}{place}}}",
        report.kind.name(),
        json_string(report.content.as_bytes()),
        json_string(raw.as_bytes())
    )
    .into()
}
