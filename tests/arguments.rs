//! The faults of a call's arguments, as tables of schema, arguments and faults.

#![allow(clippy::needless_pass_by_value, clippy::too_many_lines, reason = "tables")]

use cogency_rs::execution::arguments::{ArgumentSchema, BigInteger, Members, SchemaForm, Value};
use cogency_rs::protocol::canonical::canonical;
use proptest::prelude::*;
use serde_json::{Value as Schema, json};

/// A value from JSON; `"\u{0}NaN"` and the like stand for values that JSON cannot hold.
fn value(json: &Schema) -> Value<'_> {
    match json {
        Schema::Null => Value::Null,
        Schema::Bool(value) => Value::Boolean(*value),
        Schema::Number(number) => number
            .as_i64()
            .map_or_else(|| Value::Float(number.as_f64().expect("a float")), Value::Integer),
        Schema::String(text) if text == "\0NaN" => Value::Float(f64::NAN),
        Schema::String(text) if text == "\0Infinity" => Value::Float(f64::INFINITY),
        Schema::String(text) if text == "\0huge" => Value::BigInteger(BigInteger {
            text: format!("1{}", "0".repeat(400)),
            nearest: f64::INFINITY,
        }),
        Schema::String(text) => Value::String(Box::new(text.as_str())),
        Schema::Array(items) => Value::Array(items.iter().map(value).collect()),
        Schema::Object(members) => Value::Object(Members::new(
            members.iter().map(|(name, member)| (name.clone(), value(member))).collect(),
        )),
    }
}

fn check(schema: &Schema, form: SchemaForm, arguments: &Schema) -> String {
    match ArgumentSchema::new(schema, form) {
        Ok(schema) => schema.faults(value(arguments)).join("; "),
        Err(problem) => problem.to_string(),
    }
}

/// The faults of `{"x": given}`, where `x` has a schema.
fn faults(of: Schema, given: Schema) -> String {
    let mut schema = json!({"type": "object", "properties": {"x": of}});
    if let Some(definitions) = schema.pointer("/properties/x/$defs").cloned() {
        schema["$defs"] = definitions;
    }
    check(&schema, SchemaForm::JsonSchema, &json!({"x": given}))
}

