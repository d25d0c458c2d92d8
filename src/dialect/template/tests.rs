//! What is read, in each way in which it may be written, and what is refused.

use serde_json::{Value, json};

use super::super::{Args, Body, Dialect, HeadForm, Pair, Python, Shape, Trim, Unmarked, Untyped};
use super::from_response_template;

/// Calls as JSON between tags.
fn plain() -> Value {
    json!({
        "version": 1,
        "defaults": {"role": "assistant"},
        "start_anchor": ["<|im_start|>assistant\n", "<|resume|>"],
        "fields": {
            "thinking": {"open": "<think>", "close": "</think>"},
            "tool_calls": {
                "open": "<tool_call>",
                "close": "</tool_call>",
                "repeats": true,
                "content": "json",
                "transform": {"type": "function", "function": "{content}"},
            },
            "content": {"close": "<|im_end|>"},
        },
    })
}

/// Calls with the name in a head, and a tag for each argument.
fn tagged() -> Value {
    let mut template = plain();
    template["fields"]["tool_calls"] = json!({
        "open_pattern": r"<tool_call>\s*<function=(?P<name>\w+)>",
        "close_pattern": r"</function>\s*</tool_call>",
        "repeats": true,
        "content": "xml-inline",
        "content_args": {
            "tag_pattern": r"<parameter=(?P<key>\w+)>(?P<value>.*?)</parameter>",
        },
        "transform": {"function": {"name": "{name}", "arguments": "{content}"}},
    });
    template
}

/// The template with this at a place; `null` takes away what is there.
fn with(mut template: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer has a slash");
    let parent = template.pointer_mut(parent).and_then(Value::as_object_mut).expect("an object");
    if value.is_null() {
        parent.shift_remove(key);
    } else {
        parent.insert(key.into(), value);
    }
    template
}

/// The template with a pattern in place of a field's mark.
fn pattern(template: Value, field: &str, mark: &str, pattern: &str) -> Value {
    let template = with(template, &format!("/fields/{field}/{mark}"), Value::Null);
    with(template, &format!("/fields/{field}/{mark}_pattern"), pattern.into())
}

fn read(template: &Value) -> Dialect {
    from_response_template(template).unwrap_or_else(|error| panic!("{error}\n{template}"))
}

/// Asserts that the template is refused for this field, with these words.
fn refused(template: &Value, field: &str, words: &str) {
    match from_response_template(template) {
        Ok(dialect) => panic!("{template} is read as {dialect:?}"),
        Err(error) => {
            assert_eq!(error.field, field, "{error}");
            assert!(error.to_string().contains(words), "{error}\ndoes not say {words:?}");
            assert!(!error.advice.is_empty());
        }
    }
}

#[test]
fn marks_may_be_written_in_many_ways() {
    let expected = read(&plain());
    for open in [
        "<tool_call>",
        r"\s*<tool_call>\s*",
        r"\n?<tool_call>\n",
        r"(?:<tool_call>)",
        r"(<tool_call>)",
        r"<tool[_]call>",
        r"\x3ctool_call>",
        r"(?:<tool_call>|\s+<tool_call>)",
    ] {
        let dialect = read(&pattern(plain(), "tool_calls", "open", open));
        assert_eq!(dialect.open.first(), expected.open.first(), "{open}");
    }
    for close in ["<\\|im_end\\|>", r"\s*<\|im_end\|>\s*|$", r"(?:<\|im_end\|>|$)"] {
        assert_eq!(read(&pattern(plain(), "content", "close", close)), expected, "{close}");
    }
    let several = with(plain(), "/fields/content/close", json!(["<a>", "<b>", "<ab>"]));
    assert_eq!(read(&several).turn_end, ["<a>", "<b>", "<ab>"]);
    for close in [r"<(?:a|b|ab)>", "(?:<a>|<b>|<ab>)", "<(?:a?b|a)>"] {
        let mut ends = read(&pattern(plain(), "content", "close", close)).turn_end;
        ends.sort();
        assert_eq!(ends, ["<a>", "<ab>", "<b>"], "{close}");
    }
}

#[test]
fn a_template_without_marks_of_its_own_is_the_text_alone() {
    let dialect = read(&json!({"start_anchor_pattern": "a|b", "fields": {"content": {}}}));
    assert_eq!((dialect.bodies.len(), dialect.turn_end.len()), (0, 0));
}

