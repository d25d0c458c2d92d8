//! What threads of Tokio ask of an asyncio event loop: a queue of calls to start and tasks to stop.
//!
//! The loop is woken once for all that is put into the queue until it looks, so a batch costs one trip to the loop and
//! not one for each call, and a thread of Tokio touches Python only for that. Invariants: each call that is started has
//! one result, even where the loop, the interpreter or the process is no longer there; nothing is locked while Python
//! code runs, and no thread waits for the interpreter while something is locked.

use std::collections::HashMap;
use std::mem::{replace, take};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};
use pyo3_async_runtimes::TaskLocals;
use tokio::sync::oneshot;

use super::coroutine::Coroutine;
use super::function::Function;
use super::outcome::{Results, Returned, error_of};
use crate::execution::{Invocation, ToolError};

/// What threads of Tokio ask of an event loop.
pub struct Queue {
    process: u32,
    locals: TaskLocals,
    state: Mutex<State>,
    /// Notified when no thread is waking the loop.
    is_left: Condvar,
}

#[derive(Default)]
struct State {
    closed: Option<Closed>,
    /// Whether the loop was woken, and has not looked yet.
    is_woken: bool,
    /// How many threads are waking it, attached to the interpreter or about to be.
    waking: usize,
    requests: Vec<Request>,
    /// The calls that have no result yet, by their numbers.
    calls: HashMap<u64, Running>,
    next: u64,
    /// The timer by which the queue learns that the loop was closed. Weak: only the loop may keep it alive.
    watch: Option<Py<PyWeakrefReference>>,
}

enum Request {
    /// Start the call of this number, unless it was given up meanwhile.
    Start(u64, Arc<Function>, Invocation),
    /// Cancel this task.
    Stop(Py<PyAny>),
}

struct Running {
    sender: oneshot::Sender<Returned>,
    /// Held, since asyncio itself holds no task.
    task: Option<Py<PyAny>>,
}

/// Why calls can no longer run.
#[derive(Clone, Copy, Debug)]
pub enum Closed {
    Loop,
    Interpreter,
}

impl Closed {
    fn error(self) -> ToolError {
        ToolError::new(match self {
            Self::Loop => "its event loop was closed",
            Self::Interpreter => "the Python interpreter has ended",
        })
    }
}

impl Queue {
    pub fn new(locals: TaskLocals) -> Self {
        Self {
            process: std::process::id(),
            locals,
            state: Mutex::default(),
            is_left: Condvar::new(),
        }
    }

    /// Puts a call into the queue. Dropping the future before it is ready stops the call.
    pub fn start(self: &Arc<Self>, function: Arc<Function>, invocation: Invocation) -> Answer {
        if let Err(error) = self.check() {
            return Answer::Failed(Some(error));
        }
        let (sender, receiver) = oneshot::channel();
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.calls.insert(number, Running { sender, task: None });
        state.requests.push(Request::Start(number, function, invocation));
        self.wake(state);
        Answer::Waiting(Call { queue: Arc::clone(self), number, receiver })
    }

