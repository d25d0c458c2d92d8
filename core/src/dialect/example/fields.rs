//! The fields of an example, and what is said of one that is wrong.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::form::NoArgs;
use super::super::prompt::{Ids, JsonLayout};
use super::super::text::Str;

/// How calls are written, by example: texts with placeholders.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
#[expect(clippy::struct_excessive_bools, reason = "each is a liberty of its own")]
pub struct CallExample {
    /// The marks around calls: `<tool_call>\n{call}\n</tool_call>` where each call has its own, `<calls>{calls}</calls>` where all calls
    /// share them. Without it, a call has marks of its own, or is JSON or Python.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub block: Str,
    /// What is written between two calls of a block, or between two blocks where each call has its own.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub between: Str,
    /// One call: an object with the keys of a JSON object, `{"name": "{name}", "arguments": "{args}"}`, or a text:
    /// `<function={name}>{args}</function>`, `<call>{name}<args>{json}</call>`, `{name}({args})` for Python,
    /// `<server>{server}</server><name>{name}</name><args>{args}</args>` for XML.
    pub call: Value,
    /// Where a JSON object can also be the answer: that object, with `{text}` and `{thought}`, and a key whose value is another than in
    /// `call`.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub answer: Value,
    /// One argument: `<parameter={key}>\n{raw}\n</parameter>`, or `<{key}>{elements}</{key}>` for XML.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub arg: Str,
    /// The marks around all arguments: `<parameters>\n{args}</parameters>`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub args: Str,
    /// The marks around a JSON object that may take the place of all arguments: `<json>{json}</json>`. An object without these marks is read too.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub json_args: Str,
    /// The message that a call is, or that it is in, where the dialect has `heads`: ` to={name}<|message|>{call}<|eom|>`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub message: Str,
    /// Marks before which a call without a closing mark ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub until: Vec<Str>,
    /// Other spellings of a mark of `block`, of the mark after the name, or of a key; they are read too.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub spellings: BTreeMap<Str, Vec<Str>>,
    /// Whether a call also counts without the block around it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub block_may_lack: bool,
    /// Whether the marks of the block are left out when written, where the dialect's `unmarked` allows that.
    #[serde(default, skip_serializing_if = "is_false")]
    pub block_unwritten: bool,
    /// Whether white space at the ends of a raw value is not part of it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub trimmed: bool,
    /// What a JSON object without arguments is: a call if it is `alone`, without another key; always a `call`; or `refused`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub no_args: NoArgs,
    /// Whether the arguments of a JSON call may also be a string that holds the object.
    #[serde(default, skip_serializing_if = "is_false")]
    pub args_as_text: bool,
    /// Whether the name of a JSON call may be empty, as in cogency 3.3.0.
    #[serde(default, skip_serializing_if = "is_false")]
    pub empty_names: bool,
    /// Whether items of a JSON array that are not calls are passed over.
    #[serde(default, skip_serializing_if = "is_false")]
    pub skips_others: bool,
    /// How JSON is laid out when written.
    #[serde(default, skip_serializing_if = "is_default")]
    pub layout: JsonLayout,
    /// Whether JSON is written in ASCII only.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ascii: bool,
    /// The id that is written for a call without one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ids: Ids,
}

fn is_empty(text: &Str) -> bool {
    text.is_empty()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// What is wrong with an example: in which of its fields, and why.
pub(super) type Wrong = (&'static str, String);

/// Other spellings of marks, each of which must be of a mark that has some.
pub(super) struct Spellings<'e> {
    example: &'e CallExample,
    used: RefCell<Vec<&'e str>>,
}

impl<'e> Spellings<'e> {
    pub fn new(example: &'e CallExample) -> Self {
        Self { example, used: Vec::new().into() }
    }

    /// The mark, and its other spellings.
    pub fn of(&self, mark: &str) -> Vec<Str> {
        let mut all = vec![Str::from(mark.to_owned())];
        if let Some((mark, others)) = self.example.spellings.get_key_value(mark) {
            self.used.borrow_mut().push(mark);
            all.extend_from_slice(others);
        }
        all
    }

    pub fn all_used(&self) -> Result<(), Wrong> {
        let used = self.used.borrow();
        match self.example.spellings.keys().find(|mark| !used.contains(&&***mark)) {
            None => Ok(()),
            Some(mark) => Err((
                "spellings",
                format!("{mark:?} is not a mark of the block, the mark after a name, or a key"),
            )),
        }
    }
}

pub(super) fn owned(text: &str) -> Str {
    text.to_owned().into()
}

/// Why a text is refused that lacks this.
pub(super) fn needs(slot: &str) -> String {
    format!("must have the placeholder {slot}")
}
