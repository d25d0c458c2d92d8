//! A Python callable, and how its calls are carried out.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_async_runtimes::TaskLocals;

use super::outcome::{Returned, arguments_of, error_of, output_of};
use crate::execution::Invocation;

/// A callable, and the loop and context that its calls run in.
pub struct Function {
    pub name: String,
    callable: Py<PyAny>,
    locals: TaskLocals,
}

impl Function {
    pub fn new(callable: &Bound<'_, PyAny>, locals: &TaskLocals) -> PyResult<Self> {
        let name = callable.getattr(pyo3::intern!(callable.py(), "__name__"))?.extract()?;
        Ok(Self { name, callable: callable.clone().unbind(), locals: locals.clone() })
    }

    /// Carries out a call in this thread.
    pub fn call_in_thread(&self, py: Python<'_>, invocation: &Invocation) -> Returned {
        let arguments = arguments_of(py, invocation)?;
        let callable = self.callable.bind(py);
        let returned = match self.context(py) {
            Ok(Some(context)) => {
                let run = pyo3::intern!(py, "run");
                context.call_method(run, (callable,), Some(&arguments))
            }
            Ok(None) => callable.call((), Some(&arguments)),
            Err(error) => Err(error),
        };
        returned.map_err(|error| error_of(py, error)).and_then(|value| output_of(&value))
    }

    /// What the callable returns on the event loop, not yet awaited.
    pub fn call<'py>(&self, arguments: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
        self.callable.bind(arguments.py()).call((), Some(arguments))
    }

    /// The task that drives a coroutine for a call of this callable.
    pub fn task<'py>(&self, coroutine: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = coroutine.py();
        let options = PyDict::new(py);
        options.set_item(pyo3::intern!(py, "name"), &self.name)?;
        if let Some(context) = self.context(py)? {
            options.set_item(pyo3::intern!(py, "context"), context)?;
        }
        let create = pyo3::intern!(py, "create_task");
        self.locals.event_loop(py).call_method(create, (coroutine,), Some(&options))
    }

    /// A context of the call's own, as each asyncio task has one; `None` if there is none to copy.
    fn context<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let context = self.locals.context(py);
        if context.is_none() {
            return Ok(None);
        }
        context.call_method0(pyo3::intern!(py, "copy")).map(Some)
    }
}
