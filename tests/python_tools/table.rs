//! Runs the table of what a batch does on Tokio, with Python's callables on asyncio.
//!
//! Both sides have one clock, that of Tokio, which is paused: the loop runs in steps, each in a thread for blocking work, and the
//! clock stands still as long as there is one.

use std::ffi::CString;
use std::time::Duration;

use cogency_agent::python::EventLoop;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyModule};
use pyo3_async_runtimes::TaskLocals;
use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::cases::{Case, Journal, Script, cases};
use crate::support::in_python;

/// Runs the loop whenever there is something to do.
async fn step(event_loop: Py<PyAny>, mut woken: UnboundedReceiver<()>) {
    while woken.recv().await.is_some() {
        let event_loop = Python::attach(|py| event_loop.clone_ref(py));
        let run = move || {
            in_python(|py| event_loop.call_method0(py, "run_until_idle").map(drop));
        };
        spawn_blocking(run).await.expect("it does not panic");
    }
}

/// A loop of the test's own, and the module that has it.
fn stepped_loop(
    py: Python<'_>,
) -> PyResult<(Bound<'_, PyModule>, Bound<'_, PyAny>, UnboundedReceiver<()>)> {
    let code = CString::new(include_str!("stepped.py")).expect("there is no NUL in it");
    let module = PyModule::from_code(py, &code, c"stepped.py", c"stepped")?;
    let (wake, woken) = unbounded_channel();
    let wake = PyCFunction::new_closure(py, None, None, move |_, _| wake.send(()).is_ok())?;
    let event_loop = module.getattr("SteppedLoop")?.call1((wake,))?;
    Ok((module, event_loop, woken))
}

/// The Python function of a script.
fn scripted<'py>(
    module: &Bound<'py, PyModule>,
    index: usize,
    script: &Script,
    journal: &Journal,
) -> PyResult<Bound<'py, PyAny>> {
    let py = module.py();
    let attempts: Vec<_> =
        script.attempts.iter().map(|&(seconds, end)| (seconds, end.name())).collect();
    let journal = journal.clone();
    let note = PyCFunction::new_closure(py, None, None, move |args, _| -> PyResult<()> {
        let (what, index): (String, usize) = args.extract()?;
        journal.note(&what, index);
        Ok(())
    })?;
    let tokio = Handle::current();
    let start_timer = PyCFunction::new_closure(py, None, None, move |args, _| -> PyResult<()> {
        let (seconds, then): (f64, Py<PyAny>) = args.extract()?;
        tokio.spawn(async move {
            sleep(Duration::from_secs_f64(seconds)).await;
            in_python(|py| then.call0(py).map(drop));
        });
        Ok(())
    })?;
    module.getattr("scripted")?.call1((index, attempts, note, start_timer))
}

async fn carry_out(case: &Case) {
    let (module, asyncio, event_loop, stepping) = in_python(|py| {
        let (module, event_loop, woken) = stepped_loop(py)?;
        let asyncio = EventLoop::of(py, &TaskLocals::new(event_loop.clone()))?;
        let stepping = tokio::spawn(step(event_loop.clone().unbind(), woken));
        Ok((module.unbind(), asyncio, event_loop.unbind(), stepping))
    });
    let journal = Journal::new();
    let make = |index, script: &Script| {
        in_python(|py| asyncio.tool(&scripted(module.bind(py), index, script, &journal)?))
    };
    let executions = case.carry_out(&journal, make).await;
    // Whatever was stopped has stopped before the clock goes on.
    sleep(Duration::from_millis(1)).await;
    case.check(&executions, &journal, None);
    stepping.abort();
    in_python(|py| event_loop.call_method0(py, "close").map(drop));
}

#[test]
fn a_batch_with_pythons_callables_keeps_to_the_table() {
    for case in cases() {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("the system gives a runtime").block_on(carry_out(&case));
    }
}
