//! `Parser`, and what it hands out.

use std::sync::Arc;

use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use super::clock::now;
use super::convert::{bytes_of, string_of, to_str};
use super::error::protocol_error;
use super::events;
use super::item_sink::{ItemSink, SinkResult};
use super::options::{
    Finish, NonText, ReaderArguments, ending_of, errors_of, non_text, reason_of, stream_of,
};
use super::reader::Reader;
use cogency_rs::json::FaultKind;
use cogency_rs::protocol::advice::{Where, cut_answer};
use cogency_rs::protocol::block::{BlockReader, Progress};
use cogency_rs::protocol::body::Scope;
use cogency_rs::protocol::grammar::Entry;
use cogency_rs::protocol::problem::Problem;
use cogency_rs::protocol::report::{Advice, Finding};
use cogency_rs::protocol::{self as core, CallStart, Ending, Event, Grammar, Stream};
use cogency_rs::turn::Errors;

/// Turns a model's text into events, and never waits.
#[pyclass(module = "cogency_rs")]
pub struct Parser {
    reader: Reader,
    errors: Errors,
    /// Why the model stopped writing, if its source said so.
    end: Option<Finish>,
}

#[pymethods]
impl Parser {
    #[new]
    #[pyo3(signature = (
        *,
        dialect=None,
        tools=None,
        stream=None,
        calls=None,
        limits=None,
        errors=None,
        lenient=false,
        begins_in_think=None,
    ))]
    #[pyo3(
        text_signature = "(*, dialect=\"cogency\", tools=None, stream=\"event\", calls=\"whole\", limits=None, \
                          errors=\"respond\", lenient=False, begins_in_think=None)"
    )]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn new(
        dialect: Option<&Bound<'_, PyAny>>,
        tools: Option<&Bound<'_, PyAny>>,
        stream: Option<&Bound<'_, PyAny>>,
        calls: Option<&Bound<'_, PyAny>>,
        limits: Option<&Bound<'_, PyAny>>,
        errors: Option<&Bound<'_, PyAny>>,
        lenient: bool,
        begins_in_think: Option<bool>,
    ) -> PyResult<Self> {
        let stream = stream.map_or(Ok(Stream::Event), stream_of)?;
        let start = CallStart::WithBlock;
        let reader =
            ReaderArguments { dialect, tools, calls, limits, lenient, begins_in_think, start };
        let (parser, errors) = (reader.parser(stream)?, errors_of(errors)?);
        Ok(Self { reader: Reader::new(parser), errors, end: None })
    }

    fn feed<'py>(&mut self, text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let text = string_of("text", text)?;
        self.reader.feed(text)?;
        self.take(text.py())
    }

    #[pyo3(signature = (reason=None, *, error=None))]
    fn finish<'py>(
        &mut self,
        py: Python<'py>,
        reason: Option<&Bound<'py, PyAny>>,
        error: Option<&Bound<'py, PyBaseException>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let given = reason_of(reason)?.map(|word| Finish { reason: Some(word), details: None });
        let end = given.or_else(|| self.end.take());
        self.reader.finish(&ending_of(end.as_ref(), error)?);
        self.take(py)
    }

    #[getter]
    fn done(&self) -> bool {
        self.reader.parser.is_done()
    }

    #[getter]
    fn replaced_characters(&self) -> usize {
        self.reader.replaced_characters()
    }
}

impl ItemSink for Parser {
    fn take_item<'py>(&mut self, chunk: &Bound<'py, PyAny>) -> PyResult<SinkResult<'py>> {
        let py = chunk.py();
        let Ok(text) = chunk.cast::<PyString>() else {
            match non_text(chunk)? {
                NonText::Finish(finish) => self.end = Some(finish),
                NonText::Reasoning(text) => self.reader.think(&text),
            }
            if self.reader.events.is_empty() {
                return Ok(SinkResult::More);
            }
            return Ok(SinkResult::Out(self.take(py)?.into_any()));
        };
        let bytes = self.reader.whole(text)?;
        if let Some(run) = self.reader.parser.pass(&bytes) {
            return Ok(SinkResult::Out(events::passed(run, text, &bytes, now())?.into_any()));
        }
        self.reader.parser.read(&bytes, &mut self.reader.events);
        Ok(match self.reader.parser.is_done() {
            true => SinkResult::Done,
            false if self.reader.events.is_empty() => SinkResult::More,
            false => SinkResult::Out(self.take(py)?.into_any()),
        })
    }
}

impl Parser {
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        let timestamp = if self.reader.events.is_empty() { 0.0 } else { now() };
        for event in self.reader.events.drain(..) {
            let Some(event) = self.errors.reported(event) else { continue };
            if let Some(event) = events::read(py, &event, timestamp)? {
                list.append(event)?;
            }
        }
        Ok(list)
    }
}

/// The `error` event of an answer that ended outside every block of calls, which the core did not read itself; `None` if
/// nothing of it is missing. Its `finding` is what a `Turn` takes with it.
#[pyfunction]
#[pyo3(signature = (finish, *, is_thinking=false))]
pub fn event_of_cut<'py>(
    py: Python<'py>,
    finish: &Bound<'py, Finish>,
    is_thinking: bool,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let place = if is_thinking { Where::Thoughts } else { Where::Answer };
    let report = cut_answer(&finish.get().ending(), place);
    let Some(report) = report else { return Ok(None) };
    let event = events::error(py, &report, now())?;
    let Finding { content, advice, .. } = report.finding;
    let content = to_str(py, content.as_bytes())?;
    event.set_item("finding", (content, advice.map(Advice::name), py.None()))?;
    Ok(Some(event))
}

/// The calls of the first execute block in `text`, each as canonical JSON.
#[pyfunction]
pub fn read_block(text: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let py = text.py();
    let given = string_of("text", text)?;
    let bytes = bytes_of(given)?;
    let error = |message: &str| Err(protocol_error(py, message, given));
    let dialect = Arc::clone(&Grammar::cogency().dialects[0]);
    let open = &dialect.calls.open[0];
    let Some(start) = memchr::memmem::find(&bytes, open.as_bytes()) else {
        return error(&format!("No {open} block found in the text"));
    };
    let body = &bytes[start + open.len()..];
    let mut reader = BlockReader::new(Arc::clone(&dialect), Entry::Block, Scope::default());
    let events = match reader.read(body) {
        Progress::Complete { events, .. } => events,
        Progress::Broken(problem) => Err(problem),
        Progress::More => reader.cut_off(body, &Ending::Unknown).and_then(|_| {
            Err(Problem { kind: FaultKind::Ended.into(), at: body.len() }) // only the closing mark is missing
        }),
    };
    match events {
        Ok(events) => {
            Ok(events.into_iter().filter_map(Event::into_call).map(core::Call::into_json).collect())
        }
        Err(problem) => error(&format!("Invalid {open} block: {}", problem.located(body))),
    }
}
