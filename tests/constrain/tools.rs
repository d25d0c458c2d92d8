//! Tools whose schemas have every keyword that a grammar holds, and most of those that it does not.

use serde_json::{Value, json};

/// A few sets of tools, each with names and schemas.
pub fn sets() -> Vec<Vec<(String, Value)>> {
    let named = |tools: &[(&str, Value)]| {
        tools.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect()
    };
    vec![
        named(&[("ping", json!({"type": "object", "properties": {}})), ("get_weather", weather())]),
        named(&[("search.web", search()), ("tree", tree()), ("pick", picks())]),
        named(&[("numbers", numbers()), ("texts", texts())]),
        named(&[("shapes", shapes()), ("parts", parts())]),
    ]
}

fn weather() -> Value {
    json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Where"},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            "days": {"type": "integer"},
            "exact": {"type": "boolean"},
        },
        "required": ["city"],
    })
}

fn search() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
            "filter": {"type": "object", "properties": {
                "since": {"type": ["integer", "null"]}, "lang": {"const": "en"},
            }, "required": ["lang"]},
            "pages": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["query", "filter"],
    })
}

fn tree() -> Value {
    json!({
        "type": "object",
        "$defs": {"Node": {"type": "object", "properties": {
            "value": {"type": "number"},
            "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
            "kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
        }, "required": ["value"]}},
        "properties": {"root": {"$ref": "#/$defs/Node"}, "also": {"allOf": [{"$ref": "#/$defs/Node"}]}},
        "required": ["root"],
    })
}

fn picks() -> Value {
    json!({
        "type": "object",
        "properties": {
            "one": {"enum": ["a", "b c", "", " edge ", "5", "null", "<b>", "\"q\"", "line\nbreak"]},
            "many": {"enum": (0..50).map(|n| format!("value-{n}")).collect::<Vec<_>>()},
            "mixed": {"enum": ["auto", 5, 2.5, null, true, [1, "x"], {"a": "b"}]},
        },
        "required": ["many"],
    })
}

fn numbers() -> Value {
    json!({
        "type": "object",
        "properties": {
            "a": {"type": "integer", "minimum": 3, "maximum": 1207},
            "b": {"type": "integer", "minimum": -17, "exclusiveMaximum": 5},
            "c": {"type": "integer", "maximum": -3},
            "d": {"type": "number", "minimum": 0, "maximum": 1},
            "e": {"type": "number", "minimum": -2, "maximum": 40},
            "f": {"type": "integer", "minimum": 1},
            "g": {"type": "number"},
        },
        "required": ["a", "b", "c", "d", "e"],
    })
}

fn texts() -> Value {
    json!({
        "type": "object",
        "properties": {
            "date": {"type": "string", "pattern": "^\\d{4}-\\d{2}-\\d{2}$"},
            "word": {"type": "string", "pattern": "^(foo|ba[rz]+)?$"},
            "any": {"type": "string", "pattern": "[0-9]x"},
            "short": {"type": "string", "minLength": 2, "maxLength": 5},
            "code": {"type": "string", "pattern": "^[^\\s]{1,3}$"},
            "free": {},
        },
        "required": ["date", "short"],
    })
}

fn shapes() -> Value {
    json!({
        "type": "object",
        "properties": {
            "either": {"oneOf": [{"type": "array", "items": {"type": "boolean"}}, {"type": "null"}]},
            "point": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": false, "minItems": 2},
            "map": {"type": "object", "additionalProperties": {"type": "integer"}},
            "open": {"type": "object", "properties": {"id": {"type": "integer"}, "idx": {"type": "null"}}, "additionalProperties": true},
            "both": {"allOf": [
                {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
                {"properties": {"b": {"type": "string"}, "a": {"maximum": 9}}},
            ]},
            "one": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
                    "anyOf": [{"required": ["x"]}, {"required": ["y"]}]},
            "anything": {"type": "object"},
        },
    })
}

fn parts() -> Value {
    json!({
        "anyOf": [
            {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
            {"type": "object", "properties": {"url": {"type": "string"}, "retry": {"type": "integer", "nullable": true}}, "required": ["url"]},
        ],
    })
}
