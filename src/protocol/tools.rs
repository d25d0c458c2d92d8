//! The tools' schemas, which say of what type a raw value is.

use std::collections::HashMap;

use serde_json::Value;

/// The tools that a model may call, by their names.
#[derive(Clone, Debug, Default)]
pub struct Tools {
    parameters: HashMap<String, Value>,
}

impl Tools {
    /// Tools with the JSON Schema of their parameters.
    #[must_use]
    pub fn new(tools: impl IntoIterator<Item = (String, Value)>) -> Self {
        Self { parameters: tools.into_iter().collect() }
    }

    /// The JSON Schema of the tool's parameters.
    #[must_use]
    pub fn parameters(&self, tool: &str) -> Option<&Value> {
        self.parameters.get(tool)
    }
}
