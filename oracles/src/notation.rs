//! Values as they are written, and the schemas that they fit.

use serde_json::{Map, Value};

use crate::Call;

/// Stands before every mark of `MiniMax` M3.
pub(crate) const M3: &str = "]<]minimax[>[";

/// JSON as chat templates write it: a space after each comma and colon.
pub fn json(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(", "))
        }
        Value::Object(_) => {
            let member = |k: &str, v: &Value| format!("{}: {}", Value::from(k), json(v));
            format!("{{{}}}", joined(value, ", ", member))
        }
        _ => value.to_string(),
    }
}

pub(crate) fn joined(
    object: &Value,
    between: &str,
    write: impl Fn(&str, &Value) -> String,
) -> String {
    let members = object.as_object().expect("arguments are an object");
    members.iter().map(|(key, value)| write(key, value)).collect::<Vec<_>>().join(between)
}

pub(crate) fn pairs(args: &Value, write: impl Fn(&str, &Value) -> String) -> String {
    joined(args, "", write)
}

pub(crate) fn verbatim(value: &Value) -> String {
    value.as_str().map_or_else(|| json(value), str::to_owned)
}

pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

pub(crate) fn gemma(value: &Value) -> String {
    match value {
        Value::String(text) => format!("<|\"|>{text}<|\"|>"),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(gemma).collect::<Vec<_>>().join(","))
        }
        Value::Object(_) => {
            format!("{{{}}}", joined(value, ",", |k, v| format!("{k}:{}", gemma(v))))
        }
        _ => value.to_string(),
    }
}

pub(crate) fn elements(value: &Value) -> String {
    let element = |tag: &str, value: &Value| format!("{M3}<{tag}>{}{M3}</{tag}>", elements(value));
    match value {
        Value::Array(items) => items.iter().map(|item| element("item", item)).collect(),
        Value::Object(_) => pairs(value, element),
        _ => verbatim(value),
    }
}

/// Elements as XML has them: a list is its key again and again.
pub(crate) fn xml(members: &Value) -> String {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let element = |key: &str, value: &Value| {
        let inner = if value.is_object() { xml(value) } else { escaped(&verbatim(value)) };
        format!("<{key}>{inner}</{key}>")
    };
    pairs(members, |key, value| match value {
        Value::Array(items) => items.iter().map(|item| element(key, item)).collect(),
        _ => element(key, value),
    })
}

pub(crate) fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => python_string(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(python).collect::<Vec<_>>().join(", "))
        }
        Value::Object(_) => {
            let member = |k: &str, v: &Value| format!("{}: {}", python_string(k), python(v));
            format!("{{{}}}", joined(value, ", ", member))
        }
    }
}

fn python_string(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '\'' | '\\' => format!("\\{c}"),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        c if c.is_control() => format!("\\x{:02x}", u32::from(c)),
        c => c.to_string(),
    });
    format!("'{}'", escaped.collect::<String>())
}

/// A schema that allows these arguments and little else.
pub fn schema(value: &Value) -> Value {
    let named = |kind: &str| (String::from("type"), Value::from(kind));
    let mut schema = Map::from_iter([named(kind(value))]);
    match value {
        Value::Number(number) if !number.is_f64() => schema.extend([named("integer")]),
        Value::Array(items) => {
            let mut kinds = items.iter().map(self::schema);
            if let Some(first) = kinds.next().filter(|first| kinds.all(|kind| kind == *first)) {
                schema.insert("items".to_owned(), first);
            }
        }
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| (key.clone(), self::schema(value)));
            schema.insert("properties".to_owned(), members.collect());
        }
        _ => {}
    }
    Value::Object(schema)
}

/// The tools that these calls call.
pub fn tools(calls: &[Call]) -> Vec<Value> {
    let mut tools: Vec<Value> = Vec::new();
    for (name, args) in calls {
        if !tools.iter().any(|tool| tool["function"]["name"] == name.as_str()) {
            let function = serde_json::json!({ "name": name, "parameters": schema(args) });
            tools.push(serde_json::json!({ "type": "function", "function": function }));
        }
    }
    tools
}
