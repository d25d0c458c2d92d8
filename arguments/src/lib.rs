//! Checks a call's arguments against its tool's schema, which is compiled once.
//!
//! While all arguments fit, text is read only for a keyword that asks for it, and none is written. Faults are put into words
//! for a language model, which has to correct its call.
//!
//! This room is a crate because the validator is generic: its code for our [`Value`] is compiled here, and is large. The
//! profile `release` wants it small. Programs use it as `cogency_rs::execution::arguments`, with the feature `arguments`.

#![forbid(unsafe_code)]

mod applied;
mod budget;
mod declared;
mod depth;
mod fault;
mod flat;
mod float;
mod json;
mod names;
mod pattern;
mod references;
mod shown;
mod value;
mod words;

use std::fmt;

use jsonschema::{PatternOptions, Validator, options_for};
use serde_json::Value as Schema;

use applied::Cost;
use budget::Budget;
pub use declared::declaration;
use pattern::{Pattern, Sizes};
pub use value::{ArgumentText, BigInteger, Foreign, Members, Value};
use value::{ValueJson, ValueNode};
pub use words::unusable;

/// How a schema is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaForm {
    /// JSON Schema.
    JsonSchema,
    /// cogency's flat one: `{"arg": {"type": …, "required": …, "min": …}}`.
    Flat,
}

impl SchemaForm {
    /// The form of a tool's schema, told from its member `type`: a flat schema has no field that is the text "object".
    #[must_use]
    pub fn of(schema: &Schema) -> Self {
        match schema.get("type") {
            Some(Schema::String(kind)) if kind == "object" => Self::JsonSchema,
            _ => Self::Flat,
        }
    }
}

/// A schema of either form, as JSON Schema.
#[must_use]
pub fn as_json_schema(schema: Schema) -> Schema {
    match (SchemaForm::of(&schema), &schema) {
        (SchemaForm::Flat, Schema::Object(fields)) => flat::translated(fields),
        _ => schema,
    }
}

/// The most levels of arrays and objects in arguments or in a schema; the parser admits fewer.
pub const MOST_LEVELS: usize = 256;

/// The fault of arguments that have more levels than these.
#[must_use]
pub fn too_deep(most_levels: usize) -> String {
    format!("the arguments are nested too deep: more than {most_levels} levels")
}

/// The fault of arguments whose check was given up.
const TOO_MUCH: &str = "the arguments are too much to compare with the schema of this tool: give fewer or smaller ones";

/// Why a schema cannot be used, and where, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError(String);

impl SchemaError {
    fn unusable(problem: &str) -> Self {
        Self(unusable(problem))
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for SchemaError {}

/// A tool's schema, ready to check arguments.
pub struct ArgumentSchema {
    schema: Schema,
    validator: Validator<ValueJson>,
    /// The most levels that a value may have for this schema, if fewer than [`MOST_LEVELS`].
    most_levels: Option<usize>,
    /// What it costs a check to go to a part of the value.
    per_child: usize,
    /// How many faults are looked for.
    most_faults: usize,
    /// The arguments whose default is null, and which therefore may be null.
    null_by_default: Vec<String>,
}

impl ArgumentSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// The schema cannot be used.
    pub fn new(schema: &Schema, form: SchemaForm) -> Result<Self, SchemaError> {
        let schema = match (form, schema) {
            (SchemaForm::Flat, Schema::Object(fields)) => flat::translated(fields),
            _ => schema.clone(),
        };
        let Cost { per_child, chain } =
            Cost::of(&schema).map_err(|problem| SchemaError::unusable(&problem))?;
        let sizes = Sizes::of(&schema).map_err(|problem| SchemaError::unusable(&problem))?;
        let validator = options_for::<ValueJson>()
            .offline()
            .should_validate_formats(false)
            .with_pattern_options(PatternOptions::regex().size_limit(sizes.most))
            .with_keyword("pattern", move |_, value, _| Pattern::keyword(value, &sizes))
            .build(&schema)
            .map_err(|error| SchemaError(words::of_schema(&error)))?;
        let null_by_default = match schema.get("properties") {
            Some(Schema::Object(properties)) => {
                let is_null = |(_, property): &(&String, &Schema)| {
                    property.get("default") == Some(&Schema::Null)
                };
                properties.iter().filter(is_null).map(|(name, _)| name.clone()).collect()
            }
            _ => Vec::new(),
        };
        let most_levels = depth::most_levels(chain).filter(|levels| *levels < MOST_LEVELS);
        let most_faults = most_faults(&schema);
        Ok(Self { schema, validator, most_levels, per_child, most_faults, null_by_default })
    }

    /// What is wrong with the arguments, a sentence for each fault; empty if they fit.
    ///
    /// # Complexity
    /// Linear in the arguments for a schema without nested unions. The search for faults stops after a thousand, for a large schema after fewer, and a check
    /// that would take much longer than reading the arguments is given up, with that as the only fault.
    #[must_use]
    pub fn faults(&self, arguments: Value<'_>) -> Vec<String> {
        if let Some(most) = self.most_levels.filter(|most| depth::is_deeper(&arguments, *most)) {
            return vec![too_deep(most)];
        }
        let values = arguments.count();
        let (arguments, left_out) = self.without_nulls(arguments);
        let has_faults = left_out.is_empty();
        if has_faults {
            let budget = Budget::new(values, self.per_child, self.most_faults);
            let fits = self.validator.is_valid(ValueNode { value: &arguments, budget: &budget });
            if budget.is_spent() {
                return vec![TOO_MUCH.into()];
            }
            if fits {
                return Vec::new();
            }
        }
        let budget = Budget::new(values, self.per_child, self.most_faults);
        let node = ValueNode { value: &arguments, budget: &budget };
        let errors: Vec<_> = self.validator.iter_errors(node).take(self.most_faults).collect();
        let faults = fault::in_words(&errors, &self.schema, &arguments, &left_out, &budget);
        // The search may have stopped within alternatives, before it knew that none of them fits.
        let has_faults = has_faults || budget.has_enough_faults();
        if budget.is_spent() || (faults.is_empty() && has_faults) {
            return vec![TOO_MUCH.into()];
        }
        faults
    }

    /// The arguments without those that are null by default, and the names of these.
    fn without_nulls<'a>(&self, arguments: Value<'a>) -> (Value<'a>, Vec<String>) {
        match arguments {
            Value::Object(members) if !self.null_by_default.is_empty() => {
                let is_null = |name: &str| matches!(members.get(name), Some(Value::Null));
                let left_out: Vec<_> =
                    self.null_by_default.iter().filter(|name| is_null(name)).cloned().collect();
                (Value::Object(members.without(&left_out)), left_out)
            }
            others => (others, Vec::new()),
        }
    }
}

/// How many faults are looked for: a fault has a copy of the part of the schema that it is of, so a large schema has few.
fn most_faults(schema: &Schema) -> usize {
    const MOST_COPIED: usize = 500_000;
    (MOST_COPIED / count(schema)).clamp(2 * fault::MOST_FAULTS, Budget::FAULTS)
}

/// How many values are in a schema, with itself.
fn count(schema: &Schema) -> usize {
    match schema {
        Schema::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Schema::Object(members) => 1 + members.values().map(count).sum::<usize>(),
        _ => 1,
    }
}
