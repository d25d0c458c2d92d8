//! How deep a check goes, so that no schema and value together exhaust the stack.
//!
//! A check descends a level in the value only after the subschemas that apply to one place: through `$ref`, `allOf` and
//! the like. So its depth is at most that of the value times the longest chain of such keywords.

use std::collections::HashMap;

use serde_json::Value as Schema;

use super::references::References;
use super::value::Value;

/// The most subschemas that may be entered at once. A thread's stack holds several times as many.
const MOST_ENTERED: usize = 12_000;

/// Chains that are longer count as this long.
const LONGEST: usize = 2_000;

/// The most levels that a value may have for this schema; `None` if it may have any number.
pub fn most_levels(schema: &Schema) -> Option<usize> {
    let references = References::of(schema);
    let mut chains = Chains { references, known: HashMap::new(), longest: 1 };
    chains.visit(schema);
    (chains.longest > 1).then(|| MOST_ENTERED / chains.longest)
}

/// Whether a value has more levels than that.
pub fn is_deeper(value: &Value<'_>, levels: usize) -> bool {
    let Some(inner) = levels.checked_sub(1) else {
        return matches!(value, Value::Array(_) | Value::Object(_));
    };
    match value {
        Value::Array(items) => items.iter().any(|item| is_deeper(item, inner)),
        Value::Object(members) => members.iter().any(|(_, member)| is_deeper(member, inner)),
        _ => false,
    }
}

struct Chains<'a> {
    references: References<'a>,
    known: HashMap<*const Schema, usize>,
    longest: usize,
}

impl<'a> Chains<'a> {
    /// Measures the chains from every place in a schema, which is not nested deeply itself.
    fn visit(&mut self, schema: &'a Schema) {
        let length = self.length(schema, 0);
        self.longest = self.longest.max(length);
        match schema {
            Schema::Object(members) => members.values().for_each(|member| self.visit(member)),
            Schema::Array(items) => items.iter().for_each(|item| self.visit(item)),
            _ => {}
        }
    }

    fn length(&mut self, schema: &'a Schema, before: usize) -> usize {
        let Schema::Object(keywords) = schema else { return 1 };
        if before >= LONGEST {
            return 1;
        }
        if let Some(known) = self.known.get(&std::ptr::from_ref(schema)) {
            return *known;
        }
        self.known.insert(schema, 1); // a chain that comes back to itself ends here
        let mut longest = 0;
        for (keyword, value) in keywords {
            let next: Vec<&Schema> = match (keyword.as_str(), value) {
                ("allOf" | "anyOf" | "oneOf", Schema::Array(all)) => all.iter().collect(),
                ("dependentSchemas" | "dependencies", Schema::Object(all)) => {
                    all.values().collect()
                }
                ("not" | "if" | "then" | "else", schema) => vec![schema],
                ("$ref" | "$dynamicRef" | "$recursiveRef", Schema::String(to)) => {
                    self.references.targets(to)
                }
                _ => continue,
            };
            for schema in next {
                longest = longest.max(self.length(schema, before + 1));
            }
        }
        self.known.insert(schema, longest + 1);
        longest + 1
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_levels_are_fewer_the_longer_the_chain() {
        let chain = |length: usize| {
            let mut all: serde_json::Map<_, _> = (0..length)
                .map(|n| (format!("d{n}"), json!({"$ref": format!("#/$defs/d{}", n + 1)})))
                .collect();
            all.insert(format!("d{length}"), json!({"items": {"$ref": "#/$defs/d0"}}));
            json!({"$ref": "#/$defs/d0", "$defs": all})
        };
        assert_eq!(most_levels(&json!({"type": "object", "properties": {"x": {}}})), None);
        assert_eq!(most_levels(&json!({"anyOf": [{"not": {}}, {}]})), Some(4000));
        assert_eq!(most_levels(&json!({"$ref": "#"})), Some(6000));
        assert_eq!(most_levels(&chain(118)), Some(100));
        assert!(most_levels(&chain(100_000)).is_some_and(|levels| levels < 10));
    }

    #[test]
    fn levels_are_those_of_arrays_and_objects() {
        let nested = || Value::Array(vec![Value::Null, Value::Array(vec![])]);
        assert!(is_deeper(&nested(), 1) && !is_deeper(&nested(), 2));
        assert!(!is_deeper(&Value::Null, 0) && is_deeper(&nested(), 0));
    }
}
