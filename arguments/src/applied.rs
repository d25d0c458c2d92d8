//! How many subschemas apply to one value, and how many of them one inside the other.
//!
//! `allOf`, `$ref` and the like apply several subschemas to one value. Where references go to what has references itself, they
//! multiply: twenty definitions, each with two references to the next, apply a million subschemas. So they are counted when
//! the schema is read, each as often as it is reached. A chain of them that comes back to where it was would never end.

use std::collections::HashMap;

use serde_json::Value as Schema;

use super::references::References;

/// The most subschemas that may apply to one value; the largest unions of published schemas have a tenth of it.
const MOST: usize = 4_000;

/// The most of them that may be one inside the other.
const LONGEST: usize = 2_000;

/// What a check costs, whatever the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Looks that it costs to go to a part of a value: one, and more if many subschemas apply to it that ask nothing of it and so
    /// look at nothing.
    pub per_child: usize,
    /// How many subschemas are entered at one value, one inside the other, at most.
    pub chain: usize,
}

impl Cost {
    /// Of this schema.
    ///
    /// # Errors
    /// More subschemas apply to one value than a check can go through.
    ///
    /// # Complexity
    /// O(schema)
    pub fn of(schema: &Schema) -> Result<Self, String> {
        let references = References::of(schema);
        let mut counter = Counter { references, known: HashMap::new(), idle: 0, chain: 0 };
        counter.visit(schema)?;
        Ok(Self { per_child: 1 + counter.idle / 4, chain: counter.chain })
    }
}

/// The subschemas that apply to a value.
#[derive(Clone, Copy)]
struct Applied {
    all: usize,
    /// Those that look at the value.
    asking: usize,
    /// How many are one inside the other.
    chain: usize,
}

struct Counter<'a> {
    references: References<'a>,
    /// `None` of those that are being counted.
    known: HashMap<*const Schema, Option<Applied>>,
    /// The most that ask nothing, beyond three for each that does.
    idle: usize,
    /// The longest chain.
    chain: usize,
}

impl<'a> Counter<'a> {
    /// Counts at every place of a schema, which is not nested deeply itself.
    fn visit(&mut self, schema: &'a Schema) -> Result<(), String> {
        if schema.is_object() {
            let Applied { all, asking, chain } = self.applied(schema, 1)?;
            self.idle = self.idle.max(all.saturating_sub(4 * asking));
            self.chain = self.chain.max(chain);
        }
        match schema {
            Schema::Object(members) => members.values().try_for_each(|member| self.visit(member)),
            Schema::Array(items) => items.iter().try_for_each(|item| self.visit(item)),
            _ => Ok(()),
        }
    }

