//! The types that tools' schemas give to values, and raw text read as a value of its type.
//!
//! A model that writes `<count>5</count>` does not say whether that is a number or text; the tool's JSON Schema does.

mod document;
mod schema;
mod typed;
mod types;

use std::collections::HashMap;

use serde_json::Value;

use super::canonical::json_string;

pub use document::SchemaDocument;
pub use schema::{Schema, SchemaPlace};
pub use typed::{JsonReader, scalar, typed, typed_unless_text};
pub use types::{Types, target, written};

/// The tools that a model may call, by their names; a tool of a server also by [`name_on_server`](super::call::name_on_server).
#[derive(Debug, Default)]
pub struct Tools {
    /// The keys are canonical JSON, as the names of calls are.
    parameters: HashMap<String, SchemaDocument>,
}

impl Tools {
    /// Tools with the JSON Schema of their parameters.
    ///
    /// # Complexity
    /// O(schemas)
    #[must_use]
    pub fn new(tools: impl IntoIterator<Item = (String, Value)>) -> Self {
        let named = |(name, schema): (String, Value)| {
            (json_string(name.as_bytes()), SchemaDocument::new(&schema))
        };
        Self { parameters: tools.into_iter().map(named).collect() }
    }

    /// The schema of the arguments of a call with this name, a canonical JSON string.
    #[doc(hidden)]
    #[must_use]
    pub fn schema(&self, name_json: &str) -> Option<Schema<'_>> {
        Some(self.parameters.get(name_json)?.root())
    }
}
