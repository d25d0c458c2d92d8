//! Results of calls, as the log holds them.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::json::strict_dumps;
use cogency_rs::protocol::results::{CallOutcome, ResultItem, results_array};

/// The outcome that a `ToolResult` stands for.
///
/// # Errors
/// What [`strict_dumps`] raises for an outcome or content that JSON cannot hold.
pub fn outcome_of(result: &Bound<'_, PyAny>) -> PyResult<CallOutcome> {
    let py = result.py();
    let outcome = strict_dumps(&result.getattr(pyo3::intern!(py, "outcome"))?)?;
    if result.getattr(pyo3::intern!(py, "error"))?.is_truthy()? {
        return Ok(CallOutcome::Failure { message: outcome });
    }
    let content = result.getattr(pyo3::intern!(py, "content"))?;
    let is_absent = content.is_none()
        || content.cast::<PyString>().is_ok_and(|text| text.len().is_ok_and(|length| length == 0));
    let content = if is_absent { None } else { Some(strict_dumps(&content)?) };
    Ok(CallOutcome::success(outcome, content))
}

/// The results array for tools of these names and their results, in order.
#[pyfunction]
pub fn format_results(
    names: Vec<Bound<'_, PyAny>>,
    results: Vec<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let item = |(name, result): (&Bound<'_, PyAny>, _)| {
        let tool = strict_dumps(name)?;
        match outcome_of(result) {
            Ok(outcome) => Ok(ResultItem { tool, outcome }),
            Err(error) if error.is_instance_of::<PyValueError>(name.py()) => {
                let message =
                    format!("a result of {tool} is not a JSON value: {}", error.value(name.py()));
                Err(PyValueError::new_err(message))
            }
            Err(error) => Err(error),
        }
    };
    let items: PyResult<Vec<_>> = names.iter().zip(&results).map(item).collect();
    Ok(results_array(&items?))
}
