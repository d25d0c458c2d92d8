//! What a grammar allows is read as calls of its tools with arguments that fit, and what is wrong is not allowed.

mod generate;
mod keywords;
mod matcher;
mod sample;
mod tools;

use std::sync::Arc;

use cogency_rs::constrain::{
    CallChoice, CallGrammar, GrammarError, GrammarOptions, Parallel, Reasoning,
};
use cogency_rs::dialect::presets;
use cogency_rs::execution::arguments::{ArgumentSchema, Members, SchemaForm, Value};
use cogency_rs::protocol::write::{Renderer, ShownCall};
use cogency_rs::protocol::{Ending, Event, Grammar, Options, Parser, Tools};
use generate::{Generator, Random};
use matcher::matches;
use serde_json::{Value as Json, json};

type Declared = Vec<(String, Json)>;

/// A number that the environment may give.
fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn value(json: &Json) -> Value<'_> {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Boolean(*value),
        Json::Number(number) => number
            .as_i64()
            .map_or_else(|| Value::Float(number.as_f64().expect("a float")), Value::Integer),
        Json::String(text) => Value::String(Box::new(text.as_str())),
        Json::Array(items) => Value::Array(items.iter().map(value).collect()),
        Json::Object(members) => Value::Object(Members::new(
            members.iter().map(|(name, member)| (name.clone(), value(member))).collect(),
        )),
    }
}

/// The events of a text that is cut into pieces of random lengths.
fn events(
    grammar: &Arc<Grammar>,
    tools: &Arc<Tools>,
    text: &str,
    options: &GrammarOptions,
    random: &mut Random,
) -> Vec<Event> {
    let options = Options {
        tools: Some(Arc::clone(tools)),
        begins_in_think: options.reasoning == Reasoning::Open
            || options.reasoning == Reasoning::Auto && grammar.dialects[0].begins_in_reasoning,
        ..Options::default()
    };
    let mut parser = Parser::new(Arc::clone(grammar), options);
    let mut events = Vec::new();
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(1 + random.below(rest.len().min(40)));
        parser.feed_bytes(piece, &mut events);
        rest = behind;
    }
    parser.finish(&Ending::Stopped, &mut events);
    events
}

/// What is wrong with how a text is read; `None` if nothing is.
fn fault(
    declared: &Declared,
    widened: &[String],
    options: &GrammarOptions,
    events: &[Event],
) -> Option<String> {
    let mut calls = 0;
    for event in events {
        match event {
            Event::Error(report) => return Some(format!("error: {}", report.content)),
            Event::Result(_) => return Some("results".into()),
            Event::Respond(text) if options.must_call() && !text.is_blank() => {
                return Some(format!("text: {text:?}"));
            }
            Event::Call(call) => {
                calls += 1;
                let name: String = serde_json::from_str(call.name_json()).ok()?;
                let server: Option<String> =
                    call.server_json().and_then(|text| serde_json::from_str(text).ok());
                let is_named = |tool: &str| {
                    tool == name
                        || server.as_ref().is_some_and(|server| tool == format!("{server}\0{name}"))
                };
                let Some((name, schema)) = declared.iter().find(|(tool, _)| is_named(tool)) else {
                    return Some(format!("no tool {name:?}"));
                };
                if let CallChoice::Tool(wanted) = &options.calls
                    && wanted != name
                {
                    return Some(format!("the tool {name:?}"));
                }
                if widened.iter().any(|note| note.starts_with(&**name)) {
                    continue;
                }
                let args: Json = serde_json::from_str(call.arguments()).expect("JSON");
                let schema = ArgumentSchema::new(schema, SchemaForm::JsonSchema).expect("a schema");
                let faults = schema.faults(value(&args));
                if !faults.is_empty() {
                    return Some(format!("{} in {args}", faults.join("; ")));
                }
            }
            _ => {}
        }
    }
    match (&options.calls, options.parallel) {
        (CallChoice::None, _) if calls > 0 => Some("a call".into()),
        (CallChoice::Required | CallChoice::Tool(_), _) if calls == 0 => Some("no call".into()),
        (_, Parallel::One) if calls > 1 => Some("several calls".into()),
        _ => None,
    }
}

