//! What a schema asks for, in words, and what is wrong with a schema itself.

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value as Schema;

use super::shown::{cut, shown_schema};

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

/// What a value has to be for this error not to arise, where that can be said without the value; `an integer or null`.
pub fn wanted(error: &ValidationError<'_>, root: &Schema) -> Option<Vec<String>> {
    match error.kind() {
        Kind::Type { kind } => Some(types(kind, root.pointer(error.schema_path().as_str()))),
        Kind::Enum { options } => Some(options.as_array()?.iter().map(shown_schema).collect()),
        Kind::Constant { expected_value } => Some(vec![shown_schema(expected_value)]),
        _ => None,
    }
}

/// Types in the order of the schema, where that is at hand.
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

/// `"a", "b" or 1`-like lists as they are said: `"a" or "b"`, and no more of them than can be read.
pub fn alternatives(mut wanted: Vec<String>) -> String {
    const MOST: usize = 20;
    let mut seen = std::collections::HashSet::new();
    wanted.retain(|each| seen.insert(each.clone()));
    if wanted.len() > MOST {
        let others = wanted.len() - MOST;
        wanted.truncate(MOST);
        return format!("one of {} or {others} others", wanted.join(", "));
    }
    wanted.join(" or ")
}

/// What a schema describes, if that can be said in a few words.
pub fn described(schema: &Schema) -> Option<String> {
    if let Some(options) = schema.get("enum").and_then(Schema::as_array) {
        return Some(alternatives(options.iter().map(shown_schema).collect()));
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
                .collect(),
        )),
        _ => None,
    }
}

/// Why a schema cannot be used.
pub fn of_schema(error: &ValidationError<'_>) -> String {
    // What a meta-schema offers several ways for is said best by the way that came furthest.
    let mut error = error;
    while let Kind::AnyOf { context } | Kind::OneOfNotValid { context } = error.kind() {
        let branches = context.iter().filter_map(|branch| branch.first());
        match branches.max_by_key(|error| error.instance_path().segments().count()) {
            Some(inner) => error = inner,
            None => break,
        }
    }
    let place = match error.instance_path().as_str() {
        "" => String::new(),
        path => format!(" at '{path}'"),
    };
    let value = shown_schema(error.instance());
    let problem = match error.kind() {
        Kind::Format { format } if format == "regex" => {
            format!("{value} is not a pattern that can be used here")
        }
        Kind::Type { kind } => {
            format!("it must be {}, and was {value}", alternatives(types(kind, None)))
        }
        Kind::Enum { options } => match options.as_array() {
            Some(options) => {
                let options = options.iter().map(shown_schema).collect();
                format!("it must be {}, and was {value}", alternatives(options))
            }
            None => error.to_string(),
        },
        Kind::Referencing(error) => error.to_string(),
        _ => error.to_string(),
    };
    const MOST_TIMES: usize = 4;
    let problem = if problem.chars().count() > MOST_TIMES * 60 {
        cut_to(&problem, MOST_TIMES * 60)
    } else {
        problem
    };
    format!("the schema of this tool cannot be used: {problem}{place}")
}

fn cut_to(text: &str, most: usize) -> String {
    text.chars().take(most).chain("...".chars()).collect()
}

/// A pattern, for a message.
pub fn pattern(pattern: &str) -> String {
    cut(pattern.to_owned())
}
