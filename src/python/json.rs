//! Python values as strict JSON, which every reader of JSON accepts: without `NaN` and infinities.
//!
//! Python's own `json` decides and writes. For a value of plain types [`check_json`] saves that work: it walks over the value,
//! decides the same, and does not build any text.

use pyo3::exceptions::{PyRecursionError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use serde_json::Value;

use super::convert::{bytes_of, dumps, json};
use super::error::ConfigError;
use cogency_rs::protocol::canonical::json_string;

/// How many levels the walk goes down; a value that is nested deeper, or contains itself, is left to Python.
const MAX_DEPTH: usize = 64;

/// The longest path, in bytes, that a message shows; a longer one is left out.
const MAX_PATH: usize = 200;

/// Why a walk did not find that a value is JSON.
enum CheckError {
    /// Only Python's `json` can decide.
    Unsure,
    /// There is a number that JSON cannot hold: the keys and indices that lead to it, the innermost first.
    Number { name: &'static str, path: Vec<String> },
}

impl CheckError {
    fn under(mut self, step: impl FnOnce() -> String) -> Self {
        if let Self::Number { path, .. } = &mut self {
            path.push(step());
        }
        self
    }
}

/// Raises what `strict_dumps` raises, and returns nothing.
#[pyfunction]
pub fn check_json(value: &Bound<'_, PyAny>) -> PyResult<()> {
    match walk(value, MAX_DEPTH) {
        Ok(()) => Ok(()),
        Err(CheckError::Number { name, path }) => Err(no_such_number(name, path)),
        Err(CheckError::Unsure) => strict_dumps(value).map(drop),
    }
}

/// `json.dumps(value, allow_nan=False)`, with an error that says where a number is that JSON cannot hold.
///
/// # Errors
/// `ValueError` for such a number; else whatever `json.dumps` raises for what JSON cannot hold.
pub fn strict_dumps(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(json_string(&bytes_of(text)?));
    }
    match encode(value)?.call1((value,)) {
        Ok(text) => text.extract(),
        Err(error) => Err(explained(value, error)),
    }
}

/// `JSONEncoder(allow_nan=False).encode`, made once: `json.dumps` makes an encoder for each such call.
fn encode<'py>(value: &Bound<'py, PyAny>) -> PyResult<&'py Bound<'py, PyAny>> {
    static ENCODE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = value.py();
    let make = || -> PyResult<Py<PyAny>> {
        let options = PyDict::new(py);
        options.set_item("allow_nan", false)?;
        let encoder = json(py)?.getattr("JSONEncoder")?.call((), Some(&options))?;
        Ok(encoder.getattr("encode")?.unbind())
    };
    ENCODE.get_or_try_init(py, make).map(|encode| encode.bind(py))
}

/// The error of a refused value. If a number is the reason, the error is our own: Python's does not say where the number is.
fn explained(value: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyValueError>(value.py()) {
        return error;
    }
    match walk(value, MAX_DEPTH) {
        Err(CheckError::Number { name, path }) => no_such_number(name, path),
        _ if dumps(value).is_ok() => {
            PyValueError::new_err("JSON has no NaN or Infinity, but it holds one")
        }
        _ => error,
    }
}

fn no_such_number(name: &str, mut path: Vec<String>) -> PyErr {
    path.reverse();
    let path = path.concat();
    PyValueError::new_err(match path.len() {
        0 => format!("JSON has no {name}"),
        1..=MAX_PATH => format!("JSON has no {name}, but {path} is one"),
        _ => format!("JSON has no {name}, but it holds one"),
    })
}

/// Whether a value is strict JSON.
///
/// It does not run Python code, so nothing can change the value meanwhile. Subclasses may have their own code and are left
/// to Python, except those of `str` and `float`, whose values `json` reads directly too.
fn walk(value: &Bound<'_, PyAny>, depth: usize) -> Result<(), CheckError> {
    if value.is_none() || value.is_instance_of::<PyString>() || value.is_instance_of::<PyBool>() {
        return Ok(());
    }
    if is_short_integer(value) {
        return Ok(());
    }
    if let Ok(float) = value.cast::<PyFloat>() {
        return number(float.value());
    }
    if depth == 0 {
        return Err(CheckError::Unsure);
    }
    let item = |index: usize, item: &Bound<'_, PyAny>| {
        walk(item, depth - 1).map_err(|doubt| doubt.under(|| format!("[{index}]")))
    };
    if let Ok(list) = value.cast_exact::<PyList>() {
        list.iter().enumerate().try_for_each(|(index, value)| item(index, &value))
    } else if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        tuple.iter().enumerate().try_for_each(|(index, value)| item(index, &value))
    } else if let Ok(dict) = value.cast_exact::<PyDict>() {
        dict.iter().try_for_each(|(key, value)| {
            // Python writes such keys as text. It may refuse other keys: a tuple always, a float sometimes.
            if !key.is_exact_instance_of::<PyString>() && !is_short_integer(&key) {
                return Err(CheckError::Unsure);
            }
            walk(&value, depth - 1).map_err(|doubt| doubt.under(|| step(&key)))
        })
    } else {
        Err(CheckError::Unsure)
    }
}

fn number(value: f64) -> Result<(), CheckError> {
    let name = match value {
        _ if value.is_finite() => return Ok(()),
        _ if value.is_nan() => "NaN",
        f64::INFINITY => "Infinity",
        _ => "-Infinity",
    };
    Err(CheckError::Number { name, path: Vec::new() })
}

/// Whether this is an integer with so few digits that Python never refuses to write them.
fn is_short_integer(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyInt>() && value.extract::<i64>().is_ok()
}

fn step(key: &Bound<'_, PyAny>) -> String {
    match key.cast::<PyString>().map(bytes_of) {
        Ok(Ok(key)) => format!("[{}]", json_string(&key)),
        _ => format!("[{key}]"),
    }
}

/// A Python value as JSON.
pub fn value_of(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let too_deep = || ConfigError::new_err("it is nested deeper than 127 levels");
    let text = json(value.py())?.call_method1("dumps", (value,)).map_err(|error| {
        if error.is_instance_of::<PyRecursionError>(value.py()) { too_deep() } else { error }
    })?;
    let text: String = text.extract()?;
    value.py().detach(|| serde_json::from_str(&text)).map_err(|error| {
        let error = error.to_string();
        if error.starts_with("recursion limit") { too_deep() } else { ConfigError::new_err(error) }
    })
}
