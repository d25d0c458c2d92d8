//! What a template may do: these operators, functions, filters, tests and methods, and no others.
//!
//! Each counts what it takes before it does anything, and what it gives. The unit is the engine's fuel: one for a value, and one
//! for 64 bytes of text. A list that is in a value several times counts as often, since that is how often it is walked, written
//! and compared. So what is left of the fuel bounds time and memory, and the same template ends at the same place on every
//! machine, however busy it is.
//!
//! Invariant: what is in a list, a map or a namespace is plain: text, numbers, lists and maps, at most [`DEEPEST`] deep. Nothing
//! is in itself, and no list is longer than what was counted for it.

use std::sync::LazyLock;

use minijinja::value::{DynObject, Rest, Tuple, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, filters, functions, tests};
use minijinja_contrib::pycompat::unknown_method_callback;

use super::bound::named;

/// Deeper values than this are refused.
pub const DEEPEST: usize = 100;

/// Bytes that one unit of fuel pays for.
const BYTES: usize = 64;

/// Gives a template all that it may do, but for what only chat templates have.
pub fn add_to(environment: &mut Environment<'_>) {
    add_operators(environment);
    add_functions(environment);
    for (name, filter) in allowed_filters() {
        environment.add_filter(name, move |state: &mut State, args: Rest<ValueOrKwargs>| {
            let args = values(&args);
            counted(state, &args)?;
            charge_filter(state, name, &args)?;
            let found = filter.call(state, &args)?;
            plain(state, found)
        });
    }
    for (name, test) in allowed_tests() {
        environment.add_test(name, move |state: &mut State, args: Rest<ValueOrKwargs>| {
            let args = values(&args);
            // What one value is, is seen without a look at what is in it.
            if args.len() > 1 {
                counted(state, &args)?;
            }
            test.call(state, &args)
        });
    }
    environment.set_unknown_method_callback(method);
    environment.set_formatter(|out, state, value| {
        count(state, value)?;
        out.write_fmt(format_args!("{value}")).map_err(Error::from)
    });
}

/// Arguments as the engine gives them to a function of its own.
fn values(args: &Rest<ValueOrKwargs>) -> Vec<Value> {
    args.iter().map(|arg| Value::clone(arg)).collect()
}

type Compare = fn(&Value, &Value) -> bool;

fn add_operators(environment: &mut Environment<'_>) {
    environment
        .add_function(named::PLAIN, |state: &State, value: &Value| plain(state, value.clone()));
    environment.add_function(named::KEPT, |state: &State, value: &Value| {
        let value = plain(state, value.clone())?;
        kept(state, [&value])?;
        Ok::<_, Error>(value)
    });
    environment.add_function(named::LIST, |state: &State, items: Rest<Value>| {
        kept(state, items.iter())?;
        Ok::<_, Error>(Value::from(items.0))
    });
    environment.add_function(named::TUPLE, |state: &State, items: Rest<Value>| {
        kept(state, items.iter())?;
        Ok::<_, Error>(Value::from(Tuple::from(items.0)))
    });
    environment.add_function(named::MAP, |state: &State, items: Rest<Value>| {
        kept(state, items.iter())?;
        let pairs = items.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone()));
        Ok::<_, Error>(Value::from_pairs(pairs))
    });
    environment.add_function(named::ITEM, |state: &State, of: &Value, key: &Value| {
        count(state, key)?;
        of.get_item(key)
    });
    environment.add_function(named::CONCAT, |state: &State, left: &Value, right: &Value| {
        count(state, left)?;
        count(state, right)?;
        Ok::<_, Error>(format!("{left}{right}"))
    });
    let comparisons: [(&str, Compare); 6] = [
        (named::EQ, |left, right| left == right),
        (named::NE, |left, right| left != right),
        (named::LT, |left, right| left < right),
        (named::LE, |left, right| left <= right),
        (named::GT, |left, right| left > right),
        (named::GE, |left, right| left >= right),
    ];
    for (name, compare) in comparisons {
        environment.add_function(name, move |state: &State, left: &Value, right: &Value| {
            count(state, left)?;
            count(state, right)?;
            Ok::<_, Error>(compare(left, right))
        });
    }
    for (name, is_in) in [(named::IN, true), (named::NOT_IN, false)] {
        environment.add_function(name, move |state: &State, left: &Value, right: &Value| {
            count(state, left)?;
            count(state, right)?;
            Ok::<_, Error>(tests::is_in(state, left, right)? == is_in)
        });
    }
}

