//! Starts coroutines at once, so that one that never waits costs no task.
//!
//! A coroutine takes its first step where it is started, with a task that stands ready as its current task: a real one,
//! so whatever the step asks of it (a timeout, a task group, a cancel scope) holds. If the coroutine waits, the task
//! is its own from then on. If it is over at once, the task is kept for the next. Python 3.12 can start tasks eagerly,
//! one for each coroutine; this works on 3.11 too, and needs one task for many coroutines.
//!
//! Invariant: every step of a coroutine runs in the same copy of the caller's context.

use std::sync::Mutex;

use pyo3::exceptions::asyncio::CancelledError;
use pyo3::exceptions::{PyKeyboardInterrupt, PySystemExit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use pyo3::{PyTraverseError, PyVisit};

use super::awaitable::{Sent, awaited, close, send, throw};
use super::driver::lock;

pyo3::import_exception!(cogency_rs.executor, ContainedError);

/// Starts coroutines on one loop. Used on the loop's thread only.
pub struct Starter {
    event_loop: Py<PyAny>,
    /// The context variables of whoever started all this.
    context: Py<PyAny>,
    /// The task for the next coroutine, if one was made already.
    ready: Mutex<Option<ReadyTask>>,
}

/// How far a first step came.
pub enum Started {
    /// To the end, or there was nothing to await: the value.
    Over(Py<PyAny>),
    /// To the first wait: the task that goes on.
    Waits(Py<PyAny>),
}

impl Starter {
    /// A starter on the running loop, with the current context.
    pub fn new(event_loop: Py<PyAny>, py: Python<'_>) -> PyResult<Self> {
        let context = names(py)?.copy_context.bind(py).call0()?.unbind();
        Ok(Self { event_loop, context, ready: Mutex::new(None) })
    }

    /// A copy of the context.
    pub fn context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.context.bind(py).call_method0(pyo3::intern!(py, "copy"))
    }

    /// Takes the first step of `value`, if it is to be awaited.
    ///
    /// # Errors
    /// Whatever that step raises.
    pub fn start(&self, value: &Bound<'_, PyAny>) -> PyResult<Started> {
        let py = value.py();
        let Some(awaited) = awaited(value)? else {
            return Ok(Started::Over(value.clone().unbind()));
        };
        let steps = Steps {
            step: Py::new(py, Step { awaited: awaited.unbind() })?,
            context: self.context(py)?.unbind(),
        };
        let ready = lock(&self.ready).take();
        let ready = ready.map_or_else(|| ReadyTask::new(self.event_loop.bind(py)), Ok)?;
        match ready.as_current(self.event_loop.bind(py), || steps.next(py))? {
            Ok(Sent::Yielded(waits_for)) => {
                let begun = State::Begun { steps, waits_for: Some(waits_for.unbind()) };
                ready.continuation.borrow_mut(py).state = begun;
                Ok(Started::Waits(ready.task))
            }
            over => {
                if ready.was_cancelled(py)? {
                    ready.release(py)?;
                    return Err(CancelledError::new_err(()));
                }
                *lock(&self.ready) = Some(ready);
                match over? {
                    Sent::Returned(value) | Sent::Yielded(value) => {
                        Ok(Started::Over(value.unbind()))
                    }
                }
            }
        }
    }

    /// Lets go of the task that stands ready. Needed before the loop goes on: it knows nothing of such tasks.
    ///
    /// # Errors
    /// Whatever asyncio raises where its tasks are not what they were.
    pub fn release(&self, py: Python<'_>) -> PyResult<()> {
        let ready = lock(&self.ready).take();
        ready.map_or(Ok(()), |ready| ready.release(py))
    }
}

struct ReadyTask {
    task: Py<PyAny>,
    continuation: Py<Continuation>,
}

impl ReadyTask {
    fn new(event_loop: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = event_loop.py();
        let continuation = Py::new(py, Continuation { state: State::Ready })?;
        let task =
            event_loop.call_method1(pyo3::intern!(py, "create_task"), (continuation.bind(py),))?;
        Ok(Self { task: task.unbind(), continuation })
    }

    /// Does `step` with this task as the current one.
    fn as_current<T>(
        &self,
        event_loop: &Bound<'_, PyAny>,
        step: impl FnOnce() -> T,
    ) -> PyResult<T> {
        let py = event_loop.py();
        let names = names(py)?;
        let task = self.task.bind(py);
        let (enter, leave) = (names.enter_task.bind(py), names.leave_task.bind(py));
        let before = names.current_task.bind(py).call1((event_loop,))?;
        if !before.is_none() {
            leave.call1((event_loop, &before))?;
        }
        enter.call1((event_loop, task))?;
        let came = step();
        leave.call1((event_loop, task))?;
        if !before.is_none() {
            enter.call1((event_loop, &before))?;
        }
        Ok(came)
    }

    /// Whether the coroutine that was started in it cancelled it.
    fn was_cancelled(&self, py: Python<'_>) -> PyResult<bool> {
        self.task.call_method0(py, pyo3::intern!(py, "cancelling"))?.is_truthy(py)
    }

    /// The loop steps it once more, which ends it; until then nobody is to see it.
    fn release(self, py: Python<'_>) -> PyResult<()> {
        self.continuation.borrow_mut(py).state = State::Released;
        self.task.setattr(py, pyo3::intern!(py, "_log_destroy_pending"), false)?;
        names(py)?.unregister_task.bind(py).call1((self.task,)).map(drop)
    }
}

