//! Results that are shown as the array in the log.

use std::borrow::Cow;

use super::options::Tags;
use crate::dialect::{Frame, Inert, ResultText};
use crate::json::{Container, Scanner, Token};
use crate::protocol::Text;
use crate::protocol::results::{CallOutcome, ResultItem, results_array};
use crate::protocol::stored::ShownCall;
use crate::protocol::write::{Renderer, push_escaped, returned};

/// The failure of a call that has no result.
pub const INTERRUPTED: &str = "Interrupted before completion";

/// The message in which a model reads the array of results that these pieces are, which answers these calls.
///
/// # Complexity
/// O(pieces)
#[must_use]
pub fn shown_results(
    pieces: &[Cow<'_, [u8]>],
    calls: &[ShownCall],
    renderer: &Renderer,
    tags: Tags,
) -> Text {
    match renderer.dialect().prompt.results.text {
        ResultText::Array => framed(pieces, renderer, tags),
        _ => renderer.results(&returned(&pieces.concat(), calls)),
    }
}

/// The message of the array that these pieces are, in its frame.
fn framed(pieces: &[Cow<'_, [u8]>], renderer: &Renderer, tags: Tags) -> Text {
    let prompt = &renderer.dialect().prompt;
    let Frame { before, behind } = &prompt.results.around;
    let length: usize = pieces.iter().map(|piece| piece.len()).sum();
    let mut text = Vec::with_capacity(length + before.len() + behind.len());
    text.extend_from_slice(before.as_bytes());
    match (prompt.inert, tags) {
        (Inert::Joined, _) => text.extend_from_slice(renderer.array(&pieces.concat()).as_bytes()),
        (Inert::Kept, Tags::AsStored) => {
            for piece in pieces {
                text.extend_from_slice(piece);
            }
        }
        (Inert::Kept, Tags::Escaped) => {
            for piece in pieces {
                push_escaped(&mut text, piece);
            }
        }
    }
    text.extend_from_slice(behind.as_bytes());
    text.into()
}

/// The pieces that are `shown` of `results`, after a failure for each of `calls` that has no result in it. Results are
/// saved right after their calls, so it is the first ones that lack them. Anything else stays as it is.
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
        outcome: CallOutcome::Failure { message: format!("\"{INTERRUPTED}\"") },
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
    let whole = scanner.rest(text, |scanner, _| {
        items += usize::from(scanner.depth() == 1);
        Some(())
    });
    whole.map(|()| items)
}
