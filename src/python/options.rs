//! How a model's text is read, and how it ended: the arguments that `Parser` and `Turn` share.

use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyType};

use super::convert::{Setting, bytes_of, choice, string_of, text_of};
use super::dialect::{grammar_of, tools_of};
use super::error::{ConfigError, refused, type_error};
use cogency_rs::chat::ChatCalls;
use cogency_rs::protocol::{
    self as core, CallStart, CallStream, Ending, FinishKind, Options, Stream, Strictness, Text,
};
use cogency_rs::turn::Errors;

/// Limits that keep memory bounded for any text.
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
    choice("stream", [("event", Stream::Event), ("token", Stream::Token)], name)
}

/// How a model's text is read: the keyword arguments that `Parser` and `Turn` share.
pub struct ReaderArguments<'a, 'py> {
    pub dialect: Option<&'a Bound<'py, PyAny>>,
    pub tools: Option<&'a Bound<'py, PyAny>>,
    pub calls: Option<&'a Bound<'py, PyAny>>,
    pub limits: Option<&'a Bound<'py, PyAny>>,
    pub lenient: bool,
    pub begins_in_think: Option<bool>,
    pub start: CallStart,
}

impl ReaderArguments<'_, '_> {
    /// Makes the parser.
    pub fn parser(self, stream: Stream) -> PyResult<core::Parser> {
        let grammar = grammar_of(self.dialect)?;
        let begins_in_think = self.begins_in_think;
        let options = Options {
            stream,
            calls: self.calls.map_or(Ok(CallStream::Whole), calls_of)?,
            start: self.start,
            limits: self.limits.map_or(Ok(core::Limits::default()), limits_of)?,
            strictness: if self.lenient { Strictness::Lenient } else { Strictness::Strict },
            begins_in_think: begins_in_think.unwrap_or(grammar.dialects[0].begins_in_reasoning),
            tools: tools_of(self.tools)?,
            ..Options::default()
        };
        Ok(core::Parser::new(grammar, options))
    }
}

/// The limits of an argument.
pub fn limits_of(limits: &Bound<'_, PyAny>) -> PyResult<core::Limits> {
    match limits.cast::<Limits>() {
        Ok(limits) => Ok(limits.get().inner),
        Err(_) => Err(refused("limits", limits, "a Limits")),
    }
}

/// Whether calls are shown before they are complete, by its Python name.
fn calls_of(name: &Bound<'_, PyAny>) -> PyResult<CallStream> {
    choice("calls", [("whole", CallStream::Whole), ("stream", CallStream::Values)], name)
}

/// The same of a chat reader.
pub fn chat_calls_of(name: &Bound<'_, PyAny>) -> PyResult<ChatCalls> {
    choice("calls", [("whole", ChatCalls::Whole), ("stream", ChatCalls::Stream)], name)
}

/// How errors are reported, by its Python name.
pub fn errors_of(name: Option<&Bound<'_, PyAny>>) -> PyResult<Errors> {
    let choices = [("respond", Errors::Respond), ("event", Errors::Event)];
    name.map_or(Ok(Errors::Respond), |name| choice("errors", choices, name))
}

/// Why a model stopped writing. It comes among the chunks of the model's text.
#[pyclass(frozen, eq, hash, from_py_object, module = "cogency_rs")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Finish {
    /// The provider's word for the reason.
    #[pyo3(get)]
    pub reason: Option<String>,
    /// What the provider says about it.
    #[pyo3(get)]
    pub details: Option<String>,
}

#[pymethods]
impl Finish {
    #[new]
    #[pyo3(signature = (reason, *, details=None))]
    fn new(
        reason: Option<&Bound<'_, PyAny>>,
        details: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let details = details.map(|details| text_of("details", details)).transpose()?;
        Ok(Self { reason: reason_of(reason)?, details })
    }

    /// What the reason means: the name of a [`FinishKind`].
    #[getter]
    fn kind(&self) -> &'static str {
        self.reason.as_deref().map_or(FinishKind::Unknown, FinishKind::of_reason).name()
    }

    #[classattr]
    fn __match_args__() -> (&'static str,) {
        ("reason",)
    }

    /// Lets pydantic take it as a field.
    #[classmethod]
    fn __get_pydantic_core_schema__<'py>(
        cls: &Bound<'py, PyType>,
        source: &Bound<'py, PyAny>,
        handler: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = (source, handler);
        let fields = cls.py().import("cogency_rs.loading")?;
        fields.call_method1("finish_field", (cls,))
    }

    fn __repr__(&self) -> String {
        let reason =
            self.reason.as_ref().map_or_else(|| "None".into(), |reason| format!("{reason:?}"));
        match &self.details {
            Some(details) => format!("Finish({reason}, details={details:?})"),
            None => format!("Finish({reason})"),
        }
    }
}

impl Finish {
    /// How the text ended.
    pub fn ending(&self) -> Ending {
        match (self.reason.as_deref().map_or(Ending::Unknown, Ending::of_reason), &self.details) {
            (Ending::Refused(why), Some(details)) => Ending::Refused(format!("{why}: {details}")),
            (Ending::Broken(why), Some(details)) => Ending::Broken(format!("{why}: {details}")),
            (ending, _) => ending,
        }
    }
}

/// An item among the chunks of a model's text that is not text itself.
pub enum NonText {
    /// Why the model stopped.
    Finish(Finish),
    /// Reasoning that a provider sends apart from the text.
    Reasoning(Text),
}

/// Reads an item that is not a chunk of text.
pub fn non_text(chunk: &Bound<'_, PyAny>) -> PyResult<NonText> {
    if let Ok(finish) = chunk.cast::<Finish>() {
        return Ok(NonText::Finish(finish.get().clone()));
    }
    if !chunk.is_instance(reasoning_class(chunk.py())?)? {
        return Err(type_error("a chunk", "str, ReasoningDelta or Finish", chunk));
    }
    let text = chunk.getattr("text")?;
    Ok(NonText::Reasoning(Text::from(&*bytes_of(string_of("text", &text)?)?)))
}

/// The class `cogency_rs.models.ReasoningDelta`.
///
/// # Errors
/// The package cannot be imported.
pub fn reasoning_class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CLASS.import(py, "cogency_rs.models.request", "ReasoningDelta")
}

/// The argument `reason`: why the model stopped.
pub fn reason_of(reason: Option<&Bound<'_, PyAny>>) -> PyResult<Option<String>> {
    reason.map(|reason| text_of("reason", reason)).transpose()
}

/// How a text ended: its source raised `error`, or the model stopped as `finish` says.
pub fn ending_of(
    finish: Option<&Finish>,
    error: Option<&Bound<'_, PyBaseException>>,
) -> PyResult<Ending> {
    let Some(error) = error else { return Ok(finish.map_or(Ending::Unknown, Finish::ending)) };
    let name = error.get_type().name()?;
    // An exception whose `str` fails must still be reported.
    let message = error.str().map(|message| message.to_string_lossy().into_owned());
    let message = message.unwrap_or_default();
    let separator = if message.is_empty() { "" } else { ": " };
    Ok(Ending::Broken(format!("{name}{separator}{message}")))
}
