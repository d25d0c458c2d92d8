//! What chat templates use besides Jinja itself: Python's JSON, the date, and a way to refuse.

use std::fmt::Write as _;

use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State};

use super::operations::{DEEPEST, charge, counted};

/// Adds what `transformers` gives to a template.
pub fn add_to(environment: &mut Environment<'_>) {
    environment.add_filter("tojson", |state: &State, value: Value, options: Kwargs| {
        counted(state, &[value.clone(), options.clone().into()])?;
        json(state, &value, &options)
    });
    environment.add_function("raise_exception", |why: String| -> Result<Value, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, why))
    });
    // Which day it is does not matter, and so the core needs no clock.
    environment.add_function("strftime_now", |_format: String| "2025-01-01");
}

/// A value as Python's `json.dumps` writes it, with its options `indent`, `separators`, `sort_keys` and `ensure_ascii`.
fn json(state: &State, value: &Value, options: &Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    let separators: Option<Vec<String>> = options.get("separators")?;
    let layout = Layout {
        state,
        indent,
        item: match &separators {
            Some(given) => given.first().cloned().unwrap_or_default(),
            None if indent.is_some() => ",".into(),
            None => ", ".into(),
        },
        key: separators.as_ref().and_then(|given| given.get(1)).cloned().unwrap_or(": ".into()),
        is_sorted: options.get::<Option<bool>>("sort_keys")?.unwrap_or(false),
        is_ascii: options.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false),
    };
    options.assert_all_used()?;
    let mut out = String::new();
    layout.push(&mut out, value, 0)?;
    Ok(out)
}

/// How JSON is laid out.
struct Layout<'s> {
    state: &'s State<'s, 's>,
    indent: Option<usize>,
    item: String,
    key: String,
    is_sorted: bool,
    is_ascii: bool,
}

impl Layout<'_> {
    fn push(&self, out: &mut String, value: &Value, depth: usize) -> Result<(), Error> {
        if depth > DEEPEST {
            return Err(Error::new(ErrorKind::InvalidOperation, "the value is nested too deeply"));
        }
        match value.kind() {
            ValueKind::None => out.push_str("null"),
            ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => out.push_str(&value.to_string()),
            ValueKind::String => self.push_string(out, value.as_str().unwrap_or_default()),
            ValueKind::Map => {
                let mut keys: Vec<_> = value.try_iter()?.collect();
                if self.is_sorted {
                    keys.sort();
                }
                let items = keys.into_iter().map(|key| {
                    let item = value.get_item(&key);
                    (Some(key), item)
                });
                self.push_items(out, ['{', '}'], items, depth)?;
            }
            ValueKind::Seq | ValueKind::Iterable => {
                let items = value.try_iter()?.map(|item| (None, Ok(item)));
                self.push_items(out, ['[', ']'], items, depth)?;
            }
            kind => {
                let why = format!("{kind} is not JSON serializable");
                return Err(Error::new(ErrorKind::InvalidOperation, why));
            }
        }
        Ok(())
    }

    fn push_items(
        &self,
        out: &mut String,
        [open, close]: [char; 2],
        items: impl Iterator<Item = (Option<Value>, Result<Value, Error>)>,
        depth: usize,
    ) -> Result<(), Error> {
        out.push(open);
        let mut is_first = true;
        // The values were counted; what is between two of them is counted here.
        let between = self.item.len() + self.key.len() + self.spaces(depth + 1);
        for (key, item) in items {
            charge(self.state, between)?;
            if !is_first {
                out.push_str(&self.item);
            }
            is_first = false;
            self.push_line(out, depth + 1);
            if let Some(key) = key {
                self.push_string(out, &key.to_string());
                out.push_str(&self.key);
            }
            self.push(out, &item?, depth + 1)?;
        }
        if !is_first {
            self.push_line(out, depth);
        }
        out.push(close);
        Ok(())
    }

    fn push_line(&self, out: &mut String, depth: usize) {
        if self.indent.is_some() {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', self.spaces(depth)));
        }
    }

    fn spaces(&self, depth: usize) -> usize {
        self.indent.map_or(0, |indent| indent.min(16) * depth)
    }

    fn push_string(&self, out: &mut String, text: &str) {
        let json = serde_json::Value::from(text).to_string();
        if !self.is_ascii {
            out.push_str(&json);
            return;
        }
        for character in json.chars() {
            if character.is_ascii() {
                out.push(character);
            } else {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
}
