//! What is read.

use serde_json::{Value, json};

use super::super::super::{
    Args, Blocks, Body, HeadForm, JsonShape, Pair, Python, Trim, Unmarked, Untyped,
};
use super::{addressed, pattern, plain, read, refused, tagged, with};

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
        assert_eq!(dialect.calls.open.first(), expected.calls.open.first(), "{open}");
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
    assert_eq!((dialect.calls.bodies.len(), dialect.turn_end.len()), (0, 0));
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
        (false, json!({"function": "{content}"}), JsonShape::Object, ("name", "arguments")),
        (false, call("{content.tool}", "{content.args}"), JsonShape::Object, ("tool", "args")),
        (true, call("{tool_name}", "{parameters}"), JsonShape::Array, ("tool_name", "parameters")),
    ] {
        let template = with(plain(), "/fields/tool_calls/transform", transform.clone());
        let template = with(template, "/fields/tool_calls/transform_each", is_each.into());
        let dialect = read(&template);
        let [Body::Json(json)] = &dialect.calls.bodies[..] else { panic!("{dialect:?}") };
        assert_eq!((&json.shape, (&*json.name[0], &*json.args[0])), (&shape, keys), "{transform}");
    }
    let transform = "/fields/tool_calls/transform";
    let with_id = json!({
        "type": "function", "id": "{content.id}",
        "function": {"name": "{content.n}", "arguments": "{content.a}"},
    });
    let dialect = read(&with(plain(), transform, with_id));
    assert!(
        matches!(&dialect.calls.bodies[..], [Body::Json(json)] if json.id.as_deref() == Some("id"))
    );
    let nested = json!({"function": {"name": "{content.f.name}", "arguments": "{content.f.args}"}});
    let field = "fields.tool_calls.transform.function.name";
    refused(&with(plain(), transform, nested), field, "not part of a call");
}

#[test]
fn a_call_may_go_on_to_the_end_where_json_ends_it() {
    let template = with(plain(), "/fields/tool_calls/close", Value::Null);
    assert!(read(&template).calls.close.is_empty());
    let template = pattern(tagged(), "tool_calls", "open", r"\[TOOL_CALLS\](?P<name>\w+)\[ARGS\]");
    let template = with(template, "/fields/tool_calls/close_pattern", Value::Null);
    refused(&template, "fields.tool_calls.close", "what closes a call");
    let template = with(template, "/fields/tool_calls/content", "json".into());
    let dialect = read(&template);
    let [Body::Head(head)] = &dialect.calls.bodies[..] else { panic!("{dialect:?}") };
    assert_eq!((&*head.open, &*head.ends[0], &*head.close), ("[TOOL_CALLS]", "[ARGS]", ""));
}

