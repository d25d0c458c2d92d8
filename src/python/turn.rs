//! `Turn`: a parser and the turn that its events go into, step by step; and the circuit breaker.

use std::sync::Arc;

use pyo3::exceptions::{PyBaseException, PyException, PyOverflowError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use super::clock::now;
use super::convert::{Setting, bytes_of, choice, to_str};
use super::error::ConfigError;
use super::events;
use super::item_sink::{ItemSink, SinkResult};
use super::options::{Finish, NonText, ReaderArguments, ending_of, errors_of, non_text, stream_of};
use super::reader::Reader;
use super::results::outcome_of;
use cogency_rs::protocol::canonical::json_string;
use cogency_rs::protocol::report::Advice;
use cogency_rs::protocol::results::CallOutcome;
use cogency_rs::protocol::stored::stored_call;
use cogency_rs::protocol::{
    self as core, Call, CallStart, Ending, Event, Finding, Report, ReportKind, Text, TextRun,
};
use cogency_rs::turn::{self, Counts, Row, Situation, Step, TurnOutcome};

/// Opens after `max_failures` failures in a row.
#[pyclass(subclass, module = "cogency_rs")]
pub struct CircuitBreaker {
    /// The number as the caller gave it, of any type.
    max_failures: Py<PyAny>,
    inner: turn::Breaker,
}

#[pymethods]
impl CircuitBreaker {
    #[new]
    #[pyo3(signature = (max_failures=Setting::Default, *, counts=None))]
    #[pyo3(text_signature = "(max_failures=3, *, counts=\"batches\")")]
    fn new(
        max_failures: Setting,
        counts: Option<&Bound<'_, PyAny>>,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let max_failures = match max_failures {
            Setting::Given(given) => given.into_bound(py),
            Setting::Default => 3_i32.into_pyobject(py)?.into_any(),
        };
        let inner = turn::Breaker {
            counts: counts_of(counts)?,
            ..turn::Breaker::new(number(&max_failures)?)
        };
        Ok(Self { max_failures: max_failures.unbind(), inner })
    }

    #[getter]
    fn max_failures(&self, py: Python<'_>) -> Py<PyAny> {
        self.max_failures.clone_ref(py)
    }

    #[setter]
    fn set_max_failures(&mut self, max_failures: &Bound<'_, PyAny>) -> PyResult<()> {
        self.inner.max_failures = number(max_failures)?;
        self.max_failures = max_failures.clone().unbind();
        Ok(())
    }

    #[getter]
    fn consecutive_failures(&self) -> u32 {
        self.inner.consecutive_failures
    }

    #[setter]
    fn set_consecutive_failures(&mut self, consecutive_failures: u32) {
        self.inner.consecutive_failures = consecutive_failures;
    }

    fn record_success(&mut self) {
        self.inner.record_success();
    }

    fn record_failure(&mut self) -> bool {
        self.inner.record_failure();
        self.inner.is_open()
    }

    fn is_open(&self) -> bool {
        self.inner.is_open()
    }

    fn close(&mut self) {
        self.inner.record_success();
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.max_failures)
    }

    fn __clear__(&mut self, py: Python<'_>) {
        self.max_failures = py.None();
    }
}

/// What a breaker counts, by its Python name.
fn counts_of(name: Option<&Bound<'_, PyAny>>) -> PyResult<Counts> {
    let choices = [("batches", Counts::Batches), ("calls", Counts::Calls)];
    name.map_or(Ok(Counts::Batches), |name| choice("counts", choices, name))
}

/// A number of any size as a float; one that is too large becomes an infinity.
fn number(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    match value.extract::<f64>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
            Ok(if value.gt(0)? { f64::INFINITY } else { f64::NEG_INFINITY })
        }
        number => number,
    }
}