fn all_options(declared: &Declared) -> Vec<GrammarOptions> {
    let one = CallChoice::Tool(declared[declared.len() - 1].0.clone());
    let with = |calls, parallel, reasoning| GrammarOptions { calls, parallel, reasoning };
    vec![
        with(CallChoice::Auto, Parallel::Many, Reasoning::Auto),
        with(CallChoice::Required, Parallel::Many, Reasoning::None),
        with(CallChoice::Required, Parallel::One, Reasoning::Auto),
        with(one, Parallel::One, Reasoning::None),
        with(CallChoice::None, Parallel::Many, Reasoning::Auto),
        with(CallChoice::Auto, Parallel::One, Reasoning::Open),
    ]
}

/// Tries one text for each of these numbers: of each dialect, each set of tools and each kind of answer in turn. Gives the faults, and
/// how many texts there were.
fn tried(sets: &[Declared], numbers: std::ops::Range<usize>) -> (Vec<String>, usize) {
    let names: Vec<&str> = presets::names().collect();
    let (mut faults, mut count) = (Vec::new(), 0);
    for number in numbers {
        let name = names[number % names.len()];
        let declared = &sets[number / names.len() % sets.len()];
        let kinds = all_options(declared);
        let turn = number / names.len();
        let kind = number % names.len() + turn % sets.len() + turn / sets.len();
        let options = &kinds[kind % kinds.len()];
        let grammar = Grammar::preset(name).expect("a preset");
        let made = match CallGrammar::new(&grammar, declared, options) {
            Ok(made) => made,
            Err(GrammarError::Uncovered { .. }) if options.reasoning == Reasoning::Open => continue,
            // One recorded tool lists texts where it wants an array.
            Err(GrammarError::Unfillable { .. }) => continue,
            Err(error) => {
                faults.push(format!("{number} {name}: {error}"));
                continue;
            }
        };
        let generator = Generator::new(made.rules());
        assert!(generator.is_finite(), "{number} {name}");
        let mut random = Random::new(number as u64);
        let text = generator.text(&mut random);
        let tools = Arc::new(Tools::new(declared.clone()));
        let events = events(&grammar, &tools, &text, options, &mut random);
        if let Some(fault) = fault(declared, made.widened(), options, &events) {
            faults.push(format!("{number} {name}: {fault}\n    {text:?}"));
        }
        count += 1;
    }
    (faults, count)
}

#[test]
fn what_a_grammar_allows_is_read_as_calls_that_fit() {
    let (faults, count) = tried(&tools::sets(), 0..2000);
    assert!(count >= 1900, "{count}");
    assert!(faults.is_empty(), "{}\n{}", faults.len(), faults.join("\n"));
}

/// The tools of real questions. `COGENCY_RS_GRAMMAR_TEXTS` is how many texts, `COGENCY_RS_GRAMMAR_START` the number of the first.
#[test]
fn what_a_grammar_of_recorded_tools_allows_is_read_as_calls_that_fit() {
    let Some(folder) = std::env::var_os("COGENCY_RS_RECORDINGS") else {
        eprintln!("skipped: COGENCY_RS_RECORDINGS names no folder of recordings");
        return;
    };
    let text = std::fs::read_to_string(std::path::Path::new(&folder).join("bfcl_calls.jsonl"));
    let sets: Vec<Declared> = text.expect("the recordings").lines().map(recorded).collect();
    let start = number("COGENCY_RS_GRAMMAR_START", 0);
    let texts = number("COGENCY_RS_GRAMMAR_TEXTS", 2000);
    let (mut faults, mut count) = (Vec::new(), 0);
    for first in (start..start + texts).step_by(1000) {
        let (more, tried) = tried(&sets, first..(first + 1000).min(start + texts));
        faults.extend(more);
        count += tried;
        eprintln!("{} of {texts}: {count} texts, {} faults", first + 1000 - start, faults.len());
    }
    assert!(faults.is_empty(), "{} of {count}\n{}", faults.len(), faults.join("\n"));
}

