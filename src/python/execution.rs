//! `Batch`: the calls of a batch as asyncio tasks and worker-thread jobs, driven by the core's future.
//!
//! The future of [`execution::run`] is polled on the event loop's own thread, where the tasks live: when the batch
//! is made, when a task reports that it is over, and when something wakes it from elsewhere (a timer, a worker
//! thread), which is the only time a call has to cross threads. Tools that are done at once cost no trip through
//! the loop at all.
//!
//! Invariants: one thread drives a batch; no lock is held while Python code runs; an interpreter is attached only
//! while it is used.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::exceptions::asyncio::CancelledError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyTuple};
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot, watch};

use super::driver::{Driver, lock};
use super::foreign;
use super::runtime;
use crate::execution::{self, Outcome, Policy, Runner};

/// What a call that is over left: what it returned or raised.
type Settled = PyResult<Py<PyAny>>;

/// A call that is to run in a worker thread: calling it runs it there. Subclassed in Python.
#[pyclass(subclass, module = "cogency_rs._core")]
pub struct ThreadJob;

#[pymethods]
impl ThreadJob {
    #[new]
    #[pyo3(signature = (*_args))]
    fn new(_args: &Bound<'_, PyTuple>) -> Self {
        Self
    }

    /// Asks the job to stop. Returns whether it can be: then it is waited for, otherwise it is left to end on
    /// its own.
    #[staticmethod]
    fn cancel() -> bool {
        false
    }
}

/// A running batch.
#[pyclass(frozen, module = "cogency_rs._core")]
pub struct Batch {
    driver: Arc<Driver>,
    cancelled: watch::Sender<bool>,
}

#[pymethods]
impl Batch {
    /// Starts `calls`, each a callable that starts one call when it is called: it returns an awaitable, a
    /// `ThreadJob`, or the result itself. `over(index, value, exception, state)` is told of every call that is over,
    /// with `state` one of `"over"`, `"timeout"`, `"batch timeout"` and `"not started"`. Must be made on the thread of a running loop.
    #[new]
    #[pyo3(signature = (calls, over, *, call_timeout=None, batch_timeout=None, concurrency=None))]
    fn new(
        calls: &Bound<'_, PyList>,
        over: Py<PyAny>,
        call_timeout: Option<f64>,
        batch_timeout: Option<f64>,
        concurrency: Option<NonZeroUsize>,
    ) -> PyResult<Self> {
        let py = calls.py();
        let names = asyncio(py)?;
        let event_loop = names.get_running_loop.bind(py).call0()?.unbind();
        let (cancelled, cancellation) = watch::channel(false);
        let has_timers = call_timeout.is_some() || batch_timeout.is_some();
        let timers = has_timers.then(runtime::handle).transpose()?;
        let driver = Driver::new(event_loop.clone_ref(py), timers);
        let runner = TaskRunner {
            calls: calls.iter().map(|start| Call::new(start.unbind())).collect(),
            over,
            context: names.copy_context.bind(py).call0()?.unbind(),
            event_loop,
            driver: Arc::clone(&driver),
        };
        let policy = Policy {
            call_timeout: call_timeout.map(Duration::from_secs_f64),
            batch_timeout: batch_timeout.map(Duration::from_secs_f64),
            concurrency,
        };
        let count = calls.len();
        driver.start(py, async move {
            execution::run(&runner, count, policy, cancellation).await;
        });
        Ok(Self { driver, cancelled })
    }

    /// Whether every call is over.
    #[getter]
    fn done(&self) -> bool {
        self.driver.is_done()
    }

    /// An asyncio future that is ready when every call is over. One waiter at a time.
    fn wait<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.driver.wait(py)
    }

    /// Asks every call that is not over to stop, and starts no further one. On a loop that was closed nothing will
    /// ever be over, so there the calls are given up.
    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        if self.driver.is_loop_closed(py)? {
            self.driver.abandon();
        } else {
            self.driver.drive(py, || {
                self.cancelled.send_replace(true);
            });
        }
        Ok(())
    }
}

impl Drop for Batch {
    /// Nobody waits any more: what still runs is asked to stop.
    fn drop(&mut self) {
        self.driver.abandon();
    }
}

/// Starts calls as tasks and jobs. Used on the loop's thread only.
struct TaskRunner {
    calls: Vec<Call>,
    over: Py<PyAny>,
    /// The context variables of whoever made the batch.
    context: Py<PyAny>,
    event_loop: Py<PyAny>,
    driver: Arc<Driver>,
}

struct Call {
    start: Py<PyAny>,
    /// The task or job that runs it now.
    running: Mutex<Option<Running>>,
}

enum Running {
    Task(Py<PyAny>),
    Job { job: Py<PyAny>, stop: Arc<Stop> },
}

/// What a job in a worker thread is told, and how it takes it.
#[derive(Default)]
struct Stop {
    asked: Notify,
    /// Whether the job said that it can be stopped.
    is_heard: std::sync::OnceLock<bool>,
}

