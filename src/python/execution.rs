//! `Batch`: the calls of a batch as asyncio tasks and worker-thread jobs, driven by the core's future.
//!
//! The future of [`execution::run`] is polled on the event loop's own thread, where the tasks live: when the batch
//! is made, when a task reports that it is over, and when something wakes it from elsewhere (a timer, a worker
//! thread), which is the only time a call has to cross threads. Tools that are done at once cost no trip through
//! the loop at all.
//!
//! Invariants: one thread drives a batch; no lock is held while Python code runs; an interpreter is attached only
//! while it is used.

use std::future::{Future, poll_fn};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::exceptions::asyncio::CancelledError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot, watch};

use super::driver::{Driver, lock};
use super::eager::{Started, Starter};
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
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Self
    }

    /// Asks the job to stop. Returns whether it can be: then it is waited for, otherwise it is left to end on
    /// its own.
    fn cancel(_slf: &Bound<'_, Self>) -> bool {
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
    /// Starts `count` calls. `start(index)` is called for each and returns an awaitable, a `ThreadJob`, or the result
    /// itself. `over(index, value, exception, state)` is told of every call that is over,
    /// with `state` one of `"over"`, `"timeout"`, `"batch timeout"` and `"not started"`. Must be made on the thread of a running loop.
    #[new]
    #[pyo3(signature = (count, start, over, *, call_timeout=None, batch_timeout=None, concurrency=None))]
    fn new(
        count: usize,
        start: Py<PyAny>,
        over: Py<PyAny>,
        call_timeout: Option<f64>,
        batch_timeout: Option<f64>,
        concurrency: Option<NonZeroUsize>,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let event_loop = running_loop(py)?.unbind();
        let (cancelled, cancellation) = watch::channel(false);
        let has_timers = call_timeout.is_some() || batch_timeout.is_some();
        let timers = has_timers.then(runtime::handle).transpose()?;
        let driver = Driver::new(event_loop.clone_ref(py), timers);
        let runner = TaskRunner {
            start,
            over,
            running: (0..count).map(|_| Mutex::new(None)).collect(),
            starter: Starter::new(event_loop, py)?,
            driver: Arc::clone(&driver),
        };
        let policy = Policy {
            call_timeout: call_timeout.map(Duration::from_secs_f64),
            batch_timeout: batch_timeout.map(Duration::from_secs_f64),
            concurrency,
        };
        driver.start(py, run(runner, count, policy, cancellation));
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

/// Runs the batch. Between its polls no task stands ready.
async fn run(
    runner: TaskRunner,
    count: usize,
    policy: Policy,
    cancellation: watch::Receiver<bool>,
) {
    let mut work = std::pin::pin!(execution::run(&runner, count, policy, cancellation));
    poll_fn(|context| {
        let poll = work.as_mut().poll(context).map(drop);
        Python::attach(|py| {
            if let Err(error) = runner.starter.release(py) {
                error.write_unraisable(py, None);
            }
        });
        poll
    })
    .await;
}

/// Starts calls as tasks and jobs. Used on the loop's thread only.
struct TaskRunner {
    start: Py<PyAny>,
    over: Py<PyAny>,
    /// The task or job that runs each call now.
    running: Vec<Mutex<Option<Running>>>,
    starter: Starter,
    driver: Arc<Driver>,
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

/// How a call goes on.
enum Begun {
    Over(Settled),
    Task(oneshot::Receiver<Settled>),
    Job(tokio::task::JoinHandle<Settled>, Arc<Stop>),
}

impl TaskRunner {
    /// Starts a call.
    fn begin(&self, py: Python<'_>, index: usize) -> PyResult<Begun> {
        let begun = self.start.bind(py).call1((index,))?;
        if begun.is_instance_of::<ThreadJob>() {
            return self.begin_job(&begun, index);
        }
        self.go_on(&begun, index)
    }

    /// Awaits what a call returned, if it is an awaitable.
    fn go_on(&self, value: &Bound<'_, PyAny>, index: usize) -> PyResult<Begun> {
        let py = value.py();
        let task = match self.starter.start(value)? {
            Started::Over(value) => return Ok(Begun::Over(Ok(value))),
            Started::Waits(task) => task,
        };
        let (sender, receiver) = oneshot::channel();
        let report = Report { sender: Mutex::new(Some(sender)), driver: Arc::clone(&self.driver) };
        let add_done_callback = pyo3::intern!(py, "add_done_callback");
        task.call_method1(py, add_done_callback, (Py::new(py, report)?,))?;
        *lock(&self.running[index]) = Some(Running::Task(task));
        Ok(Begun::Task(receiver))
    }

    fn begin_job(&self, job: &Bound<'_, PyAny>, index: usize) -> PyResult<Begun> {
        let stop = Arc::<Stop>::default();
        let running = Running::Job { job: job.clone().unbind(), stop: Arc::clone(&stop) };
        *lock(&self.running[index]) = Some(running);
        let (job, context) = (job.clone().unbind(), self.starter.context(job.py())?.unbind());
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
        Python::attach(|py| self.go_on(value.bind(py), index))
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
            lock(&self.running[index]).take();
            begun = self.go_on_after_job(settled, index);
        }
        match begun {
            Begun::Over(settled) => settled,
            Begun::Task(receiver) => {
                let settled = receiver.await;
                lock(&self.running[index]).take();
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
        let Some(running) = lock(&self.running[index]).take() else { return };
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

fn running_loop(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    static GET: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    GET.import(py, "asyncio", "get_running_loop")?.call0()
}