#[test]
fn reasoning_may_begin_before_the_answer() {
    let pair = |open: &str| vec![Pair { open: open.to_owned().into(), close: "</think>".into() }];
    for (open, begins, marks) in [
        ("<think>", false, "<think>"),
        ("(?:^|<think>)", true, "<think>"),
        (r"(?:^|<reason>\s*)", true, "<reason>"),
        ("^", true, "<think>"),
        (r"(?=[\s\S]*?</think>)", true, "<think>"),
        (r"(?=.*?</think>)", true, "<think>"),
    ] {
        let dialect = read(&pattern(plain(), "thinking", "open", open));
        assert_eq!(
            (dialect.begins_in_reasoning, dialect.reasoning),
            (begins, pair(marks)),
            "{open}"
        );
    }
}

#[test]
fn marks_of_the_answer_are_left_out_of_it() {
    let content = json!({"open": ["<response>", "<text>"], "close": ["</response>", "</text>"]});
    let dialect = read(&with(plain(), "/fields/content", content));
    let marks: Vec<_> = dialect.answer.iter().map(|pair| (&*pair.open, &*pair.close)).collect();
    assert_eq!(
        marks,
        [
            ("<response>", "</response>"),
            ("<text>", "</response>"),
            ("<response>", "</text>"),
            ("<text>", "</text>")
        ]
    );
    assert!(dialect.turn_end.is_empty());
}

#[test]
fn calls_in_json_are_read_by_the_keys_of_the_transform() {
    let call = |name: &str, args: &str| json!({"function": {"name": name, "arguments": args}});
    for (is_each, transform, shape, keys) in [
        (false, json!({"function": "{content}"}), Shape::Object, ("name", "arguments")),
        (false, call("{content.tool}", "{content.args}"), Shape::Object, ("tool", "args")),
        (true, call("{tool_name}", "{parameters}"), Shape::Array, ("tool_name", "parameters")),
    ] {
        let template = with(plain(), "/fields/tool_calls/transform", transform.clone());
        let template = with(template, "/fields/tool_calls/transform_each", is_each.into());
        let dialect = read(&template);
        let [Body::Json(json)] = &dialect.bodies[..] else { panic!("{dialect:?}") };
        assert_eq!((&json.shape, (&*json.name[0], &*json.args[0])), (&shape, keys), "{transform}");
    }
    let transform = "/fields/tool_calls/transform";
    let with_id = json!({
        "type": "function", "id": "{content.id}",
        "function": {"name": "{content.n}", "arguments": "{content.a}"},
    });
    let dialect = read(&with(plain(), transform, with_id));
    assert!(matches!(&dialect.bodies[..], [Body::Json(json)] if json.id.as_deref() == Some("id")));
    let nested = json!({"function": {"name": "{content.f.name}", "arguments": "{content.f.args}"}});
    let field = "fields.tool_calls.transform.function.name";
    refused(&with(plain(), transform, nested), field, "no part of a call");
}

#[test]
fn a_call_may_go_on_to_the_end_where_json_ends_it() {
    let template = with(plain(), "/fields/tool_calls/close", Value::Null);
    assert!(read(&template).close.is_empty());
    let template = pattern(tagged(), "tool_calls", "open", r"\[TOOL_CALLS\](?P<name>\w+)\[ARGS\]");
    let template = with(template, "/fields/tool_calls/close_pattern", Value::Null);
    refused(&template, "fields.tool_calls.close", "what closes a call");
    let template = with(template, "/fields/tool_calls/content", "json".into());
    let dialect = read(&template);
    let [Body::Head(head)] = &dialect.bodies[..] else { panic!("{dialect:?}") };
    assert_eq!((&*head.open, &*head.ends[0], &*head.close), ("[TOOL_CALLS]", "[ARGS]", ""));
}

