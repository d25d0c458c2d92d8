//! `Source`: reads an async iterator for as long as there is nothing to hand out.
//!
//! `await source` gives the next events or steps, or `None` when the iterator has ended or no more of it is wanted. In
//! between it reads item after item without a return to the interpreter's loop. What the iterator yields to the event
//! loop (a future it waits for) passes through, and so does what the event loop throws in.

use std::ffi::{c_int, c_void};

use pyo3::exceptions::{PyStopAsyncIteration, PyStopIteration};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use super::error::type_error;
use super::protocol::Parser;
use super::turn::Turn;

/// Something that reads the items of an iterator.
pub trait Sink {
    /// Takes the next item.
    fn read<'py>(&mut self, item: &Bound<'py, PyAny>) -> PyResult<Read<'py>>;
}

/// What came of an item.
pub enum Read<'py> {
    /// Nothing yet.
    More,
    /// Something to hand out: an event, or a list of events or steps.
    Out(Bound<'py, PyAny>),
    /// No more items are wanted; what the last one completed is left to `finish`.
    Done,
}

/// An async iterator that is read into a parser or a turn.
#[pyclass(subclass, module = "cogency_rs._core")]
pub struct Source {
    items: Items,
    reader: Reader,
}

enum Reader {
    /// Chunks of text become events.
    Parser(Py<Parser>),
    /// Chunks of text become steps.
    Turn(Py<Turn>),
    /// Anything else becomes steps.
    Events(Events),
}

/// Events of some other parser, each handed to the turn by a callable.
struct Events {
    turn: Py<Turn>,
    enter: Py<PyAny>,
}

impl Sink for &Events {
    fn read<'py>(&mut self, item: &Bound<'py, PyAny>) -> PyResult<Read<'py>> {
        self.enter.call1(item.py(), (item,))?;
        self.turn.borrow_mut(item.py()).steps(item.py())
    }
}

#[pymethods]
impl Source {
    #[new]
    #[pyo3(signature = (iterator, sink, enter=None))]
    fn new(
        iterator: &Bound<'_, PyAny>,
        sink: &Bound<'_, PyAny>,
        enter: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let reader = match (sink.cast::<Turn>(), enter) {
            (Ok(turn), Some(enter)) => {
                Reader::Events(Events { turn: turn.clone().unbind(), enter })
            }
            (Ok(turn), None) => Reader::Turn(turn.clone().unbind()),
            (Err(_), _) => Reader::Parser(sink.cast::<Parser>()?.clone().unbind()),
        };
        Ok(Self { items: Items::new(iterator)?, reader })
    }

    fn __await__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    /// Goes on. What comes out is set as the value of `StopIteration` directly: to raise it like other errors would
    /// cost more than all the rest.
    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.resume(py, py.None().bind(py))? {
            Sent::Yielded(value) => Ok(Some(value)),
            Sent::Returned(value) => {
                // SAFETY: the interpreter is attached and both are live objects. The value is a dict, a list or None,
                // and so is not taken apart as a tuple would be.
                unsafe { ffi::PyErr_SetObject(ffi::PyExc_StopIteration, value.as_ptr()) };
                Ok(None)
            }
        }
    }

    /// Goes on with what the event loop sent.
    fn send<'py>(&mut self, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.resume(value.py(), value)?.into_iteration()
    }

    /// Goes on with what the event loop threw in.
    #[pyo3(signature = (*error))]
    fn throw<'py>(&mut self, error: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let sent = self.items.throw(error);
        self.read_on(error.py(), sent)?.into_iteration()
    }

    /// Gives up the item that is awaited.
    fn close(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(awaited) = self.items.awaited.take() else { return Ok(()) };
        match awaited.bind(py).getattr_opt(pyo3::intern!(py, "close"))? {
            Some(close) => close.call0().map(drop),
            None => Ok(()),
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.items.iterator)?;
        visit.call(&self.items.awaited)?;
        if let Reader::Events(events) = &self.reader {
            visit.call(&events.enter)?;
        }
        Ok(())
    }

    fn __clear__(&mut self, py: Python<'_>) {
        self.items.iterator = py.None();
        self.items.awaited = None;
        self.items.ended = true;
        if let Reader::Events(events) = &mut self.reader {
            events.enter = py.None();
        }
    }
}

impl Source {
    fn resume<'py>(&mut self, py: Python<'py>, value: &Bound<'py, PyAny>) -> PyResult<Sent<'py>> {
        if let Reader::Events(events) = &self.reader {
            // The results of a batch, which stands in the middle of such events, may have ended the turn.
            self.items.ended |= events.turn.borrow(py).is_done();
        }
        if self.items.ended {
            return Ok(Sent::Returned(py.None().into_bound(py)));
        }
        let sent = match &self.items.awaited {
            Some(awaited) => send(awaited.bind(py), value),
            None => self.items.next(py),
        };
        self.read_on(py, sent)
    }

    fn read_on<'py>(&mut self, py: Python<'py>, sent: PyResult<Sent<'py>>) -> PyResult<Sent<'py>> {
        // The parser stays borrowed while the iterator runs, which knows nothing of it.
        match &self.reader {
            Reader::Parser(parser) => self.items.read_on(py, sent, &mut *parser.borrow_mut(py)),
            Reader::Turn(turn) => self.items.read_on(py, sent, &mut *turn.borrow_mut(py)),
            Reader::Events(events) => self.items.read_on(py, sent, &mut &*events),
        }
    }
}

