//! `ItemSink`: takes the items of an async iterator that a `Source` reads.

use pyo3::prelude::*;

/// Takes the items of an iterator, one after the other.
pub trait ItemSink {
    /// Takes the next item.
    fn take_item<'py>(&mut self, item: &Bound<'py, PyAny>) -> PyResult<SinkResult<'py>>;
}

/// What to do after an item was taken.
pub enum SinkResult<'py> {
    /// Read the next: there is nothing to hand out yet.
    More,
    /// Hand this out: an event, or a list of events or steps.
    Out(Bound<'py, PyAny>),
    /// Read no more. What the last item completed is left to `finish`.
    Done,
}