#[test]
fn each_keyword_has_words() {
    for (schema, given, expected) in [
        (
            json!({"type": "integer"}),
            json!("x"),
            r#"argument 'x' must be an integer, got a string: "x""#,
        ),
        (
            json!({"type": "integer"}),
            json!(1.5),
            "argument 'x' must be an integer, got a number: 1.5",
        ),
        (
            json!({"type": ["string", "null", "integer"]}),
            json!([]),
            "argument 'x' must be a string or null or an integer, got an array: []",
        ),
        (
            json!({"$ref": "urn:a", "$defs": {"a": {"$id": "urn:a", "type": ["null", "string"]}}}),
            json!([]),
            "argument 'x' must be a string or null, got an array: []",
        ),
        (json!({"type": "number"}), json!("\0NaN"), "argument 'x' must be a number, got NaN"),
        (
            json!({"type": ["number", "null"]}),
            json!("\0NaN"),
            "argument 'x' must be a number or null, got NaN",
        ),
        (
            json!({"type": "integer"}),
            json!("\0Infinity"),
            "argument 'x' must be an integer, got a number: Infinity",
        ),
        (
            json!({"enum": ["a", 1, null]}),
            json!("b"),
            r#"argument 'x' must be "a" or 1 or null, got a string: "b""#,
        ),
        (
            json!({"type": "string", "enum": ["a"]}),
            json!(1),
            r#"argument 'x' must be "a", got an integer: 1"#,
        ),
        (
            json!({"const": {"a": 1}}),
            json!({}),
            r#"argument 'x' must be {"a": 1}, got an object: {}"#,
        ),
        (json!({"minimum": 1}), json!(0), "argument 'x' must be at least 1, got 0"),
        (
            json!({"maximum": 9.0}),
            json!("\0huge"),
            &format!("argument 'x' must be at most 9, got 1{}...", "0".repeat(59)),
        ),
        (
            json!({"exclusiveMinimum": 0.5}),
            json!(0.5),
            "argument 'x' must be more than 0.5, got 0.5",
        ),
        (json!({"exclusiveMaximum": 0}), json!(0), "argument 'x' must be less than 0, got 0"),
        (json!({"multipleOf": 5}), json!(7), "argument 'x' must be a multiple of 5, got 7"),
        (
            json!({"minLength": 2}),
            json!("ä"),
            "argument 'x' must have at least 2 characters, got 1",
        ),
        (json!({"maxItems": 1}), json!([1, 2]), "argument 'x' must have at most 1 items, got 2"),
        (
            json!({"minItems": 2, "maxItems": 2}),
            json!([1]),
            "argument 'x' must have 2 items, got 1",
        ),
        (json!({"minProperties": 1}), json!({}), "argument 'x' must have at least 1 items, got 0"),
        (
            json!({"pattern": "^a+$"}),
            json!("b"),
            r#"argument 'x' must match the pattern ^a+$, got a string: "b""#,
        ),
        (
            json!({"uniqueItems": true}),
            json!([{"a": 1}, 2, {"a": 1.0}]),
            r#"argument 'x' must not have an item twice, but has {"a": 1.0} again at [2]"#,
        ),
        (
            json!({"contains": {"type": "string"}}),
            json!([1]),
            "argument 'x' must have at least 1 items that are a string, got an array: [1]",
        ),
        (json!({"not": {"type": "null"}}), json!(null), "argument 'x' must not be null, got null"),
        (json!(false), json!(1), "argument 'x' must not be given, got an integer: 1"),
        (
            json!({"propertyNames": {"pattern": "^a"}}),
            json!({"b": 1}),
            r#"argument 'x' has the name "b", which must match the pattern ^a, got a string: "b""#,
        ),
        (
            json!({"oneOf": [{"minimum": 1}, {"maximum": 5}]}),
            json!(3),
            "argument 'x' must fit only one of its schema's alternatives, but fits 2",
        ),
        (
            json!({"items": {"items": {"type": "integer"}}}),
            json!([[], [0, null]]),
            "argument 'x[1][1]' must be an integer, got null",
        ),
        (
            json!({"properties": {"a": {"properties": {"b": {"type": "null"}}}}}),
            json!({"a": {"b": 1}}),
            "argument 'x.a.b' must be null, got an integer: 1",
        ),
    ] {
        assert_eq!(faults(schema.clone(), given), expected, "{schema}");
    }
}

#[test]
fn a_union_says_what_was_wanted_or_what_is_wrong_with_the_member_that_was_meant() {
    let point = json!({"type": "object", "properties": {"kind": {"const": "point"}, "x": {"type": "integer"}}, "required": ["kind", "x"]});
    let line = json!({"type": "object", "properties": {"kind": {"const": "line"}, "length": {"type": "integer"}}, "required": ["kind", "length"]});
    for (members, given, expected) in [
        (
            json!([{"type": "integer"}, {"type": "null"}]),
            json!("a"),
            r#"argument 'x' must be an integer or null, got a string: "a""#,
        ),
        (
            json!([{"type": "null"}, {"enum": ["a", "b"]}]),
            json!("c"),
            r#"argument 'x' must be "a" or "b" or null, got a string: "c""#,
        ),
        (
            json!([{"anyOf": [{"type": "string"}, {"type": "integer"}]}, {"type": "null"}]),
            json!([]),
            "argument 'x' must be a string or an integer or null, got an array: []",
        ),
        (
            json!([{"type": "integer", "minimum": 1}, {"type": "null"}]),
            json!(0),
            "argument 'x' must be at least 1, got 0",
        ),
        (
            json!([{"type": "array", "items": {"type": "integer"}}, {"type": "integer"}]),
            json!(["a"]),
            r#"argument 'x[0]' must be an integer, got a string: "a""#,
        ),
        (
            json!([point, line]),
            json!({"kind": "line", "length": "1"}),
            r#"argument 'x.length' must be an integer, got a string: "1""#,
        ),
        (
            json!([{"required": ["a"]}, {"required": ["b"]}]),
            json!({}),
            "argument 'x' must have 'a' or 'b', but had no such key",
        ),
    ] {
        for keyword in ["anyOf", "oneOf"] {
            assert_eq!(faults(json!({keyword: members}), given.clone()), expected, "{keyword}");
        }
    }
}