fn add_functions(environment: &mut Environment<'_>) {
    let allowed = [
        ("range", Value::from_function(functions::range)),
        ("dict", Value::from_function(functions::dict)),
        ("namespace", Value::from_function(functions::namespace)),
    ];
    for (name, function) in allowed {
        environment.add_function(name, move |state: &mut State, args: Rest<ValueOrKwargs>| {
            let args = values(&args);
            counted(state, &args)?;
            for arg in args.iter().filter(|arg| arg.as_object().is_some()) {
                for key in arg.try_iter()? {
                    kept(state, [&arg.get_item(&key)?])?;
                }
            }
            let found = function.call(state, &args)?;
            plain(state, found)
        });
    }
}

/// The filters that a template may use: those of Jinja that give at most a few times what they take.
fn allowed_filters() -> [(&'static str, Value); 39] {
    let of = Value::from_function::<fn(&Value) -> Result<Value, Error>, _, _>;
    [
        ("abs", Value::from_function(filters::abs)),
        ("attr", Value::from_function(filters::attr)),
        ("bool", Value::from_function(filters::bool)),
        ("capitalize", Value::from_function(filters::capitalize)),
        ("count", Value::from_function(filters::length)),
        ("d", Value::from_function(filters::default)),
        ("default", Value::from_function(filters::default)),
        ("dictsort", Value::from_function(filters::dictsort)),
        ("e", Value::from_function(filters::escape)),
        ("escape", Value::from_function(filters::escape)),
        ("first", of(filters::first)),
        ("float", Value::from_function(filters::float)),
        ("indent", Value::from_function(filters::indent)),
        ("int", Value::from_function(filters::int)),
        ("items", of(filters::items)),
        ("join", Value::from_function(filters::join)),
        ("last", Value::from_function(filters::last)),
        ("length", Value::from_function(filters::length)),
        ("lines", of(filters::lines)),
        ("list", Value::from_function(filters::list)),
        ("lower", Value::from_function(filters::lower)),
        ("map", Value::from_function(filters::map)),
        ("max", Value::from_function(filters::max)),
        ("min", Value::from_function(filters::min)),
        ("reject", Value::from_function(filters::reject)),
        ("rejectattr", Value::from_function(filters::rejectattr)),
        ("replace", Value::from_function(filters::replace)),
        ("reverse", of(filters::reverse)),
        ("round", Value::from_function(filters::round)),
        ("safe", Value::from_function(filters::safe)),
        ("select", Value::from_function(filters::select)),
        ("selectattr", Value::from_function(filters::selectattr)),
        ("sort", Value::from_function(filters::sort)),
        ("split", Value::from_function(filters::split)),
        ("string", Value::from_function(filters::string)),
        ("title", Value::from_function(filters::title)),
        ("trim", Value::from_function(filters::trim)),
        ("unique", Value::from_function(filters::unique)),
        ("upper", Value::from_function(filters::upper)),
    ]
}

fn allowed_tests() -> [(&'static str, Value); 39] {
    [
        ("!=", Value::from_function(tests::is_ne)),
        ("<", Value::from_function(tests::is_lt)),
        ("<=", Value::from_function(tests::is_le)),
        ("==", Value::from_function(tests::is_eq)),
        (">", Value::from_function(tests::is_gt)),
        (">=", Value::from_function(tests::is_ge)),
        ("boolean", Value::from_function(tests::is_boolean)),
        ("defined", Value::from_function(tests::is_defined)),
        ("divisibleby", Value::from_function(tests::is_divisibleby)),
        ("endingwith", Value::from_function(tests::is_endingwith)),
        ("eq", Value::from_function(tests::is_eq)),
        ("equalto", Value::from_function(tests::is_eq)),
        ("even", Value::from_function(tests::is_even)),
        ("false", Value::from_function(tests::is_false)),
        ("float", Value::from_function(tests::is_float)),
        ("ge", Value::from_function(tests::is_ge)),
        ("greaterthan", Value::from_function(tests::is_gt)),
        ("gt", Value::from_function(tests::is_gt)),
        ("in", Value::from_function(tests::is_in)),
        ("int", Value::from_function(tests::is_integer)),
        ("integer", Value::from_function(tests::is_integer)),
        ("iterable", Value::from_function(tests::is_iterable)),
        ("le", Value::from_function(tests::is_le)),
        ("lessthan", Value::from_function(tests::is_lt)),
        ("lower", Value::from_function(tests::is_lower)),
        ("lt", Value::from_function(tests::is_lt)),
        ("mapping", Value::from_function(tests::is_mapping)),
        ("ne", Value::from_function(tests::is_ne)),
        ("none", Value::from_function(tests::is_none)),
        ("number", Value::from_function(tests::is_number)),
        ("odd", Value::from_function(tests::is_odd)),
        ("safe", Value::from_function(tests::is_safe)),
        ("sameas", Value::from_function(tests::is_sameas)),
        ("sequence", Value::from_function(tests::is_sequence)),
        ("startingwith", Value::from_function(tests::is_startingwith)),
        ("string", Value::from_function(tests::is_string)),
        ("true", Value::from_function(tests::is_true)),
        ("undefined", Value::from_function(tests::is_undefined)),
        ("upper", Value::from_function(tests::is_upper)),
    ]
}

/// The methods of Python's values that a template may call.
const METHODS: [&str; 29] = [
    "capitalize",
    "count",
    "endswith",
    "find",
    "format",
    "get",
    "isalnum",
    "isalpha",
    "isascii",
    "isdigit",
    "islower",
    "isnumeric",
    "isspace",
    "isupper",
    "items",
    "join",
    "keys",
    "lower",
    "lstrip",
    "replace",
    "rfind",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "title",
    "upper",
    "values",
];

/// A method of Python's, as the engine's own library has it.
fn method(state: &mut State, value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    if !METHODS.contains(&name) {
        return Err(Error::from(ErrorKind::UnknownMethod));
    }
    counted(state, args)?;
    if name == "get" {
        return unknown_method_callback(state, value, name, args);
    }
    count(state, value)?;
    let text = value.as_str().unwrap_or_default();
    match name {
        "strip" | "lstrip" | "rstrip" => charge_trim(state, text, args.first())?,
        "format" => charge_format(state, text, args)?,
        "replace" => charge_replace(state, text, args)?,
        "join" => charge_join(state, text, args.first())?,
        _ => {}
    }
    let found = unknown_method_callback(state, value, name, args)?;
    plain(state, found)
}

/// What a filter gives beyond what it takes.
fn charge_filter(state: &State, name: &str, args: &[Value]) -> Result<(), Error> {
    let text = args.first().and_then(Value::as_str).unwrap_or_default();
    let rest = args.get(1..).unwrap_or_default();
    match name {
        "trim" => charge_trim(state, text, rest.first()),
        "replace" => charge_replace(state, text, rest),
        "join" => {
            let named = rest.last().filter(|last| last.is_kwargs());
            let by = rest.first().filter(|by| !by.is_kwargs()).cloned();
            let by = by.or_else(|| named.and_then(|named| named.get_attr("d").ok()));
            let by = by.as_ref().and_then(Value::as_str).unwrap_or_default();
            charge_join(state, by, args.first())
        }
        "indent" => {
            let named = rest.last().filter(|last| last.is_kwargs());
            let width = rest.first().and_then(Value::as_usize);
            let width = width
                .or_else(|| named.and_then(|named| named.get_attr("width").ok()?.as_usize()))
                .unwrap_or(4);
            charge(state, width.saturating_mul(text.matches('\n').count() + 1))
        }
        // Sorting compares each with as many as its number has digits.
        "sort" | "dictsort" | "unique" => {
            let length = args.first().and_then(Value::len).unwrap_or_default();
            charge(
                state,
                length.saturating_mul(length.checked_ilog2().unwrap_or(0) as usize * BYTES),
            )
        }
        // It is done once for each item with all of these.
        "map" | "select" | "selectattr" | "reject" | "rejectattr" => {
            let length = args.first().and_then(Value::len).unwrap_or_default();
            let text = rest.iter().filter_map(Value::as_str).map(str::len).sum::<usize>();
            charge(state, length.saturating_mul(text + BYTES))
        }
        _ => Ok(()),
    }
}

/// Each character is compared with each of those to trim.
fn charge_trim(state: &State, text: &str, characters: Option<&Value>) -> Result<(), Error> {
    let characters = characters.and_then(Value::as_str).unwrap_or_default();
    charge(state, text.len().saturating_mul(characters.len()))
}

fn charge_replace(state: &State, text: &str, args: &[Value]) -> Result<(), Error> {
    let [old, new, ..] = args else { return Ok(()) };
    let (old, new) = (old.as_str().unwrap_or_default(), new.as_str().unwrap_or_default());
    let found = if old.is_empty() { text.len() + 1 } else { text.matches(old).count() };
    charge(state, found.saturating_mul(new.len()))
}

fn charge_join(state: &State, by: &str, items: Option<&Value>) -> Result<(), Error> {
    let length = items.and_then(Value::len).unwrap_or_default();
    charge(state, length.saturating_mul(by.len()))
}

/// Each field may write any argument, as wide as the widest of them is.
fn charge_format(state: &State, text: &str, args: &[Value]) -> Result<(), Error> {
    let fields = text.matches('{').count();
    let numbers = text.split(|character: char| !character.is_ascii_digit());
    let widest = numbers
        .filter(|digits| !digits.is_empty())
        .map(|digits| digits.parse().unwrap_or(usize::MAX));
    let widest = widest.max().unwrap_or(0);
    let mut given = 0_usize;
    for arg in args {
        given = given.saturating_add(size(state, arg, 0)?);
    }
    charge(state, fields.saturating_mul(widest.saturating_mul(4).saturating_add(given)))
}

/// Pays for bytes before they are written.
pub fn charge(state: &State, bytes: usize) -> Result<(), Error> {
    state.consume_fuel((bytes / BYTES) as u64)
}

/// Counts values with all that is in them.
pub fn counted(state: &State, values: &[Value]) -> Result<(), Error> {
    values.iter().try_for_each(|value| count(state, value))
}

/// Counts a value with all that is in it.
fn count(state: &State, value: &Value) -> Result<(), Error> {
    size(state, value, 0).map(|_| ())
}

/// Counts values, all of which may be in a list: they must be plain.
fn kept<'v>(state: &State, values: impl IntoIterator<Item = &'v Value>) -> Result<(), Error> {
    values.into_iter().try_for_each(|value| size(state, value, 1).map(|_| ()))
}

/// Bytes that a value has as text, about; counts them.
fn size(state: &State, value: &Value, depth: usize) -> Result<usize, Error> {
    if depth > DEEPEST {
        return Err(Error::new(ErrorKind::InvalidOperation, "the value is nested too deeply"));
    }
    if depth > 0 && !is_plain(value) {
        let why = format!("a value of type {} is kept in another", value.kind());
        return Err(Error::new(ErrorKind::InvalidOperation, why));
    }
    let own = value.as_str().map_or(BYTES, |text| text.len() + BYTES);
    charge(state, own)?;
    let Some(object) = value.as_object() else { return Ok(own) };
    let mut bytes = own;
    match value.kind() {
        ValueKind::Map => {
            for (key, item) in object.try_iter_pairs().into_iter().flatten() {
                bytes = bytes.saturating_add(size(state, &key, depth + 1)?).saturating_add(size(
                    state,
                    &item,
                    depth + 1,
                )?);
            }
        }
        ValueKind::Seq | ValueKind::Iterable => {
            for item in object.try_iter().into_iter().flatten() {
                bytes = bytes.saturating_add(size(state, &item, depth + 1)?);
            }
        }
        _ => {}
    }
    Ok(bytes)
}

/// Whether a value is text, a number or the like, or a list or a map as it is made from syntax or JSON.
fn is_plain(value: &Value) -> bool {
    /// The engine's own type of maps, which it does not name.
    static MAP: LazyLock<Option<&str>> = LazyLock::new(|| {
        let map = Value::from_pairs([(Value::from(0), Value::from(0))]);
        map.as_object().map(DynObject::type_name)
    });
    let Some(object) = value.as_object() else { return true };
    value.downcast_object_ref::<Vec<Value>>().is_some()
        || value.is_tuple()
        || *MAP == Some(object.type_name())
}

/// Counts a value that was computed; what yields its items one by one becomes a list of them.
fn plain(state: &State, value: Value) -> Result<Value, Error> {
    let is_list = match value.kind() {
        ValueKind::Iterable => true,
        ValueKind::Seq => !is_plain(&value),
        _ => false,
    };
    if !is_list {
        count(state, &value)?;
        return Ok(value);
    }
    let mut items = Vec::new();
    for item in value.try_iter()? {
        size(state, &item, 1)?;
        items.push(item);
    }
    Ok(Value::from(items))
}
