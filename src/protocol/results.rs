//! The results array: how the outcomes of a batch are shown to the model.
//!
//! One JSON array in call order, as `json.dumps` writes it. Every item names its `tool` and its `status`; a
//! success carries the tool's `outcome` and, where there is one, its `content`; a failure carries its message
//! as `content`.

/// One item of the array. All texts are JSON already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultItem {
    /// The tool's name, a JSON string.
    pub tool: String,
    /// How the call went.
    pub outcome: Outcome,
}

/// How a call went. All texts are JSON already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It returned.
    Success {
        /// One line that says what happened.
        outcome: String,
        /// The output, any JSON value; `None` when the tool gave none.
        content: Option<String>,
    },
    /// It did not.
    Failure {
        /// What went wrong.
        message: String,
    },
}

/// Writes the array.
#[must_use]
pub fn results_array(items: &[ResultItem]) -> String {
    let mut array = String::from("[");
    for (index, ResultItem { tool, outcome }) in items.iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        let (status, key, first) = match outcome {
            Outcome::Success { outcome, .. } => ("success", "outcome", outcome),
            Outcome::Failure { message } => ("failure", "content", message),
        };
        array.extend([
            separator,
            "{\"tool\": ",
            tool,
            ", \"status\": \"",
            status,
            "\", \"",
            key,
            "\": ",
            first,
        ]);
        if let Outcome::Success { content: Some(content), .. } = outcome {
            array.extend([", \"content\": ", content]);
        }
        array.push('}');
    }
    array.push(']');
    array
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(outcome: Outcome) -> ResultItem {
        ResultItem { tool: "\"t\"".into(), outcome }
    }

    #[test]
    fn items_carry_what_their_status_says() {
        let success = |content: Option<&str>| {
            item(Outcome::Success { outcome: "\"ok\"".into(), content: content.map(Into::into) })
        };
        assert_eq!(results_array(&[]), "[]");
        assert_eq!(
            results_array(&[
                success(Some("{\"n\": 0}")),
                success(None),
                item(Outcome::Failure { message: "\"no\"".into() })
            ]),
            "[{\"tool\": \"t\", \"status\": \"success\", \"outcome\": \"ok\", \"content\": {\"n\": 0}}, \
             {\"tool\": \"t\", \"status\": \"success\", \"outcome\": \"ok\"}, \
             {\"tool\": \"t\", \"status\": \"failure\", \"content\": \"no\"}]"
        );
    }
}