/// A step: start this call, whose batch is not complete.
#[pyclass(frozen, get_all, module = "cogency_rs._core")]
pub struct EarlyCall {
    /// Its place in the batch.
    place: usize,
    /// The call, as canonical JSON.
    call: String,
}

/// A step: stop the calls that were started early, from this place on, and drop their results.
#[pyclass(frozen, get_all, module = "cogency_rs._core")]
pub struct WithdrawnCalls {
    /// The place in the batch.
    place: usize,
}

/// One turn: text or events go in, steps come out.
///
/// A step is an event dict to emit, a tuple of `(type, content, timestamp)` rows to save together, a list of calls
/// (canonical JSON) to run, or an `EarlyCall` or `WithdrawnCalls`.
#[pyclass(module = "cogency_rs._core")]
pub struct Turn {
    reader: Reader,
    inner: turn::Turn,
    steps: Vec<Step>,
    /// Why the model stopped writing, if its source said so.
    finish: Option<Finish>,
}

#[pymethods]
impl Turn {
    #[new]
    #[pyo3(signature = (
        *,
        stream,
        dialect=None,
        tools=None,
        calls=None,
        limits=None,
        errors=None,
        lenient=false,
        begins_in_think=None,
        eager=false,
        goes_on=false,
    ))]
    #[pyo3(
        text_signature = "(*, stream, dialect=\"cogency\", tools=None, calls=\"whole\", limits=None, \
                          errors=\"respond\", lenient=False, begins_in_think=None, eager=False, \
                          goes_on=False)"
    )]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn new(
        stream: &Bound<'_, PyAny>,
        dialect: Option<&Bound<'_, PyAny>>,
        tools: Option<&Bound<'_, PyAny>>,
        calls: Option<&Bound<'_, PyAny>>,
        limits: Option<&Bound<'_, PyAny>>,
        errors: Option<&Bound<'_, PyAny>>,
        lenient: bool,
        begins_in_think: Option<bool>,
        eager: bool,
        goes_on: bool,
    ) -> PyResult<Self> {
        let stream = stream_of(stream)?;
        let start = if eager { CallStart::Early } else { CallStart::WithBlock };
        let reader =
            ReaderArguments { dialect, tools, calls, limits, lenient, begins_in_think, start };
        let parser = reader.parser(stream)?;
        let inner = turn::Turn::new(stream, errors_of(errors)?, Arc::clone(parser.dialect()));
        Ok(Self {
            inner: if goes_on { inner.going_on() } else { inner },
            reader: Reader::new(parser),
            steps: Vec::new(),
            finish: None,
        })
    }

    /// The model's text has ended: returns the last steps.
    #[pyo3(signature = (*, error=None))]
    fn finish<'py>(
        &mut self,
        py: Python<'py>,
        error: Option<&Bound<'py, PyBaseException>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let ending = ending_of(self.finish.as_ref(), error)?;
        self.reader.finish(&ending);
        self.enter_events();
        if !self.inner.has_ended() {
            self.inner.finish(&ending, now(), &mut self.steps);
        }
        self.take(py)
    }

    /// Leaves the turn while the model still writes. The last steps save what it wrote; they do not report or run anything.
    fn leave<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.reader.leave();
        self.enter_events();
        if !self.inner.has_ended() {
            self.inner.finish(&Ending::Length, now(), &mut self.steps);
        }
        self.take(py)
    }

    /// Why the model stopped writing, in its provider's word.
    #[getter]
    fn finish_reason(&self) -> Option<&str> {
        self.finish.as_ref()?.reason.as_deref()
    }

    /// How many halves of characters in the model's text became U+FFFD.
    #[getter]
    fn replaced_characters(&self) -> usize {
        self.reader.replaced_characters()
    }

    /// How the turn came out so far.
    #[getter]
    fn outcome(&self) -> &'static str {
        self.inner.outcome().name()
    }

    /// Takes an error that another parser reported. `finding` is what the log keeps of it, if that is not `content`: what is
    /// wrong in plain words, the name of what to do instead, and the call to write.
    #[pyo3(signature = (kind, content, raw, line, column, code=None, finding=None))]
    #[expect(clippy::too_many_arguments, reason = "they are the fields of an event")]
    fn error(
        &mut self,
        kind: &Bound<'_, PyString>,
        content: &Bound<'_, PyString>,
        raw: &Bound<'_, PyString>,
        line: Option<usize>,
        column: Option<usize>,
        code: Option<String>,
        finding: Option<(Bound<'_, PyString>, Option<String>, Option<String>)>,
    ) -> PyResult<()> {
        let content = Text::from(&*bytes_of(content)?);
        let finding = match finding {
            None => Finding { content: content.clone(), ..Finding::default() },
            Some((plain, advice, call)) => Finding {
                content: Text::from(&*bytes_of(&plain)?),
                advice: advice.and_then(|name| Advice::of_name(&name)),
                call,
                ..Finding::default()
            },
        };
        self.reader.enter(Event::Error(Box::new(Report {
            kind: ReportKind::of_name(kind.to_str()?).unwrap_or(ReportKind::Malformed),
            content: content.clone(),
            raw: Text::from(&*bytes_of(raw)?),
            place: line.zip(column),
            code: code.map(Into::into),
            respond: Some(content),
            finding,
        })));
        self.enter_events();
        Ok(())
    }

    /// Takes an event that another parser made. A `call` or `call_ready` whose content is not a call in JSON is dropped; an
    /// event of another type only ends the text before it.
    pub fn event(
        &mut self,
        kind: &Bound<'_, PyString>,
        content: &Bound<'_, PyString>,
    ) -> PyResult<()> {
        let content = bytes_of(content)?;
        let call = |event: fn(Call) -> Event| stored_call(&content).ok().flatten().map(event);
        let event = match kind.to_str()? {
            "call" => call(Event::Call),
            "call_ready" => call(Event::Ready),
            "execute" => Some(Event::Execute),
            "end" => Some(Event::End),
            kind => {
                let run = match kind {
                    "think" => TextRun::Think,
                    "respond" => TextRun::Respond,
                    _ => TextRun::Result,
                };
                self.reader.say(run, &content);
                None
            }
        };
        if let Some(event) = event {
            self.reader.enter(event);
        }
        self.enter_events();
        Ok(())
    }

    /// Passes on an event of another parser that is not saved: returns it after what the turn has not emitted yet.
    fn pass_on<'py>(&mut self, event: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.inner.show(now(), &mut self.steps);
        if self.steps.is_empty() {
            return Ok(event);
        }
        let steps = self.take(event.py())?;
        steps.append(event)?;
        Ok(steps.into_any())
    }

    /// Takes the results of the batch, one for each call and in call order.
    fn results<'py>(
        &mut self,
        results: Vec<Bound<'py, PyAny>>,
        breaker: &mut CircuitBreaker,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        let outcomes: PyResult<Vec<_>> = results.iter().map(outcome_or_failure).collect();
        self.inner.results(outcomes?, &mut breaker.inner, &mut self.steps);
        self.take(py)
    }
}

