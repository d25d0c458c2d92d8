//! What a schema's references go to, as far as the validator finds it in the schema itself.

use std::collections::HashMap;

use serde_json::Value as Schema;

/// The places of a schema that have a name.
pub struct References<'a> {
    root: &'a Schema,
    /// By `$anchor` and `$dynamicAnchor`.
    anchors: HashMap<&'a str, Vec<&'a Schema>>,
    /// By the last part of their `$id`.
    resources: HashMap<&'a str, Vec<&'a Schema>>,
    /// By the whole of it.
    ids: HashMap<&'a str, &'a Schema>,
    /// The resource that each object is in.
    homes: HashMap<*const Schema, &'a Schema>,
}

impl<'a> References<'a> {
    pub fn of(root: &'a Schema) -> Self {
        let mut found = Self {
            root,
            anchors: HashMap::new(),
            resources: HashMap::new(),
            ids: HashMap::new(),
            homes: HashMap::new(),
        };
        found.collect(root, root);
        found
    }

    fn collect(&mut self, schema: &'a Schema, home: &'a Schema) {
        match schema {
            Schema::Object(members) => {
                let is_resource =
                    matches!(members.get("$id"), Some(Schema::String(id)) if !id.starts_with('#'));
                let home = if is_resource { schema } else { home };
                self.homes.insert(schema, home);
                for (name, member) in members {
                    if let ("$anchor" | "$dynamicAnchor", Schema::String(anchor)) =
                        (name.as_str(), member)
                    {
                        self.anchors.entry(anchor).or_default().push(schema);
                    }
                    if let ("$id" | "id", Schema::String(id)) = (name.as_str(), member) {
                        self.resources.entry(last_part(id)).or_default().push(schema);
                        self.ids.entry(id.trim_end_matches('#')).or_insert(schema);
                        // Older drafts have anchors there.
                        if let Some((_, anchor)) = id.split_once('#') {
                            self.anchors.entry(anchor).or_default().push(schema);
                        }
                    }
                    self.collect(member, home);
                }
            }
            Schema::Array(items) => items.iter().for_each(|item| self.collect(item, home)),
            _ => {}
        }
    }

    /// What a reference in `from` may go to: more than one place, if that cannot be told from it.
    pub fn targets(&self, from: &Schema, to: &str) -> Vec<&'a Schema> {
        let (resource, fragment) = to.split_once('#').unwrap_or((to, ""));
        let fragment = decoded(fragment);
        let name = last_part(resource);
        if fragment.is_empty() && !name.is_empty() && !self.resources.contains_key(name) {
            return Vec::new(); // a schema of JSON Schema itself, or nothing that the validator finds
        }
        let home = self.homes.get(&std::ptr::from_ref(from)).filter(|_| resource.is_empty());
        if let Some(resource) = home.or_else(|| self.ids.get(resource))
            && (fragment.is_empty() || fragment.starts_with('/'))
            && let Some(found) = resource.pointer(&fragment)
        {
            return vec![found];
        }
        let resources: Vec<&Schema> = match self.resources.get(name) {
            Some(named) if !resource.is_empty() => named.clone(),
            _ => std::iter::once(self.root)
                .chain(
                    self.resources
                        .values()
                        .flatten()
                        .copied()
                        .filter(|each| !std::ptr::eq(*each, self.root)),
                )
                .collect(),
        };
        if fragment.is_empty() || fragment.starts_with('/') {
            // A reference without a resource goes to the one it is in, which is nearly always the whole schema.
            let mut found: Vec<_> =
                resources.iter().filter_map(|each| each.pointer(&fragment)).collect();
            found.truncate(if resource.is_empty() && fragment.is_empty() { 1 } else { MOST });
            return found;
        }
        self.anchors.get(fragment.as_str()).cloned().unwrap_or_default()
    }
}

/// Places that one reference is taken to go to.
const MOST: usize = 8;

fn last_part(id: &str) -> &str {
    let id = id.split('#').next().unwrap_or_default();
    id.rsplit(['/', ':']).next().unwrap_or_default()
}

/// A fragment without its percent signs: `/%24defs` is `/$defs`.
fn decoded(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, others @ ..] = rest {
        let hexadecimal = |digit: u8| char::from(digit).to_digit(16);
        let coded = match others {
            [high, low, ..] if *first == b'%' => hexadecimal(*high).zip(hexadecimal(*low)),
            _ => None,
        };
        match coded.and_then(|(high, low)| u8::try_from(high * 16 + low).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &others[2..];
            }
            None => {
                bytes.push(*first);
                rest = others;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_place_is_found_in_each_way_to_write_it() {
        let schema = json!({
            "$id": "http://x.example/root",
            "$defs": {"a b": {"$anchor": "here", "const": 1}, "c": {"$id": "other.json", "$defs": {"d": {"const": 1}}}},
        });
        let references = References::of(&schema);
        for to in [
            "#/$defs/a b",
            "#/%24defs/a%20b",
            "#here",
            "http://x.example/root#here",
            "http://x.example/root#/$defs/a b",
            "root#/$defs/a b",
            "other.json#/$defs/d",
            "#/$defs/d",
        ] {
            let found = references.targets(&schema, to);
            assert_eq!(found.iter().filter(|each| each["const"] == 1).count(), 1, "{to}");
        }
        assert_eq!(references.targets(&schema, "#"), [&schema]);
        assert!(references.targets(&schema, "#nowhere").is_empty());
        assert!(
            references.targets(&schema, "https://json-schema.org/draft/2020-12/schema").is_empty()
        );
        assert!(references.targets(&schema, "json-schema:///").contains(&&schema));
    }
}
