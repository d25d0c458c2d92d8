//! A value keeps its source: text stays text, and what is written reads back as it was.

use std::sync::Arc;

use cogency_rs::dialect::presets;
use cogency_rs::protocol::stored::shown_call;
use cogency_rs::protocol::write::Renderer;
use cogency_rs::protocol::{Ending, Event, Grammar, Limits, Options, Parser, Tools};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A tool `f` with a parameter `x` of this schema.
fn tools(schema: &Value) -> Arc<Tools> {
    let text = json!({"type": "string"});
    let schema = json!({
        "type": "object",
        "properties": {"x": schema},
        "$defs": {"text": text, "scalar": {"type": ["string", "integer", "boolean"]}},
    });
    Arc::new(Tools::new([("f".to_owned(), schema)]))
}

/// The arguments of each call in `text`, or what is said of an error.
fn read(dialect: &str, options: Options, text: &str) -> Vec<Result<Value, String>> {
    let grammar = Grammar::preset(dialect).unwrap_or_else(|| panic!("there is no {dialect}"));
    let (mut parser, mut events) = (Parser::new(grammar, options), Vec::new());
    for character in text.chars() {
        parser.feed(&character.to_string(), &mut events);
    }
    parser.finish(&Ending::Stopped, &mut events);
    let read = events.iter().filter_map(|event| match event {
        Event::Call(call) => Some(Ok(serde_json::from_str(call.arguments()).expect("JSON"))),
        Event::Error(report) => Some(Err(report.content.to_string())),
        _ => None,
    });
    read.collect()
}

/// The value of `x` in the only call of `text`.
fn value(dialect: &str, schema: &Value, text: &str) -> Value {
    let options = Options { tools: Some(tools(schema)), ..Options::default() };
    match &read(dialect, options, text)[..] {
        [Ok(args)] => args["x"].clone(),
        other => panic!("{dialect} reads {text} as {other:?}"),
    }
}

/// Text that looks like something else, the schema that it is under, and what it is there.
fn cases() -> Vec<(Value, &'static str, Value)> {
    let or_integer = || json!({"type": ["string", "integer"]});
    let or_number = || json!({"anyOf": [{"type": "string"}, {"type": "number"}]});
    let or_null = || json!({"type": "string", "nullable": true});
    let referred = || json!({"$ref": "#/$defs/scalar"});
    vec![
        (or_integer(), "12", json!(12)),
        (or_integer(), "-12", json!(-12)),
        (or_integer(), "02134", json!("02134")),
        (or_integer(), "5.0", json!("5.0")),
        (or_integer(), "+5", json!("+5")),
        (or_integer(), "-0", json!("-0")),
        (or_number(), "1.5", json!(1.5)),
        (or_number(), "1.10", json!("1.10")),
        (or_number(), "1e3", json!("1e3")),
        (or_number(), "Infinity", json!("Infinity")),
        (or_number(), "NaN", json!("NaN")),
        (or_null(), "null", json!(null)),
        (or_null(), "None", json!("None")),
        (referred(), "true", json!(true)),
        (referred(), "True", json!("True")),
        (referred(), "007", json!("007")),
        (json!({"type": "integer"}), "007", json!(7)),
        (json!({"type": ["number", "null"]}), "2.0", json!(2)),
        (json!({"type": "number"}), "2.0", json!(2)),
        (json!({"type": "number"}), "-0.0", json!(-0.0)),
        (json!({"type": "boolean"}), "True", json!(true)),
        (json!({"type": "string"}), "5", json!("5")),
    ]
}

#[test]
fn under_a_union_only_what_is_written_as_json_writes_it_is_no_text() {
    for (schema, raw, expected) in cases() {
        for (dialect, text) in [
            (
                "qwen3-coder",
                format!(
                    "<tool_call>\n<function=f>\n<parameter=x>\n{raw}\n</parameter>\n</function>\n</tool_call>"
                ),
            ),
            (
                "glm45",
                format!(
                    "<tool_call>f\n<arg_key>x</arg_key>\n<arg_value>{raw}</arg_value>\n</tool_call>"
                ),
            ),
            (
                "minimax-m2",
                format!(
                    "<minimax:tool_call><invoke name=\"f\"><parameter name=\"x\">{raw}</parameter></invoke></minimax:tool_call>"
                ),
            ),
            (
                "forge-xml",
                format!(
                    "<tool><server_name>local</server_name><tool_name>f</tool_name><arguments><x>{raw}</x></arguments></tool>"
                ),
            ),
        ] {
            assert_eq!(value(dialect, &schema, &text), expected, "{dialect} {schema} {raw}");
        }
    }
}

