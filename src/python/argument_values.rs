//! `ArgumentValues`: the values in a call's arguments, while a provider hands these over in pieces of JSON.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use super::convert::{bytes_of, to_str};
use cogency_rs::protocol::JsonValues;
use cogency_rs::protocol::event::ArgsStep;

/// Reads arguments piece by piece.
#[pyclass(module = "cogency_rs._core")]
pub struct ArgumentValues {
    inner: JsonValues,
}

#[pymethods]
impl ArgumentValues {
    #[new]
    fn new() -> Self {
        Self { inner: JsonValues::default() }
    }

    fn feed<'py>(&mut self, text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyList>> {
        let (py, list) = (text.py(), PyList::empty(text.py()));
        let mut added = Ok(());
        self.inner.feed(&bytes_of(text)?, |path, said| {
            if added.is_ok() {
                added = path_of(py, &path)
                    .and_then(|path| list.append((path, to_str(py, said.as_bytes())?)));
            }
        });
        added.map(|()| list)
    }
}

/// Where a value is, as Python has it: keys and indices.
pub fn path_of<'py>(py: Python<'py>, path: &[ArgsStep]) -> PyResult<Bound<'py, PyList>> {
    let steps = PyList::empty(py);
    for step in path {
        match step {
            ArgsStep::Key(key) => steps.append(to_str(py, key.as_bytes())?)?,
            ArgsStep::Index(index) => steps.append(index)?,
        }
    }
    Ok(steps)
}
