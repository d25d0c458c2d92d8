//! The end of the interpreter: every call fails before it, since no thread may touch Python after it.

use std::mem::take;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use super::queue::{Closed, Queue};

/// A loop that is open when the interpreter ends.
struct Watched {
    queue: Weak<Queue>,
    /// Told when the thread has ended that we run the loop on.
    thread: Option<Receiver<()>>,
}

static WATCHED: Mutex<Vec<Watched>> = Mutex::new(Vec::new());

/// How long the end of the interpreter waits for a thread that is attached to it. A tool may block that of a loop.
const PATIENCE: Duration = Duration::from_secs(1);

/// Closes the queue when the interpreter ends, and stops the thread that runs its loop, if it is one of ours.
///
/// # Errors
/// Python's own, of its module `atexit`.
pub fn watch(py: Python<'_>, queue: &Arc<Queue>, thread: Option<Receiver<()>>) -> PyResult<()> {
    static REGISTERED: PyOnceLock<()> = PyOnceLock::new();
    REGISTERED.get_or_try_init(py, || {
        let ended = wrap_pyfunction!(interpreter_ends, py)?;
        py.import("atexit")?.call_method1("register", (ended,)).map(drop)
    })?;
    let mut watched = watched();
    watched.retain(|watched| watched.queue.strong_count() > 0);
    watched.push(Watched { queue: Arc::downgrade(queue), thread });
    Ok(())
}

fn watched() -> MutexGuard<'static, Vec<Watched>> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pyfunction]
fn interpreter_ends(py: Python<'_>) {
    let watched = take(&mut *watched());
    let mut left = Vec::new();
    for Watched { queue, thread } in watched {
        let Some(queue) = queue.upgrade() else { continue };
        queue.close(Closed::Interpreter);
        if thread.is_some() {
            queue.stop_loop(py);
        }
        left.push((queue, thread));
    }
    let left = py.detach(move || {
        for (queue, thread) in &left {
            queue.wait_until_left(PATIENCE);
            if let Some(thread) = thread {
                let _ = thread.recv_timeout(PATIENCE);
            }
        }
        left
    });
    drop(left);
}
