//! Arguments that are each between marks, with raw text as their values.

use cogency_rs::dialect::{Head, Parameters, Str, Trim, Untyped};
use cogency_rs::json::Controls;

use super::attributes::attribute;
use super::cursor::{Cursor, No, Read, find, starts_with, trimmed};
use super::values::{depth, number, object, string, units};
use crate::json::{Value, read};
use crate::text::{is_blank, leading_space};

/// The arguments that begin here, up to the mark that closes their call. `followers` may come after that mark.
///
/// # Errors
/// These are not arguments.
pub fn arguments(
    form: &Parameters,
    head: &Head,
    cursor: &mut Cursor<'_>,
    followers: &[&str],
) -> Read<Value> {
    let ends: &[Str] =
        if head.close.is_empty() { &head.until } else { std::slice::from_ref(&head.close) };
    let mut entries = Vec::new();
    cursor.skip_space();
    if let Some(around) = &form.around
        && !cursor.take(&around.open)?
    {
        return if is_at_any(cursor, ends)? { Ok(object(entries)) } else { Err(No::Call) };
    }
    loop {
        cursor.skip_space();
        if let Some(around) = &form.around
            && cursor.take(&around.close)?
        {
            return Ok(object(entries));
        }
        if is_at_any(cursor, ends)? {
            return Ok(object(entries));
        }
        if let Some(whole) = &form.whole
            && (cursor.is_at(&whole.open)? || cursor.peek()? == b'{')
        {
            return Err(No::Certainty);
        }
        if !cursor.take(&form.open)? {
            return Err(No::Call);
        }
        let begins = cursor.at - form.open.len();
        let key = trimmed(cursor.until(&form.key_end)?);
        if key.contains(&b'\n') || has_marks(form, ends, &cursor.text[begins..cursor.at]) {
            return Err(No::Call);
        }
        let has_entities = form.entities && key.contains(&b'&');
        if std::str::from_utf8(key).is_err() || key.len() > 2000 || has_entities {
            return Err(No::Certainty);
        }
        let is_text = if form.value_open.is_empty() {
            None
        } else {
            let between = cursor.until(&form.value_open)?;
            match &form.flag {
                Some(flag) => {
                    attribute(between, &flag.name)?.map(|value| value == flag.text.as_bytes())
                }
                None if is_blank(between) => None,
                None => return Err(No::Call),
            }
        };
        let close = form.close.replace("{key}", &String::from_utf8_lossy(key));
        let raw = value(form, &close, ends, cursor, followers)?;
        // A parameter that is opened in a value, perhaps wrongly, may be one whose mark is missing.
        let opening = form.open.split([' ', '=']).next().unwrap_or(&form.open);
        if find(raw, opening).is_some() {
            return Err(No::Certainty);
        }
        // A mark that closes it, and none that opens one: it may be the value's own, or part of it.
        if trimmed(raw).ends_with(close.as_bytes()) {
            return Err(No::Call);
        }
        let is_json = is_text.map_or(form.untyped == Untyped::Json, |is_text| !is_text);
        entries.push((units(key), typed(cut(raw, form.trim), is_json)));
    }
}

/// Whether what opens a parameter, from its mark to the end of its key, has a mark of its call in it.
fn has_marks(form: &Parameters, ends: &[Str], opening: &[u8]) -> bool {
    let close = form.close.split("{key}").next().unwrap_or_default();
    let others = [close, &*form.value_open].into_iter().chain(ends.iter().map(|end| &**end));
    let is_mark = |mark: &&str| mark.len() > 1 && **mark != *form.key_end;
    let key = &opening[form.open.len()..];
    let is_opened = form.open.len() > 1 && find(key, &form.open).is_some();
    is_opened || others.filter(is_mark).any(|mark| find(opening, mark).is_some())
}

fn is_at_any(cursor: &Cursor<'_>, marks: &[Str]) -> Read<bool> {
    for mark in marks {
        if cursor.is_at(mark)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The raw value that begins here, up to the first mark that closes it and is followed by what may follow it.
fn value<'t>(
    form: &Parameters,
    close: &str,
    ends: &[Str],
    cursor: &mut Cursor<'t>,
    followers: &[&str],
) -> Read<&'t [u8]> {
    let start = cursor.at;
    for at in start..cursor.text.len() {
        if starts_with(&cursor.text[at..], close) != Some(true) {
            continue;
        }
        let behind = Cursor { text: cursor.text, at: at + close.len() };
        if may_follow(form, ends, behind, followers)? {
            cursor.at = at + close.len();
            return Ok(&cursor.text[start..at]);
        }
    }
    Err(No::Certainty)
}

/// Whether the text here may follow a value: the next parameter, the end of all parameters, or the end of the call.
fn may_follow(
    form: &Parameters,
    ends: &[Str],
    mut cursor: Cursor<'_>,
    followers: &[&str],
) -> Read<bool> {
    cursor.skip_space();
    let around = form.around.as_ref().map(|around| &around.close);
    for mark in [&form.open].into_iter().chain(around) {
        if cursor.is_at(mark)? {
            return Ok(true);
        }
    }
    for end in ends {
        if cursor.take(end)? {
            cursor.skip_space();
            let known: Vec<_> =
                followers.iter().map(|mark| starts_with(cursor.rest(), mark)).collect();
            return match known {
                _ if followers.is_empty() || known.contains(&Some(true)) => Ok(true),
                _ if known.contains(&None) => Err(No::Certainty),
                _ => Ok(false),
            };
        }
    }
    Ok(false)
}

/// A raw value without the whitespace that the dialect puts at its ends.
fn cut(raw: &[u8], trim: Trim) -> &[u8] {
    let breaks: [&[u8]; 2] = [b"\r\n", b"\n"];
    match trim {
        Trim::Nothing => raw,
        Trim::Space => trimmed(raw),
        Trim::Newline => {
            let raw = breaks.iter().find_map(|line| raw.strip_prefix(*line)).unwrap_or(raw);
            breaks.iter().find_map(|line| raw.strip_suffix(*line)).unwrap_or(raw)
        }
        other => unreachable!("the reference does not know {other:?}"),
    }
}

/// A raw value: JSON if the dialect allows JSON there and it is JSON, else text.
fn typed(raw: &[u8], is_json: bool) -> Value {
    let text = &raw[leading_space(raw)..];
    let text = trimmed(text);
    match read(text, 0, Controls::Raw) {
        // Only Python reads these words.
        Ok(reading)
            if matches!(reading.node.value, Value::Word("NaN" | "Infinity" | "-Infinity")) =>
        {
            string(raw)
        }
        Ok(reading)
            if is_json && reading.end == text.len() && depth(&reading.node.value) <= 200 =>
        {
            reading.node.value
        }
        // The end of a text ends a number.
        _ if is_json => number(text).unwrap_or_else(|| string(raw)),
        _ => string(raw),
    }
}