impl Call {
    fn new(start: Py<PyAny>) -> Self {
        Self { start, running: Mutex::new(None) }
    }
}

/// How a call goes on.
enum Begun {
    Over(Settled),
    Task(oneshot::Receiver<Settled>),
    Job(tokio::task::JoinHandle<Settled>, Arc<Stop>),
}

impl TaskRunner {
    /// Starts a call.
    fn begin(&self, py: Python<'_>, index: usize) -> PyResult<Begun> {
        let context = self.context.bind(py).call_method0(pyo3::intern!(py, "copy"))?;
        let begun = context.call_method1(pyo3::intern!(py, "run"), (&self.calls[index].start,))?;
        if begun.is_instance_of::<ThreadJob>() {
            return self.begin_job(&begun, &context, index);
        }
        self.go_on(&begun, &context, index)
    }

    /// Awaits what a call returned, if it is an awaitable.
    fn go_on(
        &self,
        value: &Bound<'_, PyAny>,
        context: &Bound<'_, PyAny>,
        index: usize,
    ) -> PyResult<Begun> {
        let py = value.py();
        if !value.hasattr(pyo3::intern!(py, "__await__"))? {
            return Ok(Begun::Over(Ok(value.clone().unbind())));
        }
        let task = self.task(value, context)?;
        if task.call_method0(pyo3::intern!(py, "done"))?.is_truthy()? {
            return Ok(Begun::Over(settled(&task)));
        }
        let (sender, receiver) = oneshot::channel();
        let report = Report { sender: Mutex::new(Some(sender)), driver: Arc::clone(&self.driver) };
        task.call_method1(pyo3::intern!(py, "add_done_callback"), (Py::new(py, report)?,))?;
        *lock(&self.calls[index].running) = Some(Running::Task(task.unbind()));
        Ok(Begun::Task(receiver))
    }

    /// A task that starts at once, where Python can do that (3.12) and the program has not set its own factory.
    fn task<'py>(
        &self,
        awaitable: &Bound<'py, PyAny>,
        context: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = awaitable.py();
        let names = asyncio(py)?;
        let event_loop = self.event_loop.bind(py);
        let keywords = PyDict::new(py);
        keywords.set_item(pyo3::intern!(py, "context"), context)?;
        match &names.eager_task {
            Some(task)
                if event_loop.call_method0(pyo3::intern!(py, "get_task_factory"))?.is_none() =>
            {
                keywords.set_item(pyo3::intern!(py, "loop"), event_loop)?;
                keywords.set_item(pyo3::intern!(py, "eager_start"), true)?;
                task.bind(py).call((awaitable,), Some(&keywords))
            }
            _ => event_loop.call_method(
                pyo3::intern!(py, "create_task"),
                (awaitable,),
                Some(&keywords),
            ),
        }
    }

    fn begin_job(
        &self,
        job: &Bound<'_, PyAny>,
        context: &Bound<'_, PyAny>,
        index: usize,
    ) -> PyResult<Begun> {
        let stop = Arc::<Stop>::default();
        let running = Running::Job { job: job.clone().unbind(), stop: Arc::clone(&stop) };
        *lock(&self.calls[index].running) = Some(running);
        let (job, context) = (job.clone().unbind(), context.clone().unbind());
        let work = move || {
            let run = |py: Python<'_>| {
                let run = context.bind(py).getattr(pyo3::intern!(py, "run"))?;
                foreign::call(&run, &(job,).into_pyobject(py)?).map(Bound::unbind)
            };
            Python::try_attach(run)
                .unwrap_or_else(|| Err(PyRuntimeError::new_err("the interpreter is shutting down")))
        };
        Ok(Begun::Job(runtime::handle()?.spawn_blocking(work), stop))
    }

    /// The rest of a call whose job has returned an awaitable: that is awaited on the loop.
    fn go_on_after_job(&self, settled: Settled, index: usize) -> Begun {
        let value = match settled {
            Ok(value) => value,
            Err(error) => return Begun::Over(Err(error)),
        };
        Python::attach(|py| {
            let context = self.context.bind(py).call_method0(pyo3::intern!(py, "copy"))?;
            self.go_on(value.bind(py), &context, index)
        })
        .unwrap_or_else(|error| Begun::Over(Err(error)))
    }
}

impl Runner for TaskRunner {
    type Output = Settled;

    async fn start(&self, index: usize) -> Settled {
        let mut begun = match Python::attach(|py| self.begin(py, index)) {
            Ok(begun) => begun,
            Err(error) => return Err(error),
        };
        if let Begun::Job(job, stop) = begun {
            let settled = finish_job(job, &stop).await;
            lock(&self.calls[index].running).take();
            begun = self.go_on_after_job(settled, index);
        }
        match begun {
            Begun::Over(settled) => settled,
            Begun::Task(receiver) => {
                let settled = receiver.await;
                lock(&self.calls[index].running).take();
                // The callback that holds the sender went away unheard: the loop was closed.
                settled
                    .unwrap_or_else(|_| Err(CancelledError::new_err("the event loop was closed")))
            }
            Begun::Job(..) => {
                Err(PyRuntimeError::new_err("a job in a worker thread returned a job"))
            }
        }
    }

