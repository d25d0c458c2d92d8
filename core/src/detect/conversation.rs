//! The conversation that templates are rendered with: a question, a call and its result.

use serde_json::{Value, json};

/// The tool that is called.
pub const TOOL: &str = "look_up_tide";
/// The arguments, as canonical JSON: a text and a number.
pub const ARGS: &str = r#"{"port": "Valparaiso", "days": 3}"#;
/// What it returned.
pub const RESULT: &str = "quite-low-today";
/// What is asked.
pub const QUESTION: &str = "When-is-low-tide?";
/// An answer without a call.
pub const ANSWER: &str = "It-is-at-noon.";

/// The question, the call and its result.
pub fn conversation(id: &str, arguments: &Value, content: &Value) -> Value {
    let function = json!({ "name": TOOL, "arguments": arguments });
    json!([
        user(),
        {
            "role": "assistant",
            "content": content,
            "tool_calls": [{ "id": id, "type": "function", "function": function }],
        },
        { "role": "tool", "name": TOOL, "tool_call_id": id, "content": RESULT },
    ])
}

/// The question.
pub fn user() -> Value {
    json!({ "role": "user", "content": QUESTION })
}

/// The arguments.
pub fn args() -> Value {
    json!({ "port": "Valparaiso", "days": 3 })
}

/// The tool.
pub fn tool() -> Value {
    let parameters = json!({
        "type": "object",
        "properties": {
            "port": { "type": "string", "description": "The port." },
            "days": { "type": "integer", "description": "For how many days." },
        },
        "required": ["port", "days"],
    });
    json!({
        "type": "function",
        "function": { "name": TOOL, "description": "Look up the tide.", "parameters": parameters },
    })
}
