//! Checks a call's arguments before the call starts.
//!
//! A [`Rule`] says what one argument must be, a [`Value`] what came; where both come from is the caller's
//! business.

use std::fmt;

/// The types of a schema, under JSON's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// Text.
    String,
    /// A list.
    Array,
    /// A mapping.
    Object,
}

impl Kind {
    /// The type a schema means by this name; `None` for one it does not define.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::Null,
            "boolean" | "bool" => Self::Boolean,
            "integer" | "int" => Self::Integer,
            "number" | "float" => Self::Number,
            "string" | "str" => Self::String,
            "array" | "list" => Self::Array,
            "object" | "dict" => Self::Object,
            _ => return None,
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        })
    }
}

/// What one argument must be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// Whether it must be there.
    pub required: bool,
    /// The types it may have; none for any.
    pub kinds: Vec<Kind>,
    /// Bounds on a number, both included.
    pub range: Bounds,
    /// Bounds on the characters of a string or the items of an array, both included.
    pub length: Bounds,
}

/// Bounds, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    /// The least.
    pub least: Option<f64>,
    /// The most.
    pub most: Option<f64>,
}

/// What came.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// Its type; [`Kind::Integer`] for a whole number.
    pub kind: Kind,
    /// A number's value.
    pub number: Option<f64>,
    /// The characters of a string or the items of an array.
    pub length: Option<usize>,
    /// How it looks, for the message; short.
    pub shown: String,
}

impl Rule {
    /// What is wrong with the argument, in words; `None` when nothing is.
    #[must_use]
    pub fn problem(&self, value: Option<&Value>) -> Option<String> {
        let name = &self.name;
        let Some(value) = value else {
            return self
                .required
                .then(|| format!("argument '{name}' is required, and was not given"));
        };
        if !self.kinds.is_empty() && !self.kinds.iter().any(|kind| kind.admits(value)) {
            let kinds: Vec<_> = self.kinds.iter().map(Kind::to_string).collect();
            let (wanted, Value { kind, shown, .. }) = (kinds.join(" or "), value);
            let came = if *kind == Kind::Null { shown.clone() } else { format!("{kind}: {shown}") };
            return Some(format!("argument '{name}' must be {wanted}, and was {came}"));
        }
        let Value { number, length, shown, .. } = value;
        if let Some(bound) = number.and_then(|number| self.range.broken_by(number)) {
            return Some(format!("argument '{name}' must be {bound}, and was {shown}"));
        }
        #[expect(clippy::cast_precision_loss, reason = "no text is that long")]
        let bound = length.and_then(|length| self.length.broken_by(length as f64));
        bound.map(|bound| {
            let (unit, length) = match value.kind {
                Kind::Array => ("items", length.unwrap_or_default()),
                _ => ("characters", length.unwrap_or_default()),
            };
            format!("argument '{name}' must have {bound} {unit}, and had {length}")
        })
    }
}

impl Kind {
    fn admits(self, value: &Value) -> bool {
        match self {
            Self::Number => matches!(value.kind, Self::Integer | Self::Number),
            // As JSON Schema has it, 1.0 is a whole number.
            Self::Integer => value.number.is_some_and(|number| number.fract() == 0.0),
            kind => kind == value.kind,
        }
    }
}

impl Bounds {
    /// The bound that `number` is beyond, in words.
    fn broken_by(self, number: f64) -> Option<String> {
        let least =
            self.least.filter(|least| number < *least).map(|least| format!("at least {least}"));
        least.or_else(|| {
            self.most.filter(|most| number > *most).map(|most| format!("at most {most}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integer(number: f64) -> Value {
        Value { kind: Kind::Integer, number: Some(number), length: None, shown: number.to_string() }
    }

    fn text(text: &str) -> Value {
        let length = Some(text.chars().count());
        Value { kind: Kind::String, number: None, length, shown: format!("{text:?}") }
    }

    #[test]
    fn a_problem_names_the_argument_what_it_must_be_and_what_came() {
        let rule = Rule {
            name: "n".into(),
            required: true,
            kinds: vec![Kind::Integer],
            range: Bounds { least: Some(1.0), most: Some(9.0) },
            length: Bounds::default(),
        };
        let problem = |value: Option<Value>| rule.problem(value.as_ref());
        assert_eq!(problem(Some(integer(5.0))), None);
        for (value, expected) in [
            (None, "argument 'n' is required, and was not given"),
            (Some(integer(0.0)), "argument 'n' must be at least 1, and was 0"),
            (Some(integer(10.0)), "argument 'n' must be at most 9, and was 10"),
            (Some(text("x")), "argument 'n' must be an integer, and was a string: \"x\""),
        ] {
            assert_eq!(problem(value).as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_length_is_counted_in_characters_or_items() {
        let rule = Rule {
            name: "s".into(),
            length: Bounds { least: Some(2.0), most: Some(3.0) },
            ..Rule::default()
        };
        assert_eq!(rule.problem(Some(&text("äö"))), None);
        assert_eq!(rule.problem(None), None);
        assert_eq!(
            rule.problem(Some(&text("a"))).as_deref(),
            Some("argument 's' must have at least 2 characters, and had 1")
        );
        let items =
            Value { kind: Kind::Array, number: None, length: Some(4), shown: "[…]".into() };
        assert_eq!(
            rule.problem(Some(&items)).as_deref(),
            Some("argument 's' must have at most 3 items, and had 4")
        );
    }

    #[test]
    fn a_whole_float_is_an_integer_and_an_integer_is_a_number() {
        let float = |number: f64| Value { kind: Kind::Number, ..integer(number) };
        assert!(Kind::Integer.admits(&float(1.0)) && !Kind::Integer.admits(&float(1.5)));
        assert!(Kind::Number.admits(&integer(1.0)) && !Kind::Number.admits(&text("1")));
    }
}
