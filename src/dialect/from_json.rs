//! Reads a dialect from JSON, with errors that say where.
//!
//! With `serde_json`'s own deserializer, the derived code would also read structs from arrays, and be compiled once for
//! each field. This one offers only what a dialect is written with, which saves 41 KB in the wheel.

use std::fmt::{self, Display};
use std::vec;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::{Value, map};

use super::Dialect;

impl Dialect {
    /// The dialect that `fields` describes, as its `Serialize` writes it.
    ///
    /// # Errors
    /// `fields` describes none, or one that [cannot be read](Self::check): says where, and why.
    pub fn from_json(fields: Value) -> Result<Self, String> {
        let dialect = Self::deserialize(Field(fields)).map_err(|fault| fault.to_string())?;
        dialect.check().map(|()| dialect)
    }
}

/// A value that is read by the one method that serde's code for its type calls.
///
/// None of the methods is inlined: there is one copy for each type, and not one for each field of it.
struct Field(Value);

impl Field {
    fn fault(&self, expected: &dyn Expected) -> Fault {
        let found = match &self.0 {
            Value::Null => Unexpected::Other("null"),
            Value::Bool(value) => Unexpected::Bool(*value),
            Value::Number(_) => Unexpected::Other("number"),
            Value::String(value) => Unexpected::Str(value),
            Value::Array(_) => Unexpected::Other("array"),
            Value::Object(_) => Unexpected::Other("object"),
        };
        Fault::invalid_type(found, expected)
    }
}

impl<'de> Deserializer<'de> for Field {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        Err(self.fault(&visitor))
    }

    #[inline(never)]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Value::Bool(value) => visitor.visit_bool(value),
            _ => Err(self.fault(&visitor)),
        }
    }

    #[inline(never)]
    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0.as_u64() {
            Some(value) => visitor.visit_u64(value),
            None => Err(self.fault(&visitor)),
        }
    }

    #[inline(never)]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Value::String(value) => visitor.visit_string(value),
            _ => Err(self.fault(&visitor)),
        }
    }

    #[inline(never)]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    #[inline(never)]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Value::Array(items) => visitor.visit_seq(Items { items: items.into_iter(), next: 0 }),
            _ => Err(self.fault(&visitor)),
        }
    }

    #[inline(never)]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.0 {
            Value::Object(members) => {
                visitor.visit_map(Members { members: members.into_iter(), read: None })
            }
            _ => Err(self.fault(&format!("an object with {}", fields.join(", ")).as_str())),
        }
    }

    #[inline(never)]
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let (name, value) = match self.0 {
            Value::String(name) => (name, None),
            Value::Object(members) if members.len() == 1 => {
                let (name, value) = members.into_iter().next().expect("its length is one");
                (name, Some(value))
            }
            _ => return Err(self.fault(&"a name, or an object with one name as its key")),
        };
        visitor.visit_enum(Variant { name, value })
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u128 f32 f64 char str bytes byte_buf unit unit_struct newtype_struct tuple
        tuple_struct map identifier ignored_any
    }
}

/// The items of an array.
struct Items {
    items: vec::IntoIter<Value>,
    next: usize,
}

impl<'de> SeqAccess<'de> for Items {
    type Error = Fault;

    #[inline(never)]
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        let Some(item) = self.items.next() else { return Ok(None) };
        let index = self.next;
        self.next += 1;
        seed.deserialize(Field(item)).map(Some).map_err(|fault| fault.inside(&format!("[{index}]")))
    }
}

/// The members of an object, and the one whose key has been read.
struct Members {
    members: map::IntoIter,
    read: Option<(String, Value)>,
}

impl<'de> MapAccess<'de> for Members {
    type Error = Fault;

    #[inline(never)]
    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        self.read = self.members.next();
        let Some((key, _)) = &self.read else { return Ok(None) };
        seed.deserialize(key.as_str().into_deserializer()).map(Some)
    }

    #[inline(never)]
    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Fault> {
        let (key, value) = self.read.take().expect("serde reads a value after its key");
        seed.deserialize(Field(value)).map_err(|fault| fault.inside(&format!(".{key}")))
    }
}

/// A variant of an enum: a name, or an object whose only key is the name.
struct Variant {
    name: String,
    value: Option<Value>,
}

impl<'de> EnumAccess<'de> for Variant {
    type Error = Fault;
    type Variant = Self;

