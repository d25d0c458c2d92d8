//! `Batch`: the calls of a batch as asyncio tasks, driven by the core's future.
//!
//! The future of [`execution::run`] is polled on the event loop's own thread, where the tasks live: when the batch
//! is made, when a task reports that it is over, and when something wakes it from elsewhere (a timer, a worker
//! thread), which is the only time a call has to cross threads. Tools that are done at once cost no trip through
//! the loop at all.
//!
//! Invariants: one thread drives a batch; no lock is held while Python code runs; an interpreter is attached only
//! while it is used.

use std::future::Future;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use pyo3::exceptions::asyncio::CancelledError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList};
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

use super::runtime;
use crate::execution::{self, Outcome, Policy, Runner};

/// What a call that is over left: what it returned or raised.
type Settled = PyResult<Py<PyAny>>;
type BatchFuture = Pin<Box<dyn Future<Output = Vec<Outcome<Settled>>> + Send>>;

/// A running batch.
#[pyclass(frozen, module = "cogency_rs._core")]
pub struct Batch {
    driver: Arc<Driver>,
    cancelled: watch::Sender<bool>,
}

#[pymethods]
impl Batch {
    /// Starts `calls`, each a callable that starts one call when it is called: it returns an awaitable, or the
    /// result itself. Must be made on the thread of a running loop.
    #[new]
    #[pyo3(signature = (calls, *, call_timeout=None, concurrency=None))]
    fn new(
        calls: &Bound<'_, PyList>,
        call_timeout: Option<f64>,
        concurrency: Option<NonZeroUsize>,
    ) -> PyResult<Self> {
        let py = calls.py();
        let names = asyncio(py)?;
        let event_loop = names.get_running_loop.bind(py).call0()?.unbind();
        let (cancelled, cancellation) = watch::channel(false);
        let driver = Arc::new(Driver {
            event_loop: event_loop.clone_ref(py),
            state: AtomicU8::new(IDLE),
            future: Mutex::new(None),
            outcomes: Mutex::new(None),
            waiter: Mutex::new(None),
            timers: call_timeout.map(|_| runtime::handle()).transpose()?,
        });
        let runner = TaskRunner {
            calls: calls.iter().map(Bound::unbind).collect(),
            tasks: calls.iter().map(|_| Mutex::new(None)).collect(),
            context: names.copy_context.bind(py).call0()?.unbind(),
            event_loop,
            driver: Arc::clone(&driver),
        };
        let policy =
            Policy { call_timeout: call_timeout.map(Duration::from_secs_f64), concurrency };
        let future = execution::run(runner, calls.len(), policy, cancellation);
        *lock(&driver.future) = Some(Box::pin(future));
        driver.drive(py, || ());
        Ok(Self { driver, cancelled })
    }

    /// Whether every call is over.
    #[getter]
    fn done(&self) -> bool {
        lock(&self.driver.outcomes).is_some()
    }

    /// An asyncio future that is ready when every call is over. One waiter at a time.
    fn wait<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let future =
            self.driver.event_loop.bind(py).call_method0(pyo3::intern!(py, "create_future"))?;
        *lock(&self.driver.waiter) = Some(future.clone().unbind());
        if self.done() {
            self.driver.resolve(py);
        }
        Ok(future)
    }

    /// Asks every call that is not over to stop, and starts no further one.
    fn cancel(&self, py: Python<'_>) {
        self.driver.drive(py, || {
            self.cancelled.send_replace(true);
        });
    }

    /// Of each call, in call order: `(value, exception, state)`, with `state` one of `"over"`, `"timeout"` and
    /// `"not started"`.
    fn outcomes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let outcomes = lock(&self.driver.outcomes).take().unwrap_or_default();
        let list = PyList::empty(py);
        for outcome in outcomes {
            let (value, error, state) = match outcome {
                Outcome::Over(Ok(value)) => (value, py.None(), pyo3::intern!(py, "over")),
                Outcome::Over(Err(error)) => {
                    (py.None(), error.into_value(py).into_any(), pyo3::intern!(py, "over"))
                }
                Outcome::TimedOut => (py.None(), py.None(), pyo3::intern!(py, "timeout")),
                Outcome::NotStarted => (py.None(), py.None(), pyo3::intern!(py, "not started")),
            };
            list.append((value, error, state))?;
        }
        Ok(list)
    }
}

/// Starts calls as asyncio tasks. Used on the loop's thread only.
struct TaskRunner {
    calls: Vec<Py<PyAny>>,
    tasks: Vec<Mutex<Option<Py<PyAny>>>>,
    /// The context variables of whoever made the batch.
    context: Py<PyAny>,
    event_loop: Py<PyAny>,
    driver: Arc<Driver>,
}

impl TaskRunner {
    /// Starts a call: its result, or what will be sent it.
    fn begin(&self, py: Python<'_>, index: usize) -> PyResult<Begun> {
        let names = asyncio(py)?;
        let context = self.context.bind(py).call_method0(pyo3::intern!(py, "copy"))?;
        let awaitable = context.call_method1(pyo3::intern!(py, "run"), (&self.calls[index],))?;
        if !awaitable.hasattr(pyo3::intern!(py, "__await__"))? {
            return Ok(Begun::Over(Ok(awaitable.unbind())));
        }
        let keywords = PyDict::new(py);
        keywords.set_item(pyo3::intern!(py, "context"), context)?;
        let event_loop = self.event_loop.bind(py);
        let task = match &names.eager_task {
            Some(task)
                if event_loop.call_method0(pyo3::intern!(py, "get_task_factory"))?.is_none() =>
            {
                keywords.set_item(pyo3::intern!(py, "loop"), event_loop)?;
                keywords.set_item(pyo3::intern!(py, "eager_start"), true)?;
                task.bind(py).call((awaitable,), Some(&keywords))?
            }
            _ => event_loop.call_method(
                pyo3::intern!(py, "create_task"),
                (awaitable,),
                Some(&keywords),
            )?,
        };
        if task.call_method0(pyo3::intern!(py, "done"))?.is_truthy()? {
            return Ok(Begun::Over(settled(&task)));
        }
        let (sender, receiver) = oneshot::channel();
        let report = Report { sender: Mutex::new(Some(sender)), driver: Arc::clone(&self.driver) };
        task.call_method1(pyo3::intern!(py, "add_done_callback"), (Py::new(py, report)?,))?;
        *lock(&self.tasks[index]) = Some(task.unbind());
        Ok(Begun::Running(receiver))
    }
}

