//! `AnswerReader`: the bytes of a provider's answer, read into the deltas of Python.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyType};

use super::error::ConfigError;
use super::options::{Finish, reasoning_class};
use cogency_rs::wire::{Api, CallDelta, Delta, Extras, Opaque, Options, Reader, Secret, Usage};

/// Reads the bytes of one answer, and never waits.
#[pyclass(module = "cogency_rs._core")]
pub struct AnswerReader {
    reader: Reader,
    deltas: Vec<Delta>,
}

#[pymethods]
impl AnswerReader {
    #[new]
    #[pyo3(signature = (api, *, secrets=Vec::new(), max_bytes=16 << 20, extras=false))]
    #[pyo3(text_signature = "(api, *, secrets=(), max_bytes=16777216, extras=False)")]
    fn new(
        api: &str,
        secrets: Vec<(String, String)>,
        max_bytes: usize,
        extras: bool,
    ) -> PyResult<Self> {
        let reader = reader_of(api, secrets, Some(max_bytes), extras)?;
        Ok(Self { reader, deltas: Vec::new() })
    }

    #[getter]
    fn is_done(&self) -> bool {
        self.reader.is_done()
    }

    fn feed<'py>(&mut self, py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyList>> {
        self.reader.feed(data, &mut self.deltas);
        self.take(py)
    }

    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.reader.finish(&mut self.deltas);
        self.take(py)
    }

    fn break_off<'py>(&mut self, py: Python<'py>, why: &str) -> PyResult<Bound<'py, PyList>> {
        self.reader.break_off(why, &mut self.deltas);
        self.take(py)
    }
}

impl AnswerReader {
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        deltas_of(py, std::mem::take(&mut self.deltas))
    }
}

/// A reader of an answer of this API; secrets are a text and what is shown in its place.
///
/// # Errors
/// `api` is not known.
pub fn reader_of(
    api: &str,
    secrets: Vec<(String, String)>,
    max_bytes: Option<usize>,
    extras: bool,
) -> PyResult<Reader> {
    let api = match api {
        "completions" => Api::Completions,
        "messages" => Api::Messages,
        other => {
            let message = format!("api must be \"completions\" or \"messages\", got {other:?}");
            return Err(ConfigError::new_err(message));
        }
    };
    let extras = if extras { Extras::Kept } else { Extras::Dropped };
    let secrets = secrets.into_iter().map(|(text, shown)| Secret::new(text, shown)).collect();
    let max_bytes = max_bytes.unwrap_or(Options::default().max_bytes);
    Ok(Reader::new(api, Options { extras, max_bytes, secrets, ..Options::default() }))
}

/// Deltas as the objects of Python.
///
/// # Errors
/// Python has no memory.
pub fn deltas_of(py: Python<'_>, deltas: Vec<Delta>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for delta in deltas {
        list.append(object_of(py, delta)?)?;
    }
    Ok(list)
}

/// The classes of `cogency_rs.models.request`.
struct Classes {
    text: Py<PyType>,
    call: Py<PyType>,
    usage: Py<PyType>,
}

fn classes(py: Python<'_>) -> PyResult<&Classes> {
    static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();
    CLASSES.get_or_try_init(py, || {
        let module = py.import("cogency_rs.models.request")?;
        let class = |name| Ok::<_, PyErr>(module.getattr(name)?.cast_into::<PyType>()?.unbind());
        Ok(Classes {
            text: class("TextDelta")?,
            call: class("ToolCallDelta")?,
            usage: class("Usage")?,
        })
    })
}

/// The object of a delta. What only the owner of the reader needs is a tuple, with its kind first.
fn object_of(py: Python<'_>, delta: Delta) -> PyResult<Bound<'_, PyAny>> {
    let classes = classes(py)?;
    match delta {
        Delta::Text(text) => classes.text.bind(py).call1((text,)),
        Delta::Reasoning(text) => reasoning_class(py)?.call1((text,)),
        Delta::Signature(signature) => reasoning_class(py)?.call1(("", signature)),
        Delta::Call(CallDelta { number, id, name, arguments }) => {
            classes.call.bind(py).call1((number, id, name, arguments))
        }
        Delta::Usage(Usage { input, output, cache_read, cache_write, reasoning, is_estimate }) => {
            let counts = (input, output, cache_read, cache_write, reasoning, is_estimate);
            classes.usage.bind(py).call1(counts)
        }
        Delta::Finish(finish) => {
            let finish = Finish { reason: finish.reason, details: finish.details };
            Ok(Bound::new(py, finish)?.into_any())
        }
        Delta::Redacted(data) => ("redacted", data).into_bound_py_any(py),
        Delta::Refusal(words) => ("refusal", words).into_bound_py_any(py),
        Delta::Info(info) => ("info", info.id, info.model).into_bound_py_any(py),
        Delta::Opaque(Opaque { call, name, json }) => {
            ("opaque", call, name, json).into_bound_py_any(py)
        }
        Delta::Extra(extra) => ("extra", extra.path, extra.json).into_bound_py_any(py),
        Delta::Note(note) => ("note", note.to_string()).into_bound_py_any(py),
        Delta::Fault(fault) => {
            let kind = format!("{:?}", fault.kind);
            ("fault", kind, fault.message, fault.body).into_bound_py_any(py)
        }
        _ => unreachable!("the core has no other"),
    }
}