#[test]
fn a_head_may_be_written_in_many_ways() {
    let expected = read(&tagged());
    let [Body::Head(head)] = &expected.calls.bodies[..] else { panic!("{expected:?}") };
    assert_eq!((&*expected.calls.open[0], &*head.open), ("<tool_call>", "<function="));
    assert_eq!((&*head.close, &*expected.calls.close[0]), ("</function>", "</tool_call>"));
    assert_eq!((&head.form, head.bare), (&HeadForm::Name, false));
    assert_eq!(expected.calls.layout.blocks, Blocks::Each);
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
    assert!(matches!(&dialect.calls.bodies[..], [Body::Head(head)] if head.bare));
    assert_eq!(dialect.calls.layout.blocks, Blocks::default());
    let (open, close) = (
        r"(?:<｜tool▁calls▁begin｜>)?<｜tool▁call▁begin｜>(?P<name>[^<]+)<｜tool▁sep｜>",
        r"<｜tool▁call▁end｜>(?:<｜tool▁calls▁end｜>)?",
    );
    let template = pattern(tagged(), "tool_calls", "open", open);
    let template = with(template, "/fields/tool_calls/content", "json".into());
    let dialect = read(&pattern(template, "tool_calls", "close", close));
    assert_eq!(
        (&*dialect.calls.open[0], &*dialect.calls.close[0]),
        ("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>")
    );
    let [Body::Head(head)] = &dialect.calls.bodies[..] else { panic!("{dialect:?}") };
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
        let [Body::Head(head)] = &dialect.calls.bodies[..] else { panic!("{dialect:?}") };
        let Args::Parameters(parameters) = &head.args else { panic!("{head:?}") };
        assert_eq!((parameters.trim, parameters.untyped), (trim, untyped), "{tag}");
        assert_eq!((&*parameters.key_end, &*parameters.close), (">", "</parameter>"), "{tag}");
    }
    let tag = r"<k>(?P<key>[^<]+)</k>\s*\n<v>\s*(?P<value>.*?)\s*</v>";
    let dialect = read(&with(tagged(), "/fields/tool_calls/content_args/tag_pattern", tag.into()));
    let [Body::Head(head)] = &dialect.calls.bodies[..] else { panic!("{dialect:?}") };
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
    let [Body::Json(json)] = &dialect.calls.bodies[..] else { panic!("{dialect:?}") };
    assert_eq!(
        (&json.shape, &*json.name[0], &*json.args[0]),
        (&JsonShape::Object, "name", "parameters")
    );
    for close in [r"<\|eot_id\|>", r"\)\s*<\|eot_id\|>", r"\}\}\s*<\|eot_id\|>"] {
        let template = pattern(template.clone(), "tool_calls", "close", close);
        refused(&template, "fields.tool_calls.close_pattern", "does not close the object");
    }
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
    assert_eq!((&*dialect.calls.open[0], &*dialect.calls.close[0]), ("<calls>", "</calls>"));
    assert_eq!(dialect.calls.bodies, [Body::Python(Python::List)]);
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

#[test]
fn messages_with_a_recipient_have_heads() {
    let joints = read(&addressed()).prompt.turn.joints.expect("joints");
    for joint in [joints.thought, joints.calls, joints.other] {
        assert_eq!(joint, "<|start|>assistant", "each message begins as the first one does");
    }
    let heads = read(&addressed()).heads.expect("heads");
    assert_eq!(heads.open, ["<|start|>", "<|channel|>"]);
    assert_eq!((&*heads.channel, &*heads.end), ("<|channel|>", "<|message|>"));
    assert_eq!((&*heads.recipient, &*heads.prefix), ("to=", "functions."));
    assert_eq!(heads.close, ["<|end|>", "<|return|>", "<|call|>"]);
    assert_eq!(heads.reasoning, ["analysis"]);
    let call = "fields.tool_calls";
    for (pointer, value, field, words) in [
        (
            "/fields/thinking/open",
            json!("analysis<|message|>"),
            "fields.thinking.open",
            "not the head",
        ),
        (
            "/fields/thinking/open",
            json!("<|channel|>a<|end|>"),
            "fields.thinking.open",
            "not the head",
        ),
        ("/fields/thinking/content", json!("json"), "fields.thinking.content", "not text"),
        ("/fields/thinking/close", Value::Null, "fields.thinking.close", "is missing"),
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
            "not JSON",
        ),
        ("/start_anchor", json!("assistant"), "start_anchor", "begin with a mark"),
    ] {
        refused(&with(addressed(), pointer, value), field, words);
    }
    for (source, words) in [
        (r"<c>to=functions\.(?P<name>\w+)<\|message\|>", "begins a head with another"),
        (r"to=functions\.(?P<name>\w+).*?", "does not end with a mark"),
        (r"to=functions\.(?P<name>\d+)<\|message\|>", "not one head with a name"),
        (r"to=(?P<name>\w+)<m>|to=b\.(?P<name2>\w+)<m>", "not one head with a name"),
    ] {
        let template = pattern(addressed(), "tool_calls", "open", source);
        refused(&template, &format!("{call}.open_pattern"), words);
    }
}

#[test]
fn a_class_stands_for_at_most_32_characters() {
    let template = |class: &str| pattern(plain(), "thinking", "open", &format!("<[{class}]>"));
    assert_eq!(read(&template("ab")).reasoning.len(), 2);
    assert_eq!(read(&template("a-z0-5")).reasoning.len(), 32);
    refused(&template("a-z0-6"), "fields.thinking.open_pattern", "one of many texts");
}
