//! Messages that cannot be written without the ids of calls, and what forms without a dialect share.

use crate::protocol::Text;
use crate::protocol::write::{Renderer, TurnPart};
use crate::text::is_blank;

use super::conversation::{Message, Role};

/// A message, as far as it can be written without the ids of calls. Every call has a result, in the order of the calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Text of the user or the model.
    Said(Message),
    /// What the model said before its calls, and the calls.
    Calls {
        /// Its text for the user.
        content: Text,
        /// Its reasoning.
        thoughts: Text,
        /// The arguments of each call, as JSON.
        arguments: Vec<Text>,
    },
    /// What came of the next of these calls.
    Result {
        /// What the model reads of it.
        content: Text,
        /// Whether the call failed.
        is_error: bool,
    },
}

/// Adds a message, unless it is blank.
pub fn say(shown: &mut Vec<Shown>, role: Role, text: Vec<u8>) {
    if !is_blank(&text) {
        shown.push(Shown::Said(Message { role, content: text.into() }));
    }
}

/// Adds a message to the model, blank or not.
pub fn tell(shown: &mut Vec<Shown>, text: Vec<u8>) {
    shown.push(Shown::Said(Message { role: Role::User, content: text.into() }));
}

/// The words of a passage, each on its own lines.
pub fn texts(parts: &[TurnPart<'_>], renderer: &Renderer) -> Vec<u8> {
    let words = parts.iter().filter_map(|part| match *part {
        TurnPart::Words(text) => Some(renderer.marks().inert(text)).filter(|text| !is_blank(text)),
        _ => None,
    });
    words.collect::<Vec<_>>().join(&b'\n')
}

/// Its thoughts.
pub fn thoughts(parts: &[TurnPart<'_>], renderer: &Renderer) -> Vec<Vec<u8>> {
    let thoughts = parts.iter().filter_map(|part| match *part {
        TurnPart::Thought(text) => Some(renderer.marks().inert(text).into_owned()),
        _ => None,
    });
    thoughts.collect()
}