#[test]
fn every_fault_is_named_in_the_order_of_the_schema() {
    let schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}, "a": {}, "kind": {"type": "null"}},
        "required": ["path", "kind"],
        "additionalProperties": false,
    });
    for (arguments, expected) in [
        (
            json!({"zz": 1, "lines": "x"}),
            "argument 'path' is required, but was not given; argument 'lines' must be an integer, got a string: \"x\"; \
          argument 'kind' is required, but was not given; argument 'zz' is not known; known are path, lines, a, kind",
        ),
        (
            json!({"kind": null, "pth": "x"}),
            "argument 'pth' is not known; did you mean 'path', which is required and was not given?",
        ),
        (
            json!({"kind": null, "path": "", "aa": 1}),
            "argument 'aa' is not known; did you mean 'a'?",
        ),
        (
            json!({"kind": null, "path": "", "paths": 1, "other": 2}),
            "argument 'paths' is not known; known are path, lines, a, kind; argument 'other' is not known",
        ),
    ] {
        assert_eq!(check(&schema, SchemaForm::JsonSchema, &arguments), expected);
    }
    for none in [
        json!({"type": "object", "properties": {}, "additionalProperties": false}),
        json!({"type": "object", "additionalProperties": false}),
    ] {
        assert_eq!(
            check(&none, SchemaForm::JsonSchema, &json!({"x": 1})),
            "argument 'x' is not known; there are none"
        );
    }
    let nested = json!({"type": "object", "additionalProperties": false});
    assert_eq!(faults(nested, json!({"y": 1})), "argument 'x.y' is not known; there are none");
}

#[test]
fn no_more_faults_are_listed_than_can_be_read() {
    let items = json!({"type": "array", "items": {"type": "integer"}});
    let listed = faults(items.clone(), json!(vec!["a"; 12]));
    assert_eq!(listed.matches("must be").count(), 10);
    assert!(listed.ends_with("; and 2 more faults"), "{listed}");
    let listed = faults(items, json!(vec!["a"; 100_000]));
    assert!(listed.ends_with("; and at least 990 more faults"), "{listed}");
}

#[test]
fn a_flat_schema_is_open_and_bounds_what_it_can() {
    let flat = json!({
        "path": {"type": "string", "required": true, "min_length": 1},
        "count": {"type": "int", "min": 1},
        "deep": {"type": "boolean", "default": null},
        "broken": null,
    });
    for (arguments, expected) in [
        (json!({"path": ["a"], "more": 1, "deep": null, "count": 1.0}), ""),
        (json!({"path": [], "broken": 1}), "argument 'path' must have at least 1 items, got 0"),
        (
            json!({"count": 0}),
            "argument 'path' is required, but was not given; argument 'count' must be at least 1, got 0",
        ),
    ] {
        assert_eq!(check(&flat, SchemaForm::Flat, &arguments), expected);
    }
}

#[test]
fn a_schema_that_cannot_be_used_says_where_and_why() {
    for (property, expected) in [
        (
            json!({"type": "what"}),
            r#"at /properties/x/type: must be "array" or "boolean" or "integer" or "null" or "number" or "object" or "string", got "what""#,
        ),
        (
            json!({"pattern": "("}),
            r#"at /properties/x/pattern: it is not a pattern that can be used: "(""#,
        ),
        (
            json!({"$ref": "https://example.com/x.json"}),
            "it refers to https://example.com/x.json, but nothing outside it is read",
        ),
        (json!({"$ref": "#/$defs/x"}), "it refers to '#/$defs/x', which it does not have"),
        (json!({"minLength": -1}), "at /properties/x/minLength: -1 is less than the minimum of 0"),
    ] {
        assert_eq!(
            faults(property, json!(1)),
            format!("the schema of this tool cannot be used: {expected}")
        );
    }
}

#[test]
fn a_pattern_takes_no_more_time_than_there_is() {
    let text = format!("{}!", "a".repeat(2000));
    assert!(faults(json!({"pattern": "^(a+)+$"}), json!(text)).contains("must match"));
    assert!(faults(json!({"pattern": r"^(a|a|aa)+\1b$"}), json!(text)).contains("takes too long"));
    assert_eq!(faults(json!({"pattern": "^(?!.*b)a+!$"}), json!(text)), "");
}

#[test]
fn values_may_be_wider_than_json() {
    for given in ["\0NaN", "\0Infinity", "\0huge"] {
        for schema in [
            json!({}),
            json!({"minimum": 0, "exclusiveMaximum": 5, "multipleOf": 2}),
            json!({"multipleOf": 0.1}),
            json!({"enum": [1, 2.5, 1e300]}),
            json!({"uniqueItems": true, "items": {"const": 1}}),
        ] {
            faults(schema.clone(), json!(given));
            faults(schema, json!([given, given]));
        }
    }
    assert_eq!(faults(json!({"type": "integer"}), json!("\0huge")), "");
}

