//! Keywords of JSON Schema that hold at once, as one set of keywords.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::protocol::tools::{Types, target, written};

/// Keywords that bound a value of one type; a value that is listed, or of any type, is not held to them.
pub const OF_ONE_TYPE: [&str; 15] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "items",
    "prefixItems",
    "additionalItems",
    "properties",
    "required",
    "additionalProperties",
];

/// Keywords that a grammar does not hold.
const NOT_HELD: [&str; 22] = [
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependentRequired",
    "dependencies",
    "contains",
    "minContains",
    "maxContains",
    "multipleOf",
    "minProperties",
    "maxProperties",
    "propertyNames",
    "patternProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "format",
    "contentEncoding",
    "contentMediaType",
    "$dynamicRef",
    "$recursiveRef",
];

/// The keywords of an array's items.
const ITEMS: [&str; 3] = ["items", "prefixItems", "additionalItems"];

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

/// Whether a grammar holds a value to this keyword, or it demands nothing. What has not the form that it needs is not held.
pub fn is_held(keyword: &str, value: &Value) -> bool {
    match keyword {
        "type" => written(value).is_some() || value == "any",
        "enum" | "prefixItems" => value.is_array(),
        "pattern" => value.is_string(),
        "properties" => value.is_object(),
        "required" => value.as_array().is_some_and(|names| names.iter().all(Value::is_string)),
        "minLength" | "maxLength" | "minItems" | "maxItems" => value.is_number(),
        "uniqueItems" => *value == Value::Bool(false),
        keyword => !NOT_HELD.contains(&keyword),
    }
}

/// Whether a part of the schema has its own base, so that its references do not begin at the root.
pub fn has_bases(schema: &Value) -> bool {
    let is_base = |key: &str, value: &Value| key == "$id" && value.is_string();
    let mut open: Vec<&Value> = match schema {
        Value::Object(keywords) => keywords.values().collect(),
        _ => Vec::new(),
    };
    while let Some(part) = open.pop() {
        match part {
            Value::Object(keywords) => {
                if keywords.iter().any(|(key, value)| is_base(key, value)) {
                    return true;
                }
                open.extend(keywords.values());
            }
            Value::Array(parts) => open.extend(parts),
            _ => {}
        }
    }
    false
}

/// Whether no value fits two of these schemas: each is of other types, or lists other values, as its keywords say.
pub fn are_apart(schemas: &[Value]) -> bool {
    let (mut values, mut of_values) = (HashSet::new(), Types::default());
    let mut others = Types::default();
    schemas.iter().all(|schema| {
        let Some(keywords) = schema.as_object() else { return false };
        let listed = listed(keywords);
        let of_listed =
            listed.as_ref().and_then(|each| each.iter().map(Types::of_value).reduce(Types::or));
        let Some(said) = types(keywords).or(of_listed) else { return false };
        if !others.and(said).is_empty() {
            return false;
        }
        let Some(listed) = listed else {
            others = others.or(said);
            return of_values.and(said).is_empty();
        };
        of_values = of_values.or(said);
        let is_new = !listed.iter().any(|value| values.contains(value));
        values.extend(listed);
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
    add_members(keywords, merged);
    add_items(keywords, merged, clashes);
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
            ("properties", Value::Object(_)) | ("additionalProperties", _) => {}
            ("properties" | "allOf", _) => clashes.push(keyword.clone()),
            (key, _) if ITEMS.contains(&key) => {}
            (key, value) => add(key, value, merged, clashes),
        }
    }
    within.pop();
    is_sound
}

/// A schema of what fits both; one that is not there allows everything.
fn both(one: Option<&Value>, other: Option<&Value>) -> Value {
    match (one, other) {
        (None, None) => Value::Bool(true),
        (Some(Value::Bool(true)) | None, Some(schema))
        | (Some(schema), Some(Value::Bool(true)) | None) => schema.clone(),
        (Some(one), Some(other)) if one == other => one.clone(),
        (Some(one), Some(other)) => {
            let all = Value::Array(vec![one.clone(), other.clone()]);
            Value::Object(Map::from_iter([("allOf".to_owned(), all)]))
        }
    }
}

/// Adds the members of an object: a key that only one side declares is one of the additional properties of the other.
fn add_members(keywords: &Map<String, Value>, merged: &mut Map<String, Value>) {
    const DECLARED: &str = "properties";
    const OTHERS: &str = "additionalProperties";
    let of = |keywords: &Map<String, Value>| {
        let declared = keywords.get(DECLARED).and_then(Value::as_object).cloned();
        (declared, keywords.get(OTHERS).cloned())
    };
    let ((known, known_others), (more, more_others)) = (of(merged), of(keywords));
    if more.is_none() && more_others.is_none() {
        return;
    }
    let get = |declared: &Option<Map<String, Value>>, key: &str| {
        declared.as_ref().and_then(|declared| declared.get(key)).cloned()
    };
    let keys = known.iter().chain(&more).flat_map(Map::keys);
    let members: Map<String, Value> = keys
        .map(|key| {
            let [one, other] = [(&known, &known_others), (&more, &more_others)]
                .map(|(declared, others)| get(declared, key).or_else(|| others.clone()));
            (key.clone(), both(one.as_ref(), other.as_ref()))
        })
        .collect();
    if known.is_some() || more.is_some() {
        merged.insert(DECLARED.into(), Value::Object(members));
    }
    if known_others.is_some() || more_others.is_some() {
        merged.insert(OTHERS.into(), both(known_others.as_ref(), more_others.as_ref()));
    }
}

/// Adds the items of an array, where both sides say the same of their places.
fn add_items(
    keywords: &Map<String, Value>,
    merged: &mut Map<String, Value>,
    clashes: &mut Vec<String>,
) {
    let of = |keywords: &Map<String, Value>| -> Map<String, Value> {
        let items = keywords.iter().filter(|(key, _)| ITEMS.contains(&&***key));
        items.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let is_of_all = |items: &Map<String, Value>| {
        items.len() == 1 && items.get("items").is_some_and(|items| !items.is_array())
    };
    let (known, more) = (of(merged), of(keywords));
    if known.is_empty() {
        merged.extend(more);
    } else if is_of_all(&known) && is_of_all(&more) {
        merged.insert("items".into(), both(known.get("items"), more.get("items")));
    } else if known != more {
        clashes.extend(more.into_iter().map(|(key, _)| key));
    }
}

/// Adds one keyword.
fn add(key: &str, value: &Value, merged: &mut Map<String, Value>, clashes: &mut Vec<String>) {
    let Some(known) = merged.get_mut(key) else {
        merged.insert(key.to_owned(), value.clone());
        return;
    };
    match (key, known, value) {
        (_, known, value) if known == value => {}
        ("required", Value::Array(known), Value::Array(more)) => {
            known.extend(more.iter().cloned());
        }
        ("enum", Value::Array(known), Value::Array(more)) => {
            let more: HashSet<&Value> = more.iter().collect();
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
        (
            "minimum" | "exclusiveMinimum" | "minLength" | "minItems",
            known @ Value::Number(_),
            Value::Number(_),
        ) => {
            if value.as_f64() > known.as_f64() {
                *known = value.clone();
            }
        }
        (
            "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems",
            known @ Value::Number(_),
            Value::Number(_),
        ) => {
            if value.as_f64() < known.as_f64() {
                *known = value.clone();
            }
        }
        _ => clashes.push(key.to_owned()),
    }
}