#[test]
fn a_head_may_be_written_in_many_ways() {
    let expected = read(&tagged());
    let [Body::Head(head)] = &expected.bodies[..] else { panic!("{expected:?}") };
    assert_eq!((&*expected.open[0], &*head.open), ("<tool_call>", "<function="));
    assert_eq!((&*head.close, &*expected.close[0]), ("</function>", "</tool_call>"));
    assert_eq!((&head.form, head.bare), (&HeadForm::Name, false));
    for (open, close) in [
        (r"\s*<tool_call>\s*<function=(?P<name>[^>\n]+)>\s*", r"</function>\s*</tool_call>\s*"),
        ("<tool_call>\n?<function=(?P<name>.+?)>", "</function></tool_call>"),
        ("<tool_call><function=(?P<name>[^>]+)>", r"</tool_call>\s*|$"),
    ] {
        let template = pattern(tagged(), "tool_calls", "open", open);
        assert_eq!(read(&pattern(template, "tool_calls", "close", close)), expected, "{open}");
    }
    let bare = r"(?:<tool_call>\s*)?<function=(?P<name>\w+)>";
    let dialect = read(&pattern(tagged(), "tool_calls", "open", bare));
    assert!(matches!(&dialect.bodies[..], [Body::Head(head)] if head.bare));
    let (open, close) = (
        r"(?:<｜tool▁calls▁begin｜>)?<｜tool▁call▁begin｜>(?P<name>[^<]+)<｜tool▁sep｜>",
        r"<｜tool▁call▁end｜>(?:<｜tool▁calls▁end｜>)?",
    );
    let template = pattern(tagged(), "tool_calls", "open", open);
    let template = with(template, "/fields/tool_calls/content", "json".into());
    let dialect = read(&pattern(template, "tool_calls", "close", close));
    assert_eq!(
        (&*dialect.open[0], &*dialect.close[0]),
        ("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>")
    );
    let [Body::Head(head)] = &dialect.bodies[..] else { panic!("{dialect:?}") };
    assert_eq!((&*head.open, &*head.close), ("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"));
    assert!(head.bare);
}

#[test]
fn space_around_a_value_is_what_its_tag_and_its_parser_say() {
    let text = json!({"name": "text"});
    let kept = json!({"name": "text", "args": {"strip": false}});
    let lenient = json!({"name": "json", "args": {"allow_non_json": true}});
    for (tag, parser, trim, untyped) in [
        (r">(?P<value>.*?)<", Value::Null, Trim::Nothing, Untyped::Text),
        (r">\s*(?P<value>.*?)\s*<", Value::Null, Trim::Space, Untyped::Text),
        (r">\n?(?P<value>.*?)\n?<", Value::Null, Trim::Newline, Untyped::Text),
        (r">\n(?P<value>.*?)\n<", Value::Null, Trim::Newline, Untyped::Text),
        (r">(?P<value>.*?)<", text, Trim::Space, Untyped::Text),
        (r">(?P<value>.*?)<", kept, Trim::Nothing, Untyped::Text),
        (r">(?P<value>[^<]*)<", lenient, Trim::Space, Untyped::Json),
    ] {
        let tag = format!(r"<parameter=(?P<key>[^>]+){tag}/parameter>\s*");
        let template =
            with(tagged(), "/fields/tool_calls/content_args/tag_pattern", tag.clone().into());
        let dialect = read(&with(template, "/fields/tool_calls/content_args/value_parser", parser));
        let [Body::Head(head)] = &dialect.bodies[..] else { panic!("{dialect:?}") };
        let Args::Parameters(parameters) = &head.args else { panic!("{head:?}") };
        assert_eq!((parameters.trim, parameters.untyped), (trim, untyped), "{tag}");
        assert_eq!((&*parameters.key_end, &*parameters.close), (">", "</parameter>"), "{tag}");
    }
    let tag = r"<k>(?P<key>[^<]+)</k>\s*\n<v>\s*(?P<value>.*?)\s*</v>";
    let dialect = read(&with(tagged(), "/fields/tool_calls/content_args/tag_pattern", tag.into()));
    let [Body::Head(head)] = &dialect.bodies[..] else { panic!("{dialect:?}") };
    let Args::Parameters(parameters) = &head.args else { panic!("{head:?}") };
    assert_eq!((&*parameters.key_end, &*parameters.value_open), ("</k>", "<v>"));
}

