//! `Parser`, `Limits` and the results array.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString};

use super::convert::{Setting, bytes_of, event, now, string_of, to_str};
use super::error::{ConfigError, protocol_error};
use super::json::strict_dumps;
use super::source::{Read, Sink};
use crate::protocol::call::{CallReader, Progress};
use crate::protocol::results::{Outcome, ResultItem, results_array};
use crate::protocol::tag::{Kind, TAGS};
use crate::protocol::{self as core, Event, Run, Stream};

/// Bounds that keep memory bounded, whatever the text.
#[pyclass(frozen, eq, from_py_object, module = "cogency_rs")]
#[derive(Clone, PartialEq)]
pub struct Limits {
    pub inner: core::Limits,
}

#[pymethods]
impl Limits {
    #[new]
    #[pyo3(signature = (
        *,
        max_block_bytes=Setting::Default,
        max_depth=Setting::Default,
        max_calls=Setting::Default,
    ))]
    #[pyo3(text_signature = "(*, max_block_bytes=10485760, max_depth=200, max_calls=1024)")]
    fn new(max_block_bytes: Setting, max_depth: Setting, max_calls: Setting) -> PyResult<Self> {
        let default = core::Limits::default();
        Ok(Self {
            inner: core::Limits {
                max_block_bytes: max_block_bytes
                    .positive("max_block_bytes", default.max_block_bytes)?,
                max_depth: max_depth.positive("max_depth", default.max_depth)?,
                max_calls: max_calls.positive("max_calls", default.max_calls)?,
            },
        })
    }

    #[getter]
    fn max_block_bytes(&self) -> usize {
        self.inner.max_block_bytes
    }

    #[getter]
    fn max_depth(&self) -> usize {
        self.inner.max_depth
    }

    #[getter]
    fn max_calls(&self) -> usize {
        self.inner.max_calls
    }

    fn __repr__(&self) -> String {
        let core::Limits { max_block_bytes, max_depth, max_calls } = self.inner;
        format!(
            "Limits(max_block_bytes={max_block_bytes}, max_depth={max_depth}, max_calls={max_calls})"
        )
    }
}

impl Setting {
    fn positive(self, name: &str, default: usize) -> PyResult<usize> {
        let Self::Given(value) = self else {
            return Ok(default);
        };
        Python::attach(|py| match value.extract(py) {
            Ok(number) if number > 0 && !value.bind(py).is_instance_of::<PyBool>() => Ok(number),
            _ => Err(ConfigError::new_err(format!(
                "{name} must be a whole number above 0, got {}",
                value.bind(py).repr()?
            ))),
        })
    }
}

/// The streaming mode by its Python name.
pub fn stream_of(name: &Bound<'_, PyAny>) -> PyResult<Stream> {
    let text = name.cast::<PyString>().ok().and_then(|name| name.to_str().ok());
    match text {
        Some("event") => Ok(Stream::Event),
        Some("token") => Ok(Stream::Token),
        _ => Err(ConfigError::new_err(format!(
            "stream must be \"event\" or \"token\", got {}",
            name.repr()?
        ))),
    }
}

/// A model's text to events, without any waiting.
#[pyclass(module = "cogency_rs")]
pub struct Parser {
    inner: core::Parser,
    events: Vec<Event>,
}

#[pymethods]
impl Parser {
    #[new]
    #[pyo3(signature = (*, stream=None, limits=None))]
    #[pyo3(text_signature = "(*, stream=\"event\", limits=None)")]
    fn new(stream: Option<&Bound<'_, PyAny>>, limits: Option<Limits>) -> PyResult<Self> {
        let stream = stream.map_or(Ok(Stream::Event), stream_of)?;
        let limits = limits.map_or_else(core::Limits::default, |limits| limits.inner);
        Ok(Self { inner: core::Parser::new(stream, limits), events: Vec::new() })
    }

    fn feed<'py>(&mut self, text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let text = string_of("text", text)?;
        self.inner.feed(&bytes_of(text)?, &mut self.events);
        self.take(text.py())
    }

    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.inner.finish(&mut self.events);
        self.take(py)
    }

    #[getter]
    fn done(&self) -> bool {
        self.inner.is_done()
    }
}

impl Sink for Parser {
    fn read<'py>(&mut self, chunk: &Bound<'py, PyAny>) -> PyResult<Read<'py>> {
        let py = chunk.py();
        let text = string_of("a chunk", chunk)?;
        let bytes = bytes_of(text)?;
        if let Some(run) = self.inner.pass(&bytes) {
            return Ok(Read::Out(passed(run, text, now())?.into_any()));
        }
        self.inner.feed(&bytes, &mut self.events);
        Ok(match self.inner.is_done() {
            true => Read::Done,
            false if self.events.is_empty() => Read::More,
            false => Read::Out(self.take(py)?.into_any()),
        })
    }
}

