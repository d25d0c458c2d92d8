//! `Source`: reads an async iterator until there is something to hand out.
//!
//! `await source` gives the next events or steps, or `None` when the iterator has ended or no more of it is wanted. In
//! between it reads item after item without returning to the interpreter. A future that the iterator waits for is passed on
//! to the event loop, and an exception that the event loop throws in is passed on to the iterator.

use std::sync::OnceLock;

use pyo3::exceptions::PyStopAsyncIteration;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use super::awaitable::{Filled, Next, Sent, Slot, awaited, close, next, send, throw};
use super::error::type_error;
use super::item_sink::{ItemSink, SinkResult};
use super::protocol::Parser;
use super::turn::Turn;

/// An async iterator that is read into a parser or a turn.
#[pyclass(subclass, module = "cogency_rs._core")]
pub struct Source {
    items: Items,
    sink: AnySink,
}

enum AnySink {
    /// Chunks of text become events.
    Parser(Py<Parser>),
    /// Chunks of text become steps.
    Turn(Py<Turn>),
    /// Events of another parser become steps.
    Events(Events),
}

/// Events of another parser. A callable hands each of them to the turn, or returns one to be handed out unchanged.
struct Events {
    turn: Py<Turn>,
    enter: Py<PyAny>,
}

impl ItemSink for &Events {
    fn take_item<'py>(&mut self, item: &Bound<'py, PyAny>) -> PyResult<SinkResult<'py>> {
        let py = item.py();
        if let Some((kind, text)) = text_of(item)? {
            self.turn.borrow_mut(py).event(&kind, &text)?;
        } else {
            let passing = self.enter.bind(py).call1((item,))?;
            if !passing.is_none() {
                return Ok(SinkResult::Out(passing));
            }
        }
        self.turn.borrow_mut(py).steps(py)
    }
}

/// The type and the text of an event that has nothing else, as most have; `None` for any other.
fn text_of<'py>(
    event: &Bound<'py, PyAny>,
) -> PyResult<Option<(Bound<'py, PyString>, Bound<'py, PyString>)>> {
    let py = event.py();
    let Ok(event) = event.cast_exact::<PyDict>() else { return Ok(None) };
    let Some(kind) = event.get_item(pyo3::intern!(py, "type"))? else { return Ok(None) };
    let Ok(kind) = kind.cast_into_exact::<PyString>() else { return Ok(None) };
    if !matches!(kind.to_str(), Ok("respond" | "think")) {
        return Ok(None);
    }
    let content = event.get_item(pyo3::intern!(py, "content"))?;
    let text = content.and_then(|content| content.cast_into_exact::<PyString>().ok());
    Ok(text.map(|text| (kind, text)))
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
        let sink = match (sink.cast::<Turn>(), enter) {
            (Ok(turn), Some(enter)) => {
                AnySink::Events(Events { turn: turn.clone().unbind(), enter })
            }
            (Ok(turn), None) => AnySink::Turn(turn.clone().unbind()),
            (Err(_), _) => AnySink::Parser(sink.cast::<Parser>()?.clone().unbind()),
        };
        Ok(Self { items: Items::new(iterator)?, sink })
    }

    // `Bound` and not `&self`: a borrow would be counted at every await.
    fn __await__<'py>(this: &Bound<'py, Self>) -> Bound<'py, Self> {
        this.clone()
    }

    fn __iter__<'py>(this: &Bound<'py, Self>) -> Bound<'py, Self> {
        this.clone()
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.resume(py, py.None().bind(py)).and_then(Sent::into_next)
    }

    /// Goes on with a value that the event loop sent.
    fn send<'py>(&mut self, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.resume(value.py(), value)?.into_sent()
    }

    /// Goes on with an exception that the event loop threw in.
    #[pyo3(signature = (*error))]
    fn throw<'py>(&mut self, error: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let next = self.items.throw(error).into();
        self.read_on(error.py(), next)?.into_sent()
    }

    /// Gives up the item that is awaited.
    fn close(&mut self, py: Python<'_>) -> PyResult<()> {
        self.items.awaited.take().map_or(Ok(()), |awaited| close(awaited.bind(py)))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.items.iterator)?;
        self.items.anext.traverse(&visit)?;
        if let Some(Some(own_next)) = self.items.own_next.get() {
            own_next.traverse(&visit)?;
        }
        visit.call(&self.items.awaited)?;
        if let AnySink::Events(events) = &self.sink {
            visit.call(&events.enter)?;
        }
        Ok(())
    }

    fn __clear__(&mut self, py: Python<'_>) {
        self.items.iterator = py.None();
        self.items.awaited = None;
        self.items.ended = true;
        if let AnySink::Events(events) = &mut self.sink {
            events.enter = py.None();
        }
    }
}

