//! No keyword of JSON Schema is dropped in silence: a value that it refuses is refused, or the keyword is listed as widened.

use serde_json::{Value, json};

use super::matcher::matches;
use super::of_parameter;

/// What becomes of a keyword.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Held,
    Widened,
    /// It demands nothing of a value.
    Says,
}
use Fate::{Held, Says, Widened};

/// Whether the grammar has a call with this value.
fn allows(rules: &[cogency_rs::constrain::Rule], value: &Value) -> bool {
    let text = format!(
        "<tool_call>\n{{\"name\": \"f\", \"arguments\": {{\"x\": {value}}}}}\n</tool_call>"
    );
    matches(rules, &text)
}

/// The keywords of all drafts from the sixth on, and of the fourth where they differ: a schema, a value that it refuses, and what
/// becomes of the keyword.
#[expect(clippy::too_many_lines, reason = "a table")]
fn table() -> Vec<(&'static str, Fate, Value, Value)> {
    let object = json!({"a": 1});
    vec![
        ("type", Held, json!({"type": "integer"}), json!("1")),
        ("type", Widened, json!({"type": "decimal"}), json!("1")),
        ("enum", Held, json!({"enum": ["a", 1]}), json!("b")),
        ("enum", Widened, json!({"enum": "a"}), json!("b")),
        ("const", Held, json!({"const": 1}), json!(2)),
        ("minimum", Held, json!({"type": "integer", "minimum": 3}), json!(2)),
        ("minimum", Widened, json!({"minimum": 3}), json!(2)),
        ("minimum", Widened, json!({"type": "number", "minimum": 2.5}), json!(2.25)),
        ("minimum", Widened, json!({"type": "integer", "minimum": 1e40}), json!(2)),
        ("minimum", Widened, json!({"type": "integer", "minimum": "3"}), json!(2)),
        ("minimum", Widened, json!({"enum": [2, 4], "minimum": 3}), json!(2)),
        ("maximum", Held, json!({"type": "integer", "maximum": 3}), json!(4)),
        ("maximum", Held, json!({"type": "number", "maximum": 3}), json!(3.5)),
        ("exclusiveMinimum", Held, json!({"type": "integer", "exclusiveMinimum": 3}), json!(3)),
        ("exclusiveMinimum", Widened, json!({"type": "number", "exclusiveMinimum": 3}), json!(3)),
        (
            "exclusiveMinimum",
            Held,
            json!({"type": "integer", "minimum": 3, "exclusiveMinimum": true}),
            json!(3),
        ),
        ("exclusiveMaximum", Held, json!({"type": "integer", "exclusiveMaximum": 3}), json!(3)),
        ("exclusiveMaximum", Widened, json!({"type": "number", "exclusiveMaximum": 3}), json!(3)),
        ("multipleOf", Widened, json!({"type": "integer", "multipleOf": 3}), json!(4)),
        ("minLength", Held, json!({"type": "string", "minLength": 2}), json!("a")),
        ("minLength", Held, json!({"type": "string", "minLength": 1.5}), json!("a")),
        (
            "minLength",
            Widened,
            json!({"type": "string", "minLength": 2, "pattern": "^a"}),
            json!("a"),
        ),
        ("maxLength", Held, json!({"type": "string", "maxLength": 2}), json!("abc")),
        (
            "maxLength",
            Widened,
            json!({"type": "string", "maxLength": 2000}),
            json!("a".repeat(2001)),
        ),
        ("maxLength", Widened, json!({"type": "string", "maxLength": "2"}), json!("abc")),
        ("pattern", Held, json!({"type": "string", "pattern": "^a"}), json!("b")),
        ("pattern", Widened, json!({"type": "string", "pattern": "^(?!b)"}), json!("b")),
        ("pattern", Widened, json!({"pattern": "^a"}), json!("b")),
        ("format", Widened, json!({"type": "string", "format": "date"}), json!("b")),
        ("minItems", Held, json!({"type": "array", "minItems": 2}), json!([1])),
        ("maxItems", Held, json!({"type": "array", "maxItems": 2}), json!([1, 2, 3])),
        ("uniqueItems", Widened, json!({"type": "array", "uniqueItems": true}), json!([1, 1])),
        ("items", Held, json!({"type": "array", "items": {"type": "integer"}}), json!(["1"])),
        ("items", Held, json!({"type": "array", "items": [{"type": "integer"}]}), json!(["1"])),
        ("items", Widened, json!({"enum": [[1], ["1"]], "items": {"type": "null"}}), json!([1])),
        (
            "additionalItems",
            Held,
            json!({"items": [{}], "additionalItems": {"type": "integer"}}),
            json!([1, "2"]),
        ),
        (
            "prefixItems",
            Held,
            json!({"type": "array", "prefixItems": [{"type": "integer"}]}),
            json!(["1"]),
        ),
        ("contains", Widened, json!({"type": "array", "contains": {"const": 1}}), json!([2])),
        (
            "minContains",
            Widened,
            json!({"type": "array", "contains": {"const": 1}, "minContains": 2}),
            json!([1]),
        ),
        (
            "maxContains",
            Widened,
            json!({"type": "array", "contains": {"const": 1}, "maxContains": 1}),
            json!([1, 1]),
        ),
        (
            "unevaluatedItems",
            Widened,
            json!({"type": "array", "unevaluatedItems": {"type": "string"}}),
            json!([1]),
        ),
        ("properties", Held, json!({"properties": {"a": {"type": "string"}}}), object.clone()),
        ("properties", Widened, json!({"type": "object", "properties": []}), object.clone()),
        ("required", Held, json!({"type": "object", "required": ["b"]}), object.clone()),
        ("required", Widened, json!({"enum": [{"a": 1}], "required": ["b"]}), object.clone()),
        ("required", Widened, json!({"type": "object", "required": "b"}), object.clone()),
        (
            "additionalProperties",
            Held,
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            object.clone(),
        ),
        ("additionalProperties", Held, json!({"additionalProperties": false}), object.clone()),
        ("what is not a schema", Widened, json!({"additionalProperties": 0}), object.clone()),
        (
            "patternProperties",
            Widened,
            json!({"type": "object", "patternProperties": {"a": {"type": "string"}}}),
            object.clone(),
        ),
        (
            "propertyNames",
            Widened,
            json!({"type": "object", "propertyNames": {"maxLength": 0}}),
            object.clone(),
        ),
        ("minProperties", Widened, json!({"type": "object", "minProperties": 2}), object.clone()),
        ("maxProperties", Widened, json!({"type": "object", "maxProperties": 0}), object.clone()),
        (
            "dependentRequired",
            Widened,
            json!({"type": "object", "dependentRequired": {"a": ["b"]}}),
            object.clone(),
        ),
        (
            "dependentSchemas",
            Widened,
            json!({"type": "object", "dependentSchemas": {"a": {"minProperties": 2}}}),
            object.clone(),
        ),
        (
            "dependencies",
            Widened,
            json!({"type": "object", "dependencies": {"a": ["b"]}}),
            object.clone(),
        ),
        (
            "unevaluatedProperties",
            Widened,
            json!({"type": "object", "unevaluatedProperties": {"type": "string"}}),
            object.clone(),
        ),
        ("allOf", Held, json!({"allOf": [{"type": "integer"}, {"minimum": 3}]}), json!(2)),
        ("allOf", Widened, json!({"allOf": {"type": "integer"}}), json!("a")),
        ("anyOf", Held, json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), json!("a")),
        ("oneOf", Held, json!({"oneOf": [{"type": "integer"}, {"type": "null"}]}), json!("a")),
        ("oneOf", Held, json!({"oneOf": [{"const": "a"}, {"const": "b"}]}), json!("c")),
        ("oneOf", Widened, json!({"oneOf": [{"type": "integer"}, {"minimum": 3}]}), json!(4)),
        ("not", Widened, json!({"not": {"type": "integer"}}), json!(1)),
        ("if", Widened, json!({"if": {"type": "integer"}, "then": {"minimum": 3}}), json!(1)),
        ("then", Widened, json!({"if": true, "then": false}), json!(1)),
        ("else", Widened, json!({"if": false, "else": false}), json!(1)),
        ("$ref", Held, json!({"$ref": "#/$defs/Text"}), json!(1)),
        ("$ref", Widened, json!({"$ref": "https://example.org/other"}), json!(1)),
        ("$ref", Widened, json!({"$ref": "#name"}), json!(1)),
        ("$ref", Widened, json!({"$id": "https://example.org/", "$ref": "#/$defs/Text"}), json!(1)),
        ("$dynamicRef", Widened, json!({"$dynamicRef": "#name"}), json!(1)),
        ("$recursiveRef", Widened, json!({"$recursiveRef": "#"}), json!(1)),
        ("title", Says, json!({"title": "A"}), json!(1)),
        ("default", Says, json!({"default": 2}), json!(1)),
        ("examples", Says, json!({"examples": [2]}), json!(1)),
        ("readOnly", Says, json!({"readOnly": true}), json!(1)),
        ("$comment", Says, json!({"$comment": "A"}), json!(1)),
        ("contentEncoding", Widened, json!({"contentEncoding": "base64"}), json!("?")),
        ("contentMediaType", Widened, json!({"contentMediaType": "image/png"}), json!("?")),
        ("contentSchema", Says, json!({"contentSchema": {"type": "null"}}), json!("?")),
        // Of two schemas that hold at once, one says what the keys are that the other does not declare.
        (
            "additionalProperties",
            Held,
            json!({"allOf": [
                {"type": "object", "properties": {"b": {}}, "additionalProperties": false},
                {"properties": {"a": {"type": "integer"}}},
            ]}),
            object,
        ),
        (
            "items",
            Held,
            json!({"allOf": [{"items": {"type": "integer"}}, {"items": {"minimum": 3}}], "type": "array"}),
            json!(["a"]),
        ),
        (
            "items",
            Widened,
            json!({"allOf": [{"prefixItems": [{}]}, {"items": {"type": "integer"}}], "type": "array"}),
            json!(["a"]),
        ),
        ("false", Held, json!({"anyOf": [false, {"type": "null"}]}), json!(1)),
    ]
}

