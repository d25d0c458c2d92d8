//! Calls by example: the text of a call, with placeholders for what differs from call to call.
//!
//! From an example comes what a reader looks for, what a writer writes and what a grammar allows. White space next to a
//! placeholder, and a line break between two marks, is written, and free when read. `{{` and `}}` are braces.

mod arguments;
mod head;
mod object;
mod text;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::check::fault_of_mark;
use super::{Blocks, Body, CallsForm, Frame, Ids, JsonLayout, JsonShape, Python, Str, Xml};
use text::{Slot, Text, spaced};

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
    /// Whether a JSON call without arguments may leave their key out.
    #[serde(default, skip_serializing_if = "is_false")]
    pub args_optional: bool,
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

/// How calls are written: the examples, and what comes from them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<CallExample>", into = "Vec<CallExample>")]
pub struct Calls {
    /// The first is what is written; all are read, told apart by how they begin.
    pub examples: Vec<CallExample>,
    /// Any of these opens a block. One that is also the `open` of a head begins a call without other marks around it.
    pub open: Vec<Str>,
    /// Any of these closes it. Empty if the last call itself does.
    pub close: Vec<Str>,
    /// What a block may hold, one for each example.
    pub bodies: Vec<Body>,
    /// What is written between the marks of the first example.
    pub layout: CallsForm,
}

impl Calls {
    /// The marks that open calls, then those that close them: of blocks, and of calls that have no block, or may lack it.
    #[must_use]
    pub fn marks(&self) -> [Vec<&Str>; 2] {
        let has_block = !self.open.is_empty();
        let heads = self.bodies.iter().filter_map(|body| match body {
            Body::Head(head) if head.bare || !has_block => Some(head),
            _ => None,
        });
        let (mut open, mut close): (Vec<_>, Vec<_>) =
            (self.open.iter().collect(), self.close.iter().collect());
        for head in heads {
            open.push(&head.open);
            close.extend((!has_block && !head.close.is_empty()).then_some(&head.close));
        }
        [open, close]
    }
}

impl From<Calls> for Vec<CallExample> {
    fn from(calls: Calls) -> Self {
        calls.examples
    }
}

/// What is wrong with an example: in which of its fields, and why.
type Wrong = (&'static str, String);

impl TryFrom<Vec<CallExample>> for Calls {
    type Error = String;

    fn try_from(examples: Vec<CallExample>) -> Result<Self, String> {
        let mut calls = Self::default();
        for (index, example) in examples.iter().enumerate() {
            let read =
                Read::new(example).map_err(|(field, why)| format!("[{index}].{field}: {why}"))?;
            add(&mut calls.open, read.open);
            add(&mut calls.close, read.close);
            calls.bodies.push(read.body);
            if index == 0 {
                calls.layout = read.layout;
            }
        }
        // A call without a block has a mark of its own, where others have a block.
        if !calls.open.is_empty() {
            for (body, example) in calls.bodies.iter_mut().zip(&examples) {
                if let Body::Head(head) = body {
                    head.bare |= example.block.is_empty();
                }
            }
        }
        calls.examples = examples;
        Ok(calls)
    }
}

/// Adds marks that are not there yet.
fn add(known: &mut Vec<Str>, marks: Vec<Str>) {
    for mark in marks {
        if !known.contains(&mark) {
            known.push(mark);
        }
    }
}

/// What comes from one example.
struct Read {
    open: Vec<Str>,
    close: Vec<Str>,
    body: Body,
    layout: CallsForm,
}

impl Read {
    fn new(example: &CallExample) -> Result<Self, Wrong> {
        let spellings = Spellings::new(example);
        let mut layout = CallsForm {
            unmarked: example.block_unwritten,
            between: example.between.clone(),
            json: example.layout,
            ascii: example.ascii,
            ids: example.ids,
            ..CallsForm::default()
        };
        if !example.message.is_empty() {
            let Some((before, behind)) = example.message.split_once("{call}") else {
                return Err(("message", needs("{call}")));
            };
            layout.message = Frame { before: owned(before), behind: owned(behind) };
        }
        let (block, has_block) = (Block::new(example)?, !example.block.is_empty());
        let body = body(example, &block, &spellings, &mut layout)?;
        if has_block
            && block.holds == Holds::Call
            && matches!(body, Body::Head(_) | Body::Python(_))
        {
            layout.blocks = Blocks::Each;
        }
        let marks = |mark: &str| {
            if mark.is_empty() { Vec::new() } else { spellings.of(mark) }
        };
        let (open, close) = (marks(&block.open), marks(&block.close));
        let fault = |mark: &Str| fault_of_mark(mark);
        if let Some(why) = open.iter().chain(&close).find_map(fault) {
            return Err(("block", why));
        }
        layout.open = block.behind_open;
        layout.close = block.before_close;
        spellings.all_used()?;
        Ok(Self { open, close, body, layout })
    }
}

/// How a call is written inside its block.
fn body(
    example: &CallExample,
    block: &Block,
    spellings: &Spellings<'_>,
    layout: &mut CallsForm,
) -> Result<Body, Wrong> {
    if let Value::Object(call) = &example.call {
        let shape = match block.holds {
            Holds::Call => JsonShape::Object,
            Holds::List => JsonShape::Array,
            Holds::Calls => JsonShape::Objects(example.between.clone()),
        };
        let (json, id_first) = object::json(example, shape, call, spellings)?;
        layout.id_first = id_first;
        return Ok(Body::Json(json));
    }
    let Value::String(call) = &example.call else {
        return Err(("call", "must be a text or an object".into()));
    };
    for (field, is_given) in [
        ("answer", !example.answer.is_null()),
        ("args_optional", example.args_optional),
        ("args_as_text", example.args_as_text),
        ("empty_names", example.empty_names),
        ("skips_others", example.skips_others),
    ] {
        if is_given {
            return Err((field, "is only for calls that are JSON objects".into()));
        }
    }
    let text = Text::new(call).map_err(|why| ("call", why))?;
    if text.is(&["", "(", ")"], &[Slot::Name, Slot::Args]) {
        return Ok(Body::Python(match block.holds {
            Holds::List => Python::List,
            Holds::Call | Holds::Calls => Python::Lines,
        }));
    }
    if block.holds == Holds::List {
        return Err(("block", "can be a list only of JSON objects or of Python calls".into()));
    }
    if text.slots.first() == Some(&Slot::Server) {
        let xml = arguments::elements(example, layout)?;
        let parts = head::parts(&text, &xml, layout).map_err(|why| ("call", why))?;
        return Ok(Body::Xml(Xml { parts: Some(parts), ..xml }));
    }
    head::head(example, &text, spellings, layout).map(Body::Head)
}

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    /// One call.
    Call,
    /// All calls.
    Calls,
    /// All calls, between brackets.
    List,
}

