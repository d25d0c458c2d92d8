//! JSON as arguments.

use serde_json::{Number, Value as Json};

use super::value::{BigInteger, Members, Value};

impl<'a> From<&'a Json> for Value<'a> {
    /// # Complexity
    /// O(value); text is borrowed.
    fn from(json: &'a Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Boolean(*value),
            Json::Number(number) => number_value(number),
            Json::String(text) => Self::String(Box::new(text.as_str())),
            Json::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            Json::Object(members) => Self::Object(Members::new(
                members.iter().map(|(name, member)| (name.clone(), Self::from(member))).collect(),
            )),
        }
    }
}

fn number_value<'a>(number: &Number) -> Value<'a> {
    let nearest = number.as_f64().unwrap_or(f64::NAN);
    match number.as_i64() {
        Some(integer) => Value::Integer(integer),
        None if number.is_u64() => {
            Value::BigInteger(BigInteger { text: number.to_string(), nearest })
        }
        None => Value::Float(nearest),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{ArgumentSchema, SchemaForm};

    #[test]
    fn each_kind_of_value_is_told_from_the_others() {
        let values = [
            ("null", json!(null)),
            ("boolean", json!(true)),
            ("integer", json!(-3)),
            ("integer", json!(u64::MAX)),
            ("number", json!(0.5)),
            ("string", json!("é")),
            ("array", json!([1, [2]])),
            ("object", json!({"a": {"b": 1}})),
        ];
        for (kind, value) in &values {
            let schema = json!({"type": "object", "properties": {"x": {"type": kind}}});
            let schema = ArgumentSchema::new(&schema, SchemaForm::JsonSchema).expect("a schema");
            for (other, value) in values.iter().map(|(other, value)| (other, json!({"x": value}))) {
                let fits = kind == other || (*kind, *other) == ("number", "integer");
                let faults = schema.faults((&value).into());
                assert_eq!(faults.is_empty(), fits, "{value} as {kind}: {faults:?}");
            }
            assert!(schema.faults((&json!({"x": value})).into()).is_empty());
        }
    }
}