/// What a task made by [`ReadyTask::new`] runs: the rest of a coroutine.
#[pyclass(module = "cogency_rs._core")]
struct Continuation {
    state: State,
}

enum State {
    /// There is no coroutine yet.
    Ready,
    /// There will be none.
    Released,
    /// The first step was taken; what it waits for is handed to the task when that asks for a step.
    Begun { steps: Steps, waits_for: Option<Py<PyAny>> },
}

#[pymethods]
impl Continuation {
    fn __await__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.go_on(py).and_then(Sent::into_next)
    }

    fn send<'py>(&mut self, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.go_on(value.py())?.into_iteration()
    }

    #[pyo3(signature = (*error))]
    fn throw<'py>(&mut self, error: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let py = error.py();
        let State::Begun { steps, waits_for } = &mut self.state else {
            return Err(PyErr::from_value(error.get_item(0)?));
        };
        if let Some(waits_for) = waits_for.take()
            && error.get_item(0)?.is_instance_of::<CancelledError>()
            && let Some(cancel) = waits_for.bind(py).getattr_opt(pyo3::intern!(py, "cancel"))?
            && cancel.call0()?.is_truthy()?
        {
            // A task that waits is cancelled by way of what it waits for, which then throws into it.
            return Ok(waits_for.into_bound(py));
        }
        steps.throw(error).map_err(|error| contained(py, error))?.into_iteration()
    }

    fn close(&mut self, py: Python<'_>) -> PyResult<()> {
        match std::mem::replace(&mut self.state, State::Released) {
            State::Begun { steps, .. } => close(steps.step.get().awaited.bind(py)),
            State::Ready | State::Released => Ok(()),
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if let State::Begun { steps, waits_for } = &self.state {
            visit.call(&steps.step)?;
            visit.call(&steps.context)?;
            visit.call(waits_for)?;
        }
        Ok(())
    }

    fn __clear__(&mut self) {
        self.state = State::Released;
    }
}

impl Continuation {
    fn go_on<'py>(&mut self, py: Python<'py>) -> PyResult<Sent<'py>> {
        match &mut self.state {
            // A loop with eager tasks steps it when it is made.
            State::Ready => Ok(Sent::Yielded(py.None().into_bound(py))),
            State::Released => Ok(Sent::Returned(py.None().into_bound(py))),
            State::Begun { steps, waits_for } => match waits_for.take() {
                Some(waits_for) => Ok(Sent::Yielded(waits_for.into_bound(py))),
                None => steps.next(py).map_err(|error| contained(py, error)),
            },
        }
    }
}

/// An error as it may leave a task: some would end the loop with it.
fn contained(py: Python<'_>, error: PyErr) -> PyErr {
    if error.is_instance_of::<PySystemExit>(py) || error.is_instance_of::<PyKeyboardInterrupt>(py) {
        return ContainedError::new_err(error.into_value(py));
    }
    error
}

/// The steps of a coroutine, all in one context.
struct Steps {
    step: Py<Step>,
    context: Py<PyAny>,
}

impl Steps {
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Sent<'py>> {
        self.run((&self.step,).into_pyobject(py)?)
    }

    fn throw<'py>(&self, error: &Bound<'py, PyTuple>) -> PyResult<Sent<'py>> {
        self.run((&self.step, error).into_pyobject(error.py())?)
    }

    fn run<'py>(&self, args: Bound<'py, PyTuple>) -> PyResult<Sent<'py>> {
        let py = args.py();
        let came = self.context.bind(py).call_method1(pyo3::intern!(py, "run"), args)?;
        let (waits, value): (bool, Bound<'py, PyAny>) = came.extract()?;
        Ok(if waits { Sent::Yielded(value) } else { Sent::Returned(value) })
    }
}

/// Takes a step when it is called, since a context is entered by a call. Returns whether the coroutine waits, and what for or
/// what it returned.
#[pyclass(frozen, module = "cogency_rs._core")]
struct Step {
    awaited: Py<PyAny>,
}

#[pymethods]
impl Step {
    #[pyo3(signature = (error=None))]
    fn __call__<'py>(
        &self,
        error: Option<&Bound<'py, PyTuple>>,
        py: Python<'py>,
    ) -> PyResult<(bool, Bound<'py, PyAny>)> {
        let awaited = self.awaited.bind(py);
        let sent = match error {
            Some(error) => throw(awaited, error),
            None => send(awaited, py.None().bind(py)),
        };
        sent.map(|sent| match sent {
            Sent::Yielded(value) => (true, value),
            Sent::Returned(value) => (false, value),
        })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.awaited)
    }
}

/// What asyncio offers to those who run tasks themselves, and contextvars.
struct Names {
    copy_context: Py<PyAny>,
    current_task: Py<PyAny>,
    enter_task: Py<PyAny>,
    leave_task: Py<PyAny>,
    unregister_task: Py<PyAny>,
}

fn names(py: Python<'_>) -> PyResult<&Names> {
    static NAMES: PyOnceLock<Names> = PyOnceLock::new();
    NAMES.get_or_try_init(py, || {
        let tasks = py.import("asyncio.tasks")?;
        let task = |name| tasks.getattr(name).map(Bound::unbind);
        Ok(Names {
            copy_context: py.import("contextvars")?.getattr("copy_context")?.unbind(),
            current_task: task("current_task")?,
            enter_task: task("_enter_task")?,
            leave_task: task("_leave_task")?,
            unregister_task: task("_unregister_task")?,
        })
    })
}
