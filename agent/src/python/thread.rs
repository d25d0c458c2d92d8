//! A thread that runs an asyncio event loop, for programs without one.

use std::sync::mpsc;
use std::thread::{Builder, JoinHandle};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3_async_runtimes::TaskLocals;

use super::event_loop::EventLoop;
use super::queue::Closed;

/// A thread of its own that runs an asyncio event loop.
///
/// Dropping it has the loop cancel its tasks and stop, and does not wait for that; [`close`](Self::close) does. Calls that run fail
/// at once.
#[derive(Debug)]
pub struct LoopThread {
    event_loop: EventLoop,
    thread: Option<JoinHandle<()>>,
}

impl LoopThread {
    /// Starts the thread. Each call of a tool gets a copy of the context that this is called in.
    ///
    /// # Errors
    /// The system gives no thread, or asyncio no loop.
    pub fn start(py: Python<'_>) -> PyResult<Self> {
        // The thread that imports asyncio first is Python's main thread, which the end of the interpreter waits for.
        let asyncio = py.import("asyncio")?.unbind();
        let (sender, receiver) = mpsc::sync_channel(1);
        let (over, ended) = mpsc::sync_channel(1);
        let thread = Builder::new().name("cogency-rs-asyncio".to_owned()).spawn(move || {
            Python::attach(|py| match made(asyncio.bind(py)) {
                Ok((runner, event_loop)) => {
                    let _ = sender.send(Ok(event_loop.clone().unbind()));
                    run(&runner, &event_loop);
                }
                Err(error) => _ = sender.send(Err(error)),
            });
            let _ = over.send(());
        })?;
        let event_loop = py.detach(move || receiver.recv()).map_err(|_| {
            PyRuntimeError::new_err("the thread of the event loop ended before it had a loop")
        })??;
        let locals = TaskLocals::new(event_loop.into_bound(py)).copy_context(py)?;
        let event_loop = EventLoop::new(py, &locals, Some(ended))?;
        Ok(Self { event_loop, thread: Some(thread) })
    }

    /// The loop.
    #[must_use]
    pub fn event_loop(&self) -> &EventLoop {
        &self.event_loop
    }

    /// Stops the loop, and waits until its tasks have ended.
    ///
    /// That takes for ever where a coroutine goes on though it is cancelled. A program that expects this drops the thread instead.
    pub fn close(mut self) {
        let thread = self.thread.take();
        drop(self);
        if let Some(thread) = thread {
            // The loop's thread needs the interpreter to end, which this one may hold.
            let _ = Python::try_attach(|py| py.detach(|| thread.join()));
        }
    }
}

impl Drop for LoopThread {
    fn drop(&mut self) {
        let queue = self.event_loop.queue();
        if queue.close(Closed::Loop) {
            let _ = Python::try_attach(|py| queue.stop_loop(py));
        }
    }
}

/// A runner of asyncio, and its loop.
fn made<'py>(asyncio: &Bound<'py, PyModule>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let runner = asyncio.call_method0("Runner")?;
    let event_loop = runner.call_method0("get_loop")?;
    Ok((runner, event_loop))
}

/// Runs the loop until it is stopped; then cancels what is left in it, and closes it.
fn run(runner: &Bound<'_, PyAny>, event_loop: &Bound<'_, PyAny>) {
    for (of, method) in [(event_loop, "run_forever"), (runner, "close")] {
        if let Err(error) = of.call_method0(method) {
            // It came from a task that is not ours, so no call can have it as its result.
            error.write_unraisable(of.py(), Some(of));
        }
    }
}