#[test]
fn an_object_that_the_marks_spell_out_is_read_as_a_whole() {
    let open = r#"\{"name":\s*"(?P<name>[^"]+)",\s*"parameters":\s*"#;
    let template = pattern(tagged(), "tool_calls", "open", open);
    let template = pattern(template, "tool_calls", "close", r"\}\s*<\|eot_id\|>");
    let template = with(template, "/fields/tool_calls/content", "json".into());
    let template = with(template, "/fields/tool_calls/content_args", Value::Null);
    let dialect = read(&template);
    assert_eq!((dialect.unmarked, &*dialect.turn_end[1]), (Unmarked::Anywhere, "<|eot_id|>"));
    let [Body::Json(json)] = &dialect.bodies[..] else { panic!("{dialect:?}") };
    assert_eq!(
        (&json.shape, &*json.name[0], &*json.args[0]),
        (&Shape::Object, "name", "parameters")
    );
    let open_end = pattern(template, "tool_calls", "close", r"<\|eot_id\|>");
    refused(&open_end, "fields.tool_calls.close_pattern", "does not close the object");
}

#[test]
fn a_list_of_python_calls_is_read_as_python() {
    let value = r"'[^']*'|\[[^\]]*\]|\{[^}]*\}|[^,)]*";
    let template = pattern(tagged(), "tool_calls", "open", r"(?:<calls>\[|,\s*)(?P<name>\w+)\(");
    let template = pattern(template, "tool_calls", "close", r"\)(?:\]</calls>)?\s*");
    let args = json!({
        "tag_pattern": format!(r"(?P<key>\w+)=(?P<value>{value})"),
        "value_parser": {"name": "json", "args": {"string_delims": [["'", "'"]]}},
    });
    let template = with(template, "/fields/tool_calls/content_args", args);
    let dialect = read(&template);
    assert_eq!((&*dialect.open[0], &*dialect.close[0]), ("<calls>", "</calls>"));
    assert_eq!(dialect.bodies, [Body::Python(Python::List)]);
    let at = "/fields/tool_calls/content_args/tag_pattern";
    let field = "fields.tool_calls.content_args.tag_pattern";
    refused(
        &with(template.clone(), at, r"(?P<key>\w+)=(?P<value>\d+)".into()),
        field,
        "any literal",
    );
    let bare = pattern(template, "tool_calls", "open", r"(?:\[|,\s*)(?P<name>\w+)\(");
    refused(&bare, "fields.tool_calls.open_pattern", "a bracket alone");
}

/// A template with messages that have heads.
fn addressed() -> Value {
    let call = json!({"function": {"name": "{name}", "arguments": "{content}"}});
    json!({
        "start_anchor": "<|start|>assistant",
        "fields": {
            "thinking": {"open": "<|channel|>analysis<|message|>", "close": "<|end|>"},
            "content": {"open": "<|channel|>final<|message|>", "close": ["<|end|>", "<|return|>"]},
            "tool_calls": {
                "open_pattern": r"<\|channel\|>commentary to=functions\.(?P<name>\w+).*?<\|message\|>",
                "close": "<|call|>",
                "content": "json",
                "transform": call,
            },
        },
    })
}

#[test]
fn messages_with_a_recipient_have_heads() {
    let heads = read(&addressed()).heads.expect("heads");
    assert_eq!(heads.open, ["<|start|>", "<|channel|>"]);
    assert_eq!((&*heads.channel, &*heads.end), ("<|channel|>", "<|message|>"));
    assert_eq!((&*heads.recipient, &*heads.prefix), ("to=", "functions."));
    assert_eq!(heads.close, ["<|end|>", "<|return|>", "<|call|>"]);
    assert_eq!(heads.reasoning, ["analysis"]);
    let call = "fields.tool_calls";
    for (pointer, value, field, words) in [
        ("/fields/thinking/open", json!("analysis<|message|>"), "fields.thinking.open", "no head"),
        ("/fields/thinking/open", json!("<|channel|>a<|end|>"), "fields.thinking.open", "no head"),
        ("/fields/thinking/content", json!("json"), "fields.thinking.content", "not text"),
        (
            "/fields/content/open",
            json!("<c>final<|message|>"),
            "fields.content.open",
            "begins a head",
        ),
        ("/fields/content/open", Value::Null, "fields.content.open", "is missing"),
        (
            "/fields/tool_calls/content",
            json!("xml-inline"),
            "fields.tool_calls.transform",
            "from JSON",
        ),
        (
            "/fields/tool_calls/content_args",
            json!({"allow_non_json": true}),
            "fields.tool_calls.content_args",
            "no JSON",
        ),
        ("/start_anchor", json!("assistant"), "start_anchor", "begin with a mark"),
    ] {
        refused(&with(addressed(), pointer, value), field, words);
    }
    for (source, words) in [
        (r"to=functions\.(?P<name>\w+).*?", "does not end with a mark"),
        (r"to=functions\.(?P<name>\d+)<\|message\|>", "not one head with a name"),
        (r"to=(?P<name>\w+)<m>|to=b\.(?P<name2>\w+)<m>", "not one head with a name"),
    ] {
        let template = pattern(addressed(), "tool_calls", "open", source);
        refused(&template, &format!("{call}.open_pattern"), words);
    }
}

