//! `ArgumentSchema`: a tool's schema, compiled once, and Python values as the core checks them.
//!
//! Neither a value nor a schema raises here: a value that JSON cannot hold does not fit any schema, and a schema that cannot be
//! compiled is a fault of every call.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyStringMethods, PyTuple,
};
use serde_json::{Map, Number, Value as Schema};

use super::error::ConfigError;
use cogency_rs::execution::arguments::{
    ArgumentSchema as Checker, ArgumentText, BigInteger, Foreign, MOST_LEVELS, Members, SchemaForm,
    Value, too_deep, unusable,
};

/// A tool's schema, compiled to check arguments. It does not keep any Python object.
#[pyclass(frozen, module = "cogency_rs._core")]
pub struct ArgumentSchema {
    /// The schema that was compiled. The caller may have changed the original since.
    source: Schema,
    form: SchemaForm,
    checker: Result<Checker, String>,
}

#[pymethods]
impl ArgumentSchema {
    #[new]
    #[pyo3(signature = (schema, form = None))]
    fn new(schema: &Bound<'_, PyAny>, form: Option<&str>) -> PyResult<Self> {
        let mut reader = SchemaReader::default();
        let source = reader.schema(schema, 0);
        let form = match form {
            None => SchemaForm::of(&source),
            Some("flat") => SchemaForm::Flat,
            Some("json schema") => SchemaForm::JsonSchema,
            Some(other) => {
                return Err(ConfigError::new_err(format!(
                    "form must be \"flat\" or \"json schema\", got {other:?}"
                )));
            }
        };
        let checker = match reader.problem {
            Some(problem) if form == SchemaForm::JsonSchema => Err(unusable(&problem)),
            // A schema may be long, and other threads run meanwhile.
            _ => schema
                .py()
                .detach(|| Checker::new(&source, form))
                .map_err(|error| error.to_string()),
        };
        Ok(Self { source, form, checker })
    }

    /// Why the schema cannot be used; `None` if it can.
    #[getter]
    fn problem(&self) -> Option<&str> {
        self.checker.as_ref().err().map(String::as_str)
    }

    /// Whether this was compiled from an equal schema.
    fn is_of(&self, schema: &Bound<'_, PyAny>) -> bool {
        is_same(&self.source, schema)
    }

    /// What is wrong with arguments, one sentence for each fault; empty if they fit.
    fn faults(&self, args: &Bound<'_, PyAny>) -> Vec<String> {
        match &self.checker {
            Err(problem) => vec![problem.clone()],
            Ok(checker) => match value_of(args, self.form, 0) {
                // A panic would pass every `except Exception` of the caller.
                Ok(value) => catch_unwind(AssertUnwindSafe(|| checker.faults(value)))
                    .unwrap_or_else(|_| vec!["the arguments cannot be checked".into()]),
                Err(TooDeep) => {
                    vec![too_deep(MOST_LEVELS)]
                }
            },
        }
    }
}

/// A value has too many levels, for example because it contains itself.
struct TooDeep;

fn value_of<'py>(
    value: &Bound<'py, PyAny>,
    form: SchemaForm,
    depth: usize,
) -> Result<Value<'py>, TooDeep> {
    if depth > MOST_LEVELS {
        return Err(TooDeep);
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::String(Box::new(PythonText(text.clone()))));
    }
    if value.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Value::Boolean(value.is_true()));
    }
    if let Ok(value) = value.cast::<PyInt>() {
        return Ok(integer(value));
    }
    if let Ok(value) = value.cast::<PyFloat>() {
        return Ok(Value::Float(value.value()));
    }
    let items = |items: &mut dyn Iterator<Item = Bound<'py, PyAny>>| {
        items.map(|item| value_of(&item, form, depth + 1)).collect::<Result<_, _>>()
    };
    if let Ok(list) = value.cast::<PyList>() {
        return items(&mut list.iter()).map(Value::Array);
    }
    if let Ok(tuple) = value.cast::<PyTuple>() {
        return items(&mut tuple.iter()).map(Value::Array);
    }
    if let Some(items) = items_of(value) {
        let members = items
            .into_iter()
            .map(|(name, value)| Ok((name, value_of(&value, form, depth + 1)?)))
            .collect::<Result<_, TooDeep>>()?;
        return Ok(Value::Object(Members::new(members)));
    }
    let foreign = Box::new(PythonObject(value.clone()));
    Ok(if form == SchemaForm::Flat {
        // The flat form counts a value of any other type as an object.
        Value::ForeignObject(foreign, Members::default())
    } else {
        Value::Foreign(foreign)
    })
}

/// The items of a mapping, with their keys as text; `None` for any other value.
fn items_of<'py>(value: &Bound<'py, PyAny>) -> Option<Vec<(String, Bound<'py, PyAny>)>> {
    if let Ok(dict) = value.cast::<PyDict>() {
        return Some(dict.iter().map(|(key, value)| (key_of(&key), value)).collect());
    }
    let items = value.cast::<PyMapping>().ok()?.items().ok()?;
    let pair = |item: Bound<'py, PyAny>| {
        let (key, value): (Bound<'py, PyAny>, Bound<'py, PyAny>) = item.extract().ok()?;
        Some((key_of(&key), value))
    };
    items.iter().map(pair).collect()
}

fn key_of(key: &Bound<'_, PyAny>) -> String {
    match key.cast::<PyString>() {
        Ok(key) => key.to_string_lossy().into_owned(),
        Err(_) => text_of(key.str()),
    }
}