impl Parser {
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        let timestamp = if self.events.is_empty() { 0.0 } else { now() };
        for event in self.events.drain(..) {
            list.append(event_dict(py, &event, timestamp)?)?;
        }
        Ok(list)
    }
}

/// The event of a chunk that is one just as it stands.
pub fn passed<'py>(
    run: Run,
    chunk: &Bound<'py, PyString>,
    timestamp: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let py = chunk.py();
    let kind = match run {
        Run::Think => pyo3::intern!(py, "think"),
        Run::Respond => pyo3::intern!(py, "respond"),
        Run::Result => pyo3::intern!(py, "result"),
    };
    // The very same object, unless it is more than a `str`.
    let is_plain = chunk.is_exact_instance_of::<PyString>();
    let content = if is_plain { chunk.clone() } else { to_str(py, &bytes_of(chunk)?)? };
    event(kind, Some(content), timestamp)
}

fn event_dict<'py>(py: Python<'py>, item: &Event, timestamp: f64) -> PyResult<Bound<'py, PyDict>> {
    let (kind, content) = match item {
        Event::Think(text) => (pyo3::intern!(py, "think"), Some(text.as_bytes())),
        Event::Respond(text) => (pyo3::intern!(py, "respond"), Some(text.as_bytes())),
        Event::Call(call) => (pyo3::intern!(py, "call"), Some(call.json().as_bytes())),
        Event::Result(text) => (pyo3::intern!(py, "result"), Some(text.as_bytes())),
        Event::Execute => (pyo3::intern!(py, "execute"), None),
        Event::End => (pyo3::intern!(py, "end"), None),
    };
    let content = content.map(|content| to_str(py, content)).transpose()?;
    let dict = event(kind, content, timestamp)?;
    if matches!(item, Event::Result(_)) {
        dict.set_item(pyo3::intern!(py, "payload"), py.None())?;
    }
    Ok(dict)
}

/// The calls of the first execute block in `text`, each as canonical JSON.
#[pyfunction]
pub fn read_block(text: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let py = text.py();
    let given = string_of("text", text)?;
    let bytes = bytes_of(given)?;
    let error = |message: &str| Err(protocol_error(py, message, given));
    let Some(tag) = TAGS.iter().find(|tag| tag.kind == Kind::Calls) else {
        return Ok(Vec::new());
    };
    let Some(start) = memchr::memmem::find(&bytes, tag.open.as_bytes()) else {
        return error(&format!("No {} block found in the text", tag.open));
    };
    let body = &bytes[start + tag.open.len()..];
    let mut reader = CallReader::new(tag.close, core::Limits::default());
    let problem = match reader.read(body) {
        Progress::Complete { calls: Ok(calls), .. } => {
            return Ok(calls.into_iter().map(core::Call::into_json).collect());
        }
        Progress::Complete { calls: Err(problem), .. } | Progress::Broken(problem) => problem,
        Progress::More => reader.cut_off(body),
    };
    error(&format!("Invalid {} block: {}", tag.open, problem.located(body)))
}

/// The outcome that a `ToolResult` stands for.
///
/// # Errors
/// What [`strict_dumps`] raises for an outcome or content that JSON cannot hold.
pub fn outcome_of(result: &Bound<'_, PyAny>) -> PyResult<Outcome> {
    let py = result.py();
    let outcome = strict_dumps(&result.getattr(pyo3::intern!(py, "outcome"))?)?;
    if result.getattr(pyo3::intern!(py, "error"))?.is_truthy()? {
        return Ok(Outcome::Failure { message: outcome });
    }
    let content = result.getattr(pyo3::intern!(py, "content"))?;
    let is_absent = content.is_none()
        || content.cast::<PyString>().is_ok_and(|text| text.len().is_ok_and(|length| length == 0));
    let content = if is_absent { None } else { Some(strict_dumps(&content)?) };
    Ok(Outcome::success(outcome, content))
}

/// The results array for tools of these names and their results, in order.
#[pyfunction]
pub fn format_results(
    names: Vec<Bound<'_, PyAny>>,
    results: Vec<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let item = |(name, result): (&Bound<'_, PyAny>, _)| {
        let tool = strict_dumps(name)?;
        match outcome_of(result) {
            Ok(outcome) => Ok(ResultItem { tool, outcome }),
            Err(error) if error.is_instance_of::<PyValueError>(name.py()) => {
                let message =
                    format!("a result of {tool} is no JSON value: {}", error.value(name.py()));
                Err(PyValueError::new_err(message))
            }
            Err(error) => Err(error),
        }
    };
    let items: PyResult<Vec<_>> = names.iter().zip(&results).map(item).collect();
    Ok(results_array(&items?))
}
