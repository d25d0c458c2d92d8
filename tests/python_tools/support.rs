//! What the tests of Python tools share.

use std::ops::Deref;

use cogency_agent::execution::{FunctionTool, ToolExecution};
use cogency_agent::python::{EventLoop, LoopThread};
use cogency_rs::protocol::Call;
use cogency_rs::protocol::results::CallOutcome;
use pyo3::prelude::*;
use pyo3::types::PyModule;
use pyo3_async_runtimes::TaskLocals;
use serde_json::Value;
use tokio::runtime::Builder;

/// Runs code of Python that must not fail.
pub fn in_python<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> T {
    Python::initialize();
    Python::attach(|py| {
        work(py).unwrap_or_else(|error| {
            error.print(py);
            panic!("Python code of the test failed")
        })
    })
}

/// The module with the tools; one for all tests.
pub fn tools_module(py: Python<'_>) -> Bound<'_, PyModule> {
    use pyo3::sync::PyOnceLock;
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let code = std::ffi::CString::new(include_str!("tools.py")).expect("there is no NUL in it");
    let made = || PyModule::from_code(py, &code, c"tools.py", c"tools").map(Bound::unbind);
    MODULE.get_or_try_init(py, made).expect("it is Python").bind(py).clone()
}

/// Runs a future on a runtime of two threads.
pub fn on_tokio<F: Future>(future: F) -> F::Output {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_time().build();
    runtime.expect("the system gives threads").block_on(future)
}

/// A loop on a thread of its own, closed at the end of the test.
pub struct LoopOfTest(Option<LoopThread>);

impl LoopOfTest {
    pub fn start() -> Self {
        in_python(|py| Ok(Self::start_attached(py)))
    }

    pub fn start_attached(py: Python<'_>) -> Self {
        Self(Some(LoopThread::start(py).expect("the system gives a thread")))
    }

    /// The tool of the module with this name.
    pub fn tool(&self, name: &str) -> FunctionTool {
        in_python(|py| self.event_loop().tool(&tools_module(py).getattr(name)?))
    }

    /// The tool that the function of this name makes for a journal.
    pub fn made(&self, maker: &str, journal: &Journal) -> FunctionTool {
        in_python(|py| made(self.event_loop(), py, maker, journal))
    }
}

/// The tool that a function of the module makes for a journal.
pub fn made(
    event_loop: &EventLoop,
    py: Python<'_>,
    maker: &str,
    journal: &Journal,
) -> PyResult<FunctionTool> {
    let tool = tools_module(py).getattr(maker)?.call1((journal.0.bind(py),))?;
    event_loop.tool(&tool)
}

impl Deref for LoopOfTest {
    type Target = LoopThread;

    fn deref(&self) -> &LoopThread {
        self.0.as_ref().expect("it is closed last")
    }
}

impl Drop for LoopOfTest {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take()
            && !std::thread::panicking()
        {
            thread.close();
        }
    }
}

/// A loop that the test runs, stops and closes itself.
pub fn own_loop() -> (Py<PyAny>, EventLoop) {
    in_python(|py| {
        let event_loop = py.import("asyncio")?.call_method0("new_event_loop")?;
        let tools = EventLoop::of(py, &TaskLocals::new(event_loop.clone()))?;
        Ok((event_loop.unbind(), tools))
    })
}

/// What tools note.
pub struct Journal(pub Py<PyAny>);

impl Journal {
    pub fn new() -> Self {
        Self(in_python(|py| tools_module(py).getattr("Journal")?.call0().map(Bound::unbind)))
    }

    /// Waits until a tool has noted this.
    pub async fn wait_for(&self, line: &'static str) {
        let journal = Python::attach(|py| self.0.clone_ref(py));
        let wait = move || in_python(|py| journal.call_method1(py, "wait_for", (line,)).map(drop));
        tokio::task::spawn_blocking(wait).await.expect("it came");
    }

    pub fn lines(&self) -> Vec<String> {
        in_python(|py| self.0.getattr(py, "lines")?.extract(py))
    }
}

/// Calls of tools, with their arguments.
pub fn calls<A: AsRef<str>>(calls: impl IntoIterator<Item = (&'static str, A)>) -> Vec<Call> {
    let call = |(name, args): (&str, A)| Call::of_json(&format!("\"{name}\""), args.as_ref());
    calls.into_iter().map(call).collect()
}

/// The content of a call that succeeded.
pub fn content(execution: &ToolExecution) -> &str {
    match &execution.outcome {
        CallOutcome::Success { content, .. } => content,
        CallOutcome::Failure { message } => panic!("it failed: {message}"),
    }
}

/// The contents of calls that succeeded.
pub fn answered(executions: &[ToolExecution]) -> Vec<Value> {
    let read = |execution| serde_json::from_str(content(execution)).expect("it is JSON");
    executions.iter().map(read).collect()
}

/// The text of a call that failed.
pub fn failure(execution: &ToolExecution) -> String {
    match &execution.outcome {
        CallOutcome::Success { content, .. } => panic!("it succeeded: {content}"),
        CallOutcome::Failure { message } => serde_json::from_str(message).expect("it is JSON"),
    }
}

/// An outcome in one line.
pub fn shown(execution: &ToolExecution) -> String {
    match &execution.outcome {
        CallOutcome::Success { outcome, content } => {
            format!("{:?}", Ok::<_, ()>((outcome.as_deref().unwrap_or_default(), content)))
        }
        CallOutcome::Failure { .. } => format!("{:?}", Err::<(), _>(failure(execution))),
    }
}