/// The marks of a block, and the white space that is written inside them.
struct Block {
    open: String,
    behind_open: Str,
    holds: Holds,
    before_close: Str,
    close: String,
}

impl Block {
    fn new(example: &CallExample) -> Result<Self, Wrong> {
        let wrong = |why| ("block", why);
        let text = match &*example.block {
            "" => Text::new("{call}"),
            block => Text::new(block),
        };
        let text = text.map_err(wrong)?;
        let holds = match text.slots[..] {
            [Slot::Call] => Holds::Call,
            [Slot::Calls] => Holds::Calls,
            _ => return Err(wrong("must have one placeholder, {call} or {calls}".into())),
        };
        let (before, behind) = (&*text.texts[0], &*text.texts[1]);
        let may_be_list = holds == Holds::Calls && has_list(&example.call);
        let list = before.strip_suffix('[').zip(behind.strip_prefix(']'));
        let (holds, before, behind) = match list.filter(|_| may_be_list) {
            Some((before, behind)) => (Holds::List, before, behind),
            None => (holds, before, behind),
        };
        let ((_, open, behind_open), (before_close, close, _)) = (spaced(before), spaced(behind));
        Ok(Self {
            open: open.to_owned(),
            behind_open: owned(behind_open),
            holds,
            before_close: owned(before_close),
            close: close.to_owned(),
        })
    }
}

/// Whether calls that are written like this one can be the items of a list.
fn has_list(call: &Value) -> bool {
    call.is_object() || call.as_str().is_some_and(|call| call.starts_with("{name}("))
}

/// Other spellings of marks, each of which must be of a mark that has some.
struct Spellings<'e> {
    example: &'e CallExample,
    used: std::cell::RefCell<Vec<&'e str>>,
}

impl<'e> Spellings<'e> {
    fn new(example: &'e CallExample) -> Self {
        Self { example, used: Vec::new().into() }
    }

    /// The mark, and its other spellings.
    fn of(&self, mark: &str) -> Vec<Str> {
        let mut all = vec![Str::from(mark.to_owned())];
        if let Some((mark, others)) = self.example.spellings.get_key_value(mark) {
            self.used.borrow_mut().push(mark);
            all.extend_from_slice(others);
        }
        all
    }

    fn all_used(&self) -> Result<(), Wrong> {
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

fn owned(text: &str) -> Str {
    text.to_owned().into()
}

/// Why a text is refused that lacks this.
fn needs(slot: &str) -> String {
    format!("must have the placeholder {slot}")
}
