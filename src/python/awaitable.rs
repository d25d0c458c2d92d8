//! The protocol of awaitables, as `await` uses it.

use std::ffi::c_void;

use pyo3::exceptions::PyStopIteration;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyIterator, PyTuple, PyType};
use pyo3::{PyTraverseError, PyVisit};

use super::error::type_error;

/// What an awaitable did when it was sent a value.
pub enum Sent<'py> {
    /// It waits, and this value is for the event loop.
    Yielded(Bound<'py, PyAny>),
    /// It has ended, with this value.
    Returned(Bound<'py, PyAny>),
}

impl<'py> Sent<'py> {
    /// The result of `__next__`, `send` and `throw`: what was returned is the value of a `StopIteration`.
    pub fn into_next(self) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Yielded(value) => Ok(value),
            // Made here: an exception that PyO3 makes when it is raised takes a third longer.
            Self::Returned(value) => {
                let stop = value.py().get_type::<PyStopIteration>();
                Err(PyErr::from_value(stop.call1((value,))?))
            }
        }
    }
}

/// The iterator of an awaitable, `awaitable.__await__()`; `None` if it is not an awaitable.
pub fn awaited<'py>(awaitable: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    match Slot::Await.call(awaitable) {
        Some(iterator) => iterator.map(Some),
        None => Ok(is_coroutine_generator(awaitable)?.then(|| awaitable.clone())),
    }
}

/// Whether an object is a generator made by `types.coroutine`, which is its own iterator.
fn is_coroutine_generator(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    const CO_ITERABLE_COROUTINE: u32 = 0x100;
    let py = object.py();
    if !object.get_type().is(generator_type(py)?) {
        return Ok(false);
    }
    let code = object.getattr(pyo3::intern!(py, "gi_code"))?;
    let flags: u32 = code.getattr(pyo3::intern!(py, "co_flags"))?.extract()?;
    Ok(flags & CO_ITERABLE_COROUTINE != 0)
}

fn generator_type(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    TYPE.import(py, "types", "GeneratorType")
}

/// Sends a value to what is awaited.
///
/// # Errors
/// Whatever `awaited` raises; a `TypeError` if it is not an iterator.
pub fn send<'py>(awaited: &Bound<'py, PyAny>, value: &Bound<'py, PyAny>) -> PyResult<Sent<'py>> {
    let py = value.py();
    let mut result = std::ptr::null_mut();
    // SAFETY: both are live objects. The result is a new reference, or an exception is set.
    unsafe {
        match ffi::PyIter_Send(awaited.as_ptr(), value.as_ptr(), &raw mut result) {
            ffi::PySendResult::PYGEN_NEXT => Ok(Sent::Yielded(Bound::from_owned_ptr(py, result))),
            ffi::PySendResult::PYGEN_RETURN => {
                Ok(Sent::Returned(Bound::from_owned_ptr(py, result)))
            }
            ffi::PySendResult::PYGEN_ERROR => Err(failure_of(awaited)),
        }
    }
}

/// The error of a `send` that failed. Whether `awaited` is an iterator is checked only here, since it almost always is one.
#[cold]
fn failure_of(awaited: &Bound<'_, PyAny>) -> PyErr {
    let error = PyErr::fetch(awaited.py());
    match awaited.cast::<PyIterator>() {
        Ok(_) => error,
        Err(_) => type_error("what __await__ returns", "an iterator", awaited),
    }
}

/// Throws into what is awaited. `error` holds the arguments of `throw`: an exception, or the three of the older form.
pub fn throw<'py>(awaited: &Bound<'py, PyAny>, error: &Bound<'py, PyTuple>) -> PyResult<Sent<'py>> {
    let py = error.py();
    let Some(throw) = awaited.getattr_opt(pyo3::intern!(py, "throw"))? else {
        return Err(PyErr::from_value(error.get_item(0)?));
    };
    match throw.call1(error.clone()) {
        Ok(value) => Ok(Sent::Yielded(value)),
        Err(error) if error.is_instance_of::<PyStopIteration>(py) => {
            error.value(py).getattr(pyo3::intern!(py, "value")).map(Sent::Returned)
        }
        Err(error) => Err(error),
    }
}

/// Closes what is awaited.
pub fn close(awaited: &Bound<'_, PyAny>) -> PyResult<()> {
    match awaited.getattr_opt(pyo3::intern!(awaited.py(), "close"))? {
        Some(close) => close.call0().map(drop),
        None => Ok(()),
    }
}

/// A slot of a type that holds a function of one object, or is empty.
#[derive(Clone, Copy, Debug)]
pub enum Slot {
    /// `__await__`
    Await,
    /// `__anext__`
    Anext,
}

/// What the type of an object has in a slot.
pub struct Filled {
    slot: Slot,
    owner: Py<PyType>,
    function: ffi::unaryfunc,
}

impl Slot {
    /// Calls the function of the object's own type; `None` if the slot is empty.
    pub fn call<'py>(self, object: &Bound<'py, PyAny>) -> Option<PyResult<Bound<'py, PyAny>>> {
        // SAFETY: the function is the one of this object's type.
        self.function(object).map(|function| unsafe { called(function, object) })
    }

    /// What the type of `object` has there, to be called many times; `None` if the slot is empty.
    pub fn of(self, object: &Bound<'_, PyAny>) -> Option<Filled> {
        let function = self.function(object)?;
        Some(Filled { slot: self, owner: object.get_type().unbind(), function })
    }

    fn function(self, object: &Bound<'_, PyAny>) -> Option<ffi::unaryfunc> {
        let slot = match self {
            Self::Await => ffi::Py_am_await,
            Self::Anext => ffi::Py_am_anext,
        };
        // SAFETY: either slot holds a function of one object, or null.
        unsafe {
            let function = ffi::PyType_GetSlot(object.get_type_ptr(), slot);
            std::mem::transmute::<*mut c_void, Option<ffi::unaryfunc>>(function)
        }
    }
}

impl Filled {
    /// For Python's garbage collector.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.owner)
    }

    /// Calls the function of the object's own type; `None` if the object is now of a type that has no such function.
    pub fn call<'py>(&self, object: &Bound<'py, PyAny>) -> Option<PyResult<Bound<'py, PyAny>>> {
        if object.get_type_ptr() != self.owner.as_ptr().cast() {
            return self.slot.call(object);
        }
        // SAFETY: the function was in a slot of this object's type. What a class has there instead, once it is changed, takes
        // the same objects.
        Some(unsafe { called(self.function, object) })
    }
}

/// What a function of one object returns.
///
/// # Safety
/// It is a function from a slot of the object's type.
unsafe fn called<'py>(
    function: ffi::unaryfunc,
    object: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: such a function takes the object, and returns a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(object.py(), function(object.as_ptr())) }
}