/// How far an awaitable came.
enum Sent<'py> {
    /// It waits: this is for the event loop.
    Yielded(Bound<'py, PyAny>),
    /// It is over.
    Returned(Bound<'py, PyAny>),
}

impl<'py> Sent<'py> {
    /// The same, as an iterator says it.
    fn into_iteration(self) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Yielded(value) => Ok(value),
            Self::Returned(value) => Err(PyStopIteration::new_err(value.unbind())),
        }
    }
}

/// The items of an async iterator, one after the other.
struct Items {
    iterator: Py<PyAny>,
    /// `__anext__` of the iterator's type.
    anext: ffi::unaryfunc,
    /// What the next item is awaited with, once that waits.
    awaited: Option<Py<PyAny>>,
    /// Whether there are no more, or none are wanted.
    ended: bool,
}

impl Items {
    fn new(iterator: &Bound<'_, PyAny>) -> PyResult<Self> {
        let anext = slot(iterator, ffi::Py_am_anext)
            .ok_or_else(|| type_error("source", "an async iterator", iterator))?;
        Ok(Self { iterator: iterator.clone().unbind(), anext, awaited: None, ended: false })
    }

    /// Reads items into `sink`, the first of them as it was `sent`, until there is something to hand out or to wait
    /// for.
    fn read_on<'py>(
        &mut self,
        py: Python<'py>,
        mut sent: PyResult<Sent<'py>>,
        sink: &mut impl Sink,
    ) -> PyResult<Sent<'py>> {
        loop {
            if matches!(sent, Ok(Sent::Yielded(_))) {
                return sent;
            }
            self.awaited = None;
            match sent {
                Ok(Sent::Returned(item) | Sent::Yielded(item)) => match sink.read(&item)? {
                    Read::More => sent = self.next(py),
                    Read::Out(out) => return Ok(Sent::Returned(out)),
                    Read::Done => break,
                },
                Err(error) if error.is_instance_of::<PyStopAsyncIteration>(py) => break,
                Err(error) => return Err(error),
            }
        }
        self.ended = true;
        Ok(Sent::Returned(py.None().into_bound(py)))
    }

    /// Begins to await the next item.
    fn next<'py>(&mut self, py: Python<'py>) -> PyResult<Sent<'py>> {
        let awaited = self.awaited(py)?;
        let sent = send(&awaited, py.None().bind(py));
        if matches!(sent, Ok(Sent::Yielded(_))) {
            self.awaited = Some(awaited.unbind());
        }
        sent
    }

    /// What the next item is awaited with: `anext(iterator).__await__()`.
    fn awaited<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: the slot is the one of this object's type; it returns a new reference, or null with an exception set.
        let awaitable =
            unsafe { Bound::from_owned_ptr_or_err(py, (self.anext)(self.iterator.as_ptr())) }?;
        match slot(&awaitable, ffi::Py_am_await) {
            // SAFETY: likewise.
            Some(iterator) => unsafe {
                Bound::from_owned_ptr_or_err(py, iterator(awaitable.as_ptr()))
            },
            // A generator of `types.coroutine`, which is awaited as it is.
            None if awaitable.is_instance_of::<PyIterator>() => Ok(awaitable),
            None => {
                Err(type_error("what __anext__ of the source returns", "an awaitable", &awaitable))
            }
        }
    }

    /// Throws into what is awaited.
    fn throw<'py>(&self, error: &Bound<'py, PyTuple>) -> PyResult<Sent<'py>> {
        let py = error.py();
        let throw = match &self.awaited {
            Some(awaited) => awaited.bind(py).getattr_opt(pyo3::intern!(py, "throw"))?,
            None => None,
        };
        let Some(throw) = throw else { return Err(PyErr::from_value(error.get_item(0)?)) };
        match throw.call1(error.clone()) {
            Ok(value) => Ok(Sent::Yielded(value)),
            Err(error) if error.is_instance_of::<PyStopIteration>(py) => {
                error.value(py).getattr(pyo3::intern!(py, "value")).map(Sent::Returned)
            }
            Err(error) => Err(error),
        }
    }
}

fn send<'py>(awaited: &Bound<'py, PyAny>, value: &Bound<'py, PyAny>) -> PyResult<Sent<'py>> {
    let py = value.py();
    let mut result = std::ptr::null_mut();
    // SAFETY: both are live objects. The result is a new reference, but for an error, where an exception is set.
    unsafe {
        match ffi::PyIter_Send(awaited.as_ptr(), value.as_ptr(), &raw mut result) {
            ffi::PySendResult::PYGEN_NEXT => Ok(Sent::Yielded(Bound::from_owned_ptr(py, result))),
            ffi::PySendResult::PYGEN_RETURN => {
                Ok(Sent::Returned(Bound::from_owned_ptr(py, result)))
            }
            ffi::PySendResult::PYGEN_ERROR => Err(PyErr::fetch(py)),
        }
    }
}

/// The function of one argument that an object's type has in a slot.
fn slot(object: &Bound<'_, PyAny>, slot: c_int) -> Option<ffi::unaryfunc> {
    // SAFETY: the slots that are asked for hold such a function, or nothing.
    unsafe {
        let function = ffi::PyType_GetSlot(object.get_type_ptr(), slot);
        std::mem::transmute::<*mut c_void, Option<ffi::unaryfunc>>(function)
    }
}
