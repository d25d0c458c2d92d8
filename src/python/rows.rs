//! What the rows of a log hold.

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::convert::{bytes_of, dumps, json as json_module};
use super::error::ToolParseError;
use cogency_rs::context::{ShownReport, stored_report};
use cogency_rs::protocol::stored::{ShownCall, shown_call};

/// `f"{value}"`
pub fn formatted<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    if let Ok(text) = value.cast_exact::<PyString>() {
        return Ok(text.clone());
    }
    let format = value.py().import("builtins")?.getattr("format")?;
    Ok(format.call1((value,))?.cast_into::<PyString>()?)
}

/// The same of a row that may have other text around the call; `None` for any text that is not a call: another program may have
/// written it.
pub fn lenient_call_of(content: &Bound<'_, PyAny>) -> PyResult<Option<ShownCall>> {
    let text = formatted(content)?;
    if let Ok(Some(call)) = shown_call(&bytes_of(&text)?) {
        return Ok(Some(call));
    }
    let codec = content.py().import("cogency_rs.protocol")?;
    match codec.call_method1("parse_tool_call", (text,)) {
        Err(error) if error.is_instance_of::<ToolParseError>(content.py()) => Ok(None),
        call => {
            let written = codec.call_method1("format_call_agent", (call?,))?;
            Ok(shown_call(&bytes_of(written.cast::<PyString>()?)?).ok().flatten())
        }
    }
}

/// The call in a stored row; `None` if its JSON is not a call. Text that is not JSON raises what `json.loads` raises.
pub fn call_of(content: &Bound<'_, PyAny>) -> PyResult<Option<ShownCall>> {
    if let Ok(text) = content.cast::<PyString>()
        && let Ok(call) = shown_call(&bytes_of(text)?)
    {
        return Ok(call);
    }
    let py = content.py();
    let value = json_module(py)?.call_method1(pyo3::intern!(py, "loads"), (content,))?;
    Ok(shown_call(dumps(&value)?.as_bytes()).ok().flatten())
}

/// The report in a row of type `error`; `None` if its content is not one.
pub fn report_of(event: &Bound<'_, PyAny>) -> PyResult<Option<ShownReport>> {
    let py = event.py();
    let content = match event.get_item(pyo3::intern!(py, "content")) {
        Err(error) if error.is_instance_of::<PyKeyError>(py) => return Ok(None),
        content => content?,
    };
    let Ok(text) = content.cast::<PyString>() else { return Ok(None) };
    Ok(stored_report(&bytes_of(text)?))
}