enum Begun {
    Over(Settled),
    Running(oneshot::Receiver<Settled>),
}

impl Runner for TaskRunner {
    type Output = Settled;

    async fn start(&self, index: usize) -> Settled {
        match Python::attach(|py| self.begin(py, index)) {
            Ok(Begun::Over(settled)) => settled,
            Ok(Begun::Running(receiver)) => {
                let settled = receiver.await;
                lock(&self.tasks[index]).take();
                // The callback that holds the sender went away unheard: the loop was closed.
                settled
                    .unwrap_or_else(|_| Err(CancelledError::new_err("the event loop was closed")))
            }
            Err(error) => Err(error),
        }
    }

    fn cancel(&self, index: usize) {
        let Some(task) = lock(&self.tasks[index]).take() else {
            return;
        };
        // At interpreter exit there is nothing left to cancel.
        Python::try_attach(|py| {
            if let Err(error) = task.call_method0(py, pyo3::intern!(py, "cancel")) {
                error.write_unraisable(py, Some(task.bind(py)));
            }
        });
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
        let Some(sender) = lock(&self.sender).take() else {
            return;
        };
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

/// Polls the batch's future, on the loop's thread.
struct Driver {
    event_loop: Py<PyAny>,
    state: AtomicU8,
    future: Mutex<Option<BatchFuture>>,
    outcomes: Mutex<Option<Vec<Outcome<Settled>>>>,
    waiter: Mutex<Option<Py<PyAny>>>,
    /// Of a batch whose calls may time out.
    timers: Option<Handle>,
}

/// Nothing to do.
const IDLE: u8 = 0;
/// The loop has been asked to call [`Driver::drive`].
const SCHEDULED: u8 = 1;
/// The loop's thread is inside `drive`.
const DRIVING: u8 = 2;
/// Likewise, and there is something to poll for.
const WOKEN: u8 = 3;

impl Driver {
    /// Does `first`, which may wake the future, and polls the future for as long as it is woken.
    fn drive(self: &Arc<Self>, py: Python<'_>, first: impl FnOnce()) {
        let before = self.state.swap(WOKEN, Ordering::AcqRel);
        first();
        if before == DRIVING || before == WOKEN {
            return; // An outer call on this thread is at work and sees that it was woken.
        }
        let waker = Waker::from(Arc::clone(self));
        let mut context = Context::from_waker(&waker);
        loop {
            self.state.store(DRIVING, Ordering::Release);
            let Some(mut future) = lock(&self.future).take() else {
                break;
            };
            let _timers = self.timers.as_ref().map(Handle::enter);
            match future.as_mut().poll(&mut context) {
                Poll::Ready(outcomes) => {
                    *lock(&self.outcomes) = Some(outcomes);
                    self.resolve(py);
                }
                Poll::Pending => *lock(&self.future) = Some(future),
            }
            if self
                .state
                .compare_exchange(DRIVING, IDLE, Ordering::AcqRel, Ordering::Acquire)
                .is_ok()
            {
                return;
            }
        }
        self.state.store(IDLE, Ordering::Release);
    }

    /// Tells the waiter that the batch is done.
    fn resolve(&self, py: Python<'_>) {
        let Some(waiter) = lock(&self.waiter).take() else {
            return;
        };
        let tell = || -> PyResult<()> {
            let waiter = waiter.bind(py);
            if !waiter.call_method0(pyo3::intern!(py, "done"))?.is_truthy()? {
                waiter.call_method1(pyo3::intern!(py, "set_result"), (py.None(),))?;
            }
            Ok(())
        };
        if let Err(error) = tell() {
            error.write_unraisable(py, Some(waiter.bind(py)));
        }
    }
}

impl Wake for Driver {
    fn wake(self: Arc<Self>) {
        loop {
            let (now, next) = match self.state.load(Ordering::Acquire) {
                IDLE => (IDLE, SCHEDULED),
                DRIVING => (DRIVING, WOKEN),
                _ => return,
            };
            if self.state.compare_exchange(now, next, Ordering::AcqRel, Ordering::Acquire).is_err()
            {
                continue;
            }
            if next == SCHEDULED {
                // A loop that is closed, or an interpreter that is going away, has no use for the outcome.
                Python::try_attach(|py| {
                    let call = pyo3::intern!(py, "call_soon_threadsafe");
                    let wakeup = Wakeup { driver: Arc::clone(&self) };
                    drop(self.event_loop.call_method1(py, call, (wakeup,)));
                });
            }
            return;
        }
    }
}

/// What the loop calls when the batch was woken from another thread.
#[pyclass(frozen, module = "cogency_rs._core")]
struct Wakeup {
    driver: Arc<Driver>,
}

#[pymethods]
impl Wakeup {
    fn __call__(&self, py: Python<'_>) {
        self.driver.drive(py, || ());
    }
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

/// A panic elsewhere leaves these values as they were: each is replaced whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
