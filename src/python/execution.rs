//! `Schedule`: which calls of a batch may run now, for the asyncio tasks that run them.

use std::num::NonZeroUsize;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use cogency_rs::execution::{self, Admission, Due, Misuse, Moment, Ticket, Told};

/// Which calls may begin, in which order, and for how long. Times are in seconds, as `loop.time()` gives them.
#[pyclass(module = "cogency_rs._core")]
pub struct Schedule {
    inner: execution::Schedule,
}

#[pymethods]
impl Schedule {
    #[new]
    #[pyo3(signature = (count, *, concurrency=None, deadline=None))]
    fn new(count: usize, concurrency: Option<NonZeroUsize>, deadline: Option<f64>) -> Self {
        Self { inner: execution::Schedule::new(count, concurrency, deadline.map(moment)) }
    }

    /// How many calls there are.
    #[getter]
    fn count(&self) -> usize {
        self.inner.count()
    }

    /// Adds calls at the end.
    fn add(&mut self, count: usize) {
        self.inner.add(count);
    }

    /// Forgets the calls from this index on, all of which are over.
    fn truncate(&mut self, count: usize) -> PyResult<()> {
        self.inner.check_truncate(count).map_err(refused)?;
        self.inner.truncate(count);
        Ok(())
    }

    /// Sets the time at which the whole batch must end.
    fn set_deadline(&mut self, deadline: f64) {
        self.inner.set_deadline(moment(deadline));
    }

    /// Makes a call sequential: it begins when all calls before it are over, runs alone, and those after it wait for it.
    fn set_sequential(&mut self, index: usize) -> PyResult<()> {
        self.known(index)?.set_sequential(index);
        Ok(())
    }

    /// A call asks to run: `True` if it may run now, `False` if it may not run at all, or else a ticket to wait with.
    fn ask<'py>(&mut self, index: usize, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.inner.check(index, Told::Open).map_err(refused)?;
        Ok(match self.inner.ask(index) {
            Admission::Now => true.into_pyobject(py)?.to_owned().into_any(),
            Admission::Closed => false.into_pyobject(py)?.to_owned().into_any(),
            Admission::Later(ticket) => ticket.into_pyobject(py)?.into_any(),
        })
    }

    /// A call that waits gives up.
    fn withdraw(&mut self, ticket: Ticket) {
        self.inner.withdraw(ticket);
    }

    /// A call has stopped running; it may ask again. Returns the tickets of those that may run now.
    fn leave(&mut self, index: usize) -> PyResult<Vec<Ticket>> {
        self.inner.check(index, Told::Left).map_err(refused)?;
        Ok(self.inner.leave(index))
    }

    /// A call is over, and will not ask again. Returns the tickets of those that may run now.
    fn over(&mut self, index: usize) -> PyResult<Vec<Ticket>> {
        Ok(self.known(index)?.over(index))
    }

    /// Lets no further call run.
    fn close(&mut self) {
        self.inner.close();
    }

    /// Gives a call `limit` seconds from `now` on.
    fn start_clock(&mut self, index: usize, now: f64, limit: f64) -> PyResult<()> {
        self.known(index)?.start_clock(index, moment(now), moment(limit));
        Ok(())
    }

    /// Stops a call's clock while it waits for something that its limit does not count, such as an approval.
    fn hold_clock(&mut self, index: usize, now: f64) -> PyResult<()> {
        self.known(index)?.hold_clock(index, moment(now));
        Ok(())
    }

    /// Lets a held clock go on.
    fn resume_clock(&mut self, index: usize, now: f64) -> PyResult<()> {
        self.known(index)?.resume_clock(index, moment(now));
        Ok(())
    }

    /// When to ask `due` next; `None` for never.
    fn next_deadline(&self) -> Option<f64> {
        self.inner.next_deadline().map(|deadline| deadline.as_secs_f64())
    }

    /// Whether the time of the whole batch is up, and the calls whose own time is up.
    fn due(&mut self, now: f64) -> (bool, Vec<usize>) {
        match self.inner.due(moment(now)) {
            Due::Calls(calls) => (false, calls),
            Due::Batch(calls) => (true, calls),
        }
    }
}

impl Schedule {
    /// The schedule, if it has such a call.
    fn known(&mut self, index: usize) -> PyResult<&mut execution::Schedule> {
        let count = self.inner.count();
        if index < count {
            return Ok(&mut self.inner);
        }
        Err(refused(Misuse::Unknown { index, count }))
    }
}

fn refused(misuse: Misuse) -> PyErr {
    PyValueError::new_err(misuse.to_string())
}

/// Seconds as the core counts them; negative or not finite ones are zero.
fn moment(seconds: f64) -> Moment {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