#[test]
fn what_the_protocol_says_of_the_type_counts() {
    let union = json!({"type": ["string", "number", "boolean", "null"]});
    let dsml = |flag: &str, raw: &str| {
        format!(
            "<｜DSML｜function_calls><｜DSML｜invoke name=\"f\"><｜DSML｜parameter name=\"x\" string=\"{flag}\">{raw}\
             </｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>"
        )
    };
    let kimi = |kind: &str, raw: &str| {
        format!(
            "<|open|>tools<|sep|><|open|>call tool=\"f\" index=\"0\"<|sep|><|open|>argument key=\"x\" type=\"{kind}\"<|sep|>{raw}\
             <|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"
        )
    };
    let forge = |raw: &str| {
        format!(
            "<tool><server_name>local</server_name><tool_name>f</tool_name><arguments><x>{raw}</x></arguments></tool>"
        )
    };
    let schemas =
        [union, json!({"type": "integer"}), json!({"type": "object"}), json!({"type": "null"})];
    for schema in &schemas {
        for raw in ["5", "5.0", "true", "null", "02134", "{\"a\": 1}"] {
            for (dialect, text) in [
                ("deepseek-v32-dsml", dsml("true", raw)),
                ("kimi-k3", kimi("string", raw)),
                ("forge-xml", forge(&format!("<![CDATA[{raw}]]>"))),
            ] {
                assert_eq!(value(dialect, schema, &text), json!(raw), "{dialect} {schema} {raw}");
            }
        }
    }
    for schema in [&schemas[0], &json!({"type": "string"})] {
        for (raw, expected) in
            [("5", json!(5)), ("5.0", json!(5.0)), ("true", json!(true)), ("x", json!("x"))]
        {
            for (dialect, text) in
                [("deepseek-v32-dsml", dsml("false", raw)), ("kimi-k3", kimi("number", raw))]
            {
                assert_eq!(value(dialect, schema, &text), expected, "{dialect} {schema} {raw}");
            }
        }
    }
}

#[test]
fn arguments_are_nested_no_deeper_than_the_caller_allows_wherever_they_stand() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let array = json!({"type": "array"});
    let granite = |depth: usize| {
        let args =
            serde_json::to_string(&format!("{{\"x\": {}}}", nested(depth))).expect("a string");
        format!("<tool_call>{{\"name\": \"f\", \"arguments\": {args}}}</tool_call>")
    };
    let raw = |depth: usize| {
        format!(
            "<tool_call><function=f><parameter=x>{}</parameter></function></tool_call>",
            nested(depth)
        )
    };
    for max_depth in [3, 10, 100] {
        let options = || Options {
            limits: Limits { max_depth, ..Limits::default() },
            tools: Some(tools(&array)),
            ..Options::default()
        };
        let fits = [
            read("granite4", options(), &granite(max_depth - 1)),
            read("qwen3-coder", options(), &raw(max_depth - 1)),
        ];
        for found in fits {
            assert!(
                matches!(&found[..], [Ok(args)] if args["x"].is_array()),
                "{max_depth}: {found:?}"
            );
        }
        for more in [0, 1, 100] {
            let found = read("granite4", options(), &granite(max_depth + more));
            assert!(
                matches!(&found[..], [Err(said)] if said.contains("nested too deep")),
                "{max_depth} and {more}: {found:?}"
            );
            let found = read("qwen3-coder", options(), &raw(max_depth + more));
            assert!(
                matches!(&found[..], [Ok(args)] if args["x"].is_string()),
                "{max_depth}: {found:?}"
            );
        }
    }
}

#[test]
fn one_element_of_an_array_is_an_array_unless_its_type_is_allowed() {
    let schema = json!({"type": ["array", "integer"], "items": {"type": "number"}});
    for (raw, expected) in [("5", json!(5)), ("-5", json!(-5)), ("1.5", json!([1.5]))] {
        let text = format!(
            "<tool><server_name>local</server_name><tool_name>f</tool_name><arguments><x>{raw}</x></arguments></tool>"
        );
        assert_eq!(value("forge-xml", &schema, &text), expected, "{raw}");
    }
}

