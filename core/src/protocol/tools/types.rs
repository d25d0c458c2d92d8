//! The types that a JSON Schema allows.

use std::borrow::Cow;

use serde_json::Value;

/// A set of JSON types; empty if nothing is known about the type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Types(u8);

impl Types {
    /// A string.
    pub const STRING: Self = Self(1);
    /// A number without a fraction.
    pub const INTEGER: Self = Self(1 << 1);
    /// Any number, so that it holds [`Types::INTEGER`] too.
    pub const NUMBER: Self = Self(1 << 2 | 1 << 1);
    /// `true` or `false`.
    pub const BOOLEAN: Self = Self(1 << 3);
    /// `null`.
    pub const NULL: Self = Self(1 << 4);
    /// An object.
    pub const OBJECT: Self = Self(1 << 5);
    /// An array.
    pub const ARRAY: Self = Self(1 << 6);

    const ALL: Self = Self((1 << 7) - 1);

    /// Whether nothing is known about the type.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it has all of these types.
    #[must_use]
    pub fn has(self, types: Self) -> bool {
        self.0 & types.0 == types.0
    }

    /// The types of both sets.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The types that are in both sets.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The types that are not in the other set.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The words of JSON Schema for these types.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        let all = [
            ("null", Self::NULL),
            ("boolean", Self::BOOLEAN),
            ("number", Self::NUMBER),
            ("integer", Self::INTEGER),
            ("string", Self::STRING),
            ("array", Self::ARRAY),
            ("object", Self::OBJECT),
        ];
        let is_number = self.has(Self::NUMBER);
        let has = move |types| self.has(types) && !(is_number && types == Self::INTEGER);
        all.into_iter().filter(move |(_, types)| has(*types)).map(|(word, _)| word)
    }

    /// The types that a word of the keyword `type` stands for, also in the words of other languages.
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "string" | "str" => Self::STRING,
            "integer" | "int" => Self::INTEGER,
            "number" | "float" => Self::NUMBER,
            "boolean" | "bool" => Self::BOOLEAN,
            "null" => Self::NULL,
            "object" | "dict" => Self::OBJECT,
            "array" | "list" => Self::ARRAY,
            _ => return None,
        })
    }

    /// The type of a value.
    #[must_use]
    pub fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.is_f64() => Self::NUMBER,
            Value::Number(_) => Self::INTEGER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }
}

/// The types that `schema` allows; `None` if it does not tell, or takes more looks than are left.
pub(super) fn of(root: &Value, schema: &Value, looks: &mut usize) -> Option<Types> {
    *looks = looks.checked_sub(1)?;
    let Value::Object(keywords) = schema else {
        return None;
    };
    let mut types = None;
    let mut allow = |said: Option<Types>| {
        types = match (types, said) {
            (Some(types), Some(said)) => Some(Types::and(types, said)),
            (types, said) => types.or(said),
        }
    };
    let mut looked = |schema| of(root, schema, looks);
    for (keyword, value) in keywords {
        match (&**keyword, value) {
            ("type", value) => {
                let named = written(value)?;
                let is_nullable = keywords.get("nullable") == Some(&Value::Bool(true));
                allow(Some(if is_nullable { named.or(Types::NULL) } else { named }));
            }
            ("const", value) => allow(Some(Types::of_value(value))),
            ("enum", Value::Array(values)) => {
                allow(values.iter().map(Types::of_value).reduce(Types::or));
            }
            ("$ref", reference) => allow(target(root, reference).and_then(&mut looked)),
            ("allOf", Value::Array(all)) => all.iter().for_each(|each| allow(looked(each))),
            ("anyOf" | "oneOf", Value::Array(any)) => {
                // A schema that names no types allows all of them.
                let said: Option<Vec<_>> = any.iter().map(&mut looked).collect();
                allow(said.and_then(|said| said.into_iter().reduce(Types::or)));
            }
            ("not", value) => {
                let refused = value.get("type").filter(|_| is_only_a_type(value)).and_then(written);
                allow(refused.map(|refused| Types::ALL.without(refused)));
            }
            _ => {}
        }
    }
    let by_its_parts = || {
        let parts = [("properties", Types::OBJECT), ("items", Types::ARRAY)];
        parts
            .into_iter()
            .find(|(keyword, _)| keywords.contains_key(*keyword))
            .map(|(_, types)| types)
    };
    types.or_else(by_its_parts)
}

fn is_only_a_type(schema: &Value) -> bool {
    schema.as_object().is_some_and(|keywords| keywords.len() == 1)
}

/// The types of the keyword `type`; `None` if one of its words is unknown.
#[must_use]
pub fn written(value: &Value) -> Option<Types> {
    match value {
        Value::String(name) => Types::named(name),
        Value::Array(names) => {
            let types: Option<Vec<_>> =
                names.iter().map(|name| name.as_str().and_then(Types::named)).collect();
            types?.into_iter().reduce(Types::or)
        }
        _ => None,
    }
}

/// The schema that a reference within the same schema refers to.
#[must_use]
pub fn target<'a>(root: &'a Value, reference: &Value) -> Option<&'a Value> {
    let pointer = reference.as_str()?.strip_prefix('#')?;
    root.pointer(&percent_decoded(pointer)?)
}

fn percent_decoded(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(text.into());
    }
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::SchemaDocument;
    use super::*;

    #[test]
    fn a_schema_allows_the_types_that_all_of_it_allows() {
        let (text, int, number) = (Types::STRING, Types::INTEGER, Types::NUMBER);
        let (boolean, null, nothing) = (Types::BOOLEAN, Types::NULL, Types::default());
        for (schema, expected) in [
            (json!(true), nothing),
            (json!({}), nothing),
            (json!({"type": "string"}), text),
            (json!({"type": ["integer", "null"]}), int.or(null)),
            (json!({"type": "dict"}), Types::OBJECT),
            (json!({"type": "any"}), nothing),
            (json!({"type": "string", "nullable": true}), text.or(null)),
            (json!({"enum": ["a", null, 1, 1.5]}), text.or(null).or(number)),
            (json!({"const": false}), boolean),
            (json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}), text.or(int)),
            (json!({"oneOf": [{"type": "number"}, {"enum": [null]}]}), number.or(null)),
            (json!({"anyOf": [{"type": "string"}, {}]}), nothing),
            (
                json!({"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
                Types::OBJECT,
            ),
            (json!({"allOf": [{"type": ["string", "integer"]}, {"type": "number"}]}), int),
            (json!({"allOf": [{"minimum": 1}, {"type": "integer"}]}), int),
            (
                json!({"not": {"type": "string"}}),
                number.or(boolean).or(null).or(Types::OBJECT).or(Types::ARRAY),
            ),
            (json!({"not": {"type": "string", "minLength": 3}}), nothing),
            (json!({"properties": {}}), Types::OBJECT),
            (json!({"items": {}}), Types::ARRAY),
            (json!({"$ref": "#/definitions/a~1b", "definitions": {"a/b": {"type": "null"}}}), null),
            (json!({"$ref": "#"}), nothing),
            (json!({"$ref": "other.json"}), nothing),
            (json!({"$ref": "#/%zz"}), nothing),
        ] {
            assert_eq!(SchemaDocument::new(&schema).root().types(), expected, "{schema}");
        }
        assert!(number.has(int) && !int.has(number));
    }
}
