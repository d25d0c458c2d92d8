//! Tools in the form in which a prompt declares them.

use pyo3::prelude::*;
use serde_json::Value;

use super::json::value_of;
use cogency_rs::context::Tool;
use cogency_rs::dialect::ToolsLayout;
use cogency_rs::execution::arguments::declaration;
use cogency_rs::protocol::write::Renderer;

/// A tool as a prompt lists it: `(name, line, description, schema)`.
pub type ListedTool<'py> = (String, String, String, Bound<'py, PyAny>);

/// What `write` makes of tools in the form that the prompts of the renderer's dialect need. Other threads run meanwhile.
pub fn with_tools<T: Send>(
    py: Python<'_>,
    renderer: &Renderer,
    tools: &[ListedTool<'_>],
    write: impl FnOnce(&[Tool<'_>]) -> T + Send,
) -> PyResult<T> {
    // Where a line declares a tool, its schema is needed for an example only.
    let is_line = renderer.dialect().prompt.tools.layout == ToolsLayout::Signature;
    let declared: PyResult<Vec<_>> = tools
        .iter()
        .map(|(name, _, description, schema)| match value_of(schema) {
            Err(_) if is_line => Ok(Value::Null),
            schema => schema.map(|schema| declaration(name, description, schema)),
        })
        .collect();
    let declared = declared?;
    let tools: Vec<_> = tools
        .iter()
        .zip(&declared)
        .map(|((name, line, ..), declared)| Tool { name, line, declared })
        .collect();
    Ok(py.detach(|| write(&tools)))
}