impl ItemSink for Turn {
    fn take_item<'py>(&mut self, chunk: &Bound<'py, PyAny>) -> PyResult<SinkResult<'py>> {
        let Ok(text) = chunk.cast::<PyString>() else {
            match non_text(chunk)? {
                NonText::Finish(finish) => self.finish = Some(finish),
                NonText::Reasoning(text) => {
                    self.reader.think(&text);
                    self.enter_events();
                }
            }
            return self.steps(chunk.py());
        };
        let bytes = self.reader.whole(text)?;
        if let Some(run) = self.reader.parser.pass(&bytes) {
            let now = now();
            self.inner.pass(run, &bytes, now, &mut self.steps);
            let event = events::passed(run, text, &bytes, now)?;
            if self.steps.is_empty() {
                return Ok(SinkResult::Out(event.into_any()));
            }
            let steps = self.take(chunk.py())?;
            steps.append(event)?;
            return Ok(SinkResult::Out(steps.into_any()));
        }
        self.reader.parser.read(&bytes, &mut self.reader.events);
        self.enter_events();
        self.steps(chunk.py())
    }
}

impl Turn {
    /// Whether no more text or events are wanted.
    pub fn is_done(&self) -> bool {
        self.inner.has_ended() || self.reader.parser.is_done()
    }

