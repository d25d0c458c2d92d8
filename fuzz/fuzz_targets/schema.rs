//! A schema, whatever is in it, is refused or checks arguments: in little memory, and with the same faults each time.
#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use cogency_rs::execution::arguments::{ArgumentSchema, Members, SchemaForm, Value};
use cogency_rs_fuzz::memory::{Counting, most_allocated};
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value as Json, json};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes that a check may take.
const MOST_MEMORY: usize = 256 << 20;

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

const PATTERNS: [&str; 6] =
    ["^a+$", "^(a+)+$", r"^(a*)*\1b$", "(?=(a+)+$).*b", "[a-z]{1,900}", "(("];

/// Keywords whose value is a schema, and those whose value is a list of schemas.
const ONE: [&str; 12] = [
    "not",
    "if",
    "then",
    "else",
    "items",
    "contains",
    "additionalProperties",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "additionalItems",
    "contentSchema",
];
const SEVERAL: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];

#[derive(Debug)]
struct Input {
    schema: Json,
    arguments: Json,
}

impl Arbitrary<'_> for Input {
    fn arbitrary(input: &mut Unstructured<'_>) -> Result<Self> {
        let mut named = |depth| {
            let of = NAMES.map(|name| Ok((name.to_owned(), subschema(input, depth)?)));
            of.into_iter().collect::<Result<Map<_, _>>>()
        };
        let mut schema = json!({"type": "object", "properties": named(1)?, "$defs": named(2)?});
        if u8::arbitrary(input)? % 4 == 0 {
            let odd = ["required", "enum", "$defs", "properties", "title", "allOf"];
            schema[*input.choose(&odd)?] = value(input, 2)?;
        }
        let arguments = NAMES.map(|name| Ok((name.to_owned(), value(input, 5)?)));
        Ok(Self { schema, arguments: arguments.into_iter().collect::<Result<Map<_, _>>>()?.into() })
    }
}

fn subschema(input: &mut Unstructured<'_>, depth: usize) -> Result<Json> {
    let mut made = Map::new();
    for _ in 0..=u8::arbitrary(input)? % 3 {
        let (keyword, value) = match u8::arbitrary(input)? % 10 {
            0..=2 => ("$ref", json!(reference(input)?)),
            3 | 4 if depth > 0 => {
                let count = 1 + u8::arbitrary(input)? % 3;
                let of = (0..count).map(|_| subschema(input, depth - 1));
                let of = of.collect::<Result<Vec<_>>>()?;
                (*input.choose(&SEVERAL)?, json!(of))
            }
            5 if depth > 0 => (*input.choose(&ONE)?, subschema(input, depth - 1)?),
            6 if depth > 0 => {
                let of = json!({*input.choose(&NAMES)?: subschema(input, depth - 1)?});
                (*input.choose(&["properties", "dependentSchemas"])?, of)
            }
            7 => ("pattern", json!(input.choose(&PATTERNS)?)),
            8 => ("enum", json!([value(input, 1)?, value(input, 1)?])),
            _ => ("type", json!(input.choose(&["string", "integer", "object", "array"])?)),
        };
        made.insert(keyword.into(), value);
    }
    Ok(made.into())
}

fn reference(input: &mut Unstructured<'_>) -> Result<String> {
    let before = input.choose(&["#/$defs/", "#/%24defs/", "#/properties/"])?;
    Ok(format!("{before}{}", input.choose(&NAMES)?))
}

fn value(input: &mut Unstructured<'_>, depth: usize) -> Result<Json> {
    Ok(match u8::arbitrary(input)? % 6 {
        0 => json!(null),
        1 => json!(i8::arbitrary(input)?),
        2 => json!("a".repeat(u8::arbitrary(input)?.into())),
        3 if depth > 0 => json!({*input.choose(&NAMES)?: value(input, depth - 1)?}),
        4 if depth > 0 => {
            let item = value(input, depth - 1)?;
            // Long lists of long lists would take the memory that the schema must not.
            let most = if depth == 1 { usize::from(u8::MAX) } else { 4 };
            json!(vec![item; usize::from(u8::arbitrary(input)?) % (most + 1)])
        }
        _ => json!("a"),
    })
}

fn argument(json: &Json) -> Value<'_> {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Boolean(*value),
        Json::Number(number) => Value::Integer(number.as_i64().unwrap_or_default()),
        Json::String(text) => Value::String(Box::new(text.as_str())),
        Json::Array(items) => Value::Array(items.iter().map(argument).collect()),
        Json::Object(members) => Value::Object(Members::new(
            members.iter().map(|(name, member)| (name.clone(), argument(member))).collect(),
        )),
    }
}

fuzz_target!(|input: Input| {
    let Input { schema, arguments } = input;
    let faults = || {
        let schema = ArgumentSchema::new(&schema, SchemaForm::JsonSchema)
            .map_err(|error| error.to_string())?;
        Ok::<_, String>(schema.faults(argument(&arguments)))
    };
    let mut first = Ok(Vec::new());
    let most = most_allocated(|| first = faults());
    assert!(most < MOST_MEMORY, "{most} bytes for {schema} of {arguments}");
    assert_eq!(first, faults(), "{schema} of {arguments}");
});
