//! Tools in the form that servers are sent.

use serde_json::{Map, Value, json};

use super::{SchemaForm, as_json_schema};

/// A tool in the form that servers are sent. A flat schema becomes a JSON Schema in which every parameter is required
/// unless it has `"required": False`, as in the line of a prompt that lists the tool.
#[must_use]
pub fn declaration(name: &str, description: &str, schema: Value) -> Value {
    let parameters = match (SchemaForm::of(&schema), &schema) {
        (SchemaForm::Flat, Value::Object(fields)) => declared_fields(fields, schema.clone()),
        _ => schema,
    };
    let function = json!({"name": name, "description": description, "parameters": parameters});
    json!({"type": "function", "function": function})
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