    /// The steps to hand out now: a list, or the event if there is only one.
    pub fn steps<'py>(&mut self, py: Python<'py>) -> PyResult<SinkResult<'py>> {
        if self.is_done() {
            return Ok(SinkResult::Done);
        }
        Ok(match &self.steps[..] {
            [] => SinkResult::More,
            // In token mode most are one event.
            [Step::Emit(emission, timestamp)] => {
                let event = events::emitted(py, emission, *timestamp)?;
                self.steps.clear();
                event.map_or(SinkResult::More, |event| SinkResult::Out(event.into_any()))
            }
            _ => SinkResult::Out(self.take(py)?.into_any()),
        })
    }

    fn enter_events(&mut self) {
        if self.reader.events.is_empty() {
            return;
        }
        let now = now();
        for event in self.reader.events.drain(..) {
            if !self.inner.has_ended() {
                self.inner.event(event, now, &mut self.steps);
            }
        }
    }

    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for step in self.steps.drain(..) {
            match step {
                Step::Emit(emission, timestamp) => {
                    if let Some(event) = events::emitted(py, &emission, timestamp)? {
                        list.append(event)?;
                    }
                }
                Step::Save(rows) => list.append(save(py, &rows)?)?,
                Step::Begin(place, call) => {
                    list.append(EarlyCall { place, call: call.into_json() })?;
                }
                Step::Withdraw(place) => list.append(WithdrawnCalls { place })?,
                Step::Run(calls) => {
                    list.append(PyList::new(py, calls.iter().map(core::Call::json))?)?;
                }
            }
        }
        Ok(list)
    }
}

/// The outcome that a `ToolResult` stands for. If the result was changed after its call and is no longer JSON, that is
/// a failure: the log has a result for every call of a batch.
fn outcome_or_failure(result: &Bound<'_, PyAny>) -> PyResult<CallOutcome> {
    outcome_of(result).or_else(|error| {
        if !error.is_instance_of::<PyException>(result.py()) {
            return Err(error);
        }
        let error = error.value(result.py());
        let message = format!("Tool execution failed: its result is not a JSON value: {error}");
        Ok(CallOutcome::Failure { message: json_string(message.as_bytes()) })
    })
}

fn save<'py>(py: Python<'py>, rows: &[Row]) -> PyResult<Bound<'py, PyTuple>> {
    let row = |row: &Row| {
        (row.kind.name(), to_str(py, row.content.as_bytes())?, row.timestamp).into_pyobject(py)
    };
    let rows: PyResult<Vec<_>> = rows.iter().map(row).collect();
    PyTuple::new(py, rows?)
}

/// What an agent does after a step with this outcome: the name of a [`turn::Decision`].
#[pyfunction]
#[pyo3(signature = (outcome, *, is_to_stop, is_to_go_on, is_refused))]
pub fn decide(
    outcome: &Bound<'_, PyString>,
    is_to_stop: bool,
    is_to_go_on: bool,
    is_refused: bool,
) -> PyResult<&'static str> {
    let outcome = outcome.to_str()?;
    let outcome = TurnOutcome::of_name(outcome)
        .ok_or_else(|| ConfigError::new_err(format!("there is no outcome {outcome:?}")))?;
    Ok(turn::decide(Situation { outcome, is_to_stop, is_to_go_on, is_refused }).name())
}
