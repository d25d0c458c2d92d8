//! How often a schema asks for one value.
//!
//! `allOf`, `$ref` and the like apply several subschemas to one value. Where references go to what has references itself, they
//! multiply: twenty definitions, each with two references to the next, apply a million subschemas. So they are counted when
//! the schema is read, each as often as it is reached.

use std::collections::{HashMap, HashSet};

use serde_json::Value as Schema;

use super::references::References;

/// The most subschemas that may apply to one value; the largest unions of published schemas have a tenth of it.
const MOST: usize = 4_000;

/// The most steps that it may take to count them: a schema without circles takes one for each of its parts.
const MOST_STEPS: usize = 1_000_000;

/// Looks that it costs to go to a part of a value: one, and more if many subschemas apply to it that ask nothing of it and so
/// look at nothing.
///
/// # Errors
/// More subschemas apply to one value than a check can go through.
pub fn per_child(schema: &Schema) -> Result<usize, String> {
    let references = References::of(schema);
    let mut counter = Counter {
        references,
        known: HashMap::new(),
        entered: HashSet::new(),
        steps: 0,
        most: None,
        idle: 0,
    };
    counter.visit(schema);
    match counter.most {
        Some(()) => {
            Err(format!("its references multiply: more than {MOST} subschemas apply to one value"))
        }
        None => Ok(1 + counter.idle / 4),
    }
}

/// How many subschemas apply to a value.
#[derive(Clone, Copy, Default)]
struct Applied {
    all: usize,
    /// Those that look at the value.
    asking: usize,
    /// Whether a chain came back to where it was, so that the number is another one elsewhere.
    is_circle: bool,
}

struct Counter<'a> {
    references: References<'a>,
    known: HashMap<*const Schema, Applied>,
    entered: HashSet<*const Schema>,
    steps: usize,
    /// Whether there are more than [`MOST`] anywhere.
    most: Option<()>,
    /// The most that ask nothing, beyond three for each that does.
    idle: usize,
}

impl<'a> Counter<'a> {
    /// Counts at every place of a schema, which is not nested deeply itself.
    fn visit(&mut self, schema: &'a Schema) {
        if self.most.is_some() {
            return;
        }
        if schema.is_object() {
            let Applied { all, asking, .. } = self.applied(schema);
            self.idle = self.idle.max(all.saturating_sub(4 * asking));
        }
        match schema {
            Schema::Object(members) => members.values().for_each(|member| self.visit(member)),
            Schema::Array(items) => items.iter().for_each(|item| self.visit(item)),
            _ => {}
        }
    }

    fn applied(&mut self, schema: &'a Schema) -> Applied {
        let Schema::Object(keywords) = schema else {
            return Applied { all: 1, ..Applied::default() };
        };
        let place = std::ptr::from_ref(schema);
        if let Some(known) = self.known.get(&place) {
            return *known;
        }
        self.steps += 1;
        if self.steps > MOST_STEPS {
            self.most = Some(());
        }
        if self.most.is_some() || !self.entered.insert(place) {
            return Applied { all: 1, asking: 0, is_circle: true };
        }
        let mut applied = Applied { all: 1, ..Applied::default() };
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
                ("type" | "enum" | "const", _) => {
                    applied.asking = 1;
                    continue;
                }
                _ => continue,
            };
            for schema in next {
                let more = self.applied(schema);
                applied.all += more.all;
                applied.asking += more.asking;
                applied.is_circle |= more.is_circle;
                if applied.all > MOST {
                    self.most = Some(());
                    break;
                }
            }
        }
        self.entered.remove(&place);
        if !applied.is_circle {
            self.known.insert(place, applied);
        }
        applied
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
                assert!(per_child(&doubled(keyword, 6, to)).is_ok());
                for levels in [12, 24, 1000] {
                    let problem = per_child(&doubled(keyword, levels, to)).unwrap_err();
                    assert!(problem.starts_with("its references multiply"), "{problem}");
                }
            }
        }
    }

    #[test]
    fn references_in_a_circle_are_counted_in_every_order() {
        let circle = |size: usize| {
            let all = |n| (0..size).filter(move |to| *to != n);
            let of =
                |n| all(n).map(|to| json!({"$ref": format!("#/$defs/d{to}")})).collect::<Vec<_>>();
            let defs: serde_json::Map<_, _> =
                (0..size).map(|n| (format!("d{n}"), json!({"allOf": of(n)}))).collect();
            json!({"$ref": "#/$defs/d0", "$defs": defs})
        };
        assert!(per_child(&circle(4)).is_ok());
        assert!(per_child(&circle(12)).is_err());
    }

    #[test]
    fn what_a_value_has_in_it_does_not_multiply() {
        assert_eq!(per_child(&doubled("prefixItems", 1000, "/$defs/d")), Ok(1));
        assert_eq!(per_child(&json!({"$ref": "#"})), Ok(1));
        let many: Vec<_> = (0..1000).map(|n| json!({"$ref": format!("#/$defs/{n}")})).collect();
        let all: serde_json::Map<_, _> =
            (0..1000).map(|n| (n.to_string(), json!({"const": n}))).collect();
        assert_eq!(per_child(&json!({"anyOf": many, "$defs": all})), Ok(1));
        let idle: Vec<_> = (0..1000).map(|_| json!({})).collect();
        assert!(per_child(&json!({"allOf": idle})).is_ok_and(|looks| looks > 200));
    }
}