/// The tools of a recorded question, each name once.
fn recorded(line: &str) -> Declared {
    let question: Json = serde_json::from_str(line).expect("JSON");
    let mut declared = Declared::new();
    for tool in question["tools"].as_array().expect("tools") {
        let name = tool["name"].as_str().expect("a name").to_owned();
        if !declared.iter().any(|(known, _)| *known == name) {
            declared.push((name, tool["parameters"].clone()));
        }
    }
    declared
}

/// A call of `get_weather` with these arguments.
fn weather(name: &str, args: &str) -> ShownCall {
    let name = format!("\"{name}\"");
    ShownCall { name, args: args.into(), id: None, server: None }
}

/// Calls as each dialect writes them, and the grammar of answers that must make calls.
fn written(name: &str, calls: &[ShownCall]) -> (String, CallGrammar) {
    let grammar = Grammar::preset(name).expect("a preset");
    let declared = &tools::sets()[0];
    let options = GrammarOptions {
        calls: CallChoice::Required,
        reasoning: Reasoning::None,
        ..GrammarOptions::default()
    };
    let made = CallGrammar::new(&grammar, declared, &options).expect("a grammar");
    let renderer = Renderer::new(Arc::clone(&grammar.dialects[0]));
    let mut calls = calls.to_vec();
    renderer.give_ids(&mut calls, 0);
    (renderer.calls(&calls, true).to_string(), made)
}

#[test]
fn what_a_dialect_writes_is_allowed() {
    let good = weather("get_weather", "{\"city\": \"Rome\", \"unit\": \"celsius\", \"days\": 3}");
    let none = weather("ping", "{}");
    for name in presets::names() {
        let (text, made) = written(name, &[good.clone(), none.clone()]);
        assert!(matches(made.rules(), &text), "{name}: {text:?}\n{}", made.gbnf());
    }
}

#[test]
fn calls_that_are_wrong_are_refused() {
    for (what, call) in [
        ("an unknown tool", weather("get_wether", "{\"city\": \"Rome\"}")),
        ("a missing argument", weather("get_weather", "{\"unit\": \"celsius\"}")),
        ("a wrong type", weather("get_weather", "{\"city\": \"Rome\", \"days\": \"soon\"}")),
        (
            "a value that is not listed",
            weather("get_weather", "{\"city\": \"Rome\", \"unit\": \"kelvin\"}"),
        ),
        ("an undeclared argument", weather("get_weather", "{\"city\": \"Rome\", \"wind\": true}")),
    ] {
        for name in presets::names() {
            let (text, made) = written(name, std::slice::from_ref(&call));
            assert!(!matches(made.rules(), &text), "{name}: {what} in {text:?}");
        }
    }
}

#[test]
fn a_call_without_its_end_is_refused() {
    for name in presets::names() {
        let (text, made) = written(name, &[weather("get_weather", "{\"city\": \"Rome\"}")]);
        let grammar = Grammar::preset(name).expect("a preset");
        // What ends a message is a mark at which the server stops, which it may leave out.
        let behind = &*grammar.dialects[0].calls.layout.message.behind;
        let may_lack = grammar.dialects[0].heads.as_ref().map(|_| text.len() - behind.len());
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            let expected = may_lack == Some(end);
            assert_eq!(matches(made.rules(), &text[..end]), expected, "{name}: {:?}", &text[..end]);
        }
    }
}

