//! The system prompt, and the estimate of a prompt's tokens.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use serde_json::{Map, Value, json};

use super::convert::bytes_of;
use super::dialect::{value_of, written_of};
use crate::context::{self as core, Tool};
use crate::dialect::ToolsLayout;
use crate::execution::arguments::{SchemaForm, as_json_schema};
use crate::protocol::canonical::json_string_length;
use crate::protocol::write::Renderer;

/// The tokens of messages, estimated as the package does (`estimate_tokens`): a quarter of each text's characters, rounded up. The
/// text of a message with calls ends with these, as JSON. And the messages that are something else.
///
/// # Complexity
/// O(messages), and O(text) of their calls
#[pyfunction]
pub fn estimated_tokens<'py>(
    messages: &Bound<'py, PyAny>,
) -> PyResult<(usize, Bound<'py, PyList>)> {
    const CHARACTERS_OF_A_TOKEN: usize = 4;
    let others = PyList::empty(messages.py());
    let mut tokens = 0;
    for message in messages.try_iter()? {
        let message = message?;
        match message.cast_exact::<PyDict>().ok().map(characters).transpose()?.flatten() {
            Some(characters) => tokens += characters.div_ceil(CHARACTERS_OF_A_TOKEN),
            None => others.append(message)?,
        }
    }
    Ok((tokens, others))
}

/// How many characters the text of a message has; `None` if Python has to tell.
fn characters(message: &Bound<'_, PyDict>) -> PyResult<Option<usize>> {
    let py = message.py();
    let Some(content) = message.get_item(pyo3::intern!(py, "content"))? else { return Ok(None) };
    let Ok(content) = content.cast_exact::<PyString>() else { return Ok(None) };
    let calls = message.get_item(pyo3::intern!(py, "tool_calls"))?;
    let calls = match calls.filter(|calls| !calls.is_none()) {
        Some(calls) => json_length(&calls)?,
        None => Some(0),
    };
    let content = content.len()?;
    Ok(calls.map(|calls| content + calls))
}

/// How many characters `json.dumps` writes for lists and dicts of texts that are not empty; `None` for any other value.
fn json_length(value: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    /// Each item has two characters after it or around it.
    const FRAME: usize = 2;
    let mut length = 0;
    if let Ok(text) = value.cast_exact::<PyString>() {
        return Ok(Some(json_string_length(&bytes_of(text)?)));
    } else if let Ok(list) = value.cast_exact::<PyList>() {
        for item in list {
            let Some(item) = json_length(&item)? else { return Ok(None) };
            length += item + FRAME;
        }
    } else if let Ok(dict) = value.cast_exact::<PyDict>() {
        for (key, value) in dict {
            let (Some(key), Some(value)) = (json_length(&key)?, json_length(&value)?) else {
                return Ok(None);
            };
            length += key + FRAME + value + FRAME;
        }
    }
    Ok(Some(length).filter(|length| *length > 0))
}

/// The system prompt for tools given as `(name, line, description, schema)`.
#[pyfunction]
#[pyo3(signature = (tools, identity=None, instructions=None, dialect=None))]
#[pyo3(text_signature = "(tools, identity=None, instructions=None, dialect='cogency')")]
pub fn system_prompt(
    tools: Vec<(String, String, String, Bound<'_, PyAny>)>,
    identity: Option<&str>,
    instructions: Option<&str>,
    dialect: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let dialect = written_of(dialect)?;
    let is_declared = dialect.prompt.tools.layout != ToolsLayout::Signature;
    let declared: PyResult<Vec<_>> = tools
        .iter()
        .map(
            |(name, _, description, schema)| {
                if is_declared { declaration(name, description, schema) } else { Ok(Value::Null) }
            },
        )
        .collect();
    let declared = declared?;
    let tools: Vec<_> = tools
        .iter()
        .zip(&declared)
        .map(|((name, line, ..), declared)| Tool { name, line, declared })
        .collect();
    Ok(core::system_prompt(&Renderer::new(dialect), &tools, identity, instructions))
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
