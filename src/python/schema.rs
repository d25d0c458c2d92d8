//! `check_arguments`: a tool's schema and a call's arguments, as the core's rules and values.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use super::convert::dumps;
use crate::execution::schema::{Bounds, Kind, Rule, Value};

/// The first thing wrong with a call's arguments, in words, or `None`.
///
/// `schema` is cogency's flat one (`{"arg": {"type": …, "required": …, "min": …}}`) or JSON Schema's
/// (`{"type": "object", "properties": …, "required": […]}`). What it does not say is not checked.
#[pyfunction]
pub fn check_arguments(
    schema: &Bound<'_, PyAny>,
    args: &Bound<'_, PyDict>,
) -> PyResult<Option<String>> {
    let Ok(schema) = schema.cast::<PyDict>() else { return Ok(None) };
    let dialect = match schema.get_item("properties")? {
        Some(properties) if is_object(schema)? => Dialect::JsonSchema {
            properties: properties.cast_into::<PyDict>().unwrap_or_else(|_| PyDict::new(args.py())),
            required: schema.get_item("required")?,
        },
        _ => Dialect::Flat(schema.clone()),
    };
    for (name, info) in dialect.fields() {
        let Some(rule) = dialect.rule(&name, &info)? else { continue };
        let value = args.get_item(&name)?.map(|value| value_of(&value)).transpose()?;
        let is_default =
            matches!(&value, Some(Value { kind: Kind::Null, .. })) && defaults_to_none(&info)?;
        if is_default {
            continue;
        }
        if let Some(problem) = rule.problem(value.as_ref()) {
            return Ok(Some(problem));
        }
    }
    Ok(None)
}

enum Dialect<'py> {
    Flat(Bound<'py, PyDict>),
    JsonSchema { properties: Bound<'py, PyDict>, required: Option<Bound<'py, PyAny>> },
}

impl<'py> Dialect<'py> {
    fn fields(&self) -> impl Iterator<Item = (Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        match self {
            Self::Flat(fields) | Self::JsonSchema { properties: fields, .. } => fields.iter(),
        }
    }

    fn rule(&self, name: &Bound<'py, PyAny>, info: &Bound<'py, PyAny>) -> PyResult<Option<Rule>> {
        let (Ok(name_text), Ok(info)) = (name.cast::<PyString>(), info.cast::<PyDict>()) else {
            return Ok(None);
        };
        let number = |key: &str| -> PyResult<Option<f64>> {
            Ok(info.get_item(key)?.and_then(|bound| bound.extract().ok()))
        };
        let bounds = |least: &str, most: &str| {
            Ok::<_, PyErr>(Bounds { least: number(least)?, most: number(most)? })
        };
        let mut kinds = kinds(info.get_item("type")?.as_ref());
        let (required, range, length) = match self {
            Self::Flat(_) => {
                // The flat schema says "string" also for types it has no word for.
                if kinds.contains(&Kind::String) {
                    kinds.clear();
                }
                let required = info
                    .get_item("required")?
                    .is_some_and(|required| required.is(PyBool::new(name.py(), true)));
                (required, bounds("min", "max")?, bounds("min_length", "max_length")?)
            }
            Self::JsonSchema { required, .. } => {
                let required =
                    required.as_ref().is_some_and(|names| names.contains(name).unwrap_or(false));
                let length = if kinds.contains(&Kind::Array) {
                    bounds("minItems", "maxItems")?
                } else {
                    bounds("minLength", "maxLength")?
                };
                (required, bounds("minimum", "maximum")?, length)
            }
        };
        Ok(Some(Rule { name: name_text.to_string(), required, kinds, range, length }))
    }
}

fn is_object(schema: &Bound<'_, PyDict>) -> PyResult<bool> {
    let kind = schema.get_item("type")?;
    Ok(kind.is_some_and(|kind| kind.eq("object").unwrap_or(false)))
}

fn defaults_to_none(info: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Ok(info) = info.cast::<PyDict>() else { return Ok(false) };
    Ok(info.get_item("default")?.is_some_and(|default| default.is_none()))
}

/// The types that a schema names; none when it names one that is not known.
fn kinds(kind: Option<&Bound<'_, PyAny>>) -> Vec<Kind> {
    let Some(kind) = kind else { return Vec::new() };
    let names: Vec<String> = match kind.extract() {
        Ok(name) => vec![name],
        Err(_) => kind.extract().unwrap_or_default(),
    };
    names.iter().map(|name| Kind::named(name)).collect::<Option<_>>().unwrap_or_default()
}

fn value_of(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let kind = if value.is_none() {
        Some(Kind::Null)
    } else if value.is_instance_of::<PyBool>() {
        Some(Kind::Boolean)
    } else if value.is_instance_of::<PyInt>() {
        Some(Kind::Integer)
    } else if value.is_instance_of::<PyFloat>() {
        Some(Kind::Number)
    } else if value.is_instance_of::<PyString>() {
        Some(Kind::String)
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        Some(Kind::Array)
    } else {
        None
    };
    let kind = kind.unwrap_or(Kind::Object);
    let number = match kind {
        // An integer too large for a float is beyond every bound.
        Kind::Integer => {
            Some(value.extract().unwrap_or(if value.gt(0)? { f64::MAX } else { f64::MIN }))
        }
        Kind::Number => value.extract().ok(),
        _ => None,
    };
    let length = match kind {
        Kind::String | Kind::Array => Some(value.len()?),
        _ => None,
    };
    Ok(Value { kind, number, length, shown: shown(value)? })
}

/// A value as JSON writes it, cut to what fits into a message.
fn shown(value: &Bound<'_, PyAny>) -> PyResult<String> {
    const MOST: usize = 60;
    let text = match dumps(value) {
        Ok(json) => json,
        Err(_) => value.repr()?.to_string(),
    };
    if text.chars().count() <= MOST {
        return Ok(text);
    }
    Ok(text.chars().take(MOST).chain("...".chars()).collect())
}