#[test]
fn a_number_is_allowed_exactly_within_its_bounds() {
    let bounds: [(Option<i64>, Option<i64>); 8] = [
        (Some(0), Some(0)),
        (Some(3), Some(1207)),
        (Some(-17), Some(4)),
        (None, Some(-3)),
        (Some(98), Some(1002)),
        (Some(-1), Some(1)),
        (Some(19), None),
        (Some(-250), Some(-20)),
    ];
    let grammar = Grammar::preset("hermes").expect("a preset");
    for (least, most) in bounds {
        let mut schema = json!({"type": "integer"});
        for (key, bound) in [("minimum", least), ("maximum", most)] {
            if let Some(bound) = bound {
                schema[key] = json!(bound);
            }
        }
        let schema = json!({"type": "object", "properties": {"n": schema}, "required": ["n"]});
        let options = GrammarOptions { calls: CallChoice::Required, ..GrammarOptions::default() };
        let made =
            CallGrammar::new(&grammar, &[("f".into(), schema)], &options).expect("a grammar");
        for number in -300..1300 {
            let fits =
                least.is_none_or(|least| number >= least) && most.is_none_or(|most| number <= most);
            let text = format!(
                "<tool_call>\n{{\"name\": \"f\", \"arguments\": {{\"n\": {number}}}}}\n</tool_call>"
            );
            assert_eq!(matches(made.rules(), &text), fits, "{number} in {least:?}..{most:?}");
        }
    }
}

/// The grammar of one tool with one required parameter.
fn of_parameter(dialect: &str, root: &Json, schema: &Json) -> Result<CallGrammar, GrammarError> {
    let grammar = Grammar::preset(dialect).expect("a preset");
    let mut whole = root.clone();
    whole["type"] = json!("object");
    whole["properties"] = json!({"x": schema});
    whole["required"] = json!(["x"]);
    let options = GrammarOptions { calls: CallChoice::Required, ..GrammarOptions::default() };
    CallGrammar::new(&grammar, &[("f".into(), whole)], &options)
}

#[test]
fn what_a_grammar_cannot_say_is_listed() {
    for (schema, expected) in [
        (json!({"type": "array", "uniqueItems": true}), "f.x: uniqueItems"),
        (json!({"type": "string", "pattern": "(?=a)b"}), "f.x: pattern"),
        (json!({"type": "string", "pattern": "("}), "f.x: pattern"),
        (json!({"type": "string", "pattern": "a\\b"}), "f.x: pattern"),
        (json!({"type": "string", "pattern": "^a{2000}$"}), "f.x: pattern"),
        (json!({"type": "string", "maxLength": 5000}), "f.x: maxLength"),
        (json!({"type": "string", "format": "date"}), "f.x: format"),
        (json!({"type": "number", "minimum": 0.5}), "f.x: minimum"),
        (json!({"type": "integer", "multipleOf": 3}), "f.x: multipleOf"),
        (json!({"oneOf": [{"type": "integer"}, {"minimum": 3}]}), "f.x: oneOf"),
        (json!({"not": {"type": "string"}}), "f.x: not"),
        (
            json!({"type": "object", "properties": {"y": {"type": "array", "contains": {}}}}),
            "f.x.y: contains",
        ),
        (json!({"$ref": "other.json"}), "f.x: $ref"),
    ] {
        let made = of_parameter("hermes", &json!({}), &schema).expect("a grammar");
        assert!(
            made.widened().iter().any(|note| note == expected),
            "{schema}: {:?}",
            made.widened()
        );
    }
    let plain = of_parameter("hermes", &json!({}), &json!({"type": "integer", "minimum": 1}))
        .expect("a grammar");
    assert!(plain.widened().is_empty(), "{:?}", plain.widened());
}