/// A schema, and a value that it allows.
fn described() -> impl Strategy<Value = (Value, Value)> {
    let odd = [
        "5",
        "-5",
        "5.0",
        "02134",
        "1.10",
        "1e3",
        "true",
        "True",
        "null",
        "None",
        "NaN",
        "Infinity",
        "",
        " ",
        " 5 ",
        "\n5",
        "[1]",
        "{\"a\": 1}",
        "\"q\"",
        "'q'",
        "a\nb\n",
        "<tool_call>",
        "</parameter>",
        "</x>",
        "<![CDATA[",
        "]]>",
        "&amp;",
        "<|im_end|>",
        "<end>",
        "é😀",
        "```",
        "{",
        "\\",
        "two words",
    ];
    let text = || {
        prop_oneof![
            proptest::sample::select(odd.to_vec()).prop_map(str::to_owned),
            "[a-z <>&\"'/=0-9]{0,12}",
        ]
        .prop_map(Value::from)
    };
    let scalar = prop_oneof![
        text(),
        text(),
        any::<i32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(json!(null)),
        Just(json!(1.5)),
        Just(json!(-0.25)),
    ];
    let of = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let kinds = ["string", "integer", "number", "boolean", "null", "array", "object"];
    let others = proptest::collection::vec(proptest::sample::select(kinds.to_vec()), 0..3);
    let union = (scalar.clone(), others, 0..4_usize).prop_map(move |(value, others, form)| {
        let mut types = vec![of(&value)];
        types.extend(others.into_iter().filter(|kind| *kind != of(&value)));
        types.dedup();
        let each: Vec<Value> = types.iter().map(|kind| json!({"type": kind})).collect();
        let schema = match form {
            0 => json!({ "type": types }),
            1 => json!({ "anyOf": each }),
            2 => json!({ "oneOf": each }),
            _ if value.is_string() => json!({"$ref": "#/$defs/text"}),
            _ => json!({ "type": types }),
        };
        (schema, value)
    });
    let array = proptest::collection::vec(text(), 0..3).prop_map(|items| {
        let schema = json!({"type": "array", "items": {"type": ["string", "integer"]}});
        (schema, Value::from(items))
    });
    let object = (text(), scalar).prop_map(move |(first, second)| {
        let schema = json!({"type": "object", "properties": {
            "a": {"$ref": "#/$defs/scalar"}, "b": {"type": [of(&second), "string"]},
        }});
        (schema, json!({"a": first, "b": second}))
    });
    prop_oneof![4 => union, 1 => array, 1 => object]
}

