//! A JSON Schema, taken apart once: what each part of it says of a value and of the value's parts.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;
use std::sync::OnceLock;

use regex::Regex;
use serde_json::Value;

use super::types::{self, Types};

/// How many schemas are looked at for one question: references may form a circle.
pub(super) const LOOKS: usize = 64;

/// A JSON Schema of which parts are looked up while text is read.
///
/// ```
/// # use cogency_rs::protocol::tools::{SchemaDocument, Types};
/// let document = SchemaDocument::new(&serde_json::json!({"properties": {"count": {"type": "integer"}}}));
/// assert_eq!(document.root().property("count").unwrap().types(), Types::INTEGER);
/// ```
#[derive(Debug)]
pub struct SchemaDocument {
    /// The first is the whole schema.
    parts: Vec<Part>,
}

/// The place of a part in its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartId(NonZeroU32);

/// One schema of a document.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// `None` if it does not tell.
    pub types: Option<Types>,
    /// Schemas of the same value: by reference, as an alternative or in addition.
    pub same: Vec<PartId>,
    /// The strings that the value may be.
    pub listed: HashSet<Box<str>>,
    pub properties: HashMap<Box<str>, PartId>,
    pub patterns: Vec<(Pattern, PartId)>,
    pub other_properties: Option<PartId>,
    pub items: Vec<PartId>,
    pub first_items: Vec<PartId>,
}

/// A key of `patternProperties`. To compile it may take milliseconds, so that is done once, where it is first needed.
#[derive(Debug)]
pub(super) struct Pattern {
    source: Box<str>,
    /// `None` is one that cannot be compiled.
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// Whether a property matches. A pattern that takes more than linear time matches none.
    pub fn is_match(&self, key: &str) -> bool {
        let compile = || {
            let pattern = jsonschema_regex::to_rust_regex(&self.source).ok()?;
            Regex::new(&pattern).ok()
        };
        self.compiled.get_or_init(compile).as_ref().is_some_and(|regex| regex.is_match(key))
    }
}

impl SchemaDocument {
    /// The document with this schema as its root, to which its references refer.
    ///
    /// # Complexity
    /// O(`root`)
    #[must_use]
    pub fn new(root: &Value) -> Self {
        let mut reading = Reading { found: vec![root], known: HashMap::from([(address(root), 0)]) };
        let mut parts = Vec::new();
        while let Some(&value) = reading.found.get(parts.len()) {
            let part = reading.part(root, value);
            parts.push(part);
        }
        Self { parts }
    }

    /// The part that is the whole schema.
    pub(super) fn whole() -> PartId {
        PartId::new(0)
    }

    pub(super) fn part(&self, id: PartId) -> &Part {
        &self.parts[id.index()]
    }
}

impl PartId {
    fn new(index: usize) -> Self {
        // A document of four thousand million parts would not fit into memory.
        let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
        Self(number.unwrap_or(NonZeroU32::MAX))
    }

    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// The schemas that have been found in a document, in the order of their parts.
struct Reading<'a> {
    found: Vec<&'a Value>,
    known: HashMap<usize, usize>,
}

/// The same schema is found again by where it is.
fn address(schema: &Value) -> usize {
    std::ptr::from_ref(schema) as usize
}

impl<'a> Reading<'a> {
    fn id(&mut self, schema: &'a Value) -> PartId {
        let next = self.found.len();
        let index = *self.known.entry(address(schema)).or_insert(next);
        if index == next {
            self.found.push(schema);
        }
        PartId::new(index)
    }

    fn part(&mut self, root: &'a Value, schema: &'a Value) -> Part {
        let Value::Object(keywords) = schema else {
            return Part::default();
        };
        let object = |key| keywords.get(key).and_then(Value::as_object).into_iter().flatten();
        let array = |key| keywords.get(key).and_then(Value::as_array).into_iter().flatten();
        let reference = keywords.get("$ref").and_then(|reference| types::target(root, reference));
        let same = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(array);
        let listed = array("enum").chain(keywords.get("const"));
        let other = keywords.get("additionalProperties").filter(|schema| schema.is_object());
        let mut looks = LOOKS;
        let mut items = |key| {
            let items = match keywords.get(key) {
                Some(Value::Array(places)) => places.as_slice(),
                Some(items) => std::slice::from_ref(items),
                None => &[],
            };
            let items = items.iter().filter(|schema| schema.is_object());
            items.map(|schema| self.id(schema)).collect()
        };
        Part {
            items: items("items"),
            first_items: items("prefixItems"),
            types: types::of(root, schema, &mut looks),
            same: reference.into_iter().chain(same).map(|schema| self.id(schema)).collect(),
            listed: listed.filter_map(Value::as_str).map(Box::from).collect(),
            properties: object("properties")
                .map(|(name, schema)| (name.as_str().into(), self.id(schema)))
                .collect(),
            patterns: object("patternProperties")
                .map(|(source, schema)| {
                    let source = source.as_str().into();
                    (Pattern { source, compiled: OnceLock::new() }, self.id(schema))
                })
                .collect(),
            other_properties: other.map(|schema| self.id(schema)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_regular_expression_of_json_schema() {
        for (source, key, expected) in [
            ("^n_", "n_1", true),
            ("^n_", "x", false),
            ("(?=a)", "a", false),
            ("^\\p{L}+$", "é", true),
        ] {
            let pattern = Pattern { source: source.into(), compiled: OnceLock::new() };
            assert_eq!(pattern.is_match(key), expected, "{source} and {key}");
            assert_eq!(pattern.is_match(key), expected, "{source} and {key}, again");
        }
    }
}
