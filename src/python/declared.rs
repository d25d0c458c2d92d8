//! Tools in the form in which a prompt declares them.

use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use super::json::value_of;
use crate::context::Tool;
use crate::dialect::ToolsLayout;
use crate::execution::arguments::{SchemaForm, as_json_schema};
use crate::protocol::write::Renderer;

/// A tool as a prompt lists it: `(name, line, description, schema)`.
pub type ListedTool<'py> = (String, String, String, Bound<'py, PyAny>);

/// What `write` makes of tools in the form that the prompts of the renderer's dialect need.
pub fn with_tools<T>(
    renderer: &Renderer,
    tools: &[ListedTool<'_>],
    write: impl FnOnce(&[Tool<'_>]) -> T,
) -> PyResult<T> {
    // Where a line declares a tool, its schema is needed for an example only.
    let is_line = renderer.dialect().prompt.tools.layout == ToolsLayout::Signature;
    let declared: PyResult<Vec<_>> = tools
        .iter()
        .map(|(name, _, description, schema)| match declaration(name, description, schema) {
            Err(_) if is_line => Ok(Value::Null),
            declared => declared,
        })
        .collect();
    let declared = declared?;
    let tools: Vec<_> = tools
        .iter()
        .zip(&declared)
        .map(|((name, line, ..), declared)| Tool { name, line, declared })
        .collect();
    Ok(write(&tools))
}

/// A tool in the form that servers are sent. A flat schema becomes a JSON Schema in which every parameter is required
/// unless it has `"required": False`, as in the line of the prompt that lists it.
fn declaration(name: &str, description: &str, schema: &Bound<'_, PyAny>) -> PyResult<Value> {
    let schema = value_of(schema)?;
    let parameters = match (SchemaForm::of(&schema), &schema) {
        (SchemaForm::Flat, Value::Object(fields)) => declared_fields(fields, schema.clone()),
        _ => schema,
    };
    let function = json!({"name": name, "description": description, "parameters": parameters});
    Ok(json!({"type": "function", "function": function}))
}

fn declared_fields(fields: &Map<String, Value>, schema: Value) -> Value {
    let mut parameters = as_json_schema(schema);
    let is_required = |info: &Value| info.get("required") != Some(&Value::Bool(false));
    let required = fields.iter().filter(|(_, info)| is_required(info)).map(|(name, _)| name);
    let required: Vec<_> = required.cloned().collect();
    for (name, info) in fields {
        if let Some(property) = parameters["properties"].get_mut(name) {
            *property = declared_field(info, property);
        }
    }
    parameters["required"] = required.into();
    parameters
}

/// A parameter, with its type and its description before its bounds.
fn declared_field(info: &Value, property: &Value) -> Value {
    let kind = match property.get("type") {
        Some(kinds) => kinds
            .as_array()
            .and_then(|kinds| <&[_; 1]>::try_from(&kinds[..]).ok())
            .map_or_else(|| kinds.clone(), |[kind]| kind.clone()),
        None => info.get("type").cloned().unwrap_or(Value::Null),
    };
    let description = info.get("description").cloned().unwrap_or(Value::Null);
    let front = [("type", kind), ("description", description)];
    let front = front.into_iter().filter(|(_, value)| !value.is_null());
    let rest = property.as_object().into_iter().flatten().filter(|(key, _)| *key != "type");
    let front = front.map(|(key, value)| (key.to_owned(), value));
    Value::Object(front.chain(rest.map(|(key, value)| (key.clone(), value.clone()))).collect())
}
