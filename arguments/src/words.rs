//! Says what a schema asks for, and what is wrong with a schema itself.

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, ReferencingError, ValidationError};
use serde_json::Value as Schema;

use super::shown::shown_schema;

/// A type by its name in a schema.
fn type_in_words(name: &str) -> &str {
    match name {
        "boolean" => "a boolean",
        "integer" => "an integer",
        "number" => "a number",
        "string" => "a string",
        "array" => "an array",
        "object" => "an object",
        other => other,
    }
}

/// What a value may be: `an integer`, `null`.
#[derive(Debug, Default)]
pub struct Wanted {
    /// In words; of a very long list, its beginning.
    pub words: Vec<String>,
    /// How many more there are.
    pub others: usize,
}

impl From<Vec<String>> for Wanted {
    fn from(words: Vec<String>) -> Self {
        Self { words, others: 0 }
    }
}

/// The values in a list of a schema. A few are shown, so not all of a very long list are put into words.
fn options(options: &[Schema]) -> Wanted {
    const MOST: usize = 1000;
    let words: Vec<_> = options.iter().take(MOST).map(shown_schema).collect();
    Wanted { others: options.len() - words.len(), words }
}

/// What the value must be, if the error says that by itself.
pub fn wanted(error: &ValidationError<'_>, root: &Schema) -> Option<Wanted> {
    match error.kind() {
        Kind::Type { kind } => Some(types(kind, root.pointer(error.schema_path().as_str())).into()),
        Kind::Enum { options: values } => Some(options(values.as_array()?)),
        Kind::Constant { expected_value } => Some(vec![shown_schema(expected_value)].into()),
        _ => None,
    }
}

/// Types in the order of the schema, if `written` is the schema's list of them.
fn types(kind: &TypeKind, written: Option<&Schema>) -> Vec<String> {
    let words = |names: &mut dyn Iterator<Item = &str>| {
        names.map(|name| type_in_words(name).to_owned()).collect()
    };
    match (kind, written) {
        (TypeKind::Single(kind), _) => words(&mut [kind.as_str()].into_iter()),
        (TypeKind::Multiple(_), Some(Schema::Array(names))) => {
            words(&mut names.iter().filter_map(Schema::as_str))
        }
        (TypeKind::Multiple(kinds), _) => {
            let mut kinds: Vec<_> = kinds.iter().collect();
            kinds.sort_by_key(|kind| *kind == JsonType::Null);
            words(&mut kinds.iter().map(|kind| kind.as_str()))
        }
    }
}

/// A list as text, `"a" or "b"`, with no more members than can be read.
pub fn alternatives(wanted: impl Into<Wanted>) -> String {
    const MOST: usize = 20;
    let Wanted { mut words, mut others } = wanted.into();
    let mut seen = std::collections::HashSet::new();
    words.retain(|each| seen.insert(each.clone()));
    others += words.len().saturating_sub(MOST);
    words.truncate(MOST);
    if others > 0 {
        return format!("one of {} or {others} others", words.join(", "));
    }
    words.join(" or ")
}

/// What a schema describes, if that can be said in a few words.
pub fn described(schema: &Schema) -> Option<String> {
    if let Some(values) = schema.get("enum").and_then(Schema::as_array) {
        return Some(alternatives(options(values)));
    }
    if let Some(value) = schema.get("const") {
        return Some(shown_schema(value));
    }
    match schema.get("type")? {
        Schema::String(name) => Some(type_in_words(name).to_owned()),
        Schema::Array(names) => Some(alternatives(
            names
                .iter()
                .filter_map(Schema::as_str)
                .map(|name| type_in_words(name).to_owned())
                .collect::<Vec<_>>(),
        )),
        _ => None,
    }
}

/// Why a schema cannot be used, and where.
pub fn of_schema(error: &ValidationError<'_>) -> String {
    const MOST: usize = 240;
    // A keyword may be written in several ways; the error of the one that was meant says most.
    let mut error = error;
    while let Kind::AnyOf { context } | Kind::OneOfNotValid { context } = error.kind() {
        let is_other_type =
            |error: &&ValidationError<'_>| matches!(error.kind(), Kind::Type { .. });
        let mut first = context.iter().filter_map(|branch| branch.first());
        match first.clone().find(|error| !is_other_type(error)).or_else(|| first.next()) {
            Some(inner) => error = inner,
            None => break,
        }
    }
    let place = match error.instance_path().as_str() {
        "" => error.schema_path().as_str(),
        path => path,
    };
    let value = shown_schema(error.instance());
    let problem = match error.kind() {
        Kind::Type { kind } => {
            format!("must be {}, got {value}", alternatives(types(kind, None)))
        }
        Kind::Enum { options: values } => {
            let values = values.as_array().map(|values| options(values)).unwrap_or_default();
            format!("must be {}, got {value}", alternatives(values))
        }
        Kind::Referencing(error) => return unusable(&reference(error)),
        Kind::Custom { message, .. } => format!("{message}: {value}"),
        _ => error.to_string().chars().take(MOST).collect(),
    };
    match place {
        "" => unusable(&problem),
        place => unusable(&format!("at {place}: {problem}")),
    }
}

/// The fault that every call has whose schema cannot be used.
#[must_use]
pub fn unusable(problem: &str) -> String {
    format!("the schema of this tool cannot be used: {problem}")
}

fn reference(error: &ReferencingError) -> String {
    match error {
        ReferencingError::Unretrievable { uri, .. } => {
            format!("it refers to {uri}, but nothing outside it is read")
        }
        ReferencingError::PointerToNowhere { pointer } => {
            format!("it refers to '#{pointer}', which it does not have")
        }
        ReferencingError::NoSuchAnchor { anchor } => {
            format!("it refers to '#{anchor}', which it does not have")
        }
        ReferencingError::UnknownSpecification { specification } => {
            format!("its $schema {specification} is not known")
        }
        other => other.to_string(),
    }
}
