//! Results that are shown as the array in the log.

use std::borrow::Cow;

use super::options::Tags;
use crate::dialect::Frame;
use crate::protocol::Text;
use crate::protocol::json::{Container, Scanner, Token};
use crate::protocol::results::{CallOutcome, ResultItem, results_array};
use crate::protocol::stored::ShownCall;
use crate::protocol::text::is_blank;

/// The message of the array that these pieces are, in its frame.
pub fn framed(pieces: &[Cow<'_, [u8]>], frame: &Frame, tags: Tags) -> Text {
    let Frame { before, behind } = frame;
    let mut text = Text::default();
    let length: usize = pieces.iter().map(|piece| piece.len()).sum();
    text.reserve(length + before.len() + behind.len());
    text.push(before.as_bytes());
    for piece in pieces {
        match tags {
            Tags::AsStored => text.push(piece),
            Tags::Escaped => push_escaped(&mut text, piece),
        }
    }
    text.push(behind.as_bytes());
    text
}

/// Adds `json` with `\u003c` for every `<`. In JSON one stands only inside strings, and never behind a lone backslash.
fn push_escaped(text: &mut Text, json: &[u8]) {
    let mut from = 0;
    for at in memchr::memchr_iter(b'<', json) {
        text.push(&json[from..at]);
        text.push(br"\u003c");
        from = at + 1;
    }
    text.push(&json[from..]);
}

/// The pieces that are `shown` of `results`, with a failure in front for each of `calls` that has none in it. Results are
/// saved right behind their calls, so it is the first ones that lack them. Anything else stays as it is.
pub fn one_for_each<'a>(
    calls: &[ShownCall],
    results: &'a [u8],
    mut shown: Vec<Cow<'a, [u8]>>,
) -> Vec<Cow<'a, [u8]>> {
    let (missing, found) = match array_len(results) {
        Some(found) if found < calls.len() => (calls.len() - found, found),
        _ => return shown,
    };
    let failed = |call: &ShownCall| ResultItem {
        tool: call.name.clone(),
        outcome: CallOutcome::Failure { message: "\"Interrupted before completion\"".into() },
    };
    let mut array = results_array(&calls[..missing].iter().map(failed).collect::<Vec<_>>());
    if found == 0 {
        return vec![Cow::Owned(array.into_bytes())];
    }
    array.pop();
    array.push_str(", ");
    let start = memchr::memchr(b'[', results).map_or(0, |start| start + 1);
    if let Some(Cow::Borrowed(first)) = shown.first_mut() {
        *first = &first[start..];
    }
    shown.insert(0, Cow::Owned(array.into_bytes()));
    shown
}

/// How many items the JSON array `text` has; `None` for anything but an array.
fn array_len(text: &[u8]) -> Option<usize> {
    let mut scanner = Scanner::default();
    let Ok(Some(Token::Open(Container::Array))) = scanner.next(text) else { return None };
    let mut items = 0;
    while let Ok(Some(_)) = scanner.next(text) {
        items += usize::from(scanner.depth() == 1);
    }
    (scanner.is_complete() && is_blank(&text[scanner.position()..])).then_some(items)
}
