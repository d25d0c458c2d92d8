//! Polls a future on the thread of an asyncio event loop.
//!
//! A waker called on that thread while the future is being driven costs nothing; one called from another thread asks
//! the loop, with `call_soon_threadsafe`, to drive the future once more, however often it is called until then.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use pyo3::prelude::*;
use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};
use tokio::runtime::Handle;

use super::foreign;

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The future, the loop, and who waits for it.
pub struct Driver {
    event_loop: Py<PyAny>,
    /// Where the future may set timers.
    timers: Option<Handle>,
    state: AtomicU8,
    work: Mutex<Option<Work>>,
    done: AtomicBool,
    /// Weak: whoever awaits it holds it, and must not be held by what it awaits, where no collector of garbage looks.
    waiter: Mutex<Option<Py<PyWeakrefReference>>>,
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
    /// A driver on `event_loop`, with nothing to drive.
    pub fn new(event_loop: Py<PyAny>, timers: Option<Handle>) -> Arc<Self> {
        Arc::new(Self {
            event_loop,
            timers,
            state: AtomicU8::new(IDLE),
            work: Mutex::new(None),
            done: AtomicBool::new(false),
            waiter: Mutex::new(None),
        })
    }

    /// Begins to drive `work`, as far as it goes now. On the loop's thread.
    pub fn start(
        self: &Arc<Self>,
        py: Python<'_>,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        *lock(&self.work) = Some(Box::pin(work));
        self.drive(py, || ());
    }

    /// Whether the work is done.
    pub fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }

    /// An asyncio future that is ready when the work is done. One waiter at a time.
    pub fn wait<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let future = self.event_loop.bind(py).call_method0(pyo3::intern!(py, "create_future"))?;
        *lock(&self.waiter) = Some(PyWeakrefReference::new(&future)?.unbind());
        if self.is_done() {
            self.tell_waiter(py);
        }
        Ok(future)
    }

    /// Does `first`, which may wake the future, and polls the future for as long as it is woken. On the loop's
    /// thread.
    pub fn drive(self: &Arc<Self>, py: Python<'_>, first: impl FnOnce()) {
        let before = self.state.swap(WOKEN, Ordering::AcqRel);
        first();
        if before == DRIVING || before == WOKEN {
            return; // An outer call on this thread is at work and sees that it was woken.
        }
        let waker = Waker::from(Arc::clone(self));
        let mut context = Context::from_waker(&waker);
        loop {
            self.state.store(DRIVING, Ordering::Release);
            // Taken out while it is polled: it runs Python code, which may come back here.
            let work = lock(&self.work).take();
            if let Some(mut work) = work {
                let _timers = self.timers.as_ref().map(Handle::enter);
                match work.as_mut().poll(&mut context) {
                    Poll::Ready(()) => {
                        self.done.store(true, Ordering::Release);
                        self.tell_waiter(py);
                    }
                    Poll::Pending => *lock(&self.work) = Some(work),
                }
            }
            if self
                .state
                .compare_exchange(DRIVING, IDLE, Ordering::AcqRel, Ordering::Acquire)
                .is_ok()
            {
                return;
            }
        }
    }

    /// Whether the loop was closed.
    pub fn is_loop_closed(&self, py: Python<'_>) -> PyResult<bool> {
        self.event_loop.bind(py).call_method0(pyo3::intern!(py, "is_closed"))?.is_truthy()
    }

    /// Gives up what is not done.
    pub fn abandon(&self) {
        let work = lock(&self.work).take();
        drop(work);
    }

    fn tell_waiter(&self, py: Python<'_>) {
        let waiter = lock(&self.waiter).take();
        let Some(waiter) = waiter.and_then(|waiter| waiter.bind(py).upgrade()) else { return };
        let tell = || -> PyResult<()> {
            if !waiter.call_method0(pyo3::intern!(py, "done"))?.is_truthy()? {
                waiter.call_method1(pyo3::intern!(py, "set_result"), (py.None(),))?;
            }
            Ok(())
        };
        if let Err(error) = tell() {
            error.write_unraisable(py, Some(&waiter));
        }
    }

    fn schedule(self: &Arc<Self>) {
        // A loop that is closed, or an interpreter that is going away, has no use for the outcome.
        Python::try_attach(|py| -> PyResult<()> {
            let call = pyo3::intern!(py, "call_soon_threadsafe");
            let wakeup = Wakeup { driver: Arc::clone(self) };
            let call = self.event_loop.bind(py).getattr(call)?;
            foreign::call(&call, &(wakeup,).into_pyobject(py)?).map(drop)
        });
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
            if self.state.compare_exchange(now, next, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                if next == SCHEDULED {
                    self.schedule();
                }
                return;
            }
        }
    }
}

/// What the loop calls when the future was woken from another thread.
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

/// A panic elsewhere leaves these values as they were: each is replaced whole.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
