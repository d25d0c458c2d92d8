//! The protocol of awaitables, as `await` uses it.

use pyo3::exceptions::{PyStopIteration, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::iterator::PySendResult;
use pyo3::types::{PyIterator, PyTuple};

/// The iterator of an awaitable, `awaitable.__await__()`; `None` if it is not an awaitable.
pub fn awaited<'py>(awaitable: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = awaitable.py();
    if let Some(method) = awaitable.get_type().getattr_opt(pyo3::intern!(py, "__await__"))? {
        return method.call1((awaitable,)).map(Some);
    }
    // A generator made by `types.coroutine` is its own iterator.
    let is_awaitable = py.import("inspect")?.call_method1("isawaitable", (awaitable,))?;
    Ok(is_awaitable.is_truthy()?.then(|| awaitable.clone()))
}

/// Sends a value to what is awaited.
///
/// # Errors
/// Whatever `awaited` raises; a `TypeError` if it is not an iterator.
pub fn send<'py>(
    awaited: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<PySendResult<'py>> {
    let iterator = awaited
        .cast::<PyIterator>()
        .map_err(|_| type_error("what __await__ returns", "an iterator", awaited))?;
    iterator.send(value)
}

/// Throws into what is awaited. `error` holds the arguments of `throw`: an exception, or the three of the older form.
pub fn throw<'py>(
    awaited: &Bound<'py, PyAny>,
    error: &Bound<'py, PyTuple>,
) -> PyResult<PySendResult<'py>> {
    let py = error.py();
    let Some(throw) = awaited.getattr_opt(pyo3::intern!(py, "throw"))? else {
        return Err(PyErr::from_value(error.get_item(0)?));
    };
    match throw.call1(error.clone()) {
        Ok(value) => Ok(PySendResult::Next(value)),
        Err(error) if error.is_instance_of::<PyStopIteration>(py) => {
            error.value(py).getattr(pyo3::intern!(py, "value")).map(PySendResult::Return)
        }
        Err(error) => Err(error),
    }
}

/// Closes what is awaited.
pub fn close(awaited: &Bound<'_, PyAny>) -> PyResult<()> {
    match awaited.getattr_opt(pyo3::intern!(awaited.py(), "close"))? {
        Some(close) => close.call0().map(drop),
        None => Ok(()),
    }
}

/// A `TypeError` that names the wanted type and the received one.
pub fn type_error(what: &str, wanted: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let found =
        value.get_type().name().map_or_else(|_| "something else".into(), |name| name.to_string());
    PyTypeError::new_err(format!("{what} must be {wanted}, not {found}"))
}