    /// Attaches to the interpreter for a call that runs in a thread.
    ///
    /// # Errors
    /// It is no longer there.
    pub fn attach<R>(&self, work: impl FnOnce(Python<'_>) -> R) -> Result<R, ToolError> {
        self.check()?;
        Python::try_attach(work).ok_or_else(|| Closed::Interpreter.error())
    }

    fn call_soon(&self, py: Python<'_>, callback: Bound<'_, PyAny>) -> PyResult<()> {
        let call = pyo3::intern!(py, "call_soon_threadsafe");
        self.locals.event_loop(py).call_method1(call, (callback,)).map(drop)
    }

    /// Asks the loop to stop. One that is closed has stopped.
    pub fn stop_loop(&self, py: Python<'_>) {
        let stop = self.locals.event_loop(py).getattr(pyo3::intern!(py, "stop"));
        let _ = stop.and_then(|stop| self.call_soon(py, stop));
    }

    /// Lets every call fail, those that run and those that are still to come. Returns whether calls could run until now.
    pub fn close(&self, why: Closed) -> bool {
        if !self.is_of_this_process() {
            return false;
        }
        let mut state = self.lock();
        let was_open = state.closed.is_none();
        state.closed.get_or_insert(why);
        let State { requests, calls, watch, .. } = &mut *state;
        let dropped = (take(requests), take(calls), watch.take());
        drop(state);
        // What is dropped may run Python code, and so not while the state is locked.
        drop(dropped);
        was_open
    }

    /// Waits until no thread wakes the loop, which none begins to do once it is closed. The caller is not attached.
    pub fn wait_until_left(&self, patience: Duration) {
        let is_left =
            self.is_left.wait_timeout_while(self.lock(), patience, |state| state.waking > 0);
        drop(is_left);
    }

    fn is_of_this_process(&self) -> bool {
        self.process == std::process::id()
    }

    /// Whether calls can run. In a fork nothing is locked: a thread of the parent may have held the lock.
    fn check(&self) -> Result<(), ToolError> {
        if !self.is_of_this_process() {
            let owner = self.process;
            return Err(ToolError::new(format!(
                "its event loop belongs to the process {owner}; after a fork, make another"
            )));
        }
        self.lock().closed.map_or(Ok(()), |closed| Err(closed.error()))
    }

    /// The call's result will not be awaited.
    fn give_up(self: &Arc<Self>, number: u64) {
        if !self.is_of_this_process() {
            return;
        }
        let mut state = self.lock();
        if let Some(Running { task: Some(task), .. }) = state.calls.remove(&number) {
            state.requests.push(Request::Stop(task));
            self.wake(state);
        }
    }

    /// Has the loop look into the queue soon.
    fn wake(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        if state.closed.is_some() || replace(&mut state.is_woken, true) {
            return;
        }
        state.waking += 1;
        drop(state);
        let woken = Python::try_attach(|py| {
            self.call_soon(py, Bound::new(py, OnWake(Some(Arc::clone(self))))?.into_any())
        });
        let mut state = self.lock();
        state.waking -= 1;
        let may_be_awaited = state.closed.is_some();
        drop(state);
        if may_be_awaited {
            self.is_left.notify_all();
        }
        match woken {
            Some(Ok(())) => {}
            Some(Err(_)) => _ = self.close(Closed::Loop),
            None => _ = self.close(Closed::Interpreter),
        }
    }

    /// Starts and stops what the queue has. Runs on the loop.
    fn look(self: &Arc<Self>, py: Python<'_>) {
        let mut state = self.lock();
        state.is_woken = false;
        let requests = take(&mut state.requests);
        let is_watched = state.watch.is_some();
        drop(state);
        if !is_watched {
            self.watch(py);
        }
        for request in requests {
            match request {
                Request::Start(number, function, invocation) => {
                    self.begin(py, number, function, invocation);
                }
                Request::Stop(task) => cancel(task.bind(py)),
            }
        }
    }

    fn begin(
        self: &Arc<Self>,
        py: Python<'_>,
        number: u64,
        function: Arc<Function>,
        invocation: Invocation,
    ) {
        if !self.lock().calls.contains_key(&number) {
            return;
        }
        let results: Arc<dyn Results> = Arc::clone(self) as _;
        let coroutine = Coroutine::new(results, number, Arc::clone(&function), invocation);
        let task =
            Bound::new(py, coroutine).and_then(|coroutine| function.task(coroutine.into_any()));
        let task = match task {
            Ok(task) => task,
            Err(error) => return self.end(number, Err(error_of(py, error))),
        };
        if let Some(running) = self.lock().calls.get_mut(&number) {
            running.task = Some(task.unbind());
            return;
        }
        // It was given up meanwhile; or the loop's tasks are eager, and it is over: then this changes nothing.
        cancel(&task);
    }

    /// Gives the loop a timer that is never due. A loop that is closed drops its timers, and that tells us that it was closed.
    fn watch(self: &Arc<Self>, py: Python<'_>) {
        const CENTURY: f64 = 3.2e9;
        let timer = Bound::new(py, Watch(Arc::downgrade(self))).and_then(|watch| {
            let call = pyo3::intern!(py, "call_later");
            self.locals.event_loop(py).call_method1(call, (CENTURY, watch))
        });
        if let Ok(timer) = timer.and_then(|timer| PyWeakrefReference::new(&timer)) {
            self.lock().watch = Some(timer.unbind());
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Results for Queue {
    fn end(&self, number: u64, returned: Returned) {
        if !self.is_of_this_process() {
            return;
        }
        let running = self.lock().calls.remove(&number);
        if let Some(Running { sender, task: _ }) = running {
            // Where nothing is listening, the call has just been given up.
            let _ = sender.send(returned);
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let watch = self.state.get_mut().unwrap_or_else(PoisonError::into_inner).watch.take();
        let (Some(watch), true) = (watch, self.is_of_this_process()) else { return };
        // A loop that is closed has dropped its timers already.
        let _ = Python::try_attach(|py| match watch.bind(py).upgrade() {
            Some(timer) => self.call_soon(py, timer.getattr(pyo3::intern!(py, "cancel"))?),
            None => Ok(()),
        });
    }
}

/// Asks a task to stop. It fails only where the task is not one of asyncio's, and then there is nothing else to ask.
fn cancel(task: &Bound<'_, PyAny>) {
    let _ = task.call_method0(pyo3::intern!(task.py(), "cancel"));
}

/// What the loop calls when it was woken. A loop that drops it without calling it was closed.
#[pyclass]
struct OnWake(Option<Arc<Queue>>);

#[pymethods]
impl OnWake {
    fn __call__(&mut self, py: Python<'_>) {
        if let Some(queue) = self.0.take() {
            queue.look(py);
        }
    }
}

impl Drop for OnWake {
    fn drop(&mut self) {
        if let Some(queue) = self.0.take() {
            queue.close(Closed::Loop);
        }
    }
}

/// What the loop drops when it is closed.
#[pyclass(frozen)]
struct Watch(Weak<Queue>);

#[pymethods]
impl Watch {
    #[allow(clippy::unused_self, reason = "a callback, which is never called")]
    fn __call__(&self) {}
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(queue) = self.0.upgrade() {
            queue.close(Closed::Loop);
        }
    }
}

/// The result of a call, as Tokio awaits it.
pub enum Answer {
    Waiting(Call),
    Failed(Option<ToolError>),
}

/// A call that was started.
pub struct Call {
    queue: Arc<Queue>,
    number: u64,
    receiver: oneshot::Receiver<Returned>,
}

impl Future for Answer {
    type Output = Returned;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Returned> {
        let returned = match &mut *self {
            Self::Waiting(call) => match ready!(Pin::new(&mut call.receiver).poll(context)) {
                Ok(returned) => returned,
                Err(_) => Err(call.queue.check().err().unwrap_or_else(|| Closed::Loop.error())),
            },
            Self::Failed(error) => Err(error.take().unwrap_or_else(|| Closed::Loop.error())),
        };
        Poll::Ready(returned)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.queue.give_up(self.number);
    }
}
