//! What a tool returned, or why it failed, as the log and the model read it.
//!
//! The words are those of the Python package, so that a model reads the same, whichever program ran its call.

use std::error::Error;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::Serialize;

use cogency_rs::json::unescaped;
use cogency_rs::protocol::canonical::{canonical, json_string};
use cogency_rs::protocol::results::CallOutcome;

/// What a tool returned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolOutput {
    outcome: Option<String>,
    content: Option<String>,
}

impl ToolOutput {
    /// An output without a content.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// An output with this content, any JSON value. `null` counts as no content.
    ///
    /// # Errors
    /// The value cannot be written as JSON: a map whose keys are not text, or its own `Serialize` fails.
    ///
    /// # Complexity
    /// O(content)
    pub fn of(content: &impl Serialize) -> Result<Self, ToolError> {
        let text = serde_json::to_string(content).map_err(|error| {
            ToolError::unusable(&format!("its content is not a JSON value: {error}"))
        })?;
        let content = if text == "null" { None } else { canonical(text.as_bytes()) };
        Ok(Self { outcome: None, content })
    }

    /// The same output, with one line that says what happened; it is shown before the content.
    #[must_use]
    pub fn with_outcome(self, outcome: &str) -> Self {
        Self { outcome: Some(json_string(outcome.as_bytes())), ..self }
    }

    /// An output of JSON as Python's `json.dumps` writes it.
    #[cfg(feature = "python")]
    pub(crate) fn of_json(outcome: Option<String>, content: Option<String>) -> Self {
        Self { outcome, content }
    }

    pub(super) fn into_outcome(self) -> CallOutcome {
        let outcome = self.outcome.unwrap_or_else(|| "\"Success\"".to_owned());
        CallOutcome::success(outcome, self.content)
    }
}

/// Why a tool failed, as the model reads it.
///
/// Every error of another type becomes one with `?`: its text is that of its `Display`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolError {
    pub(super) kind: ErrorKind,
    text: String,
    pub(super) cause: Option<Cause>,
}

/// What made a tool fail, such as an exception of Python with its traceback. The model does not see it.
///
/// Two causes are equal if they are the same object.
#[derive(Clone)]
pub struct Cause(Arc<dyn Error + Send + Sync>);

impl Deref for Cause {
    type Target = dyn Error + Send + Sync;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Cause {}

impl fmt::Debug for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}

/// What an error means for the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The tool failed; another attempt may succeed.
    Failed,
    /// The arguments do not fit the tool; the model has to write another call.
    Arguments,
    /// The text is the whole message, and another attempt would not help.
    Final,
}

/// What the message of a call whose tool failed begins with.
const FAILED: &str = "Tool execution failed: ";

impl ToolError {
    /// The tool failed for this reason. The call is tried again, if the tool allows it.
    #[must_use]
    pub fn new(why: impl Into<String>) -> Self {
        Self::of(ErrorKind::Failed, why.into())
    }

    /// The tool cannot be called with these arguments. The call is not tried again.
    #[must_use]
    pub fn invalid_arguments(why: impl Into<String>) -> Self {
        Self::of(ErrorKind::Arguments, why.into())
    }

    /// A failure that the tool reports in its own words: the model reads just this text. The call is not tried again.
    #[must_use]
    pub fn reported(message: impl Into<String>) -> Self {
        Self::of(ErrorKind::Final, message.into())
    }

    /// The same error, with what made the tool fail: [`ToolExecution::cause`](super::ToolExecution::cause).
    #[must_use]
    pub fn with_cause(mut self, cause: impl Error + Send + Sync + 'static) -> Self {
        self.cause = Some(Cause(Arc::new(cause)));
        self
    }

    /// What the tool returned cannot be used. The call is not tried again: the tool has done its work.
    pub(crate) fn unusable(why: &str) -> Self {
        Self::of(ErrorKind::Final, format!("{FAILED}{why}"))
    }

    fn of(kind: ErrorKind, text: String) -> Self {
        Self { kind, text, cause: None }
    }

    /// The failure of a call of the tool with this name.
    pub(super) fn into_outcome(self, name: &str) -> CallOutcome {
        failure(&match self.kind {
            ErrorKind::Failed => format!("{FAILED}{}", self.text),
            ErrorKind::Arguments => format!("Invalid arguments for tool '{name}': {}", self.text),
            ErrorKind::Final => self.text,
        })
    }
}

// As this type does not implement `Error` itself, every type that does can be one.
impl<E: std::error::Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}

/// The failure with this message.
pub fn failure(message: &str) -> CallOutcome {
    CallOutcome::Failure { message: json_string(message.as_bytes()) }
}

/// The failure of a call whose tool panicked with this payload.
pub fn panicked(payload: &(dyn std::any::Any + Send)) -> CallOutcome {
    let text = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (None, Some(text)) => text.as_str(),
        (None, None) => "no message",
    };
    failure(&format!("{FAILED}panicked: {text}"))
}

/// A name as a message shows it.
pub fn shown_name(name_json: &str) -> String {
    String::from_utf8_lossy(unescaped(name_json.as_bytes()).as_bytes()).into_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[test]
    fn content_is_written_as_python_writes_it() {
        for (content, expected) in [
            (json!({"a": [1, 2.0, "é"]}), r#"{"a": [1, 2.0, "\u00e9"]}"#),
            (json!("text"), "\"text\""),
            (json!(false), "false"),
            (json!(12), "12"),
            (json!(-1.5e300), "-1.5e+300"),
        ] {
            let output = ToolOutput::of(&content).expect("it is JSON");
            assert_eq!(output.content.as_deref(), Some(expected));
        }
        assert_eq!(ToolOutput::of(&()), Ok(ToolOutput::empty()));
    }

    #[test]
    fn content_that_is_not_json_fails_the_call_for_good() {
        let error = ToolOutput::of(&BTreeMap::from([(vec![1], 2)])).expect_err("keys are text");
        assert_eq!(error.kind, ErrorKind::Final);
        let CallOutcome::Failure { message } = error.into_outcome("t") else { panic!("it failed") };
        assert!(message.starts_with("\"Tool execution failed: its content is not a JSON value: "));
    }

    #[test]
    fn an_outcome_is_shown_before_the_content() {
        let output = ToolOutput::of(&1).expect("it is JSON").with_outcome("one \"line\"");
        assert_eq!(
            output.into_outcome(),
            CallOutcome::Success { outcome: Some(r#""one \"line\"""#.into()), content: "1".into() }
        );
    }

    #[test]
    fn a_message_says_why_a_call_failed() {
        let wrong = "x".parse::<u8>().expect_err("it is not a number");
        for (error, expected) in [
            (ToolError::new("no \"é\""), r#""Tool execution failed: no \"\u00e9\"""#),
            (wrong.into(), r#""Tool execution failed: invalid digit found in string""#),
            (ToolError::invalid_arguments("no"), r#""Invalid arguments for tool 't': no""#),
            (ToolError::reported("no"), r#""no""#),
        ] {
            let expected = CallOutcome::Failure { message: expected.into() };
            assert_eq!(error.into_outcome("t"), expected);
        }
    }

    #[test]
    fn the_text_of_a_panic_is_in_its_message() {
        for (payload, text) in [
            (Box::new("a") as Box<dyn std::any::Any + Send>, "a"),
            (Box::new("b".to_owned()), "b"),
            (Box::new(1), "no message"),
        ] {
            let message = format!("\"Tool execution failed: panicked: {text}\"");
            assert_eq!(panicked(&*payload), CallOutcome::Failure { message });
        }
    }
}