#[test]
fn what_is_no_template_is_refused_at_its_place() {
    let args = "/fields/tool_calls/content_args";
    for (pointer, value, field, words) in [
        (
            "/fields/citations",
            json!({"open": "<c>", "close": "</c>"}),
            "fields.citations",
            "known are",
        ),
        ("/extra", json!(1), "extra", "is not known"),
        ("/fields/content/start", json!("a"), "fields.content.start", "is not known"),
        ("/version", json!(2), "version", "is 2"),
        ("/defaults", json!([]), "defaults", "is an array"),
        ("/start_anchor", Value::Null, "start_anchor", "is missing"),
        ("/start_anchor", json!(""), "start_anchor", "empty"),
        ("/start_anchor_pattern", json!("a"), "start_anchor_pattern", "stands beside"),
        ("/fields", json!({}), "fields", "at least one"),
        ("/fields/content", json!("text"), "fields.content", "is a string"),
        ("/fields/thinking/open", Value::Null, "fields.content", "neither has another"),
        ("/fields/thinking/close", Value::Null, "fields.thinking.close", "is missing"),
        (
            "/fields/thinking/close",
            json!(["</a>", "</b>"]),
            "fields.thinking.close",
            "more than one",
        ),
        ("/fields/thinking/close", json!([]), "fields.thinking.close", "a list of them"),
        ("/fields/thinking/close_pattern", json!("a"), "fields.thinking.close_pattern", "beside"),
        ("/fields/thinking/content", json!("kv-lines"), "fields.thinking.content", "is not text"),
        (
            "/fields/thinking/content",
            json!("yaml"),
            "fields.thinking.content",
            "no kind of content",
        ),
        ("/fields/thinking/optional", json!(false), "fields.thinking.optional", "demands"),
        ("/fields/thinking/repeats", json!(1), "fields.thinking.repeats", "true or false"),
        ("/fields/thinking/join", json!(""), "fields.thinking.join", "does not repeat"),
        ("/fields/thinking/transform", json!("x"), "fields.thinking.transform", "changes the text"),
        ("/fields/thinking/transform_each", json!(true), "fields.thinking.transform", "is missing"),
        ("/fields/content/close", json!("<think>"), "fields.content.close", "also opens"),
        ("/fields/content/close", json!(" "), "fields.content.close", "whitespace"),
        ("/fields/tool_calls/open", Value::Null, "fields.content", "neither has another"),
        ("/fields/tool_calls/content", json!("text"), "fields.tool_calls.content", "no JSON"),
        ("/fields/tool_calls/content", json!("kv-lines"), "fields.tool_calls.content", "no JSON"),
        (
            "/fields/tool_calls/content",
            json!("xml-inline"),
            "fields.tool_calls.transform",
            "from a tag",
        ),
        ("/fields/tool_calls/transform", Value::Null, "fields.tool_calls.transform", "is missing"),
        ("/fields/tool_calls/transform", json!([1]), "fields.tool_calls.transform", "is no call"),
        (
            "/fields/tool_calls/transform/type",
            json!("x"),
            "fields.tool_calls.transform.type",
            "is \"x\"",
        ),
        (
            "/fields/tool_calls/transform/more",
            json!(1),
            "fields.tool_calls.transform.more",
            "no part",
        ),
        (
            "/fields/tool_calls/transform/function",
            Value::Null,
            "fields.tool_calls.transform.function",
            "missing",
        ),
        (
            "/fields/tool_calls/transform/function",
            json!("{name}"),
            "fields.tool_calls.transform.function",
            "no part",
        ),
        (
            "/fields/tool_calls/transform/function",
            json!("f {content}"),
            "fields.tool_calls.transform.function",
            "no placeholder",
        ),
        (
            "/fields/tool_calls/content_args",
            json!([]),
            "fields.tool_calls.content_args",
            "is an array",
        ),
        (
            "/fields/tool_calls/content_args",
            json!({"unquoted_keys": true}),
            "fields.tool_calls.content_args.unquoted_keys",
            "no JSON",
        ),
        (
            "/fields/tool_calls/content_args",
            json!({"allow_non_json": true}),
            "fields.tool_calls.content_args.allow_non_json",
            "no JSON",
        ),
    ] {
        refused(&with(plain(), pointer, value), field, words);
    }
    let joined = json!({"repeats": true, "join": "\n"});
    refused(&with(plain(), "/fields/content", joined), "fields.content.join", "between the parts");
    refused(&json!([]), "template", "is an array");
    for (key, value, field, words) in [
        ("merge_duplicates", json!(true), "merge_duplicates", "one name"),
        ("value_parser", json!({"name": "int"}), "value_parser.name", "in a way"),
        ("value_parser", json!("json"), "value_parser", "is a string"),
        (
            "value_parser",
            json!({"name": "json", "args": {"unquoted_keys": true}}),
            "value_parser.args.unquoted_keys",
            "no JSON",
        ),
        ("tag_pattern", Value::Null, "tag_pattern", "is missing"),
        (
            "tag_pattern",
            json!(r"<(?P<key>\w+)>(?P<value>.*?)</(?P=key)>"),
            "tag_pattern",
            "kind of group",
        ),
        ("tag_pattern", json!(r"<(?P<key>\w+)>(?P<value>.*?)</\1>"), "tag_pattern", "refers back"),
        (
            "tag_pattern",
            json!(r"<a=(?P<key>\w+)>(?P<value>.*)</a>"),
            "tag_pattern",
            "not all up to",
        ),
        (
            "tag_pattern",
            json!(r"<a=(?P<key>.+)>(?P<value>.*?)</a>"),
            "tag_pattern",
            "not all up to",
        ),
        (
            "tag_pattern",
            json!(r"<a=(?P<key>\w+)>(?P<value>\d+)</a>"),
            "tag_pattern",
            "not all up to",
        ),
        (
            "tag_pattern",
            json!(r"<a=(?P<key>\w+)>(?P<value>.*?)(?=</a>)"),
            "tag_pattern",
            "looks around",
        ),
        ("tag_pattern", json!(r"<a=(?P<key>\w+)>(?P<value>.*?)"), "tag_pattern", "no mark"),
        (
            "tag_pattern",
            json!(r"<a=(?P<key>\w+)(?P<value>.*?)</a>"),
            "tag_pattern",
            "no mark behind the key",
        ),
        (
            "tag_pattern",
            json!(r"<a=(?P<name>\w+)>(?P<value>.*?)</a>"),
            "tag_pattern",
            "groups `key` and `value`",
        ),
        (
            "tag_pattern",
            json!(r"<a=(?P<key>\w+)>\s*(?P<value>.*?)</a>"),
            "tag_pattern",
            "other space",
        ),
        ("tag_pattern", json!(r"(?P<key>\w+)=(?P<value>.*?);"), "tag_pattern", "begin with a mark"),
    ] {
        let template = with(tagged(), &format!("{args}/{key}"), value);
        refused(&template, &format!("fields.tool_calls.content_args.{field}"), words);
    }
}

