//! The Tokio runtime behind timers and worker threads.
//!
//! One for each process, made when the first batch needs it. A forked child has none of its parent's threads, so it
//! gets its own; the parent's is left alone, since dropping it would wait for threads that do not exist.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tokio::runtime::{Builder, Handle, Runtime};

use super::error::ConfigError;

static SHARED: Mutex<Shared> = Mutex::new(Shared { worker_threads: 64, runtime: None });

struct Shared {
    /// How many worker threads there may be for tools that block.
    worker_threads: usize,
    /// The process it belongs to, and the runtime.
    runtime: Option<(u32, &'static Runtime)>,
}

impl Shared {
    /// The runtime of this process, if it was made.
    fn current(&self) -> Option<&'static Runtime> {
        let (_, runtime) = self.runtime.filter(|(owner, _)| *owner == std::process::id())?;
        Some(runtime)
    }
}

/// The runtime of this process.
///
/// # Errors
/// The operating system gives no further thread.
pub fn handle() -> PyResult<Handle> {
    let mut shared = shared();
    if let Some(runtime) = shared.current() {
        return Ok(runtime.handle().clone());
    }
    let made = Builder::new_multi_thread()
        .worker_threads(1) // it only keeps time; calls run on the loop's thread or in worker threads
        .max_blocking_threads(shared.worker_threads)
        .thread_name("cogency-rs")
        .enable_time()
        .build()
        .map_err(|error| {
            PyRuntimeError::new_err(format!("no thread for timers could be started: {error}"))
        })?;
    let made: &'static Runtime = Box::leak(Box::new(made));
    shared.runtime = Some((std::process::id(), made));
    Ok(made.handle().clone())
}

/// How many worker threads there may be for tools that block.
#[pyfunction]
pub fn worker_threads() -> usize {
    shared().worker_threads
}

/// Bounds the worker threads for tools that block; before the first batch that needs one.
#[pyfunction]
pub fn set_worker_threads(count: isize) -> PyResult<()> {
    let mut shared = shared();
    let count = match usize::try_from(count) {
        Ok(count) if count > 0 => count,
        _ => {
            return Err(ConfigError::new_err(format!(
                "there must be at least 1 worker thread, got {count}"
            )));
        }
    };
    if shared.current().is_some() && count != shared.worker_threads {
        return Err(ConfigError::new_err(format!(
            "worker threads run already, at most {}; set their number before the first tool call",
            shared.worker_threads
        )));
    }
    shared.worker_threads = count;
    Ok(())
}

fn shared() -> MutexGuard<'static, Shared> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}
