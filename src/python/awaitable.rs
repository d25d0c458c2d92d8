//! The protocol of awaitables, as `await` uses it.

use std::ffi::{c_ulong, c_void};

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
    /// The result of `__next__`, as its slot gives it: `None` once the exception that ends an iterator is set, here with
    /// what was returned. A bare value costs a fifth of an exception; Python makes the exception if somebody catches it.
    pub fn into_next(self) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self {
            Self::Yielded(value) => Ok(Some(value)),
            // Python would take a tuple for the arguments of the exception, and an exception for itself.
            Self::Returned(value) if is_bare(&value) => {
                // SAFETY: both are live objects.
                unsafe { ffi::PyErr_SetObject(ffi::PyExc_StopIteration, value.as_ptr()) };
                Ok(None)
            }
            returned @ Self::Returned(_) => returned.into_sent().map(Some),
        }
    }

    /// The result of `send` and `throw`: what was returned is the value of a `StopIteration`.
    pub fn into_sent(self) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Yielded(value) => Ok(value),
            Self::Returned(value) => {
                let stop = value.py().get_type::<PyStopIteration>();
                Err(PyErr::from_value(stop.call1((value,))?))
            }
        }
    }
}

/// Whether a value can be that of a `StopIteration` that was not made.
fn is_bare(value: &Bound<'_, PyAny>) -> bool {
    const OTHERS: c_ulong = ffi::Py_TPFLAGS_TUPLE_SUBCLASS | ffi::Py_TPFLAGS_BASE_EXC_SUBCLASS;
    // SAFETY: it is the type of a live object.
    unsafe { ffi::PyType_GetFlags(value.get_type_ptr()) & OTHERS == 0 }
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

/// What an awaitable did that was sent `None`. Most return at once; the rest is boxed, so that little is moved.
pub enum Next<'py> {
    /// It has ended, with this value.
    Returned(Bound<'py, PyAny>),
    /// It waits, and this value is for the event loop; or it has failed.
    Other(Box<PyResult<Bound<'py, PyAny>>>),
}

impl Next<'_> {
    /// Whether it waits, and has a value for the event loop.
    pub fn waits(&self) -> bool {
        matches!(self, Self::Other(other) if other.is_ok())
    }
}

impl<'py> From<PyResult<Sent<'py>>> for Next<'py> {
    fn from(sent: PyResult<Sent<'py>>) -> Self {
        match sent {
            Ok(Sent::Returned(value)) => Self::Returned(value),
            Ok(Sent::Yielded(value)) => Self::Other(Box::new(Ok(value))),
            Err(error) => Self::Other(Box::new(Err(error))),
        }
    }
}

/// Sends `None` to an awaitable of the type that has `own_next`: its own iterator, which tells only by an exception what it
/// returned. `PyIter_Send` does the same, and looks longer at each exception.
pub fn next<'py>(own_next: &Filled, awaitable: &Bound<'py, PyAny>) -> Next<'py> {
    let py = awaitable.py();
    // SAFETY: the function is that of the object's type, and returns a new reference or null. `PyErr_Fetch` gives three
    // new references, each perhaps null, which `PyErr_Restore` takes back.
    unsafe {
        let value = (own_next.function)(awaitable.as_ptr());
        if !value.is_null() {
            return Ok(Sent::Yielded(Bound::from_owned_ptr(py, value))).into();
        }
        let [mut kind, mut value, mut trace] = [std::ptr::null_mut(); 3];
        ffi::PyErr_Fetch(&raw mut kind, &raw mut value, &raw mut trace);
        if kind == ffi::PyExc_StopIteration
            && let Some(returned) = Bound::from_owned_ptr_or_opt(py, value)
        {
            if is_bare(&returned) {
                ffi::Py_DecRef(kind);
                ffi::Py_DecRef(trace);
                return Next::Returned(returned);
            }
            value = returned.into_ptr();
        }
        ffi::PyErr_Restore(kind, value, trace);
    }
    ended(py).into()
}

/// The end of an iterator, from the exception that is set, if there is one.
#[cold]
fn ended(py: Python<'_>) -> PyResult<Sent<'_>> {
    match PyErr::take(py) {
        None => Ok(Sent::Returned(py.None().into_bound(py))),
        Some(error) if error.is_instance_of::<PyStopIteration>(py) => {
            error.value(py).getattr(pyo3::intern!(py, "value")).map(Sent::Returned)
        }
        Some(error) => Err(error),
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
    /// `__next__`
    Next,
    /// What `send` does, in C; its function is not called here.
    Send,
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

    /// What `next` calls for awaitables of the type of `object`; `None` if they are not their own iterators, or can be sent
    /// to. The items of asynchronous generators of Python are such.
    pub fn own_next(object: &Bound<'_, PyAny>) -> Option<Filled> {
        let is_own = Self::Await.function(object).is_some_and(|function| {
            std::ptr::fn_addr_eq(function, ffi::PyObject_SelfIter as ffi::unaryfunc)
        });
        let has_send = Self::Send.function(object).is_some();
        if is_own && !has_send { Self::Next.of(object) } else { None }
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
            Self::Next => ffi::Py_tp_iternext,
            Self::Send => ffi::Py_am_send,
        };
        // SAFETY: each slot holds a function, or null. That of `Send` takes more than one object, and is only compared.
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

    /// Whether it is that of the object's own type.
    pub fn is_of(&self, object: &Bound<'_, PyAny>) -> bool {
        object.get_type_ptr() == self.owner.as_ptr().cast()
    }

    /// Calls the function of the object's own type; `None` if the object is now of a type that has no such function.
    pub fn call<'py>(&self, object: &Bound<'py, PyAny>) -> Option<PyResult<Bound<'py, PyAny>>> {
        if !self.is_of(object) {
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
