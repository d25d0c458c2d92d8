//! What is read, in each way in which it may be written, and what is refused.

mod read;
mod refused;

use serde_json::{Value, json};

use super::super::Dialect;
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
