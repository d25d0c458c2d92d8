//! Why a response template is refused.

use std::borrow::Cow;

use serde_json::Value;

/// Why a response template is not a dialect: nothing of it is guessed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the response template's `{field}` {reason}; {advice}")]
pub struct TemplateError {
    /// Where in the template, such as `fields.tool_calls.open_pattern`; `template` for all of it.
    pub field: String,
    /// What is wrong there, as the rest of a sentence about the field.
    pub reason: Cow<'static, str>,
    /// What to do.
    pub advice: Cow<'static, str>,
}

/// What a part of a template is read as, or why it is refused.
pub(super) type Read<T> = Result<T, TemplateError>;

impl TemplateError {
    pub(super) fn new(
        field: impl Into<String>,
        reason: impl Into<Cow<'static, str>>,
        advice: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { field: field.into(), reason: reason.into(), advice: advice.into() }
    }
}

/// The value of this field is not what it must be.
pub(super) fn not_a(path: &str, expected: &str, found: &Value) -> TemplateError {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    TemplateError::new(path, format!("is {found}"), format!("it must be {expected}"))
}
