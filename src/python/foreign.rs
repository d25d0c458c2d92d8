//! Calls Python from a thread that Python did not make.
//!
//! When the interpreter shuts down, Python before 3.14 ends a thread that asks for the interpreter with
//! `pthread_exit`, which unwinds through the thread's frames. Rust frames that call `extern "C"` functions turn that
//! into an abort of the process. So these calls are declared as ones that may unwind, and the thread is parked
//! instead, for the moment that is left to the process; Python 3.14 does the same by itself.

use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

type ObjectCall =
    unsafe extern "C-unwind" fn(*mut PyObject, *mut PyObject, *mut PyObject) -> *mut PyObject;

/// `callable(*args)`, on a thread of ours.
pub fn call<'py>(
    callable: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the same function with the same arguments; only that it may unwind is said in addition. The compiler must
    // not see through it, or it finds the declaration that says it cannot.
    let object_call: ObjectCall = std::hint::black_box(unsafe {
        std::mem::transmute::<*const (), ObjectCall>(pyo3::ffi::PyObject_Call as *const ())
    });
    let parked = ParkForever;
    // SAFETY: both are live Python objects, the second a tuple, and the interpreter is attached.
    let result = unsafe { object_call(callable.as_ptr(), args.as_ptr(), std::ptr::null_mut()) };
    std::mem::forget(parked);
    // SAFETY: the result is a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(callable.py(), result) }
}

/// Reached only when the frame above it is unwound.
struct ParkForever;

impl Drop for ParkForever {
    fn drop(&mut self) {
        loop {
            std::thread::park();
        }
    }
}
