//! Reads a dialect from JSON, with errors that say where.

use serde_json::Value;

use super::{Dialect, DialectError};

impl Dialect {
    /// The dialect that `fields` describes, as its `Serialize` writes it.
    ///
    /// # Errors
    /// `fields` describes none, or one that [cannot be read](Self::check): says where, and why.
    pub fn from_json(fields: Value) -> Result<Self, DialectError> {
        let dialect: Self = serde_path_to_error::deserialize(fields).map_err(|fault| {
            let (place, why) = (fault.path().to_string(), fault.inner().to_string());
            match (&*place, why.split_once(": ")) {
                (".", _) => DialectError::new("", why),
                // What is wrong with an example begins with its number.
                (_, Some((part, why))) if part.starts_with('[') => {
                    DialectError::new(format_args!("{place}{part}"), why)
                }
                _ => DialectError::new(place, why),
            }
        })?;
        dialect.check().map(|()| dialect)
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
            (
                "/stop",
                json!("<call>"),
                "stop: invalid type: string \"<call>\", expected a sequence",
            ),
            ("/stop/0", json!(7), "stop[0]: invalid type: integer `7`, expected a string"),
            (
                "/at_line_start",
                json!(null),
                "at_line_start: invalid type: null, expected a boolean",
            ),
            (
                "/reasoning/0",
                json!("<t>"),
                "reasoning[0]: must have {} once, where the text is that it is around",
            ),
            ("/heads", json!(false), "heads: invalid type: boolean `false`, expected an object"),
            (
                "/calls/0",
                json!("json"),
                "calls[0]: invalid type: string \"json\", expected an object",
            ),
            ("/calls/0/call", json!([]), "calls[0].call: must be a text or an object"),
            (
                "/calls/0/block",
                json!("<a>"),
                "calls[0].block: must have one placeholder, {call} or {calls}",
            ),
            (
                "/calls/0/args_as_text",
                json!("yes"),
                "calls[0].args_as_text: invalid type: string \"yes\", expected a boolean",
            ),
            ("/name", json!(""), "name: must not be empty"),
        ];
        for (place, value, message) in cases {
            let read = Dialect::from_json(hermes_with(place, value));
            assert_eq!(read.unwrap_err().to_string(), message, "{place}");
        }
    }

    #[test]
    fn a_field_or_a_variant_that_does_not_exist_is_named_with_those_that_do() {
        let cases = [
            ("/opens", "opens: unknown field `opens`, expected one of `name`, `models`, "),
            ("/prompt/results/colour", "prompt.results.colour: unknown field `colour`, expected "),
            (
                "/unmarked",
                "unmarked: unknown variant `opens`, expected one of `never`, `at_start`, `anywhere`",
            ),
            (
                "/calls/0/closes",
                "calls[0].closes: unknown field `closes`, expected one of `block`, ",
            ),
        ];
        for (place, message) in cases {
            let fault =
                Dialect::from_json(hermes_with(place, json!("opens"))).unwrap_err().to_string();
            assert!(fault.starts_with(message), "{place}: {fault}");
        }
    }
}
