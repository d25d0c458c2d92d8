//! Events as dicts. [`Kind`] is the table of their names and keys. A parser's and a turn's are written here; those of runs
//! and of hooks are made in Python, where a test holds them to the table.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyFloat, PyString, PyTuple};

use super::argument_values::path_of;
use super::convert::to_str;
use cogency_rs::json::unescaped;
use cogency_rs::protocol::event::Note;
use cogency_rs::protocol::{Event, Report, TextRun};
use cogency_rs::turn::Emission;

/// A kind of event.
#[derive(Clone, Copy)]
enum Kind {
    Think,
    Respond,
    CallStart,
    CallDelta,
    Call,
    Execute,
    Result,
    WrittenResult,
    Error,
    End,
    Blocked,
    Changed,
    User,
    Metric,
    Interrupt,
    Cancelled,
}

impl Kind {
    /// In the order of the enum.
    const ALL: [Self; 16] = [
        Self::Think,
        Self::Respond,
        Self::CallStart,
        Self::CallDelta,
        Self::Call,
        Self::Execute,
        Self::Result,
        Self::WrittenResult,
        Self::Error,
        Self::End,
        Self::Blocked,
        Self::Changed,
        Self::User,
        Self::Metric,
        Self::Interrupt,
        Self::Cancelled,
    ];

    /// Its `type`, and its other keys in their order, which is that of cogency 3.3.0.
    const fn shape(self) -> (&'static str, &'static [&'static str]) {
        const TEXT: &[&str] = &["content", "timestamp"];
        match self {
            Self::Think => ("think", TEXT),
            Self::Respond => ("respond", TEXT),
            Self::CallStart => ("tool_call_start", &["timestamp", "index", "name"]),
            Self::CallDelta => ("tool_call_delta", &["content", "timestamp", "index", "path"]),
            Self::Call => ("call", TEXT),
            Self::Execute => ("execute", &["timestamp"]),
            Self::Result => ("result", &["payload", "content", "timestamp"]),
            Self::WrittenResult => ("result", &["content", "timestamp", "payload"]),
            Self::Error => {
                ("error", &["content", "timestamp", "kind", "code", "line", "column", "raw"])
            }
            Self::End => ("end", &["timestamp"]),
            Self::Blocked => {
                ("tool_blocked", &["content", "timestamp", "execution_id", "name", "args", "hook"])
            }
            Self::Changed => (
                "tool_changed",
                &["content", "timestamp", "execution_id", "name", "args", "status", "hook"],
            ),
            Self::User => ("user", TEXT),
            Self::Metric => ("metric", &["step", "total", "is_estimate", "timestamp"]),
            Self::Interrupt => ("interrupt", &["timestamp"]),
            Self::Cancelled => ("cancelled", TEXT),
        }
    }

    /// An event with these values for its keys; those of the last keys may be left out.
    fn event<'py, const N: usize>(
        self,
        py: Python<'py>,
        values: [Bound<'py, PyAny>; N],
    ) -> PyResult<Bound<'py, PyDict>> {
        let (kind, keys) = &shapes(py)[self as usize];
        let event = PyDict::new(py);
        event.set_item(pyo3::intern!(py, "type"), kind)?;
        for (key, value) in keys.iter().zip(values) {
            event.set_item(key, value)?;
        }
        Ok(event)
    }

    fn text(self, content: Bound<'_, PyString>, timestamp: f64) -> PyResult<Bound<'_, PyDict>> {
        let py = content.py();
        self.event(py, [content.into_any(), PyFloat::new(py, timestamp).into_any()])
    }

    fn mark(self, py: Python<'_>, timestamp: f64) -> PyResult<Bound<'_, PyDict>> {
        self.event(py, [PyFloat::new(py, timestamp).into_any()])
    }
}

/// A `type`, and the other keys, as interned texts.
type Shape = (Py<PyString>, Vec<Py<PyString>>);

/// The shapes of all kinds, in their order.
fn shapes(py: Python<'_>) -> &[Shape] {
    static SHAPES: PyOnceLock<Vec<Shape>> = PyOnceLock::new();
    SHAPES.get_or_init(py, || {
        let interned = |text: &str| PyString::intern(py, text).unbind();
        let shape = |kind: Kind| {
            let (name, keys) = kind.shape();
            (interned(name), keys.iter().copied().map(interned).collect())
        };
        Kind::ALL.map(shape).into()
    })
}

/// The `type` and the keys of each kind of event.
pub fn kinds(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
    let kinds: PyResult<Vec<_>> = Kind::ALL
        .iter()
        .map(|kind| {
            let (name, keys) = kind.shape();
            (name, PyTuple::new(py, [&["type"], keys].concat())?).into_pyobject(py)
        })
        .collect();
    PyTuple::new(py, kinds?)
}

/// What a turn hands its consumer.
pub fn emitted<'py>(
    py: Python<'py>,
    emission: &Emission,
    timestamp: f64,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    const OPENED: &str = concat!(
        r#"[{"tool": "circuit_breaker", "status": "failure", "#,
        r#""content": "Max failures. Terminating."}]"#,
    );
    match emission {
        Emission::Event(event) => read(py, event, timestamp),
        Emission::Results(content, tally) => {
            let payload = PyDict::new(py);
            payload.set_item("tools_executed", tally.succeeded + tally.failed)?;
            payload.set_item("success_count", tally.succeeded)?;
            payload.set_item("failure_count", tally.failed)?;
            results(payload, content.as_bytes(), timestamp).map(Some)
        }
        Emission::BreakerOpened => {
            let payload = PyDict::new(py);
            payload.set_item("outcome", "Max failures. Terminating.")?;
            payload.set_item("content", "")?;
            payload.set_item("error", true)?;
            results(payload, OPENED.as_bytes(), timestamp).map(Some)
        }
        _ => unreachable!("the core has no other"),
    }
}

fn results<'py>(
    payload: Bound<'py, PyDict>,
    content: &[u8],
    timestamp: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let py = payload.py();
    let (content, timestamp) = (to_str(py, content)?, PyFloat::new(py, timestamp));
    Kind::Result.event(py, [payload.into_any(), content.into_any(), timestamp.into_any()])
}

