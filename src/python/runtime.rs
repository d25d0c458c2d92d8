//! The Tokio runtime behind timers and worker threads.
//!
//! One for each process, made when the first batch needs it. A forked child has none of its parent's threads, so it
//! gets its own; the parent's is left alone, since dropping it would wait for threads that do not exist.

use std::sync::{Mutex, PoisonError};

use pyo3::PyResult;
use pyo3::exceptions::PyRuntimeError;
use tokio::runtime::{Builder, Handle, Runtime};

/// The process it belongs to, and the runtime.
static RUNTIME: Mutex<Option<(u32, &'static Runtime)>> = Mutex::new(None);

/// The runtime of this process.
///
/// # Errors
/// The operating system gives no further thread.
pub fn handle() -> PyResult<Handle> {
    let process = std::process::id();
    let mut runtime = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((owner, runtime)) = *runtime
        && owner == process
    {
        return Ok(runtime.handle().clone());
    }
    let made = Builder::new_multi_thread()
        .worker_threads(1) // it only keeps time; calls run on the loop's thread or in worker threads
        .thread_name("cogency-rs")
        .enable_time()
        .build()
        .map_err(|error| {
            PyRuntimeError::new_err(format!("no thread for timers could be started: {error}"))
        })?;
    let made: &'static Runtime = Box::leak(Box::new(made));
    *runtime = Some((process, made));
    Ok(made.handle().clone())
}