    fn cancel(&self, index: usize) {
        let Some(running) = lock(&self.calls[index].running).take() else { return };
        // At interpreter exit there is nothing left to cancel.
        Python::try_attach(|py| {
            let cancel = pyo3::intern!(py, "cancel");
            let told = match &running {
                // A task of a loop that was closed cannot be cancelled, and will not run.
                Running::Task(_) if self.driver.is_loop_closed(py).unwrap_or(true) => Ok(()),
                Running::Task(task) => task.call_method0(py, cancel).map(drop),
                Running::Job { job, stop } => job.call_method0(py, cancel).and_then(|is_heard| {
                    let _ = stop.is_heard.set(is_heard.is_truthy(py)?);
                    stop.asked.notify_one();
                    Ok(())
                }),
            };
            if let Err(error) = told {
                error.write_unraisable(py, None);
            }
        });
    }

    fn over(&self, index: usize, outcome: &Outcome<Settled>) {
        Python::attach(|py| {
            let (value, error, state) = match outcome {
                Outcome::Over(Ok(value)) => {
                    (value.clone_ref(py), py.None(), pyo3::intern!(py, "over"))
                }
                Outcome::Over(Err(error)) => (
                    py.None(),
                    error.value(py).clone().into_any().unbind(),
                    pyo3::intern!(py, "over"),
                ),
                Outcome::TimedOut => (py.None(), py.None(), pyo3::intern!(py, "timeout")),
                Outcome::BatchTimedOut => {
                    (py.None(), py.None(), pyo3::intern!(py, "batch timeout"))
                }
                Outcome::NotStarted => (py.None(), py.None(), pyo3::intern!(py, "not started")),
            };
            if let Err(error) = self.over.call1(py, (index, value, error, state)) {
                error.write_unraisable(py, Some(self.over.bind(py)));
            }
        });
    }
}

/// Waits for a job in a worker thread. One that was asked to stop and can be has a moment to do so; one that cannot
/// is left to end on its own, and what it returns then is dropped.
async fn finish_job(mut job: tokio::task::JoinHandle<Settled>, stop: &Stop) -> Settled {
    /// Time to clean up in.
    const MOMENT: Duration = Duration::from_millis(250);
    let left_alone = || Err(CancelledError::new_err("the call was left to end on its own"));
    let joined = |joined: Result<Settled, tokio::task::JoinError>| {
        joined.unwrap_or_else(|error| Err(PyRuntimeError::new_err(error.to_string())))
    };
    tokio::select! {
        biased;
        settled = &mut job => return joined(settled),
        () = stop.asked.notified() => {}
    }
    if !stop.is_heard.get().copied().unwrap_or(false) {
        return left_alone();
    }
    let moment = {
        let Ok(runtime) = runtime::handle() else { return left_alone() };
        let _timers = Handle::enter(&runtime);
        tokio::time::sleep(MOMENT)
    };
    tokio::select! {
        biased;
        settled = &mut job => joined(settled),
        () = moment => left_alone(),
    }
}

/// The done-callback of a task: hands on what it left, and lets the batch go on.
#[pyclass(frozen, module = "cogency_rs._core")]
struct Report {
    sender: Mutex<Option<oneshot::Sender<Settled>>>,
    driver: Arc<Driver>,
}

#[pymethods]
impl Report {
    fn __call__(&self, task: &Bound<'_, PyAny>) {
        let Some(sender) = lock(&self.sender).take() else { return };
        let settled = settled(task);
        self.driver.drive(task.py(), || {
            // Nobody waits for a call of a batch that was dropped.
            let _ = sender.send(settled);
        });
    }
}

/// What a task that is done left.
fn settled(task: &Bound<'_, PyAny>) -> Settled {
    task.call_method0(pyo3::intern!(task.py(), "result")).map(Bound::unbind)
}

/// The few names of asyncio and contextvars that a batch needs.
struct Names {
    get_running_loop: Py<PyAny>,
    copy_context: Py<PyAny>,
    /// `asyncio.Task`, where it can start eagerly (Python 3.12).
    eager_task: Option<Py<PyAny>>,
}

fn asyncio(py: Python<'_>) -> PyResult<&Names> {
    static NAMES: PyOnceLock<Names> = PyOnceLock::new();
    NAMES.get_or_try_init(py, || {
        let asyncio = py.import("asyncio")?;
        let has_eager_tasks = asyncio.hasattr("eager_task_factory")?;
        Ok(Names {
            get_running_loop: asyncio.getattr("get_running_loop")?.unbind(),
            copy_context: py.import("contextvars")?.getattr("copy_context")?.unbind(),
            eager_task: has_eager_tasks
                .then(|| asyncio.getattr("Task").map(Bound::unbind))
                .transpose()?,
        })
    })
}
