//! Text and JSON between the core and Python.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyInt, PyString};

use super::error::{ConfigError, refused, wrong_type};
use cogency_rs::json::lossy;
use cogency_rs::protocol::canonical::json_string;

/// The text of a `str` as generalised UTF-8; borrowed, unless it has lone surrogates.
#[inline]
pub fn bytes_of<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, [u8]>> {
    match text.to_str() {
        Ok(text) => Ok(Cow::Borrowed(text.as_bytes())),
        Err(_) => encode(text).map(Cow::Owned),
    }
}

#[cold]
fn encode(text: &Bound<'_, PyString>) -> PyResult<Vec<u8>> {
    let encode = pyo3::intern!(text.py(), "encode");
    let bytes = text.call_method1(encode, ("utf-8", "surrogatepass"))?;
    Ok(bytes.cast::<PyBytes>()?.as_bytes().to_vec())
}

/// The argument named `what` as a `str`.
pub fn string_of<'a, 'py>(
    what: &str,
    value: &'a Bound<'py, PyAny>,
) -> PyResult<&'a Bound<'py, PyString>> {
    value.cast::<PyString>().map_err(|_| wrong_type(what, "str", value))
}

/// The argument named `what` as text; a lone surrogate is U+FFFD.
pub fn text_of(what: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = string_of(what, value)?;
    if let Ok(text) = text.to_str() {
        return Ok(text.to_owned());
    }
    let quoted = dumps(value)?;
    Ok(lossy(&quoted[1..quoted.len() - 1]).into_owned())
}

/// The argument named `what` as a number of things.
pub fn count_of(what: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    let wanted = "a whole number of at least 0";
    if !value.is_instance_of::<PyInt>() || value.is_instance_of::<PyBool>() {
        return Err(refused(what, value, wanted));
    }
    let out_of_range = |_| match value.repr() {
        Ok(given) => ConfigError::new_err(format!("{what} must be {wanted}, got {given}")),
        Err(error) => error,
    };
    value.extract().map_err(out_of_range)
}

/// A `str` from generalised UTF-8.
pub fn to_str<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Bound<'py, PyString>> {
    match std::str::from_utf8(text) {
        Ok(text) => Ok(PyString::new(py, text)),
        Err(_) => {
            let bytes = PyBytes::new(py, text);
            PyString::from_encoded_object(&bytes, Some(c"utf-8"), Some(c"surrogatepass"))
        }
    }
}

/// Python's own `json` module, for values that come from Python.
pub fn json(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static JSON: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    JSON.get_or_try_init(py, || py.import("json").map(Bound::unbind)).map(|json| json.bind(py))
}

/// `json.dumps(value)`.
///
/// # Errors
/// Whatever `json.dumps` raises for what JSON cannot hold.
pub fn dumps(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = value.py();
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(json_string(&bytes_of(text)?));
    }
    json(py)?.call_method1(pyo3::intern!(py, "dumps"), (value,))?.extract()
}

/// The value that the argument `what` names, one of these two.
pub fn choice<T>(what: &str, choices: [(&str, T); 2], name: &Bound<'_, PyAny>) -> PyResult<T> {
    let text = name.cast::<PyString>().ok().and_then(|name| name.to_str().ok());
    let [(first, one), (second, other)] = choices;
    match text {
        Some(text) if text == first => Ok(one),
        Some(text) if text == second => Ok(other),
        _ => Err(ConfigError::new_err(format!(
            "{what} must be {first:?} or {second:?}, got {}",
            name.repr()?
        ))),
    }
}

/// An argument that may have been left out. `None` counts as given.
pub enum Setting {
    Default,
    Given(Py<PyAny>),
}

impl<'py> FromPyObject<'_, 'py> for Setting {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self::Given(value.to_owned().unbind()))
    }
}
