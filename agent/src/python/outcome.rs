//! What a callable is given and what came of it, between the core's JSON and Python's values.
//!
//! The words are those of the package (`cogency_rs/calls/results.py`), so that a model reads the same, whichever program ran its call.

use pyo3::exceptions::asyncio::CancelledError;
use pyo3::exceptions::{PyBaseExceptionGroup, PyKeyboardInterrupt, PySystemExit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};

use super::json::{json, strict_dumps};
use crate::execution::{Invocation, ToolError, ToolOutput};

/// What came of an attempt.
pub type Returned = Result<ToolOutput, ToolError>;

/// Where the results of calls go.
pub trait Results: Send + Sync {
    /// Hands over the result of a call, unless it was given up.
    fn end(&self, number: u64, returned: Returned);
}

/// A call's arguments by their names. Python's own `json` reads them, as it does in the package.
///
/// # Errors
/// They are not an object, or Python cannot hold them: a number may have too many digits.
pub fn arguments_of<'py>(
    py: Python<'py>,
    invocation: &Invocation,
) -> Result<Bound<'py, PyDict>, ToolError> {
    let text = invocation.call().arguments();
    if text == "{}" {
        return Ok(PyDict::new(py));
    }
    let loads = pyo3::intern!(py, "loads");
    let value = json(py).and_then(|json| json.call_method1(loads, (text,))).map_err(|error| {
        ToolError::new(format!("its arguments cannot be read: {}", reason(error.value(py))))
    })?;
    value.cast_into().map_err(|_| ToolError::invalid_arguments("they are not an object"))
}

/// The output that a returned value stands for: an object with `outcome` and `error`, or any value that JSON can hold.
pub fn output_of(value: &Bound<'_, PyAny>) -> Returned {
    let py = value.py();
    if value.is_none() {
        return Ok(ToolOutput::empty());
    }
    if value.is_exact_instance_of::<PyString>() || value.is_exact_instance_of::<PyDict>() {
        return Ok(ToolOutput::of_json(None, Some(json_of("content", value)?)));
    }
    let unreadable = |error: PyErr| {
        ToolError::unusable(&format!("its result cannot be read: {}", reason(error.value(py))))
    };
    let attribute = |name: &str| value.getattr_opt(name).map_err(unreadable);
    let (outcome, error) = (attribute("outcome")?, attribute("error")?);
    let (Some(outcome), Some(error)) = (outcome, error) else {
        return Ok(ToolOutput::of_json(None, Some(json_of("content", value)?)));
    };
    let outcome_json = json_of("outcome", &outcome)?;
    if error.is_truthy().map_err(unreadable)? {
        let text = outcome.cast::<PyString>().map(|text| text.to_string_lossy().into_owned());
        return Err(ToolError::reported(text.unwrap_or(outcome_json)));
    }
    let content = attribute("content")?.filter(|content| !content.is_none());
    let content = content.map(|content| json_of("content", &content)).transpose()?;
    Ok(ToolOutput::of_json(Some(outcome_json), content))
}

fn json_of(field: &str, value: &Bound<'_, PyAny>) -> Result<String, ToolError> {
    strict_dumps(value).map_err(|error| {
        let py = value.py();
        let why = text_of(error.value(py));
        let why = if why.is_empty() { type_name(error.value(py)) } else { why };
        let class = type_name(value);
        ToolError::unusable(&format!("its {field} ({class}) is not a JSON value: {why}"))
    })
}

/// The failure of a call whose callable raised; the exception and its traceback are the cause.
pub fn error_of(py: Python<'_>, error: PyErr) -> ToolError {
    ToolError::new(reason(error.value(py))).with_cause(error)
}

/// Why a tool failed: the class and text of its exception; only the text if that is in the tool's own words.
fn reason(error: &Bound<'_, PyAny>) -> String {
    let py = error.py();
    let text = text_of(error);
    let after =
        |what: &str| if text.is_empty() { what.to_owned() } else { format!("{what}: {text}") };
    if error.is_instance_of::<PySystemExit>() {
        let code = error.getattr(pyo3::intern!(py, "code")).and_then(|code| code.repr());
        let code = code.map_or_else(|_| "?".to_owned(), |code| code.to_string());
        format!("the tool asked the program to exit with {code}")
    } else if error.is_instance_of::<PyKeyboardInterrupt>() {
        "interrupted".to_owned()
    } else if error.is_instance_of::<CancelledError>() {
        after("the tool cancelled itself")
    } else if !text.is_empty() && is_in_own_words(error) {
        text
    } else if error.is_instance_of::<PyBaseExceptionGroup>() {
        format!("{}: {text}: {}", type_name(error), parts(error))
    } else {
        after(&type_name(error))
    }
}

/// Whether a class of the exception is named `ToolError`, as those of the package and of cogency are.
fn is_in_own_words(error: &Bound<'_, PyAny>) -> bool {
    let classes = error.get_type().mro();
    classes.iter().any(|class| {
        let name = class.cast_into::<PyType>().map(|class| class.name());
        matches!(name, Ok(Ok(name)) if name == "ToolError")
    })
}

/// How many exceptions of a group are shown.
const MOST_PARTS: usize = 5;

/// Why each part of a group failed, groups in it opened; those after the first five are counted.
fn parts(group: &Bound<'_, PyAny>) -> String {
    let (mut found, mut waiting) = (Vec::new(), vec![group.clone()]);
    while let Some(error) = waiting.pop() {
        let inner = error.is_instance_of::<PyBaseExceptionGroup>().then(|| {
            let exceptions = error.getattr(pyo3::intern!(error.py(), "exceptions"));
            exceptions.and_then(|exceptions| exceptions.extract::<Vec<Bound<'_, PyAny>>>())
        });
        match inner {
            Some(Ok(inner)) => waiting.extend(inner.into_iter().rev()),
            _ => found.push(reason(&error)),
        }
    }
    let more = found.len().saturating_sub(MOST_PARTS);
    found.truncate(MOST_PARTS);
    if more > 0 {
        found.push(format!("and {more} more"));
    }
    found.join("; ")
}

/// `str(value)`; empty if that raises.
fn text_of(value: &Bound<'_, PyAny>) -> String {
    value.str().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string())
}