#[test]
fn an_object_of_many_members_is_searched_by_name() {
    let many: serde_json::Map<_, _> = (0..100).map(|n| (format!("m{n}"), json!(n))).collect();
    assert_eq!(faults(json!({"required": ["m0", "m57", "m99"]}), json!(many)), "");
    assert_eq!(
        faults(json!({"required": ["m100"]}), json!(many)),
        "argument 'x.m100' is required, but was not given"
    );
}

#[test]
fn a_number_is_compared_by_its_value_and_in_draft_4_by_how_it_is_written() {
    for (schema, given, is_one) in [
        (json!({"enum": [1, 2.5]}), json!(1), true),
        (json!({"enum": [1, 2.5]}), json!(1.0), true),
        (json!({"enum": [1, 2.5]}), json!(2.5), true),
        (json!({"enum": [1, 2.5]}), json!(2), false),
        (json!({"const": 7}), json!(7), true),
        (json!({"const": 7}), json!(8), false),
        (json!({"const": 7}), json!("7"), false),
    ] {
        assert_eq!(faults(schema.clone(), given.clone()).is_empty(), is_one, "{schema} {given}");
    }
    let draft_4 = json!({
        "$schema": "http://json-schema.org/draft-04/schema#",
        "type": "object",
        "properties": {"x": {"type": "integer"}},
    });
    for (given, is_one) in [(json!(5), true), (json!(5.0), false), (json!(5.5), false)] {
        let said = check(&draft_4, SchemaForm::JsonSchema, &json!({"x": given}));
        assert_eq!(said.is_empty(), is_one, "{given}: {said}");
    }
}

/// Holds a float in a message to the core's JSON, which has a function of its own.
fn is_shown_as_in_json(number: f64) {
    let text = canonical(format!("{number:e}").as_bytes()).expect("a number");
    let said = format!("argument 'x' must be a string, got a number: {text}");
    assert_eq!(faults(json!({"type": "string"}), json!(number)), said);
}

#[test]
fn a_message_shows_a_float_as_json_has_it_where_two_texts_are_near_or_the_form_changes() {
    let tie = 4_938_271_560_493_827.0 / 4.0; // 1234567890123456.75
    let powers = [-1022, -44, -24, 60, 1023].map(|exponent| 2_f64.powi(exponent)); // the next one below is nearer
    let forms = [1e-5, 1e-4, 0.000_123, 1e15, 1e16, 1.5e16, 1e22, 1e23, 100.0, 0.1, 0.0];
    let ends = [f64::MAX, f64::MIN_POSITIVE, 5e-324];
    for number in powers.into_iter().chain(forms).chain(ends).chain([tie]) {
        is_shown_as_in_json(number);
        is_shown_as_in_json(-number);
    }
    assert!(faults(json!({"type": "string"}), json!(tie)).ends_with(" 1234567890123456.8"));
}

proptest! {
    #[test]
    fn a_message_shows_any_float_as_json_has_it(bits in any::<u64>(), whole in any::<i64>(), part in 1..4096_u16) {
        let number = f64::from_bits(bits);
        if number.is_finite() {
            is_shown_as_in_json(number);
        }
        #[expect(clippy::cast_precision_loss, reason = "any float does")]
        is_shown_as_in_json(whole as f64 / f64::from(part));
    }
}

/// Definitions, each of which refers to the next one twice.
fn doubled(keyword: &str, levels: usize, last: Schema) -> Schema {
    let mut defs: serde_json::Map<_, _> = (0..levels)
        .map(|n| {
            let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
            (format!("d{n}"), json!({keyword: [next, next]}))
        })
        .collect();
    defs.insert(format!("d{levels}"), last);
    json!({"$ref": "#/$defs/d0", "$defs": defs})
}

const TOO_MUCH: &str = "the arguments are too much to compare";

#[test]
fn a_schema_whose_references_multiply_is_refused_when_it_is_read() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for last in [json!({}), json!({"type": "integer"}), json!(true)] {
            let found = faults(doubled(keyword, 24, last), json!("x"));
            assert!(found.contains("cannot be used: its references multiply"), "{found}");
        }
    }
    let found = faults(doubled("anyOf", 5, json!({"type": "integer"})), json!("x"));
    assert_eq!(found, "argument 'x' must be an integer, got a string: \"x\"");
}

