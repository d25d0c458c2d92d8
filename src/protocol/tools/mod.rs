//! The types that tools' schemas give to values, and raw text read as a value of its type.
//!
//! A model that writes `<count>5</count>` does not say whether that is a number or text; the tool's JSON Schema does.

mod patterns;
mod raw;
mod types;

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::canonical::json_string;
use patterns::Patterns;

pub use raw::{Wholes, scalar, typed, typed_within};
pub use types::Types;

/// The tools that a model may call, by their names; a tool of a server also by [`name_on_server`](super::call::name_on_server).
#[derive(Clone, Debug, Default)]
pub struct Tools {
    /// The keys are canonical JSON, as the names of calls are.
    parameters: HashMap<String, Value>,
    patterns: Arc<Patterns>,
}

impl Tools {
    /// Tools with the JSON Schema of their parameters.
    #[must_use]
    pub fn new(tools: impl IntoIterator<Item = (String, Value)>) -> Self {
        let named = |(name, schema): (String, Value)| (json_string(name.as_bytes()), schema);
        Self { parameters: tools.into_iter().map(named).collect(), patterns: Arc::default() }
    }

    /// The schema of the arguments of a call with this name, a canonical JSON string.
    #[must_use]
    pub fn schema(&self, name_json: &str) -> Option<Schema<'_>> {
        let root = self.parameters.get(name_json)?;
        Some(Schema { patterns: Some(&self.patterns), ..Schema::new(root) })
    }
}

/// How many alternatives of a schema are read; the others are passed over.
const ALTERNATIVES: usize = 8;

/// How many schemas are looked at for one question: references may form a circle.
const LOOKS: usize = 64;

/// The part of a JSON Schema that gives the type of a value and describes the parts of the value.
///
/// A part may be described in several places, for example under `anyOf`; all of them count.
#[derive(Clone, Copy, Debug)]
pub struct Schema<'a> {
    root: &'a Value,
    nodes: [Option<&'a Value>; ALTERNATIVES],
    /// The compiled patterns of its tools; without them, each is compiled where it is needed.
    patterns: Option<&'a Patterns>,
}

impl<'a> Schema<'a> {
    /// The schema `root`, to which its references refer.
    #[must_use]
    pub fn new(root: &'a Value) -> Self {
        let mut nodes = [None; ALTERNATIVES];
        nodes[0] = Some(root);
        Self { root, nodes, patterns: None }
    }

    /// Another part of the same schema: the one that these describe.
    fn at(self, nodes: impl IntoIterator<Item = &'a Value>) -> Option<Self> {
        let mut schema = Self { nodes: [None; ALTERNATIVES], ..self };
        for (slot, node) in schema.nodes.iter_mut().zip(nodes) {
            *slot = Some(node);
        }
        schema.nodes[0].map(|_| schema)
    }

    /// The types that a value may have.
    #[must_use]
    pub fn types(self) -> Types {
        let mut looks = LOOKS;
        let said = self.nodes().filter_map(|node| types::of(self.root, node, &mut looks));
        said.reduce(Types::or).unwrap_or_default()
    }

    /// The schema of this property, declared by its name or not.
    #[must_use]
    pub fn property(self, key: &str) -> Option<Self> {
        self.declared(key).or_else(|| self.undeclared(key))
    }