fn text_of(text: PyResult<Bound<'_, PyString>>) -> String {
    text.map_or_else(|_| "?".into(), |text| text.to_string_lossy().into_owned())
}

fn integer<'py>(value: &Bound<'py, PyInt>) -> Value<'py> {
    if let Ok(value) = value.extract() {
        return Value::Integer(value);
    }
    let is_negative = value.lt(0).unwrap_or(false);
    let infinity = if is_negative { f64::NEG_INFINITY } else { f64::INFINITY };
    // Python refuses to write integers of more than a few thousand digits.
    let text = value.str().map_or_else(
        |_| if is_negative { "-1e9999" } else { "1e9999" }.to_owned(),
        |text| text.to_string_lossy().into_owned(),
    );
    Value::BigInteger(BigInteger { text, nearest: value.extract().unwrap_or(infinity) })
}

struct PythonText<'py>(Bound<'py, PyString>);

impl ArgumentText for PythonText<'_> {
    fn characters(&self) -> u64 {
        self.0.len().map_or(0, |length| length as u64)
    }

    fn read(&self) -> Cow<'_, str> {
        self.0.to_string_lossy()
    }
}

struct PythonObject<'py>(Bound<'py, PyAny>);

impl Foreign for PythonObject<'_> {
    fn kind(&self) -> String {
        text_of(self.0.get_type().name())
    }

    fn shown(&self) -> String {
        text_of(self.0.repr())
    }
}

/// Reads a schema from Python.
#[derive(Default)]
struct SchemaReader {
    /// What is wrong with the first part that is not JSON, which is read as null.
    problem: Option<String>,
}

impl SchemaReader {
    fn schema(&mut self, value: &Bound<'_, PyAny>, depth: usize) -> Schema {
        if depth > MOST_LEVELS {
            self.problem.get_or_insert(format!("it is nested deeper than {MOST_LEVELS} levels"));
            return Schema::Null;
        }
        if let Some(single) = single(value) {
            return single;
        }
        if let Ok(list) = value.cast::<PyList>() {
            return list.iter().map(|item| self.schema(&item, depth + 1)).collect();
        }
        if let Ok(tuple) = value.cast::<PyTuple>() {
            return tuple.iter().map(|item| self.schema(&item, depth + 1)).collect();
        }
        if let Some(items) = items_of(value) {
            return items
                .into_iter()
                .map(|(name, value)| self.member(name, &value, depth))
                .collect();
        }
        // For example a number type of another library.
        if let Some(number) = value.extract().ok().and_then(number) {
            return Schema::Number(number);
        }
        self.problem.get_or_insert_with(|| {
            let kind = value.get_type().name();
            format!("it holds a value of type {}, which is not JSON", text_of(kind))
        });
        Schema::Null
    }

    fn member(&mut self, name: String, value: &Bound<'_, PyAny>, depth: usize) -> (String, Schema) {
        let before = self.problem.clone();
        let read = self.schema(value, depth + 1);
        if matches!(name.as_str(), "default" | "example" | "examples") {
            self.problem = before; // these say nothing about what is valid
        }
        (name, read)
    }
}

/// A value that is not a collection, if JSON can hold it.
fn single(value: &Bound<'_, PyAny>) -> Option<Schema> {
    if let Ok(text) = value.cast::<PyString>() {
        return Some(Schema::String(text.to_string_lossy().into_owned()));
    }
    if value.is_none() {
        return Some(Schema::Null);
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Some(Schema::Bool(value.is_true()));
    }
    if let Ok(value) = value.cast::<PyInt>() {
        if let Ok(value) = value.extract::<i64>() {
            return Some(value.into());
        }
        if let Ok(value) = value.extract::<u64>() {
            return Some(value.into());
        }
    }
    (value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>())
        .then(|| value.extract().ok().and_then(number).map(Schema::Number))?
}

/// A number of a schema; `None` for what JSON cannot hold.
fn number(value: f64) -> Option<Number> {
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return Some(Number::from(value as i64));
    }
    Number::from_f64(value)
}

/// Whether a schema from Python equals this one.
fn is_same(known: &Schema, value: &Bound<'_, PyAny>) -> bool {
    match known {
        Schema::Object(known) => match value.cast::<PyDict>() {
            Ok(dict) => {
                known.len() == dict.len()
                    && known.iter().zip(dict.iter()).all(|((name, known), (key, value))| {
                        is_text(name, &key) && is_same(known, &value)
                    })
            }
            Err(_) => is_read_as(known, value),
        },
        Schema::Array(known) => match value.cast::<PyList>() {
            Ok(list) => {
                known.len() == list.len()
                    && known.iter().zip(list.iter()).all(|(known, value)| is_same(known, &value))
            }
            Err(_) => SchemaReader::default().schema(value, 0) == Schema::Array(known.clone()),
        },
        Schema::String(known) => is_text(known, value),
        Schema::Bool(known) => value.cast::<PyBool>().is_ok_and(|value| value.is_true() == *known),
        _ => SchemaReader::default().schema(value, 0) == *known,
    }
}

fn is_read_as(known: &Map<String, Schema>, value: &Bound<'_, PyAny>) -> bool {
    items_of(value).is_some() && SchemaReader::default().schema(value, 0).as_object() == Some(known)
}

fn is_text(known: &str, value: &Bound<'_, PyAny>) -> bool {
    value.cast::<PyString>().is_ok_and(|text| text.to_string_lossy() == known)
}
