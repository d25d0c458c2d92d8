//! Messages with a head that says who they are for.

use cogency_rs::dialect::{Body, Dialect, MessageHeads, Str};
use cogency_rs::protocol::Call;

use super::cursor::{Cursor, No, Read, find};
use super::head;
use super::values::call_with;
use crate::text::leading_space;

/// The calls of the message that begins here, as far as its head names the tool.
///
/// # Errors
/// It does not hold calls, or holds them in its text.
pub fn message(
    heads: &MessageHeads,
    dialect: &Dialect,
    cursor: &mut Cursor<'_>,
) -> Read<Vec<Call>> {
    let head = cursor.until(&heads.end)?;
    let others = heads.open.iter().filter(|open| **open != heads.channel).chain(&heads.close);
    let has_other = others.into_iter().any(|mark| find(&head[1.min(head.len())..], mark).is_some());
    // Then it has no end, and what it says follows there.
    let has_channels = !heads.channel.is_empty()
        && find(head, &heads.channel)
            .is_some_and(|at| find(&head[at + heads.channel.len()..], &heads.channel).is_some());
    if head.len() > 2000 || has_other || has_channels {
        return Err(No::Certainty);
    }
    let recipient = last_word(head, &heads.recipient);
    let is = |names: &[Str], word: Option<&[u8]>| {
        word.is_some_and(|word| names.iter().any(|name| name.as_bytes() == word))
    };
    let Some(tool) =
        recipient.filter(|_| !is(&heads.answer, recipient) && !is(&heads.reasoning, recipient))
    else {
        // A message for the user or for the model itself.
        return Err(No::Call);
    };
    let Some(Body::Head(form)) = dialect.calls.bodies.first().filter(|_| heads.names_call) else {
        return Err(No::Certainty);
    };
    let name = tool.strip_prefix(heads.prefix.as_bytes()).unwrap_or(tool);
    let args = head::arguments(form, cursor, &[])?;
    cursor.skip_space();
    // Arguments seem to go on: readers may differ.
    if b",:{}]\"'".contains(&cursor.peek().unwrap_or(b' ')) {
        return Err(No::Certainty);
    }
    Ok(vec![call_with(name, &args)?])
}

/// The word after the last `mark` of a head; `None` if there is not one.
fn last_word<'h>(head: &'h [u8], mark: &str) -> Option<&'h [u8]> {
    if mark.is_empty() {
        return None;
    }
    let mut rest = head;
    let mut word = None;
    while let Some(at) = find(rest, mark) {
        rest = &rest[at + mark.len()..];
        let is_end = |at: &usize| rest[*at] == b'<' || leading_space(&rest[*at..]) > 0;
        word = Some(&rest[..(0..rest.len()).find(is_end).unwrap_or(rest.len())]);
    }
    word.filter(|word| !word.is_empty())
}