#[test]
fn a_check_that_takes_too_much_is_given_up() {
    let branch = json!({"type": "object", "properties": {"x": {"$ref": "#/properties/x"}}});
    let deep = |levels: usize| (0..levels).fold(json!("end"), |inner, _| json!({"x": inner}));
    let stepwise = json!({"type": "string", "pattern": r"^(a*)*\1b$"});
    let slow = "a".repeat(900);
    for (of, given) in [
        (json!({"anyOf": [branch, {"type": "object", "required": ["no"]}, branch]}), deep(60)),
        (
            json!({"allOf": vec![json!({"uniqueItems": true}); 2000]}),
            json!((0..20_000).collect::<Vec<_>>()),
        ),
        (json!({"items": stepwise}), json!(vec![slow.clone(); 1000])),
        (json!({"allOf": vec![stepwise.clone(); 1000]}), json!(slow)),
    ] {
        let found = faults(of, given);
        assert!(found.starts_with(TOO_MUCH), "{found:.200}");
    }
}

#[test]
fn faults_in_a_long_list_of_choices_cost_little() {
    let choices: Vec<_> = (0..60_000).map(|n| format!("n{n}")).collect();
    let begun = std::time::Instant::now();
    let found = faults(json!({"items": {"enum": choices}}), json!(vec!["none"; 1000]));
    assert!(found.starts_with("argument 'x[0]' must be one of \"n0\", \"n1\""), "{found:.200}");
    assert!(found.contains("\"n19\" or 59980 others, got"), "{found:.400}");
    assert!(found.ends_with("more faults"), "{found:.200}");
    assert!(begun.elapsed().as_secs() < 5, "they took {:?}", begun.elapsed());
}

#[test]
fn a_check_of_many_values_is_not_given_up() {
    let many = |n: usize| json!((0..n).collect::<Vec<_>>());
    let names: Vec<_> = (0..1000).map(|n| format!("n{n}")).collect();
    let tree =
        json!({"type": "object", "properties": {"x": {"$ref": "#/properties/x"}}, "required": []});
    let deep = (0..200).fold(json!({}), |inner, _| json!({"x": inner}));
    for (of, given) in [
        (json!({"items": {"type": "integer", "minimum": 0, "maximum": 1_000_000}}), many(300_000)),
        (json!({"uniqueItems": true, "items": {"type": "integer"}}), many(300_000)),
        (json!({"items": {"enum": names}}), json!(vec!["n999"; 1000])),
        (json!({"items": {"type": "string", "pattern": "^[a-z]+$"}}), json!(vec!["abc"; 100_000])),
        (
            json!({"items": {"type": "string", "pattern": "^(?!b)[a-z]+$"}}),
            json!(vec!["abc"; 1000]),
        ),
        (json!({"items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}), many(100_000)),
        (tree, deep),
    ] {
        assert_eq!(faults(of, given), "");
    }
}

#[test]
fn many_names_are_told_in_few_words() {
    let names: Vec<_> = (0..20_000).map(|n| format!("name{n}")).collect();
    let properties: serde_json::Map<_, _> =
        names.iter().map(|name| (name.clone(), json!({"type": "string"}))).collect();
    let schema = json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false});
    let found = check(&schema, SchemaForm::JsonSchema, &json!({}));
    assert!(found.starts_with("argument 'name0' is required, but was not given; "), "{found:.200}");
    assert!(found.ends_with("and at least 10 more faults"), "{found}");
    let unknown: serde_json::Map<_, _> =
        (0..2000).map(|n| (format!("other{n}"), json!(1))).collect();
    let found = check(&schema, SchemaForm::JsonSchema, &unknown.into());
    assert!(found.len() < 3000, "{}", found.len());
}

#[test]
fn patterns_are_bounded_together() {
    let long = "(a|b)".repeat(60_000);
    let found = faults(json!({"pattern": long}), json!("a"));
    assert!(found.contains("its patterns have 300000 bytes"), "{found:.200}");
    let found = faults(json!({"pattern": r"(\w{99}){999}"}), json!("a"));
    assert!(found.contains("not a pattern that can be used"), "{found:.200}");
}
