//! An asyncio event loop that makes tools of Python callables.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use pyo3::prelude::*;
use pyo3_async_runtimes::TaskLocals;

use super::exit;
use super::function::Function;
use super::queue::Queue;
use crate::execution::{FunctionTool, Work};

/// An asyncio event loop, which makes tools of Python callables. A clone shares it.
///
/// Any thread may run the loop: one of the program's own, or that of a [`LoopThread`](super::LoopThread). Several batches may
/// use it at once.
#[derive(Clone)]
pub struct EventLoop {
    queue: Arc<Queue>,
    locals: TaskLocals,
}

impl EventLoop {
    /// The event loop of these locals. Each call of a tool gets a copy of their context, if they have one.
    ///
    /// # Errors
    /// Python's own, of its module `atexit`.
    pub fn of(py: Python<'_>, locals: &TaskLocals) -> PyResult<Self> {
        Self::new(py, locals, None)
    }

    /// The same; `thread` is notified when the thread that we run the loop on has ended.
    pub(super) fn new(
        py: Python<'_>,
        locals: &TaskLocals,
        thread: Option<Receiver<()>>,
    ) -> PyResult<Self> {
        let queue = Arc::new(Queue::new(locals.clone()));
        exit::watch(py, &queue, thread)?;
        Ok(Self { queue, locals: locals.clone() })
    }

    /// The same loop, where each call gets a copy of this `contextvars.Context`.
    #[must_use]
    pub fn with_context(&self, context: Bound<'_, PyAny>) -> Self {
        let locals = self.locals.clone().with_context(context);
        Self { queue: Arc::clone(&self.queue), locals }
    }

    /// Makes a tool of a callable, named after it: of an `async def`, one whose calls are awaited on the loop; of any other, one
    /// whose calls run on threads. It gets the model's arguments by their names.
    ///
    /// # Errors
    /// The callable has no `__name__`, such as a `functools.partial`; give it one.
    pub fn tool(&self, callable: &Bound<'_, PyAny>) -> PyResult<FunctionTool> {
        let py = callable.py();
        let inspect = py.import(pyo3::intern!(py, "inspect"))?;
        let is_async = |callable: &Bound<'_, PyAny>| -> PyResult<bool> {
            inspect.call_method1(pyo3::intern!(py, "iscoroutinefunction"), (callable,))?.extract()
        };
        let called = callable.getattr(pyo3::intern!(py, "__call__"))?;
        if is_async(callable)? || is_async(&called)? {
            return self.async_tool(callable);
        }
        let (queue, function) = (self.queue.clone(), self.function(callable)?);
        Ok(FunctionTool::new(function.name.clone(), move |invocation| {
            let (queue, function) = (Arc::clone(&queue), Arc::clone(&function));
            Work::Blocking(Box::new(move || {
                queue.attach(|py| function.call_in_thread(py, &invocation))?
            }))
        }))
    }

    /// Makes a tool of a callable that returns an awaitable, even where Python cannot tell, as with a decorated
    /// function.
    ///
    /// # Errors
    /// As [`tool`](Self::tool).
    pub fn async_tool(&self, callable: &Bound<'_, PyAny>) -> PyResult<FunctionTool> {
        let (queue, function) = (self.queue.clone(), self.function(callable)?);
        Ok(FunctionTool::new(function.name.clone(), move |invocation| {
            Work::Async(Box::pin(queue.start(Arc::clone(&function), invocation)))
        }))
    }

    fn function(&self, callable: &Bound<'_, PyAny>) -> PyResult<Arc<Function>> {
        Function::new(callable, &self.locals).map(Arc::new)
    }

    /// The loop, and the context that each call gets a copy of.
    #[must_use]
    pub fn locals(&self) -> &TaskLocals {
        &self.locals
    }

    pub(super) fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }
}

impl std::fmt::Debug for EventLoop {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("EventLoop").finish_non_exhaustive()
    }
}