    /// Counts from a place that is the last of a chain of this length.
    fn applied(&mut self, schema: &'a Schema, length: usize) -> Result<Applied, String> {
        let mut applied = Applied { all: 1, asking: 0, chain: 1 };
        let Schema::Object(keywords) = schema else { return Ok(applied) };
        let place = std::ptr::from_ref(schema);
        match self.known.get(&place) {
            Some(Some(known)) => return Ok(*known),
            Some(None) => {
                return Err("its references go in a circle that asks for the same value".into());
            }
            None if length > LONGEST => {
                return Err(format!("more than {LONGEST} references follow each other"));
            }
            None => {}
        }
        self.known.insert(place, None);
        for (keyword, value) in keywords {
            let next: Vec<&Schema> = match (keyword.as_str(), value) {
                ("allOf" | "anyOf" | "oneOf", Schema::Array(all)) => all.iter().collect(),
                ("dependentSchemas" | "dependencies", Schema::Object(all)) => {
                    all.values().collect()
                }
                ("not" | "if" | "then" | "else", schema) => vec![schema],
                ("$ref" | "$dynamicRef" | "$recursiveRef", Schema::String(to)) => {
                    self.references.targets(schema, to)
                }
                ("type" | "enum" | "const", _) => {
                    applied.asking = 1;
                    continue;
                }
                _ => continue,
            };
            for schema in next {
                let more = self.applied(schema, length + 1)?;
                applied.all += more.all;
                applied.asking += more.asking;
                applied.chain = applied.chain.max(more.chain + 1);
                if applied.all > MOST {
                    return Err(format!(
                        "its references multiply: more than {MOST} subschemas apply to one value"
                    ));
                }
            }
        }
        self.known.insert(place, Some(applied));
        Ok(applied)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn doubled(keyword: &str, levels: usize, to: &str) -> Schema {
        let mut all: serde_json::Map<_, _> = (0..levels)
            .map(|n| {
                let next = json!({"$ref": format!("#{to}{}", n + 1)});
                (format!("d{n}"), json!({"$anchor": format!("d{n}"), keyword: [next, next]}))
            })
            .collect();
        all.insert(format!("d{levels}"), json!({"$anchor": format!("d{levels}")}));
        json!({"properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": all})
    }

    #[test]
    fn references_that_multiply_are_counted_and_refused() {
        for keyword in ["allOf", "anyOf", "oneOf"] {
            for to in ["/$defs/d", "/%24defs/d", "d"] {
                assert!(Cost::of(&doubled(keyword, 6, to)).is_ok());
                for levels in [12, 24, 900] {
                    let problem = Cost::of(&doubled(keyword, levels, to)).unwrap_err();
                    assert!(problem.starts_with("its references multiply"), "{problem}");
                }
            }
        }
    }

    #[test]
    fn a_circle_at_one_value_is_refused_and_one_through_its_parts_is_not() {
        let circle = |size: usize| {
            let of = |n| json!([{"$ref": format!("#/$defs/d{}", (n + 1) % size)}, {}]);
            let defs: serde_json::Map<_, _> =
                (0..size).map(|n| (format!("d{n}"), json!({"allOf": of(n)}))).collect();
            json!({"properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs})
        };
        let to_itself =
            |keyword: &str, of: Schema| json!({"$ref": "#/$defs/a", "$defs": {"a": {keyword: of}}});
        let a = || json!({"$ref": "#/$defs/a"});
        let circles = [
            circle(1),
            circle(4),
            circle(300),
            json!({"$ref": "#"}),
            to_itself("not", a()),
            to_itself("if", a()),
            to_itself("dependentSchemas", json!({"x": a()})),
            json!({"$dynamicAnchor": "x", "anyOf": [{"$dynamicRef": "#x"}]}),
        ];
        for schema in circles {
            let problem = Cost::of(&schema).unwrap_err();
            assert!(problem.contains("circle"), "{problem:.200} {schema:.200}");
        }
        let resources = [
            json!({"$id": "https://a.example/v1/item", "allOf": [{"$ref": "https://a.example/v2/item"}],
                "$defs": {"o": {"$id": "https://a.example/v2/item", "type": "object"}}}),
            json!({"$defs": {
                "base": {"$ref": "b"},
                "b": {"$id": "b", "$ref": "#/$defs/base", "$defs": {"base": {"type": "object"}}},
            }}),
        ];
        for schema in resources {
            assert_eq!(Cost::of(&schema).map(|cost| cost.per_child), Ok(1), "{schema}");
        }
        for keyword in ["items", "additionalProperties", "contains", "propertyNames"] {
            assert!(Cost::of(&to_itself(keyword, a())).is_ok());
        }
        let node = json!({"$dynamicAnchor": "n", "items": {"$dynamicRef": "#n"}, "anyOf": [{"items": {"$ref": "#"}}, {}]});
        assert!(Cost::of(&node).is_ok());
    }

    #[test]
    fn a_chain_is_as_long_as_it_is_entered() {
        let chain = |length: usize| {
            let mut all: serde_json::Map<_, _> = (0..length)
                .map(|n| (format!("d{n}"), json!({"$ref": format!("#/$defs/d{}", n + 1)})))
                .collect();
            all.insert(format!("d{length}"), json!({"items": {"$ref": "#/$defs/d0"}}));
            json!({"$ref": "#/$defs/d0", "$defs": all})
        };
        let longest = |schema: &Schema| Cost::of(schema).map(|cost| cost.chain);
        assert_eq!(longest(&json!({"type": "object", "properties": {"x": {}}})), Ok(1));
        assert_eq!(longest(&json!({"anyOf": [{"not": {}}, {}]})), Ok(3));
        assert_eq!(longest(&chain(118)), Ok(120));
        assert!(longest(&chain(100_000)).is_err());
    }

    #[test]
    fn what_a_value_has_in_it_does_not_multiply() {
        let per_child = |schema: &Schema| Cost::of(schema).map(|cost| cost.per_child);
        assert_eq!(per_child(&doubled("prefixItems", 1000, "/$defs/d")), Ok(1));
        let many: Vec<_> = (0..1000).map(|n| json!({"$ref": format!("#/$defs/{n}")})).collect();
        let all: serde_json::Map<_, _> =
            (0..1000).map(|n| (n.to_string(), json!({"const": n}))).collect();
        assert_eq!(per_child(&json!({"anyOf": many, "$defs": all})), Ok(1));
        let idle: Vec<_> = (0..1000).map(|_| json!({})).collect();
        assert!(per_child(&json!({"allOf": idle})).is_ok_and(|looks| looks > 200));
    }
}
