//! A call with its name in a head: `open NAME end ARGS close`.

use crate::json::Layout;
use cogency_rs::dialect::{Args, Dialect, Head, HeadForm};
use cogency_rs::protocol::Call;

use super::attributes::attribute;
use super::cursor::{Cursor, No, Read, find, starts_with, trimmed};
use super::values::{call_with, object, string};
use super::{braces, json, parameters, xml};
use crate::json::{Value, dumps};

/// The call whose `open` ends here, without a block around it.
///
/// # Errors
/// This is not a call.
pub fn call(form: &Head, cursor: &mut Cursor<'_>) -> Read<Call> {
    read(form, cursor, &[], &[])
}

/// The call whose `open` ends here, in a block of this dialect.
///
/// # Errors
/// This is not a call.
pub fn call_in_block(form: &Head, dialect: &Dialect, cursor: &mut Cursor<'_>) -> Read<Call> {
    let ends: Vec<&str> =
        dialect.calls.close.iter().chain(&dialect.turn_end).map(|mark| &**mark).collect();
    let followers = [&ends[..], &[&*form.open]].concat();
    read(form, cursor, &followers, &ends)
}

fn read(
    form: &Head,
    cursor: &mut Cursor<'_>,
    followers: &[&str],
    block_ends: &[&str],
) -> Read<Call> {
    let ends = form.ends.iter().filter_map(|end| Some((find(cursor.rest(), end)?, end)));
    let (length, end) = ends.min_by_key(|(at, _)| *at).ok_or(No::Certainty)?;
    if length > 2000 {
        return Err(No::Certainty);
    }
    let head = &cursor.rest()[..length];
    let (name, id) = named(&form.form, head)?;
    // A bare name in a head is one line, without markup and without brackets or quotes.
    let is_bare = !matches!(form.form, HeadForm::Attributes(_));
    if is_bare && trimmed(&name).iter().any(|byte| b"<{\n\r".contains(byte)) {
        return Err(No::Call);
    }
    let others =
        [&form.open, &form.close].into_iter().chain(&form.until).filter(|mark| !mark.is_empty());
    let others = others.map(|mark| &**mark).chain(followers.iter().copied());
    if others.into_iter().any(|mark| find(head, mark).is_some()) {
        return Err(No::Certainty);
    }
    cursor.at += length;
    let is_closed = *end == form.close;
    if !is_closed && !begins_args(form, end) {
        cursor.at += end.len();
    }
    let args = if is_closed { object(Vec::new()) } else { arguments(form, cursor, followers)? };
    cursor.skip_space();
    if !form.close.is_empty() && !cursor.take(&form.close)? {
        // A call that was not closed may still end with its block, or before the next call.
        for mark in followers.iter().chain(block_ends) {
            if cursor.is_at(mark)? {
                return Err(No::Certainty);
            }
        }
        return Err(No::Call);
    }
    let call = call_with(&name, &args)?;
    Ok(match id {
        Some(id) => call.with_id(dumps(&string(&id), Layout::Compact)),
        None => call,
    })
}

/// The arguments that begin here.
///
/// # Errors
/// These are not arguments.
pub fn arguments(form: &Head, cursor: &mut Cursor<'_>, followers: &[&str]) -> Read<Value> {
    match &form.args {
        Args::Json => {
            cursor.skip_space();
            if !form.close.is_empty() && cursor.is_at(&form.close)? {
                return Ok(object(Vec::new()));
            }
            json::value(cursor, b'{')
        }
        // Arguments that are not an object are text up to the end of the call, which may be anywhere.
        Args::Text(_) => json::value(cursor, b'{').map_err(|_| No::Certainty),
        Args::Braces(mark) => braces::arguments(mark, cursor),
        Args::Parameters(parameters) => parameters::arguments(parameters, form, cursor, followers),
        Args::Xml(xml) => xml::arguments(xml, cursor),
        other => unreachable!("the reference does not know {other:?}"),
    }
}

/// Whether the mark that ends a head also begins the arguments.
fn begins_args(form: &Head, end: &str) -> bool {
    match &form.args {
        Args::Json | Args::Braces(_) => end == "{",
        Args::Parameters(parameters) => {
            let around = parameters.around.as_ref().map_or("", |around| &around.open);
            end == parameters.open || (!around.is_empty() && end == around)
        }
        Args::Text(_) | Args::Xml(_) => false,
        other => unreachable!("the reference does not know {other:?}"),
    }
}

/// The name and the id in a head.
fn named(form: &HeadForm, head: &[u8]) -> Read<(Vec<u8>, Option<Vec<u8>>)> {
    let head = trimmed(head);
    match form {
        HeadForm::Name => Ok((head.to_vec(), None)),
        HeadForm::Id(mark) => Ok(match find(head, mark) {
            Some(at) => (head[..at].to_vec(), Some(trimmed(&head[at + mark.len()..]).to_vec())),
            None => (head.to_vec(), None),
        }),
        HeadForm::Behind(mark) => match starts_with(head, mark) {
            Some(true) => Ok((head[mark.len()..].to_vec(), None)),
            _ => Err(No::Call),
        },
        // `functions.NAME:NUMBER`; other text may still be a name.
        HeadForm::Numbered => {
            let text = head.strip_prefix(b"functions.").ok_or(No::Certainty)?;
            let colon = text.iter().rposition(|byte| *byte == b':').ok_or(No::Certainty)?;
            let digits = &text[colon + 1..];
            if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
                return Err(No::Certainty);
            }
            Ok((text[..colon].to_vec(), Some(head.to_vec())))
        }
        HeadForm::Attributes(key) => Ok((attribute(head, key)?.ok_or(No::Call)?, None)),
        other => unreachable!("the reference does not know {other:?}"),
    }
}
