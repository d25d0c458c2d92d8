//! Answers of several messages, each with a head that says who it is for.

use crate::dialect::{MessageHeads, Str};
use crate::text::space_width;

/// A dialect whose answers are several messages, each with a head.
#[derive(Debug)]
pub struct Headed {
    /// Its number in the grammar.
    pub dialect: usize,
    /// The number of the span of reasoning.
    pub reasoning: usize,
    /// The number of the span of the answer.
    pub answer: usize,
}

/// Who a message is for, as its head says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Addressee {
    /// The model itself.
    Reasoning,
    /// The user.
    Answer,
    /// The tool of this name.
    Tool(Vec<u8>),
}

impl MessageHeads {
    /// Whether a message begins or ends in `text`.
    #[must_use]
    pub fn stands_in(&self, text: &[u8]) -> bool {
        // The mark of a channel may begin a head, and also appears inside one.
        let mut marks = self.open.iter().filter(|open| **open != self.channel).chain(&self.close);
        marks.any(|mark| memchr::memmem::find(text, mark.as_bytes()).is_some())
    }

    /// Who the message with this head is for.
    #[must_use]
    pub fn addressee(&self, head: &[u8]) -> Addressee {
        let channel = word_after(head, &self.channel);
        let recipient = word_after(head, &self.recipient);
        let is = |names: &[Str], word: Option<&[u8]>| {
            word.is_some_and(|word| names.iter().any(|name| name.as_bytes() == word))
        };
        match recipient {
            Some(tool) if !is(&self.answer, recipient) && !is(&self.reasoning, recipient) => {
                Addressee::Tool(tool.strip_prefix(self.prefix.as_bytes()).unwrap_or(tool).to_vec())
            }
            _ if is(&self.reasoning, recipient) || is(&self.reasoning, channel) => {
                Addressee::Reasoning
            }
            _ => Addressee::Answer,
        }
    }
}

/// The word after the last `mark` in `head`, up to whitespace or the next mark.
fn word_after<'h>(head: &'h [u8], mark: &str) -> Option<&'h [u8]> {
    let start = memchr::memmem::rfind(head, mark.as_bytes()).filter(|_| !mark.is_empty())?;
    let word = &head[start + mark.len()..];
    let end = (0..word.len()).find(|&at| word[at] == b'<' || space_width(&word[at..]) > 0);
    Some(&word[..end.unwrap_or(word.len())]).filter(|word| !word.is_empty())
}
