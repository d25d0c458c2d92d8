//! Keywords of JSON Schema that hold at once, as one set of keywords.

use serde_json::{Map, Value};

use crate::protocol::tools::{Types, target, written};

/// Keywords that bound a value of one type.
pub const VALUE_BOUNDS: [&str; 9] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
];

/// Words of a schema that no value is held to.
const ANNOTATIONS: [&str; 14] = [
    "title",
    "description",
    "default",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$comment",
    "$schema",
    "$id",
    "$anchor",
    "$defs",
    "definitions",
];

/// Whether a value is held to this keyword.
pub fn holds(keyword: &str) -> bool {
    !ANNOTATIONS.contains(&keyword)
}

/// The types that the keywords name; `None` if they do not.
pub fn types(keywords: &Map<String, Value>) -> Option<Types> {
    written(keywords.get("type")?)
}

/// The type of a value that has these parts, as all readers of this crate take it.
pub fn types_of_parts(keywords: &Map<String, Value>) -> Option<Types> {
    let has = |keys: &[&str]| keys.iter().any(|key| keywords.contains_key(*key));
    if has(&["properties", "required", "additionalProperties"]) {
        Some(Types::OBJECT)
    } else if has(&["items", "prefixItems"]) {
        Some(Types::ARRAY)
    } else {
        None
    }
}

/// The values that the keywords list; `None` if they list none.
pub fn listed(keywords: &Map<String, Value>) -> Option<Vec<Value>> {
    match (keywords.get("enum"), keywords.get("const")) {
        (Some(Value::Array(values)), Some(value)) => {
            Some(values.iter().filter(|each| *each == value).cloned().collect())
        }
        (Some(Value::Array(values)), None) => Some(values.clone()),
        (_, Some(value)) => Some(vec![value.clone()]),
        _ => None,
    }
}

/// Whether no value fits two of these schemas: each is of other types, as its keywords say.
pub fn are_apart(schemas: &[Value]) -> bool {
    let mut found = Types::default();
    schemas.iter().all(|schema| {
        let keywords = schema.as_object();
        let said = keywords.and_then(|keywords| {
            let listed = listed(keywords)
                .and_then(|values| values.iter().map(Types::of_value).reduce(Types::or));
            types(keywords).or(listed)
        });
        let is_new = said.is_some_and(|said| found.and(said).is_empty());
        found = found.or(said.unwrap_or_default());
        is_new
    })
}

/// Adds to `merged` what the keywords hold a value to, those that they refer to as well. What cannot be held at once is noted in
/// `clashes`. Gives false where references form a circle, so that there is nothing to hold.
pub fn gather<'a>(
    root: &'a Value,
    keywords: &'a Map<String, Value>,
    merged: &mut Map<String, Value>,
    clashes: &mut Vec<String>,
    within: &mut Vec<*const Map<String, Value>>,
) -> bool {
    let here = std::ptr::from_ref(keywords);
    if within.contains(&here) {
        return false;
    }
    within.push(here);
    let mut is_sound = true;
    for (keyword, value) in keywords.iter().filter(|(keyword, _)| holds(keyword)) {
        match (&**keyword, value) {
            ("$ref", reference) => match target(root, reference) {
                Some(Value::Object(keywords)) => {
                    is_sound &= gather(root, keywords, merged, clashes, within);
                }
                Some(Value::Bool(true)) => {}
                _ => clashes.push(keyword.clone()),
            },
            ("allOf", Value::Array(all)) => {
                for each in all {
                    match each {
                        Value::Object(keywords) => {
                            is_sound &= gather(root, keywords, merged, clashes, within);
                        }
                        Value::Bool(false) => {
                            merged.insert("enum".into(), Value::Array(Vec::new()));
                        }
                        _ => {}
                    }
                }
            }
            (key, value) => add(key, value, merged, clashes),
        }
    }
    within.pop();
    is_sound
}

/// Adds one keyword.
fn add(key: &str, value: &Value, merged: &mut Map<String, Value>, clashes: &mut Vec<String>) {
    let Some(known) = merged.get_mut(key) else {
        merged.insert(key.to_owned(), value.clone());
        return;
    };
    match (key, known, value) {
        (_, known, value) if known == value => {}
        ("properties", Value::Object(known), Value::Object(more)) => {
            for (name, schema) in more {
                let both = match known.get(name) {
                    Some(other) if other != schema => {
                        let both = Value::Array(vec![other.clone(), schema.clone()]);
                        Value::Object(Map::from_iter([("allOf".to_owned(), both)]))
                    }
                    _ => schema.clone(),
                };
                known.insert(name.clone(), both);
            }
        }
        ("required", Value::Array(known), Value::Array(more)) => {
            known.extend(more.iter().cloned());
        }
        ("enum", Value::Array(known), Value::Array(more)) => {
            known.retain(|value| more.contains(value));
        }
        ("type", known, value) => {
            let types = (written(known), written(value));
            if let (Some(one), Some(other)) = types {
                let words = one.and(other).words().map(Value::from);
                *known = Value::Array(words.collect());
            } else {
                clashes.push(key.to_owned());
            }
        }
        ("minimum" | "exclusiveMinimum" | "minLength" | "minItems", known, value) => {
            if value.as_f64() > known.as_f64() {
                *known = value.clone();
            }
        }
        ("maximum" | "exclusiveMaximum" | "maxLength" | "maxItems", known, value) => {
            if value.as_f64() < known.as_f64() {
                *known = value.clone();
            }
        }
        ("additionalProperties", known, value @ Value::Bool(false))
        | ("additionalProperties", known @ Value::Bool(true), value) => *known = value.clone(),
        ("additionalProperties", Value::Bool(false), _)
        | ("additionalProperties", _, Value::Bool(true)) => {}
        _ => clashes.push(key.to_owned()),
    }
}