/// Whether two values are the same: `5.0` is `5`.
fn are_equal(first: &Value, second: &Value) -> bool {
    match (first, second) {
        (Value::Number(first), Value::Number(second)) => first.as_f64() == second.as_f64(),
        (Value::Array(first), Value::Array(second)) => {
            first.len() == second.len() && first.iter().zip(second).all(|(a, b)| are_equal(a, b))
        }
        (Value::Object(first), Value::Object(second)) => {
            first.len() == second.len()
                && first.iter().all(|(key, a)| second.get(key).is_some_and(|b| are_equal(a, b)))
        }
        _ => first == second,
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_back_under_any_schema_or_is_refused((schema, value) in described()) {
        let tools = tools(&schema);
        let stored = json!({"name": "f", "args": {"x": value}}).to_string();
        let call = shown_call(stored.as_bytes()).expect("JSON").expect("a call");
        for name in presets::names() {
            let renderer = Renderer::new(presets::preset(name).expect("a row"));
            let mut calls = [call.clone()];
            renderer.give_ids(&mut calls, 0);
            let Ok(text) = renderer.exactly(&calls, true, Some(&tools)) else {
                prop_assert!(!says_types(name), "{name} refuses {value} under {schema}");
                continue;
            };
            let options = Options { tools: Some(Arc::clone(&tools)), ..Options::default() };
            let found = read(name, options, &text.to_string());
            let is_read = matches!(&found[..], [Ok(args)] if are_equal(&args["x"], &value));
            prop_assert!(is_read, "{name} reads {text} as {found:?}, not {value} under {schema}");
        }
    }
}

#[test]
fn a_long_string_or_list_that_comes_in_pieces_is_read_as_it_was_written() {
    let text = "\u{e9}\n\"\\\u{1f600} x\u{2060}".repeat(1500);
    let properties =
        json!({"x": {"type": "string"}, "l": {"type": "array"}, "o": {"type": "object"}});
    let schema = json!({"type": "object", "properties": properties});
    let tools = Arc::new(Tools::new([("f".to_owned(), schema)]));
    let args = json!({"x": text, "l": [text, [2.5, null], text], "o": {"k": text, "n": 1}});
    let stored = json!({"name": "f", "args": args}).to_string();
    let mut seen = 0;
    for dialect in presets::names() {
        let renderer = Renderer::new(presets::preset(dialect).expect("a row"));
        let mut calls = [shown_call(stored.as_bytes()).expect("JSON").expect("a call")];
        renderer.give_ids(&mut calls, 0);
        let Ok(written) = renderer.exactly(&calls, true, Some(&tools)) else { continue };
        let options = Options { tools: Some(Arc::clone(&tools)), ..Options::default() };
        let found = read(dialect, options, &written.to_string());
        assert!(matches!(&found[..], [Ok(found)] if *found == args), "{dialect}");
        seen += 1;
    }
    assert!(seen > 50, "most dialects hold them: {seen}");
}

#[test]
fn a_call_with_a_long_name_or_key_reads_back_or_is_refused_with_tools_and_without() {
    for dialect in presets::names() {
        let renderer = Renderer::new(presets::preset(dialect).expect("a row"));
        for length in [200, 255, 256, 257, 300, 5000] {
            for (tool, key) in [("n".repeat(length), "x".into()), ("f".into(), "k".repeat(length))]
            {
                let stored = json!({"name": tool, "args": {&key: "v"}}).to_string();
                let mut calls = [shown_call(stored.as_bytes()).expect("JSON").expect("a call")];
                renderer.give_ids(&mut calls, 0);
                let schema = json!({"type": "object", "properties": {&key: {"type": "string"}}});
                let tools = Arc::new(Tools::new([(tool, schema)]));
                let [with, without] =
                    [Some(&tools), None].map(|tools| renderer.exactly(&calls, true, tools).ok());
                assert_eq!(with, without, "{dialect} {length}");
                let Some(text) = with else {
                    assert!(length > 255, "{dialect} refuses {length} bytes");
                    continue;
                };
                let options = Options { tools: Some(tools), ..Options::default() };
                let found = read(dialect, options, &text.to_string());
                assert_eq!(found, [Ok(json!({key: "v"}))], "{dialect} {length}");
            }
        }
    }
}

/// Whether the dialect holds any value of JSON, since it says of each of which type it is.
fn says_types(name: &str) -> bool {
    use cogency_rs::dialect::{Args, Body};
    let dialect = presets::preset(name).expect("a row");
    match &dialect.calls.bodies[0] {
        Body::Json(_) | Body::Python(_) => true,
        Body::Head(head) => matches!(head.args, Args::Json | Args::Braces(_)),
        Body::Xml(_) => false,
        other => unreachable!("the test does not know {other:?}"),
    }
}

#[test]
fn a_number_reads_back_as_it_was_written_in_every_shape() {
    let ways = [json!("number"), json!(["number", "null"]), json!(["integer", "number"])];
    for (kind, written) in
        ways.iter().flat_map(|kind| ["5", "5.0", "-0.0", "1e3", "2.50"].map(|raw| (kind, raw)))
    {
        let schema = json!({"type": "object", "properties": {"x": {"type": kind}}});
        let tools = Arc::new(Tools::new([("f".to_owned(), schema)]));
        let value: Value = serde_json::from_str(written).expect("a number");
        let stored = json!({"name": "f", "args": {"x": value}}).to_string();
        for dialect in presets::names() {
            let renderer = Renderer::new(presets::preset(dialect).expect("a row"));
            let mut calls = [shown_call(stored.as_bytes()).expect("JSON").expect("a call")];
            renderer.give_ids(&mut calls, 0);
            let text =
                renderer.exactly(&calls, true, Some(&tools)).expect("any dialect has numbers");
            let options = Options { tools: Some(Arc::clone(&tools)), ..Options::default() };
            let found = read(dialect, options, &text.to_string());
            let is_same = matches!(&found[..], [Ok(args)] if are_equal(&args["x"], &value));
            assert!(is_same, "{dialect} reads {text} as {found:?} under {kind}");
        }
    }
}
