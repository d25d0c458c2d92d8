//! Python values as strict JSON, which every reader of JSON accepts: without `NaN` and infinities.

use cogency_rs::protocol::canonical::json_string;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyList, PyString, PyTuple};

/// How many levels are searched for a number that JSON cannot hold.
const MAX_DEPTH: usize = 64;

/// The longest path, in bytes, that a message shows; a longer one is left out.
const MAX_PATH: usize = 200;

/// Python's own `json` module.
pub fn json(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import(pyo3::intern!(py, "json"))
}

/// `json.dumps(value, allow_nan=False)`, with an error that says where a number is that JSON cannot hold. The words are those of
/// the package, and of `src/python/json.rs`.
///
/// # Errors
/// `ValueError` for such a number; else whatever `json.dumps` raises for what JSON cannot hold.
pub fn strict_dumps(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = value.py();
    let options = PyDict::new(py);
    options.set_item("allow_nan", false)?;
    match json(py)?.call_method("dumps", (value,), Some(&options)) {
        Ok(text) => text.extract(),
        Err(error) if error.is_instance_of::<PyValueError>(py) => Err(explained(value, error)),
        Err(error) => Err(error),
    }
}

/// The error of a refused value. If a number is the reason, the error is our own: Python's does not say where the number is.
fn explained(value: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    PyValueError::new_err(match not_json(value, MAX_DEPTH) {
        Some((name, path)) if path.is_empty() => format!("JSON has no {name}"),
        Some((name, path)) if path.len() <= MAX_PATH => {
            format!("JSON has no {name}, but {path} is one")
        }
        Some((name, _)) => format!("JSON has no {name}, but it holds one"),
        None => match json(value.py()).and_then(|json| json.call_method1("dumps", (value,))) {
            Ok(_) => "JSON has no NaN or Infinity, but it holds one".to_owned(),
            Err(_) => return error,
        },
    })
}

/// The first number of a value that JSON cannot hold: its name, and the keys and indices that lead to it.
///
/// It does not run Python code, so nothing can change the value meanwhile. Subclasses may have their own code, and are not
/// searched.
fn not_json(value: &Bound<'_, PyAny>, depth: usize) -> Option<(&'static str, String)> {
    if let Ok(float) = value.cast::<PyFloat>() {
        let name = match float.value() {
            float if float.is_finite() => return None,
            float if float.is_nan() => "NaN",
            f64::INFINITY => "Infinity",
            _ => "-Infinity",
        };
        return Some((name, String::new()));
    }
    let depth = depth.checked_sub(1)?;
    let under = |step: &dyn Fn() -> String, value: &Bound<'_, PyAny>| {
        not_json(value, depth).map(|(name, path)| (name, step() + &path))
    };
    let item = |(index, value)| under(&|| format!("[{index}]"), &value);
    if let Ok(list) = value.cast_exact::<PyList>() {
        list.iter().enumerate().find_map(item)
    } else if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        tuple.iter().enumerate().find_map(item)
    } else if let Ok(dict) = value.cast_exact::<PyDict>() {
        dict.iter().find_map(|(key, value)| under(&|| shown(&key), &value))
    } else {
        None
    }
}

/// A key in a path.
fn shown(key: &Bound<'_, PyAny>) -> String {
    match key.cast::<PyString>() {
        Ok(key) => format!("[{}]", json_string(key.to_string_lossy().as_bytes())),
        Err(_) => format!("[{key}]"),
    }
}