#[test]
fn patterns_that_a_dialect_has_no_words_for_are_refused() {
    for (source, words) in [
        (r"(?:<tool_call>)?", "where there is no mark"),
        (r"\s*", "where there is no mark"),
        (r"<tool_call>|", "where there is no mark"),
        ("", "where there is no mark"),
        (r"(?!<a>)<tool_call>", "looks around"),
        (r"(?<=x)<tool_call>", "looks around"),
        (r"<tool_call>(?=\{)", "looks around"),
        (r"(?=\{)", "looks around"),
        (r"(?=[\s\S]*?</tool_call>)", "looks ahead"),
        (r"(<a>)\1", "refers back"),
        (r"(?P<a><a>)(?P=a)", "kind of group"),
        (r"(?><tool_call>)", "kind of group"),
        (r"\s*+<tool_call>", "possessive"),
        (r"<tool_call>++", "possessive"),
        (r"(?:<tool_call>){e<=1}", "fuzzy"),
        (r"(?R)<a>", "flags"),
        (r"(?i)<tool_call>", "flags"),
        (r"(?m:^)<tool_call>", "flags"),
        (r"\b<tool_call>", "no text of its own"),
        (r"\<tool_call\>", "no text of its own"),
        (r"^<tool_call>", "begins with `^`"),
        (r"^", "begins with `^`"),
        (r"<tool_call>$", "ends with `$`"),
        (r"[^<]*<tool_call>", "holds `[^<]*`"),
        (r".*?<tool_call>", "no fixed text"),
        (r"<tool_call.>", "holds `.`"),
        (r"<tool_call\d>", "holds `\\d`"),
        (r"(?:<a>)+", "repeats a text"),
        (r"<a>{2}", "repeats a text"),
        (r"<[[a]b]>", "Python reads as text"),
        (r"<[a&&b]>", "Python reads as text"),
        (r"<[[]>", "a class without an end"),
        (r"<tool_call>{", "brace"),
        (r"(<tool_call>", "unclosed group"),
        (r"<tool_call>\s*<b>", "no free space within"),
        (r"<[a-z]><[a-z]>", "more than 32 ways"),
        (r"<tool_call>(?P<name>\w+)", "a group with a name"),
    ] {
        let template = pattern(plain(), "tool_calls", "open", source);
        refused(&template, "fields.tool_calls.open_pattern", words);
    }
    let long = format!("<{}>", "a".repeat(20_000));
    refused(
        &pattern(plain(), "tool_calls", "open", &long),
        "fields.tool_calls.open_pattern",
        "longer",
    );
    for (source, words) in [
        (r"(?=[\s\S]*?</other>)", "another text"),
        (r"(?:^|<think>|.)", "many texts"),
        (r"(?:^<think>)", "begins with `^`"),
    ] {
        let template = pattern(plain(), "thinking", "open", source);
        refused(&template, "fields.thinking.open_pattern", words);
    }
    let unnamed =
        with(pattern(plain(), "thinking", "open", "^"), "/fields/thinking/close", "##".into());
    refused(&unnamed, "fields.thinking.close", "does not say what opens");
}

