//! The package's exceptions, which Python defines.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

pyo3::import_exception!(cogency_rs.errors, ArgumentError);
pyo3::import_exception!(cogency_rs.errors, ConfigError);
pyo3::import_exception!(cogency_rs.errors, ProtocolError);
pyo3::import_exception!(cogency_rs.errors, ToolParseError);

/// A `ProtocolError` that keeps the text it is about.
pub fn protocol_error(py: Python<'_>, message: &str, original_input: &Bound<'_, PyAny>) -> PyErr {
    let build = || -> PyResult<PyErr> {
        let keywords = PyDict::new(py);
        keywords.set_item("original_input", original_input)?;
        let class = py.get_type::<ProtocolError>();
        Ok(PyErr::from_value(class.call((message,), Some(&keywords))?))
    };
    build().unwrap_or_else(|error| error)
}

/// The error for a wrong argument, in the words that the package has for all of them.
pub fn refused(name: &str, given: &Bound<'_, PyAny>, accepted: &str) -> PyErr {
    let checks = given.py().import("cogency_rs.guards.arguments");
    let error = checks.and_then(|checks| checks.call_method1("refused", (name, given, accepted)));
    error.map_or_else(|error| error, PyErr::from_value)
}

/// An `ArgumentError` that names the wanted type and the received one.
pub fn wrong_type(what: &str, wanted: &str, value: &Bound<'_, PyAny>) -> PyErr {
    ArgumentError::new_err(types(what, wanted, value))
}

/// The same of what is not an argument, such as what a source yields: a `TypeError`.
pub fn type_error(what: &str, wanted: &str, value: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(types(what, wanted, value))
}

fn types(what: &str, wanted: &str, value: &Bound<'_, PyAny>) -> String {
    let found =
        value.get_type().name().map_or_else(|_| "something else".into(), |name| name.to_string());
    format!("{what} must be {wanted}, not {found}")
}
