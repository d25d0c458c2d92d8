//! `ObjectReader`: one JSON object while it arrives, for answers and arguments that a service hands over in pieces.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::convert::{bytes_of, json, to_str};
use cogency_rs::json::{FaultKind, FieldText as CoreFieldText, GrowingObject};

/// Why a text is not a JSON object.
#[pyclass(frozen, get_all, eq, module = "cogency_rs._core")]
#[derive(Clone, PartialEq, Eq)]
pub struct JsonFault {
    /// What is wrong.
    problem: String,
    /// The index of the character in the text, from 0.
    at: usize,
    /// Whether the only fault is that the text ended.
    is_the_end: bool,
}

#[pymethods]
impl JsonFault {
    #[new]
    #[pyo3(signature = (problem, at, is_the_end=false))]
    fn new(problem: String, at: usize, is_the_end: bool) -> Self {
        Self { problem, at, is_the_end }
    }
}

/// The next piece of a string under one of the object's own keys.
#[pyclass(frozen, get_all, module = "cogency_rs._core")]
pub struct FieldText {
    key: Py<PyString>,
    text: Py<PyString>,
    is_whole: bool,
}

/// Reads an object piece by piece.
#[pyclass(module = "cogency_rs._core")]
pub struct ObjectReader {
    inner: GrowingObject,
    /// Whether only white space may follow the object; else the text after it is not read.
    is_alone: bool,
    fault: Option<JsonFault>,
}

#[pymethods]
impl ObjectReader {
    #[new]
    #[pyo3(signature = (*, is_alone=true))]
    fn new(is_alone: bool) -> Self {
        Self { inner: GrowingObject::default(), is_alone, fault: None }
    }

    fn feed(&mut self, text: &Bound<'_, PyString>) -> PyResult<Vec<FieldText>> {
        if self.fault.is_some() || (self.is_whole() && !self.is_alone) {
            return Ok(Vec::new());
        }
        let (py, mut fields) = (text.py(), Vec::new());
        self.inner.feed(&bytes_of(text)?, &mut fields);
        if self.is_alone {
            self.inner.end();
        }
        if let Some((fault, at)) = self.inner.fault() {
            self.fault = Some(self.fault_at(fault.to_string(), at, false));
        }
        let given = |field: CoreFieldText| {
            let [key, text] = [&field.key, &field.text].map(|text| to_str(py, text.as_bytes()));
            Ok(FieldText { key: key?.unbind(), text: text?.unbind(), is_whole: field.is_whole })
        };
        fields.into_iter().map(given).collect()
    }

    fn finish(&mut self) -> Option<JsonFault> {
        if self.fault.is_none() && !self.is_whole() {
            let at = self.inner.text().len();
            self.fault = Some(self.fault_at(FaultKind::Ended.to_string(), at, true));
        }
        self.fault.clone()
    }

    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let object = self.inner.whole().map_or(&b""[..], |(object, _)| object);
        let options = PyDict::new(py);
        options.set_item("strict", false)?;
        json(py)?.call_method("loads", (to_str(py, object)?,), Some(&options))
    }

    #[getter]
    fn fault(&self) -> Option<JsonFault> {
        self.fault.clone()
    }

    #[getter]
    fn is_whole(&self) -> bool {
        self.inner.whole().is_some()
    }

    #[getter]
    fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    #[getter]
    fn text<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        to_str(py, self.inner.text())
    }

    #[getter]
    fn rest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        to_str(py, self.inner.whole().map_or(&[], |(_, rest)| rest))
    }
}

impl ObjectReader {
    /// A fault at a byte, whose place Python counts in characters.
    fn fault_at(&self, problem: String, at: usize, is_the_end: bool) -> JsonFault {
        let is_first = |byte: &&u8| (**byte & 0xc0) != 0x80;
        let at = self.inner.text()[..at].iter().filter(is_first).count();
        JsonFault { problem, at, is_the_end }
    }
}