#[test]
fn heads_that_a_dialect_has_no_words_for_are_refused() {
    for (source, words) in [
        (r"<f=(?P<name>\w*)>", "group `name`"),
        (r"<f=(?P<name>.+)>", "group `name`"),
        (r"<f=(?P<name>\d+)>", "group `name`"),
        (r"(?P<name>\w+)>", "where there is no mark"),
        (r"<a>\s*<b>\s*<c>(?P<name>\w+)>", "a mark of a block and one of a call"),
        (r"<f=(?P<name>\w+)>.*?<x>", "more than one mark behind"),
        (r"<f=(?P<name>\w+)-(?P<other>\w+)>", "one group in each"),
        (r"<f=(?P<name>\w+)>|<f>", "one group in each"),
        (r"<(?:f|g)=(?P<name>\w+)>", "heads that begin with"),
        (r"(?=.*?<f>)", "no part of a call"),
    ] {
        let template = pattern(tagged(), "tool_calls", "open", source);
        let error = from_response_template(&template).expect_err(source);
        assert!(error.to_string().contains(words), "{error}\ndoes not say {words:?}");
    }
    for (close, words) in [
        (r"</a>\s*</b>\s*</c>", "a mark of a block and one of a call"),
        (r"(?:</a>\s*)?</tool_call>|</b></x>", "close different things"),
        (r"(?=.*?</function>)", "looks ahead"),
    ] {
        let template = pattern(tagged(), "tool_calls", "close", close);
        refused(&template, "fields.tool_calls.close_pattern", words);
    }
    let json = with(tagged(), "/fields/tool_calls/content", "json".into());
    for (args, field) in [
        (json!({"unquoted_keys": true}), "string_delims"),
        (json!({"string_delims": [["<", ">"]]}), "string_delims"),
        (json!({"string_delims": [["'", "'"], ["`", "`"]]}), "string_delims"),
        (json!({"allow_non_json": true}), "allow_non_json"),
    ] {
        let template = with(json.clone(), "/fields/tool_calls/content_args", args);
        refused(&template, &format!("fields.tool_calls.content_args.{field}"), "");
    }
}