#[test]
fn no_keyword_is_dropped_in_silence() {
    let root = json!({"$defs": {"Text": {"type": "string"}}});
    for (keyword, fate, schema, refused) in table() {
        let made = of_parameter("hermes", &root, &schema).expect("a grammar");
        let note = format!("f.x: {keyword}");
        let is_listed = made.widened().iter().any(|listed| {
            *listed == note || listed.starts_with("f.x.") && listed.ends_with(keyword)
        });
        assert_eq!(is_listed, fate == Widened, "{keyword}: {schema}: {:?}", made.widened());
        // Where something is widened, what is not declared may be left out all the same.
        let is_allowed = allows(made.rules(), &refused);
        assert!(
            fate == Widened || is_allowed == (fate == Says),
            "{keyword}: {schema} and {refused}"
        );
    }
}

/// The official test suite of JSON Schema, as `make schema-suite` writes it for this test: a schema, a value, and whether it fits.
/// What a schema refuses is refused, or something of it is listed as widened.
#[test]
fn the_schemas_of_the_official_suite_are_held_or_widened() {
    let Some(path) = std::env::var_os("COGENCY_RS_SCHEMA_CASES") else {
        eprintln!("skipped: COGENCY_RS_SCHEMA_CASES names no file; make schema-suite writes it");
        return;
    };
    let text = std::fs::read_to_string(path).expect("the cases");
    let (mut faults, mut refused, mut fitting, mut allowed) = (Vec::new(), 0, 0, 0);
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).expect("JSON");
        let Ok(made) = of_parameter("hermes", &json!({}), &case["schema"]) else { continue };
        if !made.widened().is_empty() {
            continue;
        }
        let is_allowed = allows(made.rules(), &case["instance"]);
        if case["valid"] == json!(true) {
            fitting += 1;
            allowed += usize::from(is_allowed);
        } else {
            refused += 1;
            if is_allowed {
                faults.push(line);
            }
        }
    }
    println!(
        "{refused} values that do not fit are refused; {allowed} of {fitting} that fit are allowed"
    );
    assert!(refused > 300, "only {refused} values");
    assert!(faults.is_empty(), "{}\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn places_of_a_list_are_held_one_by_one_however_many_there_are() {
    let places: Vec<Value> = (0..100).map(|n| json!({"const": n})).collect();
    let schema = json!({"type": "array", "prefixItems": places, "items": false, "minItems": 40});
    let made = of_parameter("hermes", &json!({}), &schema).expect("a grammar");
    for length in [40, 41, 63, 64, 65, 99, 100] {
        assert!(allows(made.rules(), &json!((0..length).collect::<Vec<_>>())), "{length}");
    }
    assert!(!allows(made.rules(), &json!((0..39).collect::<Vec<_>>())));
    assert!(!allows(made.rules(), &json!((0..101).collect::<Vec<_>>())));
    assert!(!allows(made.rules(), &json!((0..50).chain([0]).collect::<Vec<_>>())));
}

#[test]
fn a_list_of_many_places_does_not_exhaust_the_stack() {
    let schema = json!({"type": "array", "prefixItems": vec![true; 200_000]});
    let made = of_parameter("hermes", &json!({}), &schema).expect("a grammar");
    assert!(made.gbnf().len() < 10_000_000);
}
