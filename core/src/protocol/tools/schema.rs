//! What a JSON Schema says of one value.

use super::Types;
use super::document::{LOOKS, Part, PartId, SchemaDocument};

/// How many alternatives of a schema are read; the others are passed over.
const ALTERNATIVES: usize = 8;

/// The parts of a JSON Schema that give the type of a value and describe the parts of the value.
///
/// A part may be described in several places, for example under `anyOf`; all of them count.
#[derive(Clone, Copy, Debug)]
pub struct Schema<'a> {
    document: &'a SchemaDocument,
    place: SchemaPlace,
}

/// Which parts of a document a [`Schema`] is: what a reader keeps that cannot borrow the document.
#[derive(Clone, Copy, Debug)]
pub struct SchemaPlace([Option<PartId>; ALTERNATIVES]);

impl SchemaDocument {
    /// The whole schema.
    #[must_use]
    pub fn root(&self) -> Schema<'_> {
        let mut parts = [None; ALTERNATIVES];
        parts[0] = Some(Self::whole());
        Schema { document: self, place: SchemaPlace(parts) }
    }
}

impl<'a> Schema<'a> {
    /// Which parts of the document these are.
    #[must_use]
    pub fn place(self) -> SchemaPlace {
        self.place
    }

    /// What the same document says at another place of it.
    #[must_use]
    pub fn at(self, place: SchemaPlace) -> Self {
        Self { place, ..self }
    }

    /// Another part of the same document: the one that these describe.
    fn described(self, described: impl IntoIterator<Item = PartId>) -> Option<Self> {
        let mut parts = [None; ALTERNATIVES];
        for (slot, part) in parts.iter_mut().zip(described) {
            *slot = Some(part);
        }
        parts[0].map(|_| self.at(SchemaPlace(parts)))
    }

    /// The types that a value may have.
    #[must_use]
    pub fn types(self) -> Types {
        let said = self.parts().filter_map(|part| self.document.part(part).types);
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
        let mut names =
            everywhere.iter().flat_map(|part| self.document.part(*part).properties.keys());
        names.next().filter(|_| names.next().is_none()).map(AsRef::as_ref)
    }

    /// The schema of this property, if it is declared by its name.
    #[must_use]
    pub fn declared(self, key: &str) -> Option<Self> {
        let everywhere = self.everywhere();
        let declared =
            everywhere.iter().filter_map(|part| self.document.part(*part).properties.get(key));
        self.described(declared.copied())
    }

    fn undeclared(self, key: &str) -> Option<Self> {
        let everywhere = self.everywhere();
        let patterns = everywhere.iter().flat_map(|part| &self.document.part(*part).patterns);
        let matching = patterns.filter(|(pattern, _)| pattern.is_match(key)).map(|(_, part)| *part);
        let other = everywhere.iter().filter_map(|part| self.document.part(*part).other_properties);
        self.described(matching).or_else(|| self.described(other))
    }

    /// The schema of an array's items.
    #[must_use]
    pub fn items(self) -> Option<Self> {
        let everywhere = self.everywhere();
        let parts = || everywhere.iter().map(|part| self.document.part(*part));
        let each = parts().flat_map(|part| &part.items);
        let first = parts().flat_map(|part| &part.first_items);
        self.described(each.copied()).or_else(|| self.described(first.copied()))
    }

    /// Whether `text` is one of the strings that the value may be.
    #[must_use]
    pub fn lists(self, text: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(text) else {
            return false;
        };
        self.everywhere().iter().any(|part| self.document.part(*part).listed.contains(text))
    }

    /// Whether [`Schema::lists`] knows each string that the value may be; not if a schema does not tell.
    #[must_use]
    pub fn lists_each_string(self) -> bool {
        let parts = self.everywhere();
        let is_listed = |part: &Part| {
            let may_be_any = part.listed.is_empty() && part.same.is_empty();
            !may_be_any || part.types.is_some_and(|types| !types.has(Types::STRING))
        };
        parts.len() < LOOKS && parts.iter().all(|part| is_listed(self.document.part(*part)))
    }

    fn parts(self) -> impl Iterator<Item = PartId> {
        self.place.0.into_iter().flatten()
    }

    /// All schemas of the same value: by reference, as an alternative or in addition.
    fn everywhere(self) -> Vec<PartId> {
        let mut found: Vec<PartId> = self.parts().collect();
        let mut next = 0;
        while let Some(&part) = found.get(next) {
            next += 1;
            for &other in &self.document.part(part).same {
                if found.len() < LOOKS && !found.contains(&other) {
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

    use super::super::Tools;
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
        let document = SchemaDocument::new(&many);
        assert_eq!(document.root().types(), Types::default());
        assert!(document.root().property("x").is_none());
    }
}