/// What a parser has read; `None` if only a turn uses it.
pub fn read<'py>(
    py: Python<'py>,
    event: &Event,
    timestamp: f64,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let text = |kind: Kind, text: &[u8]| kind.text(to_str(py, text)?, timestamp);
    match event {
        Event::Think(content) => text(Kind::Think, content.as_bytes()),
        Event::Respond(content) => text(Kind::Respond, content.as_bytes()),
        Event::Piece(number, note) => piece(py, *number, note, timestamp),
        Event::Call(call) => text(Kind::Call, call.json().as_bytes()),
        Event::Execute => Kind::Execute.mark(py, timestamp),
        Event::Result(content) => {
            let content = to_str(py, content.as_bytes())?.into_any();
            let timestamp = PyFloat::new(py, timestamp).into_any();
            Kind::WrittenResult.event(py, [content, timestamp, py.None().into_bound(py)])
        }
        Event::Error(report) => error(py, report, timestamp),
        Event::End => Kind::End.mark(py, timestamp),
        Event::Ready(_) | Event::Withdrawn => return Ok(None),
        _ => unreachable!("the core has no other"),
    }
    .map(Some)
}

/// The event of a chunk that becomes one event. `text` is the chunk in whole characters.
#[expect(clippy::ptr_arg, reason = "text that is borrowed is the chunk's own")]
pub fn passed<'py>(
    run: TextRun,
    chunk: &Bound<'py, PyString>,
    text: &Cow<'_, [u8]>,
    timestamp: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let kind = match run {
        TextRun::Think => Kind::Think,
        TextRun::Respond => Kind::Respond,
        TextRun::Result => Kind::WrittenResult,
    };
    // The object itself is handed on, unless it is of a subclass of `str` or not of whole characters.
    let is_itself = matches!(text, Cow::Borrowed(_)) && chunk.is_exact_instance_of::<PyString>();
    let content = if is_itself { chunk.clone() } else { to_str(chunk.py(), text)? };
    kind.text(content, timestamp)
}

/// A piece of a call that is not complete.
fn piece<'py>(
    py: Python<'py>,
    number: usize,
    note: &Note,
    timestamp: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let (number, timestamp) =
        (number.into_pyobject(py)?.into_any(), PyFloat::new(py, timestamp).into_any());
    match note {
        Note::Start { name, .. } => {
            let name = to_str(py, unescaped(name.as_bytes()).as_bytes())?.into_any();
            Kind::CallStart.event(py, [timestamp, number, name])
        }
        Note::Args(json) => {
            let text = to_str(py, json.as_bytes())?.into_any();
            Kind::CallDelta.event(py, [text, timestamp, number])
        }
        Note::Value(path, text) => {
            let text = to_str(py, text.as_bytes())?.into_any();
            Kind::CallDelta.event(py, [text, timestamp, number, path_of(py, path)?.into_any()])
        }
        _ => unreachable!("the core has no other"),
    }
}

/// Output that could not be read.
pub fn error<'py>(
    py: Python<'py>,
    report: &Report,
    timestamp: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let (line, column) = report.place.unzip();
    Kind::Error.event(
        py,
        [
            to_str(py, report.content.as_bytes())?.into_any(),
            PyFloat::new(py, timestamp).into_any(),
            report.kind.name().into_pyobject(py)?.into_any(),
            report.code.as_deref().into_pyobject(py)?,
            line.into_pyobject(py)?,
            column.into_pyobject(py)?,
            to_str(py, report.raw.as_bytes())?.into_any(),
        ],
    )
}
