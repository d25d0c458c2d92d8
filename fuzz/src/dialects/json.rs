//! Calls as JSON: one object, several, or an array of them.

use crate::json::Layout;
use cogency_rs::dialect::{DecisionKeys, Json, JsonShape, NoArgs, Str};
use cogency_rs::json::{Controls, FaultKind};
use cogency_rs::protocol::Call;

use super::cursor::{Cursor, No, Read};
use super::values::{depth, object, string, units};
use crate::json::{Node, Units, Value, as_dict, dumps, read};

/// The calls of the value that begins here.
///
/// # Errors
/// There is not a value, or it does not hold calls.
pub fn calls(
    form: &Json,
    cursor: &mut Cursor<'_>,
    is_marked: bool,
    is_closed: bool,
) -> Read<Vec<Call>> {
    let mut calls = Vec::new();
    match &form.shape {
        JsonShape::Array => {
            let Value::Array(items) = value(cursor, b'[')? else { return Err(No::Call) };
            if !is_marked && items.is_empty() {
                return Err(No::Certainty);
            }
            for (index, item) in items.iter().enumerate() {
                // Without a mark the first key tells whether it is a call.
                calls.extend(call(form, &item.value, is_marked || index > 0, is_closed)?);
            }
        }
        JsonShape::Object => calls.extend(call(form, &value(cursor, b'{')?, is_marked, is_closed)?),
        JsonShape::Objects(between) => loop {
            let item = value(cursor, b'{')?;
            calls.extend(call(form, &item, is_marked || !calls.is_empty(), is_closed)?);
            let mut next = cursor.clone();
            next.skip_space();
            if !next.take(between.trim())? {
                // Models leave it out.
                if next.rest().starts_with(b"{") {
                    return Err(No::Certainty);
                }
                break;
            }
            next.skip_space();
            if next.peek()? != b'{' {
                break;
            }
            *cursor = next;
        },
        other => unreachable!("the reference does not know {other:?}"),
    }
    Ok(calls)
}

/// The value that begins here, with this bracket.
///
/// # Errors
/// Something else begins here, or it is not JSON.
pub fn value(cursor: &mut Cursor<'_>, bracket: u8) -> Read<Value> {
    cursor.skip_space();
    if cursor.peek()? != bracket {
        return Err(No::Call);
    }
    let reading =
        read(cursor.text, cursor.at, Controls::Raw).map_err(|fault| match fault.kind {
            FaultKind::Ended | FaultKind::EndedInString => No::Certainty,
            _ => No::Call,
        })?;
    cursor.at = reading.end;
    if depth(&reading.node.value) > 100 {
        return Err(No::Certainty);
    }
    Ok(reading.node.value)
}

/// The call that an object is; `None` if it is the answer, or is passed over.
fn call(form: &Json, value: &Value, is_known: bool, is_closed: bool) -> Read<Option<Call>> {
    let Value::Object(entries) = value else {
        return Err(if form.skips_others { No::Certainty } else { No::Call });
    };
    let dict = as_dict(entries);
    let field = |name: &Str| {
        dict.iter().find(|(key, _)| **key == units(name.as_bytes())).map(|(_, value)| *value)
    };
    if !is_known && !entries.first().is_some_and(|(key, _)| is_of_form(form, key)) {
        return Err(No::Certainty);
    }
    if let Some(DecisionKeys { key, call, .. }) = &form.decision
        && field(key) != Some(&string(call.as_bytes()))
    {
        return if is_known { Ok(None) } else { Err(No::Certainty) };
    }
    let one_of = |keys: &[Str]| {
        let found: Vec<&Value> = keys.iter().filter_map(&field).collect();
        // Readers may differ in which of several counts.
        if found.len() > 1 { Err(No::Certainty) } else { Ok(found.first().copied()) }
    };
    let no_call = if form.skips_others { No::Certainty } else { No::Call };
    let name = match one_of(&form.name)? {
        Some(Value::String(name)) if form.empty_names || !name.is_empty() => name.clone(),
        _ => return Err(no_call),
    };
    let none = object(Vec::new());
    let args = match one_of(&form.args)? {
        Some(args @ Value::Object(_)) => args,
        // Without marks, that depends on whether it is a tool's, and on what follows.
        found if is_no_args(form, entries, found) && !is_closed => return Err(No::Certainty),
        found if is_no_args(form, entries, found) => &none,
        // It may hold the object.
        Some(Value::String(_)) if form.args_as_text => return Err(No::Certainty),
        _ => return Err(no_call),
    };
    let call =
        Call::of_json(&dumps(&Value::String(name), Layout::Compact), &dumps(args, Layout::Compact));
    let text = |key: &Option<Str>| match key.as_ref().and_then(field) {
        Some(text @ Value::String(_)) => dumps(text, Layout::Compact),
        _ => "\"\"".to_owned(),
    };
    Ok(Some(call.with_id(text(&form.id)).with_server(text(&form.server))))
}

/// Whether this is a key of a call.
fn is_of_form(form: &Json, key: &Units) -> bool {
    form.name.iter().chain(&form.args).any(|name| units(name.as_bytes()) == *key)
}

/// Whether a call has no arguments, by what is found in their place. Another key may hold what is meant as arguments.
fn is_no_args(form: &Json, entries: &[(Units, Node)], found: Option<&Value>) -> bool {
    match (form.no_args, found) {
        (NoArgs::Call, found) => return found.is_none(),
        (NoArgs::Alone, None | Some(Value::Word("null"))) => {}
        (NoArgs::Alone, Some(Value::String(text))) if text.is_empty() => {}
        _ => return false,
    }
    let decision = form.decision.iter();
    let others = decision.flat_map(|keys| [&keys.key, &keys.thought_key, &keys.answer_key]);
    let others: Vec<&Str> =
        form.name.iter().chain(&form.id).chain(&form.server).chain(others).collect();
    let args: Vec<&Str> = form.args.iter().collect();
    let count = |known: &[&Str]| {
        let is_known = |key: &Units| known.iter().any(|name| units(name.as_bytes()) == *key);
        entries.iter().filter(|(key, _)| is_known(key)).count()
    };
    count(&args) <= 1 && count(&args) + count(&others) == entries.len()
}