    /// The name of the only property, if there is exactly one.
    #[must_use]
    pub fn only_property(self) -> Option<&'a str> {
        let everywhere = self.everywhere();
        let properties = everywhere.iter().filter_map(|node| node.get("properties")?.as_object());
        let mut names = properties.flat_map(|properties| properties.keys());
        names.next().filter(|_| names.next().is_none()).map(String::as_str)
    }

    /// The schema of this property, if it is declared by its name.
    #[must_use]
    pub fn declared(self, key: &str) -> Option<Self> {
        let everywhere = self.everywhere();
        let declared = everywhere.iter().filter_map(|node| node.get("properties")?.get(key));
        self.at(declared)
    }

    fn undeclared(self, key: &str) -> Option<Self> {
        let everywhere = self.everywhere();
        let patterns =
            everywhere.iter().filter_map(|node| node.get("patternProperties")?.as_object());
        let matching = patterns.flatten().filter(|(pattern, _)| self.is_match(pattern, key));
        let other = everywhere.iter().filter_map(|node| node.get("additionalProperties"));
        let other = other.filter(|schema| schema.is_object());
        self.at(matching.map(|(_, schema)| schema)).or_else(|| self.at(other))
    }

    fn is_match(self, pattern: &str, key: &str) -> bool {
        match self.patterns {
            Some(patterns) => patterns.is_match(pattern, key),
            None => Patterns::default().is_match(pattern, key),
        }
    }

    /// The schema of an array's items.
    #[must_use]
    pub fn items(self) -> Option<Self> {
        let everywhere = self.everywhere();
        let each = |key| {
            let said = everywhere.iter().filter_map(move |node| node.get(key));
            let said = said.flat_map(|items| match items {
                Value::Array(places) => places.as_slice(),
                items => std::slice::from_ref(items),
            });
            said.filter(|schema| schema.is_object())
        };
        self.at(each("items")).or_else(|| self.at(each("prefixItems")))
    }

    /// Whether `text` is one of the strings that the value may be.
    #[must_use]
    pub fn lists(self, text: &[u8]) -> bool {
        self.everywhere().iter().any(|node| {
            let listed = node.get("enum").and_then(Value::as_array).into_iter().flatten();
            listed
                .chain(node.get("const"))
                .any(|value| value.as_str().is_some_and(|listed| listed.as_bytes() == text))
        })
    }

    fn nodes(self) -> impl Iterator<Item = &'a Value> {
        self.nodes.into_iter().flatten()
    }

    /// All schemas of the same value: by reference, as an alternative or in addition.
    fn everywhere(self) -> Vec<&'a Value> {
        let mut found: Vec<&Value> = self.nodes().collect();
        let mut next = 0;
        while let Some(&node) = found.get(next) {
            next += 1;
            let target = node.get("$ref").and_then(|reference| types::target(self.root, reference));
            let lists = ["allOf", "anyOf", "oneOf"].into_iter();
            let members = lists.filter_map(|key| node.get(key)?.as_array()).flatten();
            for other in target.into_iter().chain(members) {
                if found.len() < LOOKS && !found.iter().any(|node| std::ptr::eq(*node, other)) {
                    found.push(other);
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_parts_of_a_schema_are_found_wherever_it_describes_them() {
        let schema = json!({
            "$defs": {
                "a b": {"type": "integer"},
                "Tree": {"type": "object", "properties": {
                    "label": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}
                }},
                "Loop": {"$ref": "#/$defs/Loop"},
            },
            "properties": {
                "plain": {"type": "string"},
                "encoded": {"$ref": "#/$defs/a%20b"},
                "tree": {"$ref": "#/$defs/Tree"},
                "either": {"anyOf": [
                    {"type": "array", "items": {"type": "integer"}},
                    {"type": "object", "properties": {"x": {"type": "number"}}},
                    {"type": "object", "properties": {"x": {"type": "null"}}},
                ]},
                "map": {"type": "object", "additionalProperties": {"type": "boolean"},
                        "patternProperties": {"^n_": {"type": "integer"}}},
                "loop": {"$ref": "#/$defs/Loop"},
                "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false},
                "whole": {"$ref": "#"},
                "nowhere": {"$ref": "#/$defs/None"},
            },
        });
        let tools = Tools::new([("é".to_owned(), schema)]);
        let root = tools.schema("\"\\u00e9\"").unwrap();
        // A path of properties, with "[]" for an array's items; and the types of the value there.
        for (path, expected) in [
            (&["plain"][..], Some(Types::STRING)),
            (&["encoded"], Some(Types::INTEGER)),
            (&["tree", "kids", "[]", "kids", "[]", "label"], Some(Types::STRING)),
            (&["tree", "label", "x"], None),
            (&["either"], Some(Types::ARRAY.or(Types::OBJECT))),
            (&["either", "[]"], Some(Types::INTEGER)),
            (&["either", "x"], Some(Types::NUMBER.or(Types::NULL))),
            (&["either", "y"], None),
            (&["map", "any"], Some(Types::BOOLEAN)),
            (&["map", "n_1"], Some(Types::INTEGER)),
            (&["loop"], Some(Types::default())),
            (&["loop", "x"], None),
            (&["pair", "[]"], Some(Types::STRING.or(Types::INTEGER))),
            (&["whole", "whole", "plain"], Some(Types::STRING)),
            (&["nowhere"], Some(Types::default())),
            (&["other"], None),
        ] {
            let part = path.iter().try_fold(root, |schema, key| match *key {
                "[]" => schema.items(),
                key => schema.property(key),
            });
            assert_eq!(part.map(Schema::types), expected, "{path:?}");
        }
        assert!(tools.schema("\"other\"").is_none());
    }

    #[test]
    fn a_schema_without_end_is_looked_at_up_to_a_limit() {
        let mut many = json!({"type": "string"});
        for _ in 0..100 {
            many = json!({"anyOf": [many.clone(), {"$ref": "#"}, {"allOf": [{"$ref": "#"}]}]});
        }
        assert_eq!(Schema::new(&many).types(), Types::default());
        assert!(Schema::new(&many).property("x").is_none());
    }
}