    #[inline(never)]
    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), Fault> {
        let name: StrDeserializer<'_, Fault> = self.name.as_str().into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        match self.value {
            None => Ok(()),
            Some(value) => {
                Err(Field(value).fault(&"the name alone").inside(&format!(".{}", self.name)))
            }
        }
    }

    #[inline(never)]
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        let value = self.value.unwrap_or_default();
        seed.deserialize(Field(value)).map_err(|fault| fault.inside(&format!(".{}", self.name)))
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Fault> {
        let read = match self.value {
            Some(Value::Array(items)) if items.len() == length => {
                visitor.visit_seq(Items { items: items.into_iter(), next: 0 })
            }
            other => {
                let wanted = format!("an array of {length}");
                Err(Field(other.unwrap_or_default()).fault(&wanted.as_str()))
            }
        };
        read.map_err(|fault| fault.inside(&format!(".{}", self.name)))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        Err(Field(self.value.unwrap_or_default()).fault(&visitor))
    }
}

/// What is wrong, and where: `bodies[0].json.shape: …`.
#[derive(Debug)]
struct Fault {
    place: String,
    reason: String,
}

impl Fault {
    /// The same, seen from what holds it.
    fn inside(mut self, place: &str) -> Self {
        self.place.insert_str(0, place);
        self
    }
}

impl Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.strip_prefix('.') {
            Some(place) => write!(out, "{place}: {}", self.reason),
            None => out.write_str(&self.reason),
        }
    }
}

impl std::error::Error for Fault {}

impl Error for Fault {
    fn custom<T: Display>(reason: T) -> Self {
        Self { place: String::new(), reason: reason.to_string() }
    }

    // Serde's own words name types of this crate, which a reader of the error does not have.
    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = match expected.to_string().as_str() {
            "a sequence" => "an array".into(),
            words => words.to_owned(),
        };
        Self::custom(format!("must be {expected}, got {found}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::dialect::presets;

    /// hermes, with `value` at `place`.
    fn hermes_with(place: &str, value: Value) -> Value {
        let hermes = presets::preset("hermes").expect("a preset");
        let mut fields = serde_json::to_value(&*hermes).expect("it can be written");
        match fields.pointer_mut(place) {
            Some(old) => *old = value,
            None => {
                let (object, key) = place.rsplit_once('/').expect("a pointer");
                fields.pointer_mut(object).expect("an object")[key] = value;
            }
        }
        fields
    }

    #[test]
    fn a_fault_says_where_it_is_and_why() {
        let cases = [
            ("/open", json!("<call>"), "open: must be an array, got string \"<call>\""),
            ("/open/0", json!(7), "open[0]: must be a string, got number"),
            ("/at_line_start", json!(null), "at_line_start: must be a boolean, got null"),
            (
                "/reasoning/0",
                json!(["<t>", "</t>"]),
                "reasoning[0]: must be an object with open, close, got array",
            ),
            ("/reasoning/0", json!({"open": "<t>"}), "reasoning[0]: missing field `close`"),
            (
                "/heads",
                json!(false),
                "heads: must be an object with open, channel, recipient, end, close, reasoning, answer, prefix, names_call, got boolean `false`",
            ),
            (
                "/bodies/0",
                json!("json"),
                "bodies[0].json: must be an object with shape, name, args, args_optional, empty_names, args_as_text, skips_others, id, server, decision, got null",
            ),
            (
                "/bodies/0",
                json!([]),
                "bodies[0]: must be a name, or an object with one name as its key, got array",
            ),
            (
                "/bodies/0/json/shape",
                json!({"array": 1}),
                "bodies[0].json.shape.array: must be the name alone, got number",
            ),
            (
                "/bodies/0/json/args_optional",
                json!("yes"),
                "bodies[0].json.args_optional: must be a boolean, got string \"yes\"",
            ),
            ("/name", json!(""), "name: must not be empty"),
        ];
        for (place, value, message) in cases {
            let read = Dialect::from_json(hermes_with(place, value));
            assert_eq!(read.unwrap_err(), message, "{place}");
        }
    }

    #[test]
    fn a_field_or_a_variant_that_does_not_exist_is_named_with_those_that_do() {
        let cases = [
            ("/opens", "unknown field `opens`, expected one of `name`, `models`, "),
            ("/prompt/results/colour", "prompt.results: unknown field `colour`, expected "),
            (
                "/unmarked",
                "unmarked: unknown variant `opens`, expected one of `never`, `at_start`, `anywhere`",
            ),
            (
                "/bodies/0",
                "bodies[0]: unknown variant `opens`, expected one of `json`, `head`, `python`, `xml`",
            ),
        ];
        for (place, message) in cases {
            let fault = Dialect::from_json(hermes_with(place, json!("opens"))).unwrap_err();
            assert!(fault.starts_with(message), "{place}: {fault}");
        }
    }
}
