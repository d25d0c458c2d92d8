//! The results array: how the outcomes of a batch are shown to the model.
//!
//! One JSON array in call order, as `json.dumps` writes it. Every item has a `tool`, a `status` and a `content`. The content of
//! a success is what the tool returned, or the outcome if it returned nothing. If there are both, and the outcome says more
//! than that the call succeeded, it is the member `outcome` before `content`. The content of a failure is its message.

use serde::Serialize;

use super::canonical::{canonical, json_string};

/// One item of the array. All texts are JSON already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultItem {
    /// The tool's name, a JSON string.
    pub tool: String,
    /// How the call went.
    pub outcome: CallOutcome,
}

/// How a call went. All texts are JSON already. The protocol knows no other status, so these are all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// It returned.
    Success {
        /// One line that says what happened, if it says more than the status and the content do.
        outcome: Option<String>,
        /// The output, any JSON value.
        content: String,
    },
    /// It failed.
    Failure {
        /// What went wrong.
        message: String,
    },
}

/// Outcomes that say nothing more than the content: the one that replaces a missing outcome, and an empty one.
const WORDLESS: [&str; 3] = ["\"Success\"", "\"\"", "null"];

impl CallOutcome {
    /// A call that returned this.
    ///
    /// # Errors
    /// `serde_json` cannot write it.
    pub fn returned(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        let json = serde_json::to_string(value)?;
        let content = canonical(json.as_bytes()).unwrap_or(json);
        Ok(Self::Success { outcome: None, content })
    }

    /// A call that failed, for the reason that this says.
    #[must_use]
    pub fn failed(message: &str) -> Self {
        Self::Failure { message: json_string(message.as_bytes()) }
    }

    /// The success of a tool with this `outcome`, and its `content` if it returned any, both JSON.
    #[doc(hidden)]
    #[must_use]
    pub fn success(outcome: String, content: Option<String>) -> Self {
        match content {
            None => Self::Success { outcome: None, content: outcome },
            Some(content) => {
                let outcome = Some(outcome).filter(|outcome| !WORDLESS.contains(&&**outcome));
                Self::Success { outcome, content }
            }
        }
    }
}

/// Writes the array.
#[must_use]
pub fn results_array(items: &[ResultItem]) -> String {
    let mut array = String::from("[");
    for (index, ResultItem { tool, outcome }) in items.iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        array.extend([separator, "{\"tool\": ", tool, ", \"status\": "]);
        let content = match outcome {
            CallOutcome::Success { outcome, content } => {
                array.push_str("\"success\"");
                if let Some(outcome) = outcome {
                    array.extend([", \"outcome\": ", outcome]);
                }
                content
            }
            CallOutcome::Failure { message } => {
                array.push_str("\"failure\"");
                message
            }
        };
        array.extend([", \"content\": ", content, "}"]);
    }
    array.push(']');
    array
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The array of one call of a tool `t`, without the brackets and the members that all items begin with.
    fn written(outcome: CallOutcome) -> String {
        let array = results_array(&[ResultItem { tool: "\"t\"".into(), outcome }]);
        array["[{\"tool\": \"t\", \"status\": ".len()..array.len() - "}]".len()].into()
    }

    #[test]
    fn every_item_has_a_content() {
        for (outcome, content, expected) in [
            ("\"ok\"", Some("{\"n\": 0}"), r#""success", "outcome": "ok", "content": {"n": 0}"#),
            ("\"ok\"", None, r#""success", "content": "ok""#),
            ("\"Success\"", Some("0"), r#""success", "content": 0"#),
            ("\"Success\"", None, r#""success", "content": "Success""#),
            ("\"\"", Some("0"), r#""success", "content": 0"#),
            ("\"\"", None, r#""success", "content": """#),
            ("null", Some("0"), r#""success", "content": 0"#),
            ("\"success\"", Some("0"), r#""success", "outcome": "success", "content": 0"#),
        ] {
            let outcome = CallOutcome::success(outcome.into(), content.map(Into::into));
            assert_eq!(written(outcome), expected);
        }
        let failure = CallOutcome::Failure { message: "\"Success\"".into() };
        assert_eq!(written(failure), r#""failure", "content": "Success""#);
    }

    #[test]
    fn items_are_in_call_order() {
        let item = |tool: &str, outcome| ResultItem { tool: tool.into(), outcome };
        assert_eq!(results_array(&[]), "[]");
        assert_eq!(
            results_array(&[
                item("\"a\"", CallOutcome::success("\"ok\"".into(), None)),
                item("\"b\"", CallOutcome::Failure { message: "\"no\"".into() }),
            ]),
            "[{\"tool\": \"a\", \"status\": \"success\", \"content\": \"ok\"}, \
             {\"tool\": \"b\", \"status\": \"failure\", \"content\": \"no\"}]"
        );
    }
}
