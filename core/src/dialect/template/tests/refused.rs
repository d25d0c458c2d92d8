//! What is refused, and for which field.

use serde_json::{Value, json};

use super::super::from_response_template;
use super::{pattern, plain, refused, tagged, with};

/// Asserts that a template is refused at the place that holds this.
fn refused_at(template: Value, place: &str, value: Value, words: &str) {
    let pointer = format!("/{}", place.replace('.', "/"));
    refused(&with(template, &pointer, value), place, words);
}

#[test]
fn a_template_has_its_keys_and_no_others() {
    for (place, value, words) in [
        ("extra", json!(1), "is not known"),
        ("version", json!(2), "is 2"),
        ("defaults", json!([]), "is an array"),
        ("start_anchor", Value::Null, "is missing"),
        ("start_anchor", json!(""), "empty"),
        ("start_anchor_pattern", json!("a"), "is next to"),
        ("fields", json!({}), "at least one"),
        ("fields.content", json!("text"), "is a string"),
        ("fields.content.start", json!("a"), "is not known"),
        ("fields.citations", json!({"open": "<c>", "close": "</c>"}), "known are"),
    ] {
        refused_at(plain(), place, value, words);
    }
    refused(&json!([]), "template", "is an array");
    let implicit = with(plain(), "/fields/thinking/open", Value::Null);
    refused(&implicit, "fields.content", "neither has another");
}

#[test]
fn a_field_of_text_is_text_between_two_marks() {
    for (key, value, words) in [
        ("close", Value::Null, "is missing"),
        ("close", json!(["</a>", "</b>"]), "more than one"),
        ("close", json!([]), "a list of them"),
        ("close_pattern", json!("a"), "next to"),
        ("content", json!("kv-lines"), "is not text"),
        ("content", json!("yaml"), "not a kind of content"),
        ("optional", json!(false), "requires"),
        ("repeats", json!(1), "true or false"),
        ("join", json!(""), "does not repeat"),
        ("transform", json!("x"), "changes the text"),
    ] {
        refused_at(plain(), &format!("fields.thinking.{key}"), value, words);
    }
    refused_at(plain(), "fields.content.close", json!("<think>"), "also opens");
    refused_at(plain(), "fields.content.close", json!(" "), "whitespace");
    let joined = with(plain(), "/fields/content", json!({"repeats": true}));
    refused_at(joined, "fields.content.join", json!("\n"), "between the parts");
    let each = with(plain(), "/fields/thinking/transform_each", true.into());
    refused(&each, "fields.thinking.transform", "is missing");
}

#[test]
fn a_call_is_a_name_and_arguments() {
    for (key, value, words) in [
        ("content", json!("text"), "neither JSON"),
        ("content", json!("kv-lines"), "neither JSON"),
        ("transform", Value::Null, "is missing"),
        ("transform", json!([1]), "is not a call"),
        ("transform.type", json!("x"), "is \"x\""),
        ("transform.more", json!(1), "not part"),
        ("transform.function", Value::Null, "missing"),
        ("transform.function", json!("{name}"), "not part"),
        ("transform.function", json!("f {content}"), "not a placeholder"),
        ("content_args", json!([]), "is an array"),
        ("content_args.unquoted_keys", json!(true), "not JSON"),
        ("content_args.allow_non_json", json!(true), "not JSON"),
    ] {
        let template = with(plain(), "/fields/tool_calls/content_args", json!({}));
        refused_at(template, &format!("fields.tool_calls.{key}"), value, words);
    }
    let name = json!({"name": "{content.name}"});
    let nameless = with(plain(), "/fields/tool_calls/transform/function", name);
    refused(&nameless, "fields.tool_calls.transform.function.arguments", "is missing");
    let each = with(plain(), "/fields/tool_calls/transform_each", true.into());
    let function = json!({"name": "{content.name}", "arguments": "{arguments}"});
    let each = with(each, "/fields/tool_calls/transform/function", function);
    refused(&each, "fields.tool_calls.transform.function.name", "not part");
    let tags = with(plain(), "/fields/tool_calls/content", "xml-inline".into());
    refused(&tags, "fields.tool_calls.transform", "from a tag");
}

#[test]
fn arguments_in_tags_have_marks_around_keys_and_values() {
    let args = "fields.tool_calls.content_args";
    for (key, value, field, words) in [
        ("merge_duplicates", json!(true), "merge_duplicates", "one name"),
        ("value_parser", json!({"name": "int"}), "value_parser.name", "in a way"),
        ("value_parser", json!("json"), "value_parser", "is a string"),
        (
            "value_parser",
            json!({"name": "json", "args": {"unquoted_keys": true}}),
            "value_parser.args.unquoted_keys",
            "not JSON",
        ),
        ("tag_pattern", Value::Null, "tag_pattern", "is missing"),
    ] {
        let template = with(tagged(), &format!("/{}/{key}", args.replace('.', "/")), value);
        refused(&template, &format!("{args}.{field}"), words);
    }
    for (tag, words) in [
        (r"<(?P<key>\w+)>(?P<value>.*?)</(?P=key)>", "kind of group"),
        (r"<(?P<key>\w+)>(?P<value>.*?)</\1>", "refers back"),
        (r"<a=(?P<key>\w+)>(?P<value>.*)</a>", "not all up to"),
        (r"<a=(?P<key>.+)>(?P<value>.*?)</a>", "not all up to"),
        (r"<a=(?P<key>\w+)>(?P<value>\d+)</a>", "not all up to"),
        (r"<a=(?P<key>\w+)>(?P<value>.*?)(?=</a>)", "looks around"),
        (r"<a=(?P<key>\w+)>(?P<value>.*?)", "no mark"),
        (r"<a=(?P<key>\w+)(?P<value>.*?)</a>", "no mark after the key"),
        (r"<a=(?P<name>\w+)>(?P<value>.*?)</a>", "groups `key` and `value`"),
        (r"<a=(?P<key>\w+)>\s*(?P<value>.*?)</a>", "different space"),
        (r"(?P<key>\w+)=(?P<value>.*?);", "begin with a mark"),
    ] {
        refused_at(tagged(), &format!("{args}.tag_pattern"), tag.into(), words);
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
        (r"\b<tool_call>", "not a text of its own"),
        (r"\<tool_call\>", "not a text of its own"),
        (r"^<tool_call>", "begins with `^`"),
        (r"^", "begins with `^`"),
        (r"<tool_call>$", "ends with `$`"),
        (r"[^<]*<tool_call>", "holds `[^<]*`"),
        (r".*?<tool_call>", "not a fixed text"),
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
        (r"<f=(?P<name>\w+)>.*?<x>", "more than one mark after"),
        (r"<f=(?P<name>\w+)-(?P<other>\w+)>", "one group in each"),
        (r"<f=(?P<name>\w+)>|<f>", "one group in each"),
        (r"<(?:f|g)=(?P<name>\w+)>", "heads that begin with"),
        (r"(?=.*?<f>)", "not part of a call"),
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