#[test]
fn what_has_no_end_or_no_value_is_refused_with_its_place() {
    let defs = json!({"$defs": {
        "A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"},
        "Grow": {"type": "object", "properties": {"a": {"$ref": "#/$defs/Grow"}}, "required": ["a"]},
        "Both": {"allOf": [{"$ref": "#/$defs/Both"}, {"type": "object"}]},
    }});
    let mut deep = json!({"type": "string"});
    for _ in 0..1000 {
        deep = json!({"type": "array", "items": deep});
    }
    for (schema, place) in [
        (json!({"$ref": "#/$defs/A"}), "at f.x"),
        (json!({"$ref": "#/$defs/Grow"}), "at f.x"),
        (json!({"$ref": "#/$defs/Both"}), "at f.x"),
        (json!({"type": "integer", "minimum": 3, "maximum": 2}), "at f.x"),
        (json!({"enum": []}), "at f.x"),
        (json!(false), "at f.x"),
        (deep, "at f.x.[]"),
    ] {
        let error = of_parameter("hermes", &defs, &schema).expect_err("an error").to_string();
        assert!(error.contains(place), "{error}");
    }
}

#[test]
fn strange_names_and_values_are_written_or_refused() {
    let many: Vec<String> = (0..10_000).map(|n| format!("value {n}")).collect();
    for dialect in presets::names() {
        let strange = json!([
            "</tool_call>",
            "<|im_end|>",
            "a\"b\\c",
            "\u{0}\u{1b}",
            "",
            "<｜tool▁calls▁end｜>",
            "</parameter>",
            "]"
        ]);
        // Lists are long in each of the ways to write values.
        let is_long = ["hermes", "qwen3-coder", "lfm2", "gemma4", "forge-xml"].contains(&dialect);
        let long = is_long.then(|| json!({"enum": many}));
        for schema in [json!({"enum": strange})].into_iter().chain(long) {
            let made = of_parameter(dialect, &json!({}), &schema).expect("a grammar");
            let generator = Generator::new(made.rules());
            let tools = Arc::new(Tools::new([(
                "f".to_owned(),
                json!({"type": "object", "properties": {"x": {"type": "string"}}}),
            )]));
            let grammar = Grammar::preset(dialect).expect("a preset");
            for seed in 0..20 {
                let mut random = Random::new(seed);
                let text = generator.text(&mut random);
                let events =
                    events(&grammar, &tools, &text, &GrammarOptions::default(), &mut random);
                let errors: Vec<_> =
                    events.iter().filter(|event| matches!(event, Event::Error(_))).collect();
                assert!(errors.is_empty(), "{dialect}: {text:?}: {errors:?}");
                for call in events.into_iter().filter_map(Event::into_call) {
                    let args: Json = serde_json::from_str(call.arguments()).expect("JSON");
                    let is_listed = |values: &Json| {
                        values.as_array().is_some_and(|values| values.contains(&args["x"]))
                    };
                    assert!(is_listed(&strange) || is_listed(&json!(many)), "{dialect}: {text:?}");
                }
            }
        }
        let grammar = Grammar::preset(dialect).expect("a preset");
        for name in ["with space", "quo\"te", "<tool_call>", "new\nline", "ünï", "{"] {
            let made = CallGrammar::new(
                &grammar,
                &[(name.into(), json!({"type": "object"}))],
                &GrammarOptions::default(),
            );
            if let Err(error) = made {
                assert!(matches!(error, GrammarError::Unwritable { .. }), "{dialect}: {error}");
            }
        }
    }
}

#[test]
fn a_tool_that_is_not_there_is_named() {
    let grammar = Grammar::preset("hermes").expect("a preset");
    let with = |calls| GrammarOptions { calls, ..GrammarOptions::default() };
    let tools = &tools::sets()[0];
    let error = CallGrammar::new(&grammar, tools, &with(CallChoice::Tool("x".into())))
        .expect_err("an error");
    assert_eq!(error.to_string(), "there is no tool \"x\"; there are ping, get_weather");
    let error = CallGrammar::new(&grammar, &[], &with(CallChoice::Required)).expect_err("an error");
    assert_eq!(error.to_string(), "a call is required, but there are no tools");
}
