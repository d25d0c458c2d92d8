use std::sync::Arc;

use super::super::super::ending::Ending;
use super::super::super::limits::Strictness;
use super::super::super::{Event, Grammar, Options, Parser, Tools};

/// The calls of a text, and `!` for each report.
fn read(name: &str, strictness: Strictness, text: &str, ending: &Ending) -> String {
    let grammar = Grammar::preset(name).expect("a preset");
    let mut parser = Parser::new(grammar, Options { strictness, ..Options::default() });
    let mut events = Vec::new();
    parser.feed(text, &mut events);
    parser.finish(ending, &mut events);
    let said = events.iter().filter_map(|event| match event {
        Event::Call(call) => Some(format!("{}{}", call.name_json(), call.arguments())),
        Event::Error(_) => Some("!".into()),
        _ => None,
    });
    said.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_parameter_that_was_begun_is_not_left_out() {
    let head = "<|start|>assistant to=t<|channel|>analysis<|message|>";
    let whole = "<rfl:parameter name=\"a\">\n1\n</rfl:parameter>";
    for (text, expected) in [
        (String::new(), "\"t\"{}"),
        (whole.into(), "\"t\"{\"a\": \"1\"}"),
        ("<rfl:parameter ".into(), "!"),
        (format!("{whole}\n<"), "!"),
        (format!("{whole}<rfl:parameter"), "!"),
        (format!("{whole}<rfl:parameter name=\"b\">\n2\n</rfl:para"), "!"),
    ] {
        for strictness in [Strictness::Strict, Strictness::Lenient] {
            let found = read("beam-rfl", strictness, &format!("{head}{text}"), &Ending::Stopped);
            assert_eq!(found, expected, "{text}");
        }
    }
}

#[test]
fn a_value_without_its_mark_is_not_run_with_another_call_in_it() {
    let run = "<tool_call>run<arg_key>c</arg_key><arg_value>";
    let call = "<tool_call>f<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>";
    for (value, expected) in [
        (format!("a</tool_call>{call}"), "!"),
        (format!("a</tool_call>{call}{call}"), "! \"f\"{\"k\": \"v\"}"),
        (format!("a {call} b</arg_value></tool_call>"), "!"),
        // What is opened in it is closed in it, and nothing after that may come after a value.
        (
            "a <arg_key>k</arg_key><arg_value>v</arg_value> b</arg_value></tool_call>".into(),
            "\"run\"{\"c\": \"a <arg_key>k</arg_key><arg_value>v</arg_value> b\"}",
        ),
    ] {
        for strictness in [Strictness::Strict, Strictness::Lenient] {
            let found = read("glm47", strictness, &format!("{run}{value}"), &Ending::Stopped);
            assert_eq!(found, expected, "{value}");
        }
    }
}

#[test]
fn a_value_without_its_mark_ends_where_something_else_begins_if_read_leniently() {
    let block = |body: &str| format!("<tool_call>\n<function=f>\n{body}\n</tool_call>");
    for (body, strict, lenient) in [
        (
            "<parameter=a>\n1\n<parameter=b>\n2\n</parameter>\n</function>",
            "\"f\"{\"a\": \"1\\n<parameter=b>\\n2\"}",
            "\"f\"{\"a\": \"1\", \"b\": \"2\"}",
        ),
        ("<parameter=a>\n1\n</function>", "!", "\"f\"{\"a\": \"1\"}"),
        ("<parameter=a>\n1\n", "!", "!"),
        (
            "<parameter=a>\n<parameter=b>2</parameter>.\n</parameter>\n</function>",
            "\"f\"{\"a\": \"<parameter=b>2</parameter>.\"}",
            "\"f\"{\"a\": \"<parameter=b>2</parameter>.\"}",
        ),
    ] {
        for (strictness, expected) in [(Strictness::Strict, strict), (Strictness::Lenient, lenient)]
        {
            let found = read("qwen3-coder", strictness, &block(body), &Ending::Stopped);
            assert_eq!(found, expected, "{body}");
        }
    }
}

#[test]
fn what_the_schema_settles_is_read_by_it() {
    let schema = serde_json::json!({"properties": {"a": {"type": "string"}, "b": {}}});
    let holder = serde_json::json!({"properties": {"a": {}, "arguments": {"type": "object"}}});
    let tools = Arc::new(Tools::new([("f".into(), schema), ("g".into(), holder)]));
    let grammar = Grammar::preset("qwen3-coder").expect("a preset");
    for (tool, parameters, expected) in [
        // A value ends where another parameter of the tool opens.
        ("f", "<parameter=a>1\n<parameter=b>2</parameter>", r#"{"a": "1", "b": "2"}"#),
        ("f", "<parameter=a>1<parameter=c>2</parameter>", r#"{"a": "1<parameter=c>2"}"#),
        (
            "f",
            "<parameter=a><parameter=b>2</parameter>.</parameter>",
            r#"{"a": "<parameter=b>2</parameter>."}"#,
        ),
        // One parameter may hold all arguments, if the tool has them and not that one.
        ("f", r#"<parameter=arguments>{"a": "x"}</parameter>"#, r#"{"a": "x"}"#),
        ("f", r#"<parameter=input>{"a": "x", "b": [1]}</parameter>"#, r#"{"a": "x", "b": [1]}"#),
        ("f", r#"<parameter=other>{"a": 1}</parameter>"#, r#"{"other": "{\"a\": 1}"}"#),
        ("f", r#"<parameter=arguments>{"c": 1}</parameter>"#, r#"{"arguments": "{\"c\": 1}"}"#),
        ("f", "<parameter=arguments>{}</parameter>", r#"{"arguments": "{}"}"#),
        ("g", r#"<parameter=arguments>{"a": 1}</parameter>"#, r#"{"arguments": {"a": 1}}"#),
        (
            "f",
            r#"<parameter=arguments>{"a": 1}</parameter><parameter=b>x</parameter>"#,
            r#"{"arguments": "{\"a\": 1}", "b": "x"}"#,
        ),
        (
            "f",
            r#"<parameter=b>x</parameter><parameter=arguments>{"a": 1}</parameter>"#,
            r#"{"b": "x", "arguments": "{\"a\": 1}"}"#,
        ),
    ] {
        let text = format!("<tool_call><function={tool}>{parameters}</function></tool_call>");
        let tools = Some(Arc::clone(&tools));
        let options = Options { tools, ..Options::default() };
        let mut parser = Parser::new(Arc::clone(&grammar), options);
        let mut events = Vec::new();
        parser.feed(&text, &mut events);
        parser.finish(&Ending::Stopped, &mut events);
        let Some(Event::Call(call)) = events.first() else { panic!("{text}: {events:?}") };
        assert_eq!(call.arguments(), expected, "{text}");
    }
}

#[test]
fn other_forms_of_a_dialect_are_read_and_not_taken_for_more() {
    for (name, text, expected) in [
        (
            "poolside-laguna",
            "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"</tool_call>\"}}\n</tool_call>\
             <tool_call>g</tool_call>",
            "\"f\"{\"a\": \"</tool_call>\"} \"g\"{}",
        ),
        ("poolside-laguna", "{\"name\": \"f\", \"arguments\": {}}", "\"f\"{}"),
        ("poolside-laguna", "Say {\"name\": \"f\", \"arguments\": {}}", ""),
        ("poolside-laguna", "<tool_call></tool_call>", ""),
        ("poolside-laguna", "<tool_call><tool_call>f</tool_call>", "\"f\"{}"),
        ("glm47", "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>", ""),
        ("lfm2", "[f(a=1)]", "\"f\"{\"a\": 1}"),
        ("lfm2", "f(a=1)", ""),
        ("lfm2", "Say [f(a=1)]", ""),
        (
            "deepseek-v4-dsml",
            "<｜DSML｜ calls><｜DSML｜ invoke name=\"f\"></｜DSML｜ invoke></｜DSML｜ calls>",
            "\"f\"{}",
        ),
        (
            "kimi-k3",
            "<|open|> tools <|sep|><|open|> call tool=\"f\" <|sep|><|open|> argument key=\"a\" \
             type=\"number\" <|sep|>5<|close|> argument <|sep|><|close|> call <|sep|><|close|> tools <|sep|>",
            "\"f\"{\"a\": 5}",
        ),
    ] {
        let found = read(name, Strictness::Strict, text, &Ending::Stopped);
        assert_eq!(found, expected, "{name}: {text}");
    }
}

#[test]
fn a_name_holds_no_mark() {
    for (name, text, expected) in [
        ("gemma4", "<|tool_call>call:a<tool_call|><|tool_call>call:b{}<tool_call|>", "! \"b\"{}"),
        ("glm47", "<tool_call>a<tool_call>b</tool_call>", "!"),
        ("glm47", "<tool_call>{\"name\": \"a\"}</tool_call>", ""),
        ("k2-horizon", "<ifm|tool_calls><ifm|tool_call>{}</ifm|tool_call></ifm|tool_calls>", "!"),
        (
            "muse",
            " to=f<|message|><atem:invoke id=\"a>b\" name=\"f\"></atem:invoke><|eom|>",
            "\"f\"{}",
        ),
    ] {
        let found = read(name, Strictness::Strict, text, &Ending::Stopped);
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn words_between_two_calls_are_passed_over_if_read_leniently() {
    let call = "<invoke name=\"f\"></invoke>";
    for (words, lenient) in
        [("Then:", "\"f\"{} \"f\"{}"), ("<b>", "!"), ("<invoke name=f></invoke>", "!")]
    {
        let text = format!("<minimax:tool_call>{call}{words}{call}</minimax:tool_call>");
        for (strictness, expected) in [(Strictness::Strict, "!"), (Strictness::Lenient, lenient)] {
            let found = read("minimax-m2", strictness, &text, &Ending::Stopped);
            assert_eq!(found, expected, "{words}");
        }
    }
}