impl Source {
    fn resume<'py>(&mut self, py: Python<'py>, value: &Bound<'py, PyAny>) -> PyResult<Sent<'py>> {
        if let AnySink::Events(events) = &self.sink {
            // The other parser's events go on after a batch, but the results of the batch may have ended the turn.
            self.items.ended |= events.turn.borrow(py).is_done();
        }
        if self.items.ended {
            return Ok(Sent::Returned(py.None().into_bound(py)));
        }
        let next = match &self.items.awaited {
            Some(awaited) => send(awaited.bind(py), value).into(),
            None => self.items.next(py),
        };
        self.read_on(py, next)
    }

    fn read_on<'py>(&mut self, py: Python<'py>, next: Next<'py>) -> PyResult<Sent<'py>> {
        // The sink stays borrowed while the iterator runs: the iterator has no reference to it.
        match &self.sink {
            AnySink::Parser(parser) => self.items.read_on(py, next, &mut *parser.borrow_mut(py)),
            AnySink::Turn(turn) => self.items.read_on(py, next, &mut *turn.borrow_mut(py)),
            AnySink::Events(events) => self.items.read_on(py, next, &mut &*events),
        }
    }
}

/// The items of an async iterator, one after the other.
struct Items {
    iterator: Py<PyAny>,
    /// `__anext__` of the iterator's type.
    anext: Filled,
    /// What awaits its items, if it is that simple, as for an asynchronous generator; known from the first item on.
    own_next: OnceLock<Option<Filled>>,
    /// The iterator of the awaited next item, while it waits.
    awaited: Option<Py<PyAny>>,
    /// Whether there are no more items, or none are wanted.
    ended: bool,
}

impl Items {
    fn new(iterator: &Bound<'_, PyAny>) -> PyResult<Self> {
        let anext = Slot::Anext.of(iterator).ok_or_else(|| not_iterable(iterator))?;
        let iterator = iterator.clone().unbind();
        Ok(Self { iterator, anext, own_next: OnceLock::new(), awaited: None, ended: false })
    }

    /// Reads items into `sink`, beginning with this one, until there is something to hand out or to wait for.
    fn read_on<'py>(
        &mut self,
        py: Python<'py>,
        mut next: Next<'py>,
        sink: &mut impl ItemSink,
    ) -> PyResult<Sent<'py>> {
        if !next.waits() {
            self.awaited = None;
        }
        loop {
            match next {
                Next::Returned(item) => match sink.take_item(&item)? {
                    SinkResult::More => next = self.next(py),
                    SinkResult::Out(out) => return Ok(Sent::Returned(out)),
                    SinkResult::Done => break,
                },
                Next::Other(other) => match *other {
                    Ok(waits) => return Ok(Sent::Yielded(waits)),
                    Err(error) if error.is_instance_of::<PyStopAsyncIteration>(py) => break,
                    Err(error) => return Err(error),
                },
            }
        }
        self.ended = true;
        Ok(Sent::Returned(py.None().into_bound(py)))
    }

    /// Begins to await the next item: `anext(iterator).__await__()`.
    fn next<'py>(&mut self, py: Python<'py>) -> Next<'py> {
        match self.anext.call(self.iterator.bind(py)) {
            Some(Ok(awaitable)) => self.begin(awaitable),
            Some(Err(error)) => Err(error).into(),
            None => Err(not_iterable(self.iterator.bind(py))).into(),
        }
    }

    /// Begins to await an item.
    fn begin<'py>(&mut self, awaitable: Bound<'py, PyAny>) -> Next<'py> {
        let own_next = self.own_next.get_or_init(|| Slot::own_next(&awaitable));
        let (awaited, next) = match own_next {
            Some(own_next) if own_next.is_of(&awaitable) => {
                let next = next(own_next, &awaitable);
                (awaitable, next)
            }
            _ => match awaited(&awaitable) {
                Ok(Some(awaited)) => {
                    let py = awaited.py();
                    let sent = send(&awaited, py.None().bind(py));
                    (awaited, sent.into())
                }
                Ok(None) => return Err(not_awaitable(&awaitable)).into(),
                Err(error) => return Err(error).into(),
            },
        };
        if next.waits() {
            self.awaited = Some(awaited.unbind());
        }
        next
    }

    /// Throws into what is awaited.
    fn throw<'py>(&self, error: &Bound<'py, PyTuple>) -> PyResult<Sent<'py>> {
        match &self.awaited {
            Some(awaited) => throw(awaited.bind(error.py()), error),
            None => Err(PyErr::from_value(error.get_item(0)?)),
        }
    }
}

fn not_awaitable(item: &Bound<'_, PyAny>) -> PyErr {
    type_error("what __anext__ of the source returns", "an awaitable", item)
}

fn not_iterable(source: &Bound<'_, PyAny>) -> PyErr {
    type_error("source", "an async iterator", source)
}
