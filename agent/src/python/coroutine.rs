//! A coroutine that an asyncio task drives: one attempt of a call, from its arguments to its result.
//!
//! It is handed to the task in place of the callable's own coroutine, so that what a callable raises ends its call and never the
//! loop, and so that the result is read where it is: the thread that awaits it does not touch Python.

use std::mem::replace;
use std::sync::Arc;

use pyo3::exceptions::PyStopIteration;
use pyo3::exceptions::asyncio::CancelledError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::types::iterator::PySendResult;
use pyo3::{PyTraverseError, PyVisit};

use super::awaitable::{awaited, close, send, throw, type_error};
use super::function::Function;
use super::outcome::{Results, Returned, arguments_of, error_of, output_of};
use crate::execution::{Invocation, ToolError};

/// One attempt of a call.
#[pyclass]
pub struct Coroutine {
    results: Arc<dyn Results>,
    number: u64,
    function: Arc<Function>,
    stage: Stage,
}

enum Stage {
    New(Invocation),
    Awaiting(Py<PyAny>),
    Over,
}

impl Coroutine {
    pub fn new(
        results: Arc<dyn Results>,
        number: u64,
        function: Arc<Function>,
        invocation: Invocation,
    ) -> Self {
        Self { results, number, function, stage: Stage::New(invocation) }
    }

    fn resume<'py>(&mut self, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = value.py();
        let sent = match &self.stage {
            Stage::Awaiting(awaited) => send(awaited.bind(py), value),
            Stage::New(invocation) => {
                let arguments = match arguments_of(py, invocation) {
                    Ok(arguments) => arguments,
                    Err(error) => return self.over(Err(error), PyStopIteration::new_err(())),
                };
                let awaitable = self.function.call(&arguments);
                self.begin(py, awaitable)
            }
            Stage::Over => Err(PyStopIteration::new_err(())),
        };
        self.go_on(py, sent)
    }

    /// Begins to await what the callable returned.
    fn begin<'py>(
        &mut self,
        py: Python<'py>,
        awaitable: PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<PySendResult<'py>> {
        let awaitable = awaitable?;
        let Some(awaited) = awaited(&awaitable)? else {
            return Err(type_error("what the tool returns", "an awaitable", &awaitable));
        };
        self.stage = Stage::Awaiting(awaited.clone().unbind());
        send(&awaited, py.None().bind(py))
    }

    fn go_on<'py>(
        &mut self,
        py: Python<'py>,
        sent: PyResult<PySendResult<'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match sent {
            Ok(PySendResult::Next(value)) => Ok(value),
            Ok(PySendResult::Return(value)) => {
                self.over(output_of(&value), PyStopIteration::new_err(()))
            }
            // So that the task knows that it was cancelled. No other error may reach it: some of them end the loop.
            Err(error) if error.is_instance_of::<CancelledError>(py) => {
                self.over(Err(error_of(py, error.clone_ref(py))), error)
            }
            Err(error) => self.over(Err(error_of(py, error)), PyStopIteration::new_err(())),
        }
    }

    /// Hands over the result; the task gets the exception.
    fn over<T>(&mut self, returned: Returned, exception: PyErr) -> PyResult<T> {
        self.stage = Stage::Over;
        self.results.end(self.number, returned);
        Err(exception)
    }
}

#[pymethods]
impl Coroutine {
    /// Shown by asyncio, for instance when it reports a task that was left.
    #[getter(__name__)]
    fn name(&self) -> &str {
        &self.function.name
    }

    #[getter(__qualname__)]
    fn qualified_name(&self) -> &str {
        &self.function.name
    }

    fn __await__<'py>(this: &Bound<'py, Self>) -> Bound<'py, Self> {
        this.clone()
    }

    fn __iter__<'py>(this: &Bound<'py, Self>) -> Bound<'py, Self> {
        this.clone()
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.resume(py.None().bind(py))
    }

    fn send<'py>(&mut self, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.resume(value)
    }

    #[pyo3(signature = (*error))]
    fn throw<'py>(&mut self, error: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let sent = match &self.stage {
            Stage::Awaiting(awaited) => throw(awaited.bind(error.py()), error),
            Stage::New(..) | Stage::Over => Err(PyErr::from_value(error.get_item(0)?)),
        };
        self.go_on(error.py(), sent)
    }

    fn close(&mut self, py: Python<'_>) -> PyResult<()> {
        match replace(&mut self.stage, Stage::Over) {
            Stage::Awaiting(awaited) => close(awaited.bind(py)),
            Stage::New(..) | Stage::Over => Ok(()),
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &self.stage {
            Stage::Awaiting(awaited) => visit.call(awaited),
            Stage::New(..) | Stage::Over => Ok(()),
        }
    }

    fn __clear__(&mut self) {
        self.stage = Stage::Over;
    }
}

impl Drop for Coroutine {
    /// Whatever becomes of the task, the call has a result.
    fn drop(&mut self) {
        self.results
            .end(self.number, Err(ToolError::new("its coroutine was dropped before its end")));
    }
}
