//! Calls by example: the text of a call, with placeholders for what differs from call to call.
//!
//! From an example comes what a reader looks for, what a writer writes and what a grammar allows. White space next to a
//! placeholder, and a line break between two marks, is written, and free when read. `{{` and `}}` are braces.

mod arguments;
mod fields;
mod head;
mod object;
mod text;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::form::{Blocks, Body, CallsForm, JsonShape, NoArgs, Python, Xml};
use super::prompt::Frame;
use super::text::{Kind, Str};
use fields::{Spellings, Wrong, needs, owned};
use text::{Slot, Text, spaced};

pub use fields::CallExample;

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
        let fault = |mark: &Str| Kind::Mark.fault(mark);
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
        ("no_args", example.no_args != NoArgs::Alone),
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
