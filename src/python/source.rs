//! `Source`: reads an async iterator until there is something to hand out.
//!
//! `await source` gives the next events or steps, or `None` when the iterator has ended or no more of it is wanted. In
//! between it reads item after item without returning to the interpreter. A future that the iterator waits for is passed on
//! to the event loop, and an exception that the event loop throws in is passed on to the iterator.

use pyo3::exceptions::PyStopAsyncIteration;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use super::awaitable::{Filled, Sent, Slot, awaited, close, send, throw};
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

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.resume(py, py.None().bind(py)).and_then(Sent::into_next)
    }

    /// Goes on with a value that the event loop sent.
    fn send<'py>(&mut self, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.resume(value.py(), value)?.into_next()
    }

    /// Goes on with an exception that the event loop threw in.
    #[pyo3(signature = (*error))]
    fn throw<'py>(&mut self, error: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let sent = self.items.throw(error);
        self.read_on(error.py(), sent)?.into_next()
    }

    /// Gives up the item that is awaited.
    fn close(&mut self, py: Python<'_>) -> PyResult<()> {
        self.items.awaited.take().map_or(Ok(()), |awaited| close(awaited.bind(py)))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.items.iterator)?;
        self.items.anext.traverse(&visit)?;
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
        let sent = match &self.items.awaited {
            Some(awaited) => send(awaited.bind(py), value),
            None => self.items.next(py),
        };
        self.read_on(py, sent)
    }

    fn read_on<'py>(&mut self, py: Python<'py>, sent: PyResult<Sent<'py>>) -> PyResult<Sent<'py>> {
        // The sink stays borrowed while the iterator runs: the iterator has no reference to it.
        match &self.sink {
            AnySink::Parser(parser) => self.items.read_on(py, sent, &mut *parser.borrow_mut(py)),
            AnySink::Turn(turn) => self.items.read_on(py, sent, &mut *turn.borrow_mut(py)),
            AnySink::Events(events) => self.items.read_on(py, sent, &mut &*events),
        }
    }
}

/// The items of an async iterator, one after the other.
struct Items {
    iterator: Py<PyAny>,
    /// `__anext__` of the iterator's type.
    anext: Filled,
    /// The iterator of the awaited next item, while it waits.
    awaited: Option<Py<PyAny>>,
    /// Whether there are no more items, or none are wanted.
    ended: bool,
}

impl Items {
    fn new(iterator: &Bound<'_, PyAny>) -> PyResult<Self> {
        let anext = Slot::Anext.of(iterator).ok_or_else(|| not_iterable(iterator))?;
        Ok(Self { iterator: iterator.clone().unbind(), anext, awaited: None, ended: false })
    }

    /// Reads items into `sink`, beginning with what was `sent`, until there is something to hand out or to wait for.
    fn read_on<'py>(
        &mut self,
        py: Python<'py>,
        mut sent: PyResult<Sent<'py>>,
        sink: &mut impl ItemSink,
    ) -> PyResult<Sent<'py>> {
        loop {
            if matches!(sent, Ok(Sent::Yielded(_))) {
                return sent;
            }
            self.awaited = None;
            match sent {
                Ok(Sent::Returned(item) | Sent::Yielded(item)) => match sink.take_item(&item)? {
                    SinkResult::More => sent = self.next(py),
                    SinkResult::Out(out) => return Ok(Sent::Returned(out)),
                    SinkResult::Done => break,
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

    /// The iterator of the next item: `anext(iterator).__await__()`.
    fn awaited<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let iterator = self.iterator.bind(py);
        let awaitable = self.anext.call(iterator).ok_or_else(|| not_iterable(iterator))??;
        match awaited(&awaitable)? {
            Some(awaited) => Ok(awaited),
            None => {
                Err(type_error("what __anext__ of the source returns", "an awaitable", &awaitable))
            }
        }
    }

    /// Throws into what is awaited.
    fn throw<'py>(&self, error: &Bound<'py, PyTuple>) -> PyResult<Sent<'py>> {
        match &self.awaited {
            Some(awaited) => throw(awaited.bind(error.py()), error),
            None => Err(PyErr::from_value(error.get_item(0)?)),
        }
    }
}

fn not_iterable(source: &Bound<'_, PyAny>) -> PyErr {
    type_error("source", "an async iterator", source)
}
