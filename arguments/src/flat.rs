//! cogency's flat schema, `{"arg": {"type": …, "required": …, "min": …}}`, as JSON Schema.

use serde_json::{Map, Number, Value as Schema, json};

/// A flat schema as JSON Schema. Whatever is malformed in it is left out.
pub fn translated(flat: &Map<String, Schema>) -> Schema {
    let fields = || flat.iter().filter_map(|(name, info)| Some((name, info.as_object()?)));
    let properties: Map<_, _> =
        fields().map(|(name, info)| (name.clone(), property(info))).collect();
    let required: Vec<_> = fields()
        .filter(|(_, info)| info.get("required") == Some(&Schema::Bool(true)))
        .map(|(name, _)| name)
        .collect();
    json!({"type": "object", "properties": properties, "required": required})
}

fn property(info: &Map<String, Schema>) -> Schema {
    let mut property = Map::new();
    let kinds = kinds(info.get("type"));
    if !kinds.is_empty() {
        property.insert("type".into(), kinds.into());
    }
    for (flat, keyword) in [("min", "minimum"), ("max", "maximum")] {
        if let Some(bound) = info.get(flat).filter(|bound| bound.is_number()) {
            property.insert(keyword.into(), bound.clone());
        }
    }
    for (flat, keywords) in
        [("min_length", ["minLength", "minItems"]), ("max_length", ["maxLength", "maxItems"])]
    {
        let Some(bound) = info.get(flat).and_then(Schema::as_f64) else { continue };
        let whole = if flat == "min_length" { bound.ceil() } else { bound.floor() };
        // A length below 0, or longer than any text, is not a bound.
        if (0.0..=9e15).contains(&whole) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
            let whole = Number::from(whole as u64);
            for keyword in keywords {
                property.insert(keyword.into(), whole.clone().into());
            }
        }
    }
    if let Some(default) = info.get("default") {
        property.insert("default".into(), default.clone());
    }
    property.into()
}

/// The types that a field names; none if it names none, or one that is not known.
///
/// `"string"` also stands for every type that the flat form has no word for, so it is not a type here.
fn kinds(kind: Option<&Schema>) -> Vec<&'static str> {
    let names = match kind {
        Some(Schema::Array(names)) => names.iter().collect(),
        Some(name) => vec![name],
        None => Vec::new(),
    };
    let kinds = names.into_iter().map(|name| match name.as_str()? {
        "null" => Some("null"),
        "boolean" | "bool" => Some("boolean"),
        "integer" | "int" => Some("integer"),
        "number" | "float" => Some("number"),
        "array" | "list" => Some("array"),
        "object" | "dict" => Some("object"),
        _ => None,
    });
    let mut kinds: Vec<_> = kinds.collect::<Option<_>>().unwrap_or_default();
    let mut seen = Vec::new();
    kinds.retain(|kind| {
        !seen.contains(kind) && {
            seen.push(*kind);
            true
        }
    });
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flat_schema_says_the_same_in_json_schema() {
        for (info, property) in [
            (
                json!({"type": "int", "min": 1, "max": 2.5}),
                json!({"type": ["integer"], "minimum": 1, "maximum": 2.5}),
            ),
            (json!({"type": "string", "min_length": 1}), json!({"minLength": 1, "minItems": 1})),
            (json!({"type": ["string", "null"]}), json!({})),
            (json!({"type": ["list", "null", "list"]}), json!({"type": ["array", "null"]})),
            (json!({"type": "what", "max_length": -1, "min": "1", "max": true}), json!({})),
            (
                json!({"min_length": 0.5, "max_length": 1.5}),
                json!({"minLength": 1, "minItems": 1, "maxLength": 1, "maxItems": 1}),
            ),
            (json!({"type": 7, "default": null}), json!({"default": null})),
        ] {
            let flat = json!({"x": info, "not": "a field"});
            assert_eq!(
                translated(flat.as_object().expect("an object")),
                json!({"type": "object", "properties": {"x": property}, "required": []}),
            );
        }
    }

    #[test]
    fn only_true_makes_a_field_required() {
        let flat = json!({"a": {"required": true}, "b": {"required": 1}, "c": {}});
        assert_eq!(translated(flat.as_object().expect("an object"))["required"], json!(["a"]));
    }
}
